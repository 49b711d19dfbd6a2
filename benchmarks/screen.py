"""Live pages: latency from flush to screen, and a soak test.

Latency: from appending a point until the chart in Chromium has drawn the step. Soak: ten pages show
a log that grows by one point per tag and second; at the end every page must show the last step of
every run, and the server must use no more memory than after the first minute. The soak takes ten
minutes and runs only if it is named.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks import board
from benchmarks.browser import open_page, start_chromium
from benchmarks.make_logs import FILE_NAME, scalar_record, version_record
from benchmarks.report import Row, format_s
from tracklight.formats.tfrecord import encode_record

PAGES = 10
TAGS = [f"train/metric_{number}" for number in range(6)]
RUNS = ["one", "two", "three"]
_SHOWS = "step => Number(document.querySelector('[data-card]')?.dataset.lastStep ?? -1) >= step"
_LAST_STEPS = "() => [...document.querySelectorAll('[data-card]')].map(c => +c.dataset.lastStep)"


class GrowingLog:
    """A log to which one point per run and tag is appended at a time."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / run / FILE_NAME for run in RUNS]
        for path in self._paths:
            path.parent.mkdir()
            path.write_bytes(encode_record(version_record()))

    def append(self, step: int) -> None:
        now = time.time()
        value = float(np.exp(-step / 100))
        records = b"".join(encode_record(scalar_record(tag, step, now, value)) for tag in TAGS)
        for path in self._paths:
            with path.open("ab") as file:
                file.write(records)


def measure(quick: bool) -> Iterator[Row]:
    delays = []
    with tempfile.TemporaryDirectory() as folder, start_chromium() as browser:
        log = GrowingLog(Path(folder))
        log.append(0)
        with board.start_tracklight(Path(folder)) as site, open_page(browser) as page:
            page.goto(site.url)
            _wait_for_step(page, 0)
            for step in range(1, 6 if quick else 41):
                time.sleep(0.3)
                log.append(step)
                start = time.perf_counter()
                _wait_for_step(page, step)
                delays.append(time.perf_counter() - start)
    slow_s = float(np.percentile(delays, 95))
    text = f"{format_s(slow_s)} (median {format_s(float(np.median(delays)))})"
    yield Row(
        "Point flushed to point on screen, 95 % within", text, must="under 1 s", reached=slow_s < 1
    )


def soak(quick: bool) -> Iterator[Row]:
    seconds = 60 if quick else 600
    with tempfile.TemporaryDirectory() as folder, start_chromium() as browser, ExitStack() as stack:
        log = GrowingLog(Path(folder))
        log.append(0)
        site = stack.enter_context(board.start_tracklight(Path(folder)))
        pages = [stack.enter_context(open_page(browser)) for _ in range(PAGES)]
        for page in pages:
            page.goto(site.url)
        held: list[float] = []
        step, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            step += 1
            log.append(step)
            time.sleep(1)
            if step % 10 == 0:
                held.append(site.measure_memory().rss_mib)
        for page in pages:
            _wait_for_step(page, step)
        behind = sum(min(page.evaluate(_LAST_STEPS)) < step for page in pages)
    early, late = held[len(held) // 10], held[-1]
    what = f"{PAGES} pages for {seconds // 60} min on a log that grows"
    yield Row(f"{what}: pages that miss a point", str(behind), must="0", reached=behind == 0)
    text = f"{early:.0f} MiB after a tenth of it, {late:.0f} MiB at the end"
    yield Row(f"{what}: memory of the server", text, must="flat", reached=late < early * 1.1)


def _wait_for_step(page: Page, step: int) -> None:
    page.wait_for_function(_SHOWS, arg=step)
