"""Overhead of `tracklight.debugger`; opening and scrolling a dump of 5 million graph executions.

The overhead is processor time of a training step of a ResNet-18 (batch 32), beside
``torch.autograd.set_detect_anomaly`` and the dump of TensorFlow. A dump is opened beside
TensorFlow's reader, which TensorBoard uses; as that reader takes minutes, it reads a tenth of the
traces and the time is multiplied.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import board
from benchmarks.browser import measure_scrolling, open_page, start_chromium, time_first
from benchmarks.make_logs import get_log
from benchmarks.peers import PeerNotAvailableError
from benchmarks.report import Row, format_s
from tests.archives import extract

_DUMPS = Path(__file__).parents[1] / "tests/data/debug_events/dumps.tar.xz"
_TRACES = 5_000_000
_PEER_SHARE = 10
#: The list of graph executions, and turns of the mouse wheel over it.
_LIST = "[role=table][aria-label='Graph executions']"
_LIST_ROW = f"{_LIST} [role=row]"
_TURNS, _TURN_PX = 200, 400.0
_FRAME_MS = 1000 / 60


def measure(quick: bool) -> Iterator[Row]:
    if importlib.util.find_spec("torch") is None:
        raise PeerNotAvailableError("PyTorch is not installed")
    yield from _measure_overhead(quick)
    yield _measure_scrolling(quick)
    if importlib.util.find_spec("tensorflow") is None:
        raise PeerNotAvailableError("TensorFlow is not installed")
    yield from _measure_opening(quick)


def _measure_overhead(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        rounds, steps, size = ("1", "1", "16") if quick else ("11", "7", "32")
        shares = _run_probe("training", folder, rounds, size)
        peers = f"{shares['anomaly']:.1%} (set_detect_anomaly)"
        if importlib.util.find_spec("tensorflow") is not None:
            dump = _run_probe("dump", f"{folder}/dump", steps, size)
            peers += f", {dump['dump']:.1%} (TensorFlow's dump, FULL_HEALTH)"
    labels = {
        "health": ("outputs and gradients of every step", 0.08),
        "recorder": ("with the flight recorder", 0.15),
        "everything": ("with parameters and updates", None),
    }
    for name, (what, limit) in labels.items():
        share = shares[name]
        yield Row(
            f"Debugger overhead per step, {what}",
            f"{share:.1%}",
            peers,
            None,
            "" if limit is None else f"at most {limit:.0%}",
            limit is None or share <= limit,
        )


def _measure_scrolling(quick: bool) -> Row:
    count = _count_traces(quick)
    folder = get_log(f"debug-dump-{count}", lambda target: write_dump(target, count))
    with start_chromium() as browser, board.start_tracklight(folder) as site:
        with open_page(browser) as page:
            time_first(page, f"{site.url}?tab=debugger&debugger-view=graph_executions", _LIST_ROW)
            box = page.locator(_LIST).bounding_box()
            assert box is not None
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            frame_ms, work_ms = measure_scrolling(page, x, y, _TURNS, _TURN_PX)
            assert page.locator(_LIST).evaluate("it => it.scrollTop") > 0
    return Row(
        f"Debugger dump of {count:,} graph executions: a frame while scrolling",
        f"{work_ms:.1f} ms of the main thread ({frame_ms:.0f} ms between frames)",
        "",
        None,
        "under 16.7 ms of the main thread",
        work_ms < _FRAME_MS,
    )


def _count_traces(quick: bool) -> int:
    return _TRACES // (100 if quick else 1)


def _measure_opening(quick: bool) -> Iterator[Row]:
    count = _count_traces(quick)
    folder = get_log(f"debug-dump-{count}", lambda target: write_dump(target, count))
    small = get_log(
        f"debug-dump-{count // _PEER_SHARE}",
        lambda target: write_dump(target, count // _PEER_SHARE),
    )
    ours, theirs = _run_probe("open", str(folder)), _run_probe("tensorflow", str(small))
    peer_s = _PEER_SHARE * theirs["s"]
    yield Row(
        f"Debugger dump of {count:,} graph executions: opened",
        f"{format_s(ours['s'])}, {ours['mib']:.0f} MiB",
        format_s(peer_s),
        peer_s / ours["s"],
        "under 3 s and 500 MB, 10 times faster",
        ours["s"] < 3 and ours["mib"] < 477 and peer_s > 10 * ours["s"],
    )


def write_dump(folder: Path, traces: int) -> None:
    """Repeat the traces of a small dump."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        extract(_DUMPS, Path(scratch))
        for path in (Path(scratch) / "full_health").iterdir():
            data = path.read_bytes()
            with (folder / path.name).open("wb") as file:
                file.write(data)
                if path.suffix == ".graph_execution_traces":
                    for _ in range(traces // 159 - 1):
                        file.write(data)


def _run_probe(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.debugger_probe", *arguments]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, float] = json.loads(output.splitlines()[-1])
    return result
