"""The page in Chromium, compared with TensorBoard's page.

- First response: from process start to the first byte over HTTP, with 4 million points to read.
- First chart: after loading, from navigation (empty browser cache) until a chart is drawn.
- One tag in 500 runs: from the request after a change of the smoothing until the chart is drawn.
- Hover: frame times while the pointer crosses that chart.
- Filter: from the key press until the list of 10,000 runs is repainted.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from benchmarks import board, peers
from benchmarks.browser import open_page, read_heap_mib, start_chromium, time_first, time_frames_ms
from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.report import Row, Timing, format_s, repeat
from benchmarks.website import Website

Start = Callable[[Path], AbstractContextManager[Website]]

OUR_CHART = "[data-drawn]:not([data-drawn='0'])"
#: The lines are canvas pixels, so the first row of the table below is used instead.
THEIR_CHART = "scalar-card tb-data-table-content-row"
MAX_START_S, MAX_CHART_S, MAX_LINES_S = 0.25, 0.5, 0.15
LARGEST_WIRE_BYTES = 2_000_000
_WEIGHED_EVERY = 25
LARGEST_CODE_BYTES = 250_000
LARGEST_HEAP_MIB = 300

#: From the last scalars request until the chart with its response is drawn.
_QUERY_AND_DRAW = """
async () => {
  const seen = performance.getEntriesByType('resource').length;
  document.querySelector('[aria-label="Smoothing"][type=range]').stepUp(50);
  document.querySelector('[aria-label="Smoothing"][type=range]')
    .dispatchEvent(new Event('input', { bubbles: true }));
  for (;;) {
    await new Promise(resolve => requestAnimationFrame(resolve));
    const asked = performance.getEntriesByType('resource').slice(seen)
      .filter(entry => entry.name.endsWith('api/v1/scalars/query')).at(-1);
    const drawn = performance.getEntriesByName('chart-drawn').at(-1);
    if (asked && drawn && drawn.startTime > asked.responseEnd)
      return { ms: drawn.startTime - asked.startTime, bytes: asked.encodedBodySize };
  }
}
"""

_FILTER = """
async text => {
  const box = document.querySelector('[role=searchbox][aria-label="Filter runs"], ' +
    'input[type=search][aria-label="Filter runs"]');
  const names = () => [...document.querySelectorAll('[role=row][data-run]')]
    .map(row => row.dataset.run).join();
  const before = names();
  const start = performance.now();
  box.value = text;
  box.dispatchEvent(new Event('input', { bubbles: true }));
  while (names() === before) await new Promise(resolve => requestAnimationFrame(resolve));
  // A task that is put off from within a frame runs once that frame is painted.
  await new Promise(resolve => setTimeout(resolve));
  return performance.now() - start;
}
"""

_CODE_BYTES = """
() => performance.getEntriesByType('resource')
  .filter(entry => /[.](js|css)$/.test(new URL(entry.name).pathname))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)
