"""Take the screenshots of the docs: ``python tools/take_screenshots.py [NAME ...]``.

Writes and serves the demo log and opens each dashboard in Chromium. A screenshot is taken when the
page no longer changes, or after a timeout for pages with videos.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import tempfile
import time
import urllib.request
from pathlib import Path

import msgspec
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import tracklight
from tracklight.cli.demo import write_demo

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE = {"width": 1440, "height": 900}
CHROMIUM = os.environ.get("TRACKLIGHT_CHROMIUM") or shutil.which("chromium")
#: The query string of each picture: that of the README, and one for each page in docs/dashboards.
VIEWS = {
    "board": "tab=scalars&runs=sweep",
    "scalars": "tab=scalars&runs=sweep",
    "images": "tab=images",
    "audio": "tab=audio",
    "text": "tab=text",
    "histograms": "tab=histograms",
    "distributions": "tab=distributions",
    "pr_curves": "tab=pr_curves",
    "mesh": "tab=mesh",
    "custom_scalars": "tab=custom_scalars",
    "graphs": "tab=graphs",
    "hparams": "tab=hparams&runs=grid",
    "projector": "tab=projector",
    "profile": "tab=profile&runs=flowers/before",
}
#: Pointer position, to show the tooltip there.
POINTERS = {"board": (560, 270), "scalars": (760, 270)}
_STILL_S = 1.0
_LONGEST_S = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(VIEWS))
    names = parser.parse_args().names or [*VIEWS]
    with tempfile.TemporaryDirectory(prefix="tracklight-screenshots-") as folder:
        os.environ["TRACKLIGHT_DATA_DIR"] = folder  # do not show the notes of the user
        logdir = Path(folder) / "demo"
        write_demo(logdir)
        with tracklight.serve(logdir, cache=False) as board, sync_playwright() as playwright:
            _wait_until_read(board.url)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for name in names:
                _take(browser, board.url, name)
            browser.close()


def _find_target(name: str) -> Path:
    return DOCS / "board.webp" if name == "board" else DOCS / "dashboards" / f"{name}.webp"


def _take(browser: Browser, url: str, name: str) -> None:
    page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    page.goto(f"{url}?{VIEWS[name]}")
    if name in POINTERS:
        _wait_until_still(page)
        page.mouse.move(*POINTERS[name])
    picture = Image.open(io.BytesIO(_wait_until_still(page)))
    target = _find_target(name)
    picture.convert("RGB").save(target, quality=84, method=6)
    page.close()
    print(f"{target.relative_to(DOCS.parent)}: {target.stat().st_size / 1000:.0f} kB")


def _wait_until_still(page: Page) -> bytes:
    """Take a screenshot when the page no longer changes, or after a timeout."""
    deadline_s = time.monotonic() + _LONGEST_S
    before, picture = b"", page.screenshot()
    while picture != before and time.monotonic() < deadline_s:
        page.wait_for_timeout(_STILL_S * 1000)
        before, picture = picture, page.screenshot()
    return picture


def _wait_until_read(url: str) -> None:
    status = ""
    while status != "ok":
        with urllib.request.urlopen(url + "api/v1/health") as answer:
            status = msgspec.json.decode(answer.read())["status"]


if __name__ == "__main__":
    main()
