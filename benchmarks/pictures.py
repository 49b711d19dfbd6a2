"""Thousands of images in one tag: the page in Chromium, and the server's memory.

Page: after loading, from navigation (empty browser cache) until the images of a step are painted.
Step: from moving the slider until the images of that step are painted, with a cold page cache.
TensorBoard keeps ten steps per tag, so only its first image is compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from benchmarks import board, peers
from benchmarks.browser import open_page, start_chromium
from benchmarks.images import empty_page_cache
from benchmarks.make_logs import Images, get_images
from benchmarks.report import Row, Timing, format_s, repeat
from benchmarks.website import Website

TAG = "samples"
LARGEST_GROWTH_MIB = 20
#: Factor by which more images are requested at the end: more than any cache holds.
_ROUNDS = 3

#: Time until the images of a step (of any step if none is given) are painted.
_SEEN = """
step => new Promise(resolve => {
  const sheet = step === null ? '[data-step]' : `[data-step="${step}"]`;
  const look = () => {
    const seen = [...document.querySelectorAll(`${sheet} img`)];
    if (seen.length === 0 || !seen.every(img => img.complete && img.naturalWidth > 0))
      requestAnimationFrame(look);
    // A task that is put off from within a frame runs once that frame is painted.
    else requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  };
  look();
})
"""

_JUMP = f"""
async step => {{
  const slider = document.querySelector('input[type=range][aria-label="Step of all cards"]');
  const start = performance.now();
  slider.value = String(step);
  slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
  return await ({_SEEN.strip()})(step) - start;
}}
"""

_THEIRS = """
() => new Promise(resolve => {
  const find = root => [...root.querySelectorAll('*')].flatMap(element => [
    ...(element.tagName === 'IMG' && /individualImage/.test(element.src) ? [element] : []),
    ...(element.shadowRoot ? find(element.shadowRoot) : []),
  ]);
  const look = () => find(document).some(img => img.complete && img.naturalWidth > 0)
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
    : requestAnimationFrame(look);
  look();
})
"""


def measure(quick: bool) -> Iterator[Row]:
    shape = Images(1, 500, 64, 4) if quick else Images(1, 10_000, 64, 4)
    logdir, times = get_images(shape), 1 if quick else 5
    with start_chromium() as browser:
        with board.start_tracklight(logdir) as site:
            _wait_for_us(site, shape)
            ours = repeat(times, lambda: _time_first(browser, f"{site.url}?tab=images", _SEEN))
            jumps = _time_jumps(browser, site, logdir, shape, 5 if quick else 40)
            growth = _measure_growth(site, shape, 100 if quick else 2_000)
        with peers.start_tensorboard(logdir) as site:
            kept = _wait_for_them(site, shape)
            theirs = repeat(times, lambda: _time_first(browser, f"{site.url}#images", _THEIRS))
    what = f"{shape}, opened until pictures are seen"
    ratio = theirs.median_s / ours.median_s
    seen = f"{theirs}, {kept} steps kept"
    yield Row(what, ours, seen, ratio, "under 1 s", ours.median_s < 1)
    slow_s = float(np.percentile(jumps.seconds, 95))
    what = "Any step of them from disk, moved to until seen"
    text = f"{format_s(jumps.median_s)} (95 % within {format_s(slow_s)} of {len(jumps.seconds)})"
    yield Row(what, text, f"{kept} of the steps", must="under 100 ms", reached=slow_s < 0.1)
    yield growth


def _time_first(browser: Browser, url: str, seen: str) -> float:
    with open_page(browser) as page:
        page.goto(url, wait_until="commit")
        return float(page.evaluate(seen)) / 1000


def _time_jumps(browser: Browser, site: Website, logdir: Path, shape: Images, count: int) -> Timing:
    steps = np.random.default_rng(3).permutation(shape.steps - 1)[:count].tolist()
    with open_page(browser) as page:
        page.goto(f"{site.url}?tab=images")
        page.evaluate(_SEEN)
        return Timing(tuple(_jump(page, logdir, step) for step in steps))


def _jump(page: Page, logdir: Path, step: int) -> float:
    empty_page_cache(logdir)
    return float(page.evaluate(_JUMP, step)) / 1000


def _measure_growth(site: Website, shape: Images, count: int) -> Row:
    """Return the memory of the server before, after some, and after many images."""
    series = site.post("api/v1/images/steps", {"tags": [TAG]})["series"][0]
    places = iter(zip(series["index"], series["fingerprint"], strict=True))
    held = [site.measure_memory().rss_mib]
    for _ in range(_ROUNDS):
        for index, fingerprint in islice(places, count // shape.a_step):
            ask = {"run": series["run"], "tag": TAG, "index": index, "fingerprint": fingerprint}
            _look_at(site, ask, shape.a_step)
        held.append(site.measure_memory().rss_mib)
    what = f"Server's memory before, after {count:,} and after {_ROUNDS * count:,} pictures"
    text = ", ".join(f"{held[at]:.0f}" for at in (0, 1, -1)) + " MiB"
    reached = held[-1] - held[1] < LARGEST_GROWTH_MIB
    return Row(
        what, text, must=f"no more than {LARGEST_GROWTH_MIB} MiB from then on", reached=reached
    )


def _look_at(site: Website, ask: dict[str, str], parts: int) -> None:
    for part in range(parts):
        site.read("api/v1/images/thumbnail", **ask, part=str(part), size="256")
        site.read("api/v1/images/pixels", **ask, part=str(part), width="8", height="8")


def _wait_for_us(site: Website, shape: Images) -> None:
    while board.read_last_step(site, "run_000", TAG) < shape.steps - 1:
        time.sleep(0.1)


def _wait_for_them(site: Website, shape: Images) -> int:
    """Wait until TensorBoard has read all steps, and return how many it kept."""
    while True:
        tags = site.get("data/plugin/images/tags")
        if TAG in tags.get("run_000", {}):
            ask = {"run": "run_000", "tag": TAG, "sample": "0"}
            kept = site.get("data/plugin/images/images", **ask)
            if kept and kept[-1]["step"] == shape.steps - 1:
                return len(kept)
        time.sleep(0.1)