"""


def measure_start(quick: bool) -> Iterator[Row]:
    shape = Scalars(4, 20, 2_000) if quick else Scalars(20, 20, 10_000)
    logdir = get_scalars(shape)
    # Alternating, so that temporary slowdowns affect all of them.
    rounds = [
        (
            _time_answer(board.start_tracklight, logdir),
            _time_answer(peers.start_tensorboard, logdir),
            _time_numpy(),
        )
        for _ in range(1 if quick else 7)
    ]
    ours, theirs, numpy = map(Timing, zip(*rounds, strict=True))
    ratio = theirs.median_s / ours.median_s
    what = f"Process start to first answer, {shape}"
    yield Row(what, ours, theirs, ratio, "under 0.25 s", ours.median_s < MAX_START_S)
    what = "… beside a process that imports NumPy and ends"
    yield Row(what, ours, numpy, numpy.median_s / ours.median_s)


def measure_first_chart(quick: bool) -> Iterator[Row]:
    shape = Scalars(4, 20, 2_000) if quick else Scalars(20, 20, 10_000)
    logdir, times = get_scalars(shape), 1 if quick else 4
    taken: list[Timing] = []
    with start_chromium() as browser:
        # Alternating, so that temporary slowdowns affect both.
        for _ in range(1 if quick else 3):
            with board.start_tracklight(logdir) as site:
                _wait(site, board.read_last_step, shape)
                taken.append(repeat(times, lambda: _time_chart(browser, site.url, OUR_CHART)))
                code = _weigh_code(browser, site.url)
            with peers.start_tensorboard(logdir) as site:
                _wait(site, peers.read_last_step, shape)
                taken.append(repeat(times, lambda: _time_chart(browser, site.url, THEIR_CHART)))
    yield code
    ours, theirs = _join(taken[::2]), _join(taken[1::2])
    ratio = theirs.median_s / ours.median_s
    reached = ours.median_s < MAX_CHART_S and ratio >= 7
    what = f"Navigation to first drawn chart, {shape}"
    yield Row(what, ours, theirs, ratio, "under 0.5 s, at least 7x", reached)


def _join(timings: list[Timing]) -> Timing:
    return Timing(tuple(seconds for timing in timings for seconds in timing.seconds))


def measure_many_lines(quick: bool) -> Iterator[Row]:
    shape = Scalars(50, 1, 2_000) if quick else Scalars(500, 1, 10_000)
    logdir = get_scalars(shape)
    with start_chromium() as browser:
        with board.start_tracklight(logdir) as site, open_page(browser) as page:
            _wait(site, board.read_last_step, shape)
            time_first(page, site.url, OUR_CHART)
            page.wait_for_function(f"document.querySelector('[data-drawn=\"{shape.runs}\"]')")
            drawn = [page.evaluate(_QUERY_AND_DRAW) for _ in range(1 if quick else 7)]
            frames = _hover(page)
    size = max(answer["bytes"] for answer in drawn)
    timing = Timing(tuple(answer["ms"] / 1000 for answer in drawn))
    slow_ms = float(np.percentile(frames, 95))
    what = f"One tag over {shape.runs} runs of {shape.steps:,} points"
    yield Row(
        f"{what}, asked and drawn",
        timing,
        must="under 150 ms",
        reached=timing.median_s < MAX_LINES_S,
    )
    theirs = f"{_weigh_json(logdir, shape) / 1e6:.1f} MB of JSON, all points"
    ours, reached = f"{size / 1e6:.2f} MB", size < LARGEST_WIRE_BYTES
    yield Row(f"{what}, on the wire", ours, theirs, must="under 2 MB", reached=reached)
    text = f"{slow_ms:.1f} ms (median {np.median(frames):.1f} of {len(frames)})"
    what = f"Hover over {shape.runs} lines, 95 % of frames within, drawn by the processor"
    yield Row(what, text, must="under 20 ms", reached=slow_ms < 20)


def measure_many_runs(quick: bool) -> Iterator[Row]:
    shape = Scalars(200, 10, 2) if quick else Scalars(10_000, 100, 2)
    with start_chromium() as browser:
        with board.start_tracklight(get_scalars(shape)) as site, open_page(browser) as page:
            _wait_for_all(site, shape)
            opened = repeat(1 if quick else 3, lambda: time_first(page, site.url, OUR_CHART))
            keys = [page.evaluate(_FILTER, text) for text in ("9", "99", "9", "")]
            heap_mib = read_heap_mib(page)
    yield Row(f"Page usable, {shape}", str(opened), must="under 2 s", reached=opened.median_s < 2)
    slowest = max(keys) / 1000
    what = "Filter of the runs, keystroke to repaint, slowest"
    yield Row(what, format_s(slowest), must="under 50 ms", reached=slowest < 0.05)
    reached = heap_mib < LARGEST_HEAP_MIB
    yield Row("Browser heap then", f"{heap_mib:.0f} MiB", must="under 300 MiB", reached=reached)


def _time_answer(start: Start, logdir: Path) -> float:
    """Return the seconds until the first response after the URL was printed."""
    began = time.perf_counter()
    with start(logdir) as site:
        while True:
            try:
                with urllib.request.urlopen(site.url, timeout=60) as answer:
                    answer.read(1)
                    return time.perf_counter() - began
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.005)


def _time_numpy() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return time.perf_counter() - began


def _time_chart(browser: Browser, url: str, selector: str) -> float:
    with open_page(browser) as page:
        return time_first(page, url, selector)


def _weigh_code(browser: Browser, url: str) -> Row:
    with open_page(browser) as page:
        time_first(page, url, OUR_CHART)
        size = int(page.evaluate(_CODE_BYTES))
    what, must = "The page's own code for shell and Scalars, compressed", "under 250 KB"
    return Row(what, f"{size / 1000:.0f} KB", must=must, reached=size < LARGEST_CODE_BYTES)


def _hover(page: Page) -> list[float]:
    box = page.locator(OUR_CHART).first.bounding_box()
    assert box is not None
    right, y = box["x"] + box["width"] - 5, box["y"] + box["height"] / 2
    return time_frames_ms(page, box["x"] + 60, right, y, 300)


def _weigh_json(logdir: Path, shape: Scalars) -> float:
    """Return the bytes that TensorBoard sends for the same tag with all points kept.

    Some runs stand for all, as their values have the same distribution.
    """
    runs, path = shape.run_names[::_WEIGHED_EVERY], "data/plugin/scalars/scalars"
    with peers.start_tensorboard(logdir, "--samples_per_plugin=scalars=10000000") as site:
        _wait(site, peers.read_last_step, shape, runs)
        sizes = [len(site.read(path, run=run, tag="metric/00000")) for run in runs]
    return sum(sizes) / len(runs) * shape.runs


def _wait(
    site: Website,
    read_last_step: Callable[..., int],
    shape: Scalars,
    runs: Sequence[str] | None = None,
) -> None:
    for run in shape.run_names if runs is None else runs:
        while read_last_step(site, run, "metric/00000") < shape.steps - 1:
            time.sleep(0.1)


def _wait_for_all(site: Website, shape: Scalars) -> None:
    while (
        site.get("api/v1/status")["status"]["loading"]
        or len(site.get("api/v1/runs")["runs"]) < shape.runs
    ):
        time.sleep(0.2)
