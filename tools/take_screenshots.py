"""Take the screenshots of the docs: ``python -m tools.take_screenshots [--chinese] [NAME ...]``.

Writes and serves the demo log and opens each dashboard in Chromium, in both themes; the site shows
the screenshot of the reader's theme. It is taken when the page no longer changes, or after a
timeout for pages with videos.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tools.chromium import find_chromium
from tracklight.cli.demo import write_demo

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE: ViewportSize = {"width": 1440, "height": 900}
#: The query string of each picture: that of the README, and one for each page in docs/dashboards.
VIEWS = {
    "board": "tab=scalars&runs=sweep",
    "scalars": "tab=scalars&runs=sweep",
    "workspaces": "tab=workspaces&runs=sweep",
    "runs": 'tab=runs&rt-filter=last("accuracy") > 0.6&rt-sort=-last:accuracy',
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
    "debugger": "tab=debugger&debugger-run=divergence/lr=0.5",
    "profile": "tab=profile&runs=flowers/before",
    "overview": "tab=overview",
    "fairness": "tab=fairness",
    "what_if": (
        "tab=what_if&wi-file={logdir}/lending/applications.csv&wi-file-label=repaid"
        "&wi-file-scores=predictions__probabilities"
    ),
}
#: The cards of the workspace: kind, target, settings and height.
WORKSPACE = (
    ("scalars", "accuracy", {}, 280),
    ("scalars", "loss", {}, 280),
    ("histograms", "conv1/weights", {}, 280),
    ("images", "predictions", {}, 400),
    ("hparams", "importance", {"hp": "importance"}, 400),
    ("pr_curves", "pr/disc", {}, 400),
)
#: Pointer position, to show the tooltip there.
POINTERS = {"board": (560, 270), "scalars": (760, 270)}
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
_STILL_S = 1.0
_LONGEST_S = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(VIEWS))
    # Sphinx uses these in the Chinese site. They need a font with Chinese characters.
    parser.add_argument("--chinese", action="store_true", help="the page in Simplified Chinese")
    arguments = parser.parse_args()
    names = arguments.names or [*VIEWS]
    language = "zh-CN" if arguments.chinese else "en"
    if arguments.chinese and not _has_chinese_font():
        sys.exit("no font has Chinese characters; install one, such as fonts-noto-cjk")
    with tempfile.TemporaryDirectory(prefix="tracklight-screenshots-") as folder:
        os.environ["TRACKLIGHT_DATA_DIR"] = folder  # do not show the notes of the user
        logdir = Path(folder) / "demo"
        write_demo(logdir)
        with _serve(logdir) as url, sync_playwright() as playwright:
            _wait_until_read(url)
            _save_workspace(url)
            browser = playwright.chromium.launch(
                executable_path=find_chromium(), args=["--no-sandbox"]
            )
            for name in names:
                view = f"{url}?{VIEWS[name].format(logdir=logdir)}"
                for theme in THEMES:
                    _take(browser, view, _get_target(name, language, theme), name, theme)
            browser.close()


def _save_workspace(url: str) -> None:
    """Create the workspace that the server opens first."""
    cards = [
        {
            "id": f"card{number}",
            "kind": kind,
            "target": target,
            "settings": set_to,
            "height": height,
        }
        for number, (kind, target, set_to, height) in enumerate(WORKSPACE)
    ]
    sections = [
        {"id": "metrics", "title": "Metrics", "cards": cards[:3]},
        {"id": "evaluation", "title": "Evaluation", "cards": cards[3:]},
    ]
    document = {"id": "demo", "kind": "workspace", "name": "Demo", "sections": sections}
    request = urllib.request.Request(
        f"{url}api/v1/workspaces/document",
        msgspec.json.encode({"document": document}),
        {"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request) as answer:
        answer.read()


def _has_chinese_font() -> bool:
    """Return whether fontconfig finds a font; without one, screenshots show empty boxes."""
    command = ["fc-list", ":lang=zh", "family"]
    return bool(subprocess.run(command, check=True, capture_output=True).stdout.strip())


@contextmanager
def _serve(logdir: Path) -> Iterator[str]:
    """Serve a log and its data files as `tracklight demo` does; yield the URL."""
    command = [
        sys.executable,
        "-m",
        "tracklight",
        "--logdir",
        str(logdir),
        "--data-dir",
        str(logdir),
    ]
    command += ["--port", "0", "--no-config", "--no-cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[2]
        finally:
            process.terminate()


def _get_target(name: str, language: str, theme: Theme) -> Path:
    suffixes = [".dark"] if theme == "dark" else []
    suffixes += [] if language == "en" else [f".{language.replace('-', '_')}"]
    folder = DOCS if name == "board" else DOCS / "dashboards"
    return folder / f"{name}{''.join(suffixes)}.webp"


def _take(browser: Browser, url: str, target: Path, name: str, theme: Theme) -> None:
    language = "zh-CN" if "zh_CN" in target.name else "en"
    page = browser.new_page(
        viewport=SIZE, color_scheme=theme, reduced_motion="reduce", locale=language
    )
    page.goto(url)
    if name in POINTERS:
        _wait_until_still(page)
        page.mouse.move(*POINTERS[name])
    picture = Image.open(io.BytesIO(_wait_until_still(page)))
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
