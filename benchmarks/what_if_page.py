"""The What-If page in Chromium: first picture, a threshold drag, edits, and a million points.

Times include the browser, which draws without a GPU, and the HTTP requests. CPU time is that of the
server; on a busy machine it says more than the elapsed time.
"""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page

from benchmarks.board import start_tracklight
from benchmarks.browser import (
    open_page,
    read_heap_mib,
    start_chromium,
    time_first,
    time_frames_ms,
)
from benchmarks.make_logs import get_log
from benchmarks.report import Row, Timing, format_s
from benchmarks.website import Website

_FEATURES = 50
_REPEATS = 5
_PLOT = '[role=application][aria-busy=false][data-points="{points}"]'
#: Without a GPU, points are drawn in several frames.
_FIRST = '[role=application]:not([data-drawn="0"])[data-points="{points}"]'
_SLIDER = 'input[type=range][aria-label^="Threshold"]'


def measure(quick: bool) -> Iterator[Row]:
    rows = 5000 if quick else 100_000
    folder = get_log(f"what-if-{rows}", lambda target: write_data(target, rows, _FEATURES))
    with start_chromium() as browser, start_tracklight(folder, f"--data-dir={folder}") as site:
        yield from _measure_first_picture(browser, site, folder, rows)
        yield from _measure_drag(browser, site, folder)
        yield from _measure_requests(site, folder, rows)
    many = 20_000 if quick else 1_000_000
    folder = get_log(f"what-if-{many}-10", lambda target: write_data(target, many, 10))
    with start_chromium() as browser, start_tracklight(folder, f"--data-dir={folder}") as site:
        yield from _measure_many(browser, site, folder, many)


def write_data(folder: Path, rows: int, features: int) -> None:
    """Write features (one in five with categories), a label and a score as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    names = np.array([f"value {code}" for code in range(20)])
    columns: dict[str, Any] = {
        f"x{number}": random.normal(size=rows)
        if number % 5
        else names[random.integers(0, 20, rows)]
        for number in range(features)
    }
    columns["label"] = random.integers(0, 2, rows)
    columns["score"] = np.clip(random.normal(0.4 + 0.2 * columns["label"], 0.2), 0, 1)
    pq.write_table(pa.table(columns), folder / "data.parquet")


def _make_url(site: Website, folder: Path, **settings: str) -> str:
    query = {
        "tab": "what_if",
        "wi-file": str(folder / "data.parquet"),
        "wi-file-label": "label",
        "wi-file-scores": "score",
        **settings,
    }
    return f"{site.url}?{urllib.parse.urlencode(query)}"


def _measure_first_picture(
    browser: Browser, site: Website, folder: Path, rows: int
) -> Iterator[Row]:
    selector = _FIRST.format(points=rows)
    before = site.process.cpu_times()
    with open_page(browser) as page:
        opened_s = time_first(page, _make_url(site, folder), selector)
    after = site.process.cpu_times()
    cpu_s = after.user + after.system - before.user - before.system
    what = f"What-If, {rows:,} rows x {_FEATURES} features, navigation to first picture"
    yield Row(
        f"{what}, with reading the file",
        f"{format_s(opened_s)} (server CPU {format_s(cpu_s)})",
        must="under 1.5 s",
        reached=opened_s < 1.5,
    )
    seconds = []
    for _ in range(3):
        with open_page(browser) as page:
            seconds.append(time_first(page, f"{site.url}?tab=what_if", selector))
    timing = Timing(tuple(seconds))
    yield Row(f"{what}, file is open", timing, must="under 1.5 s",
              reached=timing.median_s < 1.5)  # fmt: skip
    with open_page(browser) as page:
        drawn_s = time_first(page, f"{site.url}?tab=what_if", _PLOT.format(points=rows))
    yield Row("… all points drawn by the processor", format_s(drawn_s))


def _measure_drag(browser: Browser, site: Website, folder: Path) -> Iterator[Row]:
    with open_page(browser) as page:
        page.goto(f"{site.url}?tab=what_if&wi=performance&wi-slice=x0")
        slider = page.locator(_SLIDER).first
        slider.wait_for()
        box = slider.bounding_box()
        assert box is not None
        requests: list[str] = []
        page.wait_for_function("!document.querySelector('main [aria-busy=true]')")
        page.on("request", lambda request: requests.append(request.url))
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 2, y)
        page.mouse.down()
        frames = time_frames_ms(page, box["x"] + 5, box["x"] + box["width"] - 5, y, 200)
        page.mouse.up()
        sent = [url for url in requests if "what_if" in url]
    slow_ms = float(np.percentile(frames, 95))
    text = f"{slow_ms:.1f} ms (median {np.median(frames):.1f} of {len(frames)})"
    yield Row(
        f"Threshold drag with 20 slices, 95 % of frames within; {len(sent)} requests",
        text,
        must="under 20 ms, no request",
        reached=slow_ms < 20 and not sent,
    )


def _measure_requests(site: Website, folder: Path, rows: int) -> Iterator[Row]:
    """Measure edits over HTTP; the model reads a column, so its time is almost nothing."""
    (session,) = [item["session"] for item in site.get("api/v1/what_if/sessions")["sessions"]]

    def edit(number: int) -> None:
        values = {"x1": float(number)}
        site.post("api/v1/what_if/edit", {"session": session, "row": 3, "values": values})

    timing, cpu_s = _time_requests(site, edit)
    yield Row(
        f"Edit of one of {rows:,} rows x {_FEATURES} features over HTTP",
        f"{timing} (server CPU {format_s(cpu_s)})",
        must="under 150 ms",
        reached=timing.median_s < 0.15,
    )

    def find(number: int) -> None:
        site.post("api/v1/what_if/counterfactuals", {"session": session, "row": number})

    timing, cpu_s = _time_requests(site, find)
    yield Row(
        f"Nearest counterfactual among {rows:,} rows over HTTP",
        f"{timing} (server CPU {format_s(cpu_s)})",
    )


def _measure_many(browser: Browser, site: Website, folder: Path, rows: int) -> Iterator[Row]:
    with open_page(browser) as page:
        opened_s = time_first(page, _make_url(site, folder), _PLOT.format(points=rows))
        heap_mib = read_heap_mib(page)
        frames = _pan(page)
    memory = site.measure_memory()
    what = f"What-If, {rows:,} rows x 12 columns"
    yield Row(f"{what}: file read and all points drawn", format_s(opened_s))
    yield Row("… memory of the server", str(memory))
    yield Row("… browser heap without typed arrays", f"{heap_mib:.0f} MiB")
    slow_ms = float(np.percentile(frames, 95))
    yield Row("… pan, 95 % of frames within", f"{slow_ms:.1f} ms (drawn by the processor)")


def _pan(page: Page) -> list[float]:
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    frames = time_frames_ms(page, x, x + 100, y, 60)
    page.mouse.up()
    return frames


def _time_requests(site: Website, call: Callable[[int], None]) -> tuple[Timing, float]:
    """Return elapsed times of requests after a first one, and the median CPU time of one."""
    call(0)
    before = site.process.cpu_times()
    seconds = []
    for number in range(1, _REPEATS + 1):
        start = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - start)
    after = site.process.cpu_times()
    cpu_s = after.user + after.system - before.user - before.system
    return Timing(tuple(seconds)), cpu_s / _REPEATS
