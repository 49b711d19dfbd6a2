"""Traces of older versions of PyTorch, which round all times to microseconds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.analysis.profiles.trace_builder import open_chrome
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.timeline import Timeline
from tracklight.analysis.profiles.trace import Trace


class Call(NamedTuple):
    name: str
    parent: str
    start_ns: int
    end_ns: int


def make_calls(seed: int) -> list[Call]:
    """Make nested calls, each of a name of its own, with children of 3 µs or more."""
    generator, calls = random.Random(seed), []

    def add(parent: str, start: int, end: int, depth: int) -> None:
        at = start + generator.randrange(400)
        while end - at > 3_000 and depth < 6:
            length = min(generator.randrange(3_000, 40_000), end - at)
            name = f"aten::op_{len(calls)}"
            calls.append(Call(name, parent, at, at + length))
            add(name, at, at + length, depth + 1)
            at += length + generator.randrange(1_500)

    add("", 0, 2_000_000, 0)
    return calls


def open_rounded(path: Path, calls: list[Call]) -> Trace:
    """Write both the start and the duration of calls in whole microseconds."""
    events = [
        {
            "cat": "cpu_op", "name": call.name,
            "ts": call.start_ns // 1000, "dur": (call.end_ns - call.start_ns) // 1000 + 1,
        }
        for call in calls
    ]  # fmt: skip
    return open_chrome(path, events)


def test_children_stay_inside_their_parents(tmp_path: Path) -> None:
    for seed in range(5):
        calls = make_calls(seed)
        trace = open_rounded(tmp_path / "a.pt.trace.json", calls)
        timeline = Timeline(trace)
        names = [trace.names[name] for name in trace.name.tolist()]
        parent_of = {call.name: call.parent for call in calls}
        found = {
            name: names[parent] if parent >= 0 else ""
            for name, parent in zip(names, timeline.parent.tolist(), strict=True)
        }
        wrong = [name for name in names if found[name] != parent_of[name]]
        assert len(wrong) <= 0.01 * len(names)
        # Every row of the track has events, and nothing is deeper than it was.
        assert set(timeline.lane.tolist()) == set(range(int(timeline.lane.max()) + 1))
        assert timeline.lane.max() <= 6


def test_self_times_add_up(tmp_path: Path) -> None:
    calls = make_calls(1)
    trace = open_rounded(tmp_path / "a.pt.trace.json", calls)
    stats = compute_op_stats(trace)
    assert (stats.self_ps >= 0).all()
    start, end = trace.start_ps, trace.end_ps
    order = np.argsort(start)
    covered, until = 0, 0
    for at in order.tolist():
        covered += max(0, int(end[at]) - max(int(start[at]), until))
        until = max(until, int(end[at]))
    assert stats.self_ps.sum() == covered


def test_ends_move_by_at_most_a_few_microseconds(tmp_path: Path) -> None:
    calls = {call.name: call for call in make_calls(2)}
    trace = open_rounded(tmp_path / "a.pt.trace.json", [*calls.values()])
    for name, duration in zip(trace.name.tolist(), trace.duration_ps.tolist(), strict=True):
        call = calls[trace.names[name]]
        assert abs(duration - 1000 * (call.end_ns - call.start_ns)) < 3_000_000


def test_real_overlaps_are_kept(tmp_path: Path) -> None:
    calls = [Call("a", "", 0, 10_000), Call("b", "", 5_000, 20_000)]
    trace = open_rounded(tmp_path / "a.pt.trace.json", calls)
    assert trace.start_ps.tolist() == [0, 5_000_000]
    assert trace.duration_ps.tolist() == [11_000_000, 16_000_000]
