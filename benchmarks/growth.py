"""How time and memory grow with the log: ``make bench ARGS="--growth"``.

Three decades of points, runs, tags and viewers are measured: reading the log in a new process,
memory of the server, a query of one chart, the page until its first chart, and the wait of many
viewers. ``--growth runs tags`` measures only some of them. Times are the best of several, since
other programs only add to them. For each, the exponent over the last decade is printed: 1 is linear
growth, 0 means that the size does not matter.

The figures are recorded in ``results.json``; its page has the table, and ``docs/growth.svg`` the
plot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks import board
from benchmarks.browser import open_page, start_chromium, time_first
from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.page import OUR_CHART
from benchmarks.probe import read_log
from benchmarks.read import warm_page_cache
from benchmarks.report import CPU_SHARE, Figure, Growth, fit_growth, update_growth
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
DIMENSIONS = (*SHAPES, "viewers")
_GRAY = "#808080"
_COLORS = {
    "read": "#2f81d6",
    "chart query": "#d9662b",
    "page": "#3f9b5f",
    "memory": "#9a6bd0",
    "chart query, 99 % within": "#d9662b",
    CPU_SHARE: "#2f81d6",
}
_REPEATS = 3
_VIEWING_S = 12.0
#: Connecting many viewers takes a part of the time.
_CONNECTED_PER_S = 50


def main(dimensions: Sequence[str], quick: bool) -> None:
    """Measure, print the table, and record it unless it is a quick run."""
    began = time.monotonic()
    figures: list[Figure] = []
    for by in dimensions or DIMENSIONS:
        figures += _measure_viewers(quick) if by == "viewers" else _measure_logs(by, quick)
    print("\n| measured | figures | exponent |\n| --- | --- | --- |")
    print("\n".join(map(str, fit_growth(figures))))
    print(f"\nmeasured in {(time.monotonic() - began) / 60:.1f} min")
    if not quick:
        draw(fit_growth(update_growth(figures)), PLOT)


def _measure_logs(by: str, quick: bool) -> Iterator[Figure]:
    with start_chromium() as browser:
        for shape in SHAPES[by][:2] if quick else SHAPES[by]:
            size = shape.points if by == "points" else getattr(shape, by)
            print(f"measuring {size:,} {by} …", flush=True)
            for what, value in _measure_log(shape, browser):
                yield Figure(by, size, what, value)


def _measure_viewers(quick: bool) -> Iterator[Figure]:
    for count in VIEWERS[:2] if quick else VIEWERS:
        print(f"measuring {count:,} viewers …", flush=True)
        try:
            duration_s = 3.0 if quick else _VIEWING_S + count / _CONNECTED_PER_S
            load = measure_load(VIEWED, count, duration_s)
        except RuntimeError as error:  # more than this machine can serve: keep the other figures
            print(f"  failed: {error}", flush=True)
            continue
        yield Figure("viewers", count, "chart query, 99 % within", load.get_percentile(99))
        yield Figure("viewers", count, CPU_SHARE, load.cpu_share)


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
    """Draw all figures with logarithmic axes: a column per dimension, times above memory."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Plot

    dimensions = [*dict.fromkeys(growth.by for growth in growths)]
    # Text stays text, and its gray is readable on white and on black.
    style = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _GRAY)
    style |= {"axes.edgecolor": _GRAY, "svg.fonttype": "none", "svg.hashsalt": "growth"}
    with mpl.rc_context(style):
        plot = Plot(figsize=(11, 6), layout="constrained")
        panels = plot.subplots(2, len(dimensions), squeeze=False, sharey="row")
        for by, (upper, lower) in zip(dimensions, panels.T, strict=True):
            for growth in growths:
                if growth.by == by:
                    panel = lower if growth.what == "memory" else upper
                    label = f"{growth.what}: {growth.exponent:.2f}"
                    color = _COLORS[growth.what]
                    panel.loglog(growth.sizes, growth.values, "o-", label=label, color=color)
            (lower if lower.lines else upper).set_xlabel(by)
            for panel in (upper, lower):
                panel.grid(alpha=0.3)
                panel.minorticks_off()
                if panel.lines:  # the legend is above the panel
                    place = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
                    panel.legend(**place, fontsize="small", handlelength=1, frameon=False)
                else:
                    panel.set_visible(False)
            lower.set_yscale("log", base=2)
            lower.yaxis.set_major_formatter("{x:.0f}")
        panels[0, 0].set_ylabel("seconds")
        panels[1, 0].set_ylabel("memory of the server, MiB")
        plot.savefig(path, transparent=True, metadata={"Date": None})
