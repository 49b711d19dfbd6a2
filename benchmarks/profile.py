"""Profiler captures: time and memory for overview and timeline.

Compared with xprof (TensorFlow and JAX) if it is installed here or in the Python that XPROF_PYTHON
names; PyTorch captures have no other reader. Captures are repeated small real ones; PROFILE_CAPTURE
names another JAX capture.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks import board
from benchmarks.browser import open_page, start_chromium, time_first, time_frames_ms
from benchmarks.make_profiles import get_file, get_kineto, get_xplane
from benchmarks.profile_probe import Taken, count_events, look, look_with_xprof
from benchmarks.report import Row, Timing, format_s

_TIMES = 5
#: Number of copies for 23 MB, a million events, and a million events with stacks in 256 MB.
_JAX, _MANY, _TORCH = 3_300, 5_000, 191
_TRACE = "[role=application][data-complete=true]"
_FLAME_GRAPH = "[role=group][aria-label='Flame graph'] button"
_MOVES = 120
_NO_XPROF = "xprof is not installed"


def measure(quick: bool) -> Iterator[Row]:
    shrink = 100 if quick else 1
    given = os.environ.get("PROFILE_CAPTURE")
    jax = Path(given) if given else get_file(get_xplane(_JAX // shrink))
    what = f"Capture of JAX, {jax.stat().st_size / 1e6:.1f} MB"
    yield from _compare(f"{what}: overview", "overview", jax, least=5, most_mib=286)
    yield from _compare(f"{what}: timeline, first picture", "timeline", jax, least=8)
    torch = get_kineto(_TORCH // min(shrink, 50))
    yield from _measure_torch(get_file(torch))
    yield from _measure_flame_graph(torch)
    yield from _measure_pan(get_xplane(_MANY // shrink))


def _compare(
    what: str, tool: str, path: Path, *, least: float, most_mib: float | None = None
) -> Iterator[Row]:
    # Alternating, so that temporary slowdowns affect both.
    rounds = [(look(tool, path), look_with_xprof(tool, path)) for _ in range(_TIMES)]
    ours, theirs = map(list, zip(*rounds, strict=True))
    known = [taken for taken in theirs if taken is not None]
    ratio = _time(known).median_s / _time(ours).median_s if known else None
    yield Row(
        what,
        str(_time(ours)),
        str(_time(known)) if known else _NO_XPROF,
        ratio,
        f"at least {least:g}x",
        None if ratio is None else ratio >= least,
    )
    mib = max(taken.mib for taken in ours)
    yield Row(
        "… memory at its most",
        f"{mib:.0f} MiB",
        f"{max(taken.mib for taken in known):.0f} MiB" if known else "",
        None,
        "" if most_mib is None else "under 300 MB",
        None if most_mib is None else mib < most_mib,
    )


def _time(taken: list[Taken]) -> Timing:
    return Timing(tuple(item.seconds for item in taken))


def _measure_torch(path: Path) -> Iterator[Row]:
    taken = look("overview", path)
    what = f"Capture of PyTorch with stacks, {path.stat().st_size / 1e6:.0f} MB: overview"
    yield Row(what, format_s(taken.seconds), must="under 6 s", reached=taken.seconds < 6)
    memory = f"{taken.mib:.0f} MiB"
    yield Row("… memory at its most", memory, must="under 700 MB", reached=taken.mib < 667)


def _measure_flame_graph(folder: Path) -> Iterator[Row]:
    """Time the flame graph of a capture that is open, alone and in the page."""
    path = get_file(folder)
    merged = [look("flame graph", path) for _ in range(_TIMES)]
    events = count_events(path)
    must = "under 1 s" if events >= 1e6 else ""
    seconds = _time(merged).median_s
    yield Row(
        f"Flame graph of {events / 1e6:.2f} million events once they are read",
        str(_time(merged)),
        must=must,
        reached=seconds < 1 if must else None,
    )
    with (
        start_chromium() as browser,
        board.start_tracklight(folder) as site,
        open_page(browser) as page,
    ):
        # The overview reads the capture.
        time_first(page, f"{site.url}?tab=profile&tool=overview", "[data-tool=overview]")
        page.get_by_role("button", name="Flame graph", exact=True).wait_for()
        start = time.perf_counter()
        page.get_by_role("button", name="Flame graph", exact=True).click()
        page.wait_for_selector(_FLAME_GRAPH)
        shown_s = time.perf_counter() - start
    yield Row(
        "… in the page, from the click",
        format_s(shown_s),
        must=must,
        reached=shown_s < 1 if must else None,
    )


def _measure_pan(folder: Path) -> Iterator[Row]:
    with (
        start_chromium() as browser,
        board.start_tracklight(folder) as site,
        open_page(browser) as page,
    ):
        first_s = time_first(page, f"{site.url}?tab=profile&tool=trace", _TRACE)
        frames_ms = _pan(page)
    usual_ms, slow_ms = (float(np.percentile(frames_ms, part)) for part in (50, 95))
    megabytes = get_file(folder).stat().st_size / 1e6
    yield Row(f"Timeline of {megabytes:.0f} MB in the page: first picture", format_s(first_s))
    yield Row(
        "… a frame while it is dragged along",
        f"{usual_ms:.0f} ms (95 % within {slow_ms:.0f} ms)",
        must="under 33 ms",
        reached=usual_ms < 33.4,
    )


def _pan(page: Page) -> list[float]:
    """Return the frame times while dragging by a tenth of the trace."""
    picture = page.locator(_TRACE)
    picture.focus()
    for _ in range(6):
        page.keyboard.press("w")
    page.wait_for_selector(_TRACE)
    box = picture.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 20, y)
    page.mouse.down()
    frames_ms = time_frames_ms(page, box["x"] + box["width"] - 20, box["x"] + 20, y, _MOVES)
    page.mouse.up()
    return frames_ms
