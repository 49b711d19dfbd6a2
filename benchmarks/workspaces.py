"""A workspace with 100 cards: the first screen, and a frame while scrolling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import board
from benchmarks.browser import measure_scrolling, open_page, start_chromium, time_first
from benchmarks.make_logs import FILE_NAME, START_S, get_log
from benchmarks.report import Row, format_s
from benchmarks.website import Website
from tracklight.formats import summary
from tracklight.formats.summary import encode_event, encode_file_version
from tracklight.formats.tfrecord import encode_record

_RUNS, _CARDS, _STEPS = 8, 100, 200
_REPEATS = 3
_TURNS, _TURN_PX = 120, 120.0
_FRAME_MS = 1000 / 60
#: The chart of the last card of the first screen is drawn when all have been requested together.
_DRAWN = "[data-board-card] article[data-points]:not([data-points='0']) canvas"


def measure(quick: bool) -> Iterator[Row]:
    folder = get_log(f"workspace-{_CARDS}", write_log)
    with start_chromium() as browser, board.start_tracklight(folder) as site:
        identifier = _save_document(site)
        url = f"{site.url}?tab=workspaces&workspace={identifier}"
        seconds = []
        for _ in range(1 if quick else _REPEATS):
            with open_page(browser) as page:
                seconds.append(time_first(page, url, _DRAWN))
        with open_page(browser) as page:
            time_first(page, url, _DRAWN)
            box = page.locator("main .viewport").bounding_box()
            assert box is not None
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            frame_ms, work_ms = measure_scrolling(page, x, y, _TURNS, _TURN_PX)
            assert page.locator("main .viewport").evaluate("it => it.scrollTop") > 0
    first_s = float(np.median(seconds))
    yield Row(
        f"Workspace with {_CARDS} cards of {_RUNS} runs: first screen",
        format_s(first_s),
        must="under 1.5 s",
        reached=first_s < 1.5,
    )
    yield Row(
        "… a frame while scrolling",
        f"{work_ms:.1f} ms of the main thread ({frame_ms:.0f} ms between frames)",
        must="under 16.7 ms of the main thread",
        reached=work_ms < _FRAME_MS,
    )


def _save_document(site: Website) -> str:
    """Save the workspace, unless an earlier measurement has saved it."""
    cards: list[dict[str, Any]] = [
        {"id": f"c{number}", "kind": "scalars", "target": _make_tag(number)}
        for number in range(_CARDS)
    ]
    sections = [
        {"id": f"s{start}", "title": f"Section {start // 20}", "cards": cards[start : start + 20]}
        for start in range(0, _CARDS, 20)
    ]
    document = {"id": "bench", "kind": "workspace", "name": "Benchmark", "sections": sections}
    site.put("api/v1/workspaces/document", {"document": document})
    return "bench"


def _make_tag(number: int) -> str:
    return f"group{number // 20}/metric{number:03}"


def write_log(folder: Path) -> None:
    rng = np.random.default_rng(3)
    for run in range(_RUNS):
        path = folder / f"run-{run}" / FILE_NAME
        path.parent.mkdir(parents=True)
        walk = np.cumsum(rng.normal(size=(_STEPS, _CARDS)), axis=0)
        records = [encode_record(encode_file_version(START_S))]
        for step in range(_STEPS):
            values = [
                summary.scalar(_make_tag(number), float(walk[step, number]))
                for number in range(_CARDS)
            ]
            records.append(encode_record(encode_event(START_S + step, step, values)))
        path.write_bytes(b"".join(records))
