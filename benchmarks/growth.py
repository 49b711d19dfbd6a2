"""How time and memory grow with the log: ``make bench ARGS="--growth"``.

Three decades of points, runs, tags and viewers are measured: reading the log in a new process,
memory of the server, a query of one chart, the page until its first chart, and the wait of many
viewers. Times are the best of several, since other programs only add to them. For each, the
exponent over the last decade is printed: 1 is linear growth, 0 means that the size does not matter.
The plot in ``docs/growth.svg`` is drawn from the same figures.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks import board
from benchmarks.browser import open_page, start_chromium, time_first
from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.page import OUR_CHART
from benchmarks.probe import read_log
from benchmarks.read import warm_page_cache
from benchmarks.report import Figure, Growth, describe_machine, fit_growth
from benchmarks.viewers import measure_load, wait_until_read
from benchmarks.website import Website

PLOT = Path(__file__).parents[1] / "docs" / "growth.svg"
#: Of each kind of log, the shapes in decades.
SHAPES = {
    "points": [Scalars(20, 20, steps) for steps in (10, 100, 1_000, 10_000)],
    "runs": [Scalars(runs, 2, 10) for runs in (10, 100, 1_000, 10_000)],
    "tags": [Scalars(1, tags, 10) for tags in (10, 100, 1_000, 10_000)],
}
VIEWERS = (1, 10, 100, 1_000)
VIEWED = Scalars(100, 10, 100)
_REPEATS = 3
_VIEWING_S = 12.0
#: Connecting many viewers takes a part of the time.
_CONNECTED_PER_S = 50


def main(quick: bool) -> None:
    """Measure, print the table and draw the plot."""
    began = time.monotonic()
    growths = fit_growth([*_measure(quick)])
    print(f"\n{describe_machine()}\n")
    print("| measured | figures | exponent |\n| --- | --- | --- |")
    print("\n".join(map(str, growths)))
    print(f"\nmeasured in {(time.monotonic() - began) / 60:.1f} min")
    if not quick:
        draw(growths, PLOT)


def _measure(quick: bool) -> Iterator[Figure]:
    with start_chromium() as browser:
        for by, shapes in SHAPES.items():
            for shape in shapes[:2] if quick else shapes:
                size = shape.points if by == "points" else getattr(shape, by)
                print(f"measuring {size:,} {by} …", flush=True)
                for what, value in _measure_log(shape, browser):
                    yield Figure(by, size, what, value)
    for count in VIEWERS[:2] if quick else VIEWERS:
        print(f"measuring {count:,} viewers …", flush=True)
        try:
            duration_s = 3.0 if quick else _VIEWING_S + count / _CONNECTED_PER_S
            load = measure_load(VIEWED, count, duration_s)
        except RuntimeError as error:  # more than this machine can serve: keep the other figures
            print(f"  failed: {error}", flush=True)
            continue
        yield Figure("viewers", count, "chart query, 99 % within", load.get_percentile(99))
        yield Figure("viewers", count, "processor time of the server per second", load.cpu_share)


def _measure_log(shape: Scalars, browser: Browser) -> Iterator[tuple[str, float]]:
    logdir = get_scalars(shape)
    warm_page_cache(logdir)
    yield "read", min(read_log(logdir).seconds for _ in range(_REPEATS))
    with board.start_tracklight(logdir) as site:
        wait_until_read(site, shape)
        yield "chart query", min(_time_query(site) for _ in range(_REPEATS))
        yield "memory", site.measure_memory().pss_mib
        yield "page", min(_time_page(browser, site) for _ in range(_REPEATS))


def _time_query(site: Website) -> float:
    began = time.perf_counter()
    site.post("api/v1/scalars/query", {"charts": [{"id": "0", "tags": ["metric/00000"]}]})
    return time.perf_counter() - began


def _time_page(browser: Browser, site: Website) -> float:
    with open_page(browser) as page:
        return time_first(page, site.url, OUR_CHART)


def draw(growths: list[Growth], path: Path) -> None:
    """Draw all figures with logarithmic axes, one panel per dimension."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Plot

    mpl.rcParams["svg.hashsalt"] = "growth"
    dimensions = [*dict.fromkeys(growth.by for growth in growths)]
    plot = Plot(figsize=(11, 3.4), layout="constrained")
    panels = plot.subplots(1, len(dimensions), squeeze=False)[0]
    for panel, by in zip(panels, dimensions, strict=True):
        for growth in growths:
            if growth.by == by:
                unit = "MiB" if growth.what == "memory" else "s"
                panel.loglog(growth.sizes, growth.values, "o-", label=f"{growth.what} ({unit})")
        panel.set_xlabel(by)
        panel.grid(alpha=0.3)
        panel.legend(fontsize="x-small")
    plot.savefig(path, metadata={"Date": None})
