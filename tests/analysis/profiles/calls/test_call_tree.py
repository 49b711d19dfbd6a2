"""Call trees against a plain recomputation from raw events."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.analysis.profiles.raw_captures import RawEvent, read_raw
from tests.analysis.profiles.sample_captures import DATA, open_file
from tests.analysis.profiles.trace_builder import DEVICE, EventSpec, make_trace
from tracklight.analysis.profiles import calls
from tracklight.analysis.profiles.calls import (
    CallSelection,
    CallTree,
    build_call_tree,
    list_frame_kinds,
    merge_trees,
    select_visible,
)
from tracklight.analysis.profiles.ops import assign_ops
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.trace import Trace

CAPTURE = "torch_modules.pt.trace.json.gz"
Paths = dict[tuple[str, ...], tuple[int, int, int]]


def build(trace: Trace, **selection: object) -> CallTree:
    steps = detect_steps(trace)
    return build_call_tree(trace, steps, assign_ops(trace), CallSelection(**selection))  # type: ignore[arg-type]


def list_paths(tree: CallTree) -> Paths:
    """Return the calls, total and self time of each stack."""
    paths: list[tuple[str, ...]] = []
    rows: Paths = {}
    for node, (name, parent) in enumerate(zip(tree.names, tree.parent.tolist(), strict=True)):
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
        times = int(tree.counts[node]), int(tree.total_ps[node]), int(tree.self_ps[node])
        rows[paths[-1]] = times
    return rows


@dataclass
class Call:
    path: tuple[str, ...]
    end_ps: int
    total_ps: int
    self_ps: int


def merge_raw(events: list[RawEvent]) -> Paths:
    """Merge the calls of each thread by their stack, event by event."""
    threads: dict[str, list[RawEvent]] = defaultdict(list)
    for event in events:
        threads[event.thread].append(event)
    calls: list[Call] = []
    for thread, own in threads.items():
        running: list[Call] = []
        for event in sorted(own, key=lambda each: (each.start_ps, -each.end_ps)):
            while running and running[-1].end_ps <= event.start_ps:
                running.pop()
            duration = event.end_ps - event.start_ps
            call = Call((thread, event.name), event.end_ps, duration, duration)
            for caller in reversed(running):
                inside = min(event.end_ps, caller.end_ps) - event.start_ps
                if 2 * inside >= duration:  # the innermost call that most of the event is in
                    call.path = (*caller.path, event.name)
                    caller.self_ps -= inside
                    break
            running.append(call)
            calls.append(call)
    merged: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for call in calls:
        row = merged[call.path]
        row[0], row[1], row[2] = row[0] + 1, row[1] + call.total_ps, row[2] + max(call.self_ps, 0)
    return {path: (row[0], row[1], row[2]) for path, row in merged.items()}


def test_equals_plain_recomputation() -> None:
    raw = [
        event
        for event in read_raw(DATA / CAPTURE)
        if not event.on_device and event.end_ps > event.start_ps
    ]
    expected, rows = merge_raw(raw), list_paths(build(open_file(CAPTURE)))
    # Threads are named otherwise in the file.
    ours = {path[1:]: times for path, times in rows.items() if len(path) > 1}
    theirs: dict[tuple[str, ...], tuple[int, int, int]] = {}
    for path, times in expected.items():
        if len(path) > 1:
            known = theirs.get(path[1:], (0, 0, 0))
            theirs[path[1:]] = tuple(map(sum, zip(known, times, strict=True)))  # type: ignore[assignment]
    assert ours.keys() == theirs.keys()
    for path, (count, total, own) in theirs.items():
        assert ours[path][0] == count, path
        assert ours[path][1:] == pytest.approx((total, own), abs=20_000), path  # rounded in JSON
    assert len(ours) > 300


def test_device_time_is_that_of_all_kernels_below_the_ops_that_launched_them() -> None:
    tree = build(open_file(CAPTURE), time_on="device", frames="ops")
    kernels = [
        event
        for event in read_raw(DATA / CAPTURE)
        if event.on_device and event.category != "gpu_user_annotation"
    ]
    total = sum(event.end_ps - event.start_ps for event in kernels)
    assert int(tree.total_ps[tree.parent < 0].sum()) == pytest.approx(total, rel=1e-4)
    assert int(tree.self_ps.sum()) == int(tree.total_ps[tree.parent < 0].sum())
    parents = {tree.names[at] for at in tree.parent[tree.parent >= 0].tolist()}
    leaves = {name: int(n) for name, n in zip(tree.names, tree.counts, strict=True)}
    gemm = next(name for name in leaves if "sgemm_64x64" in name)
    node = tree.names.index(gemm)
    assert tree.names[int(tree.parent[node])] in ("aten::addmm", "aten::mm")
    assert gemm not in parents


def test_modules_contain_modules() -> None:
    assert list_frame_kinds(open_file(CAPTURE)) == ["all", "ops", "python", "modules"]
    paths = list_paths(build(open_file(CAPTURE), frames="modules", by_track=False))
    prefix = "nn.Module: "
    assert {tuple(name.removeprefix(prefix) for name in path) for path in paths} == {
        ("Sequential_0",),
        ("Sequential_0", "Linear_0"),
        ("Sequential_0", "ReLU_0"),
        ("Sequential_0", "Sequential_1"),
        ("Sequential_0", "Sequential_1", "Linear_1"),
        ("Sequential_0", "Sequential_1", "GELU_0"),
        ("Sequential_0", "Linear_2"),
    }


def make_calls() -> Trace:
    """Two steps of 100 µs; in the second one, ``b`` takes longer."""
    return make_trace(
        EventSpec(0, "train#0", 0, 100, {"_r": 1, "step_num": 0}),
        EventSpec(0, "a", 10, 50),
        EventSpec(0, "b", 20, 30),
        EventSpec(0, "train#1", 100, 200, {"_r": 1, "step_num": 1}),
        EventSpec(0, "a", 110, 180),
        EventSpec(0, "b", 120, 170),
        EventSpec(0, "b", 130, 140),
        EventSpec(1, "b", 0, 40),
    )


def test_steps_are_merged_and_can_be_selected() -> None:
    us = 1_000_000
    rows = list_paths(build(make_calls()))
    assert rows["thread 0",] == (0, 200 * us, 0)
    assert rows["thread 0", "train"] == (2, 200 * us, 90 * us)
    assert rows["thread 0", "train", "a"] == (2, 110 * us, 50 * us)
    assert rows["thread 0", "train", "a", "b"] == (2, 60 * us, 50 * us)
    assert rows["thread 1", "b"] == (1, 40 * us, 40 * us)
    second = list_paths(build(make_calls(), steps=(1, 1)))
    assert second["thread 0", "train", "a"] == (1, 70 * us, 20 * us)
    assert ("thread 1",) not in second


def test_calls_below_a_name_count_once() -> None:
    us = 1_000_000
    rows = list_paths(build(make_calls(), below="b", by_track=False))
    assert rows == {("b",): (3, 100 * us, 90 * us), ("b", "b"): (1, 10 * us, 10 * us)}
    only = list_paths(build(make_calls(), tracks=frozenset({1})))
    assert only.keys() == {("thread 1",), ("thread 1", "b")}


def test_trees_are_merged_by_stack() -> None:
    before = build(make_calls(), steps=(0, 0), by_track=False)
    after = build(make_calls(), steps=(1, 1), by_track=False)
    merged = merge_trees(before, after)
    paths = list_paths(before).keys() | list_paths(after).keys()
    assert len(merged.names) == len(paths)
    both = (merged.before >= 0) & (merged.after >= 0)
    assert {merged.names[at] for at in np.flatnonzero(both)} == {"train", "a", "b"}
    new = np.flatnonzero(merged.before < 0)
    assert [merged.names[at] for at in new] == ["b"]  # the nested one


def test_small_nodes_are_left_out() -> None:
    events = [EventSpec(0, "main", 0, 20_000)]
    events += [EventSpec(0, f"f{at}", at, at + (1 if at else 0.001)) for at in range(100)]
    tree = build(make_trace(*events), by_track=False)
    assert len(tree) == 101
    nodes = select_visible(tree.total_ps, tree.parent)
    assert [tree.names[at] for at in nodes] == ["main"]


def make_launches() -> Trace:
    """Two threads launch kernels on one stream, in two steps; nothing launched the last kernel."""
    return make_trace(
        EventSpec(0, "train#0", 0, 100, {"_r": 1, "step_num": 0}),
        EventSpec(0, "forward", 10, 50),
        EventSpec(0, "launch", 20, 21, {"correlation": 1}),
        EventSpec(1, "copy", 30, 40),
        EventSpec(1, "launch", 32, 33, {"correlation": 2}),
        EventSpec(0, "train#1", 100, 200, {"_r": 1, "step_num": 1}),
        EventSpec(0, "forward", 110, 150),
        EventSpec(0, "launch", 120, 121, {"correlation": 3}),
        EventSpec(DEVICE, "gemm", 25, 35, {"correlation": 1}),
        EventSpec(DEVICE, "memcpy", 36, 40, {"correlation": 2}),
        EventSpec(DEVICE, "gemm", 125, 145, {"correlation": 3}),
        EventSpec(DEVICE, "memset", 150, 151),
    )


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({}, {"gemm": 30, "memcpy": 4, "memset": 1}),
        ({"below": "forward"}, {"gemm": 30}),
        ({"below": "copy"}, {"memcpy": 4}),
        ({"below": "unknown"}, {}),
        ({"below": "unknown", "frames": "modules"}, {}),
        ({"tracks": frozenset({0})}, {"gemm": 30}),
        ({"tracks": frozenset({1})}, {"memcpy": 4}),
        ({"tracks": frozenset({DEVICE})}, {"gemm": 30, "memcpy": 4, "memset": 1}),
        ({"tracks": frozenset({1, DEVICE})}, {"memcpy": 4}),
        ({"steps": (0, 0)}, {"gemm": 10, "memcpy": 4}),
        ({"steps": (1, 1)}, {"gemm": 20, "memset": 1}),
    ],
)
def test_device_time_of_a_selection(selection: dict[str, Any], expected: dict[str, int]) -> None:
    tree = build(make_launches(), time_on="device", **selection)
    has_children = set(tree.parent.tolist())
    times: dict[str, int] = defaultdict(int)
    for node, name in enumerate(tree.names):
        if node not in has_children:
            times[name] += int(tree.total_ps[node]) // 1_000_000
    assert times == expected


def test_python_frames_without_categories_have_a_sign() -> None:
    trace = make_trace(
        EventSpec(0, "$train.py:3 train", 0, 100),
        EventSpec(0, "aten::mm", 10, 90),
        EventSpec(0, "$model.py:7 forward", 20, 80),
    )
    rows = list_paths(build(trace, frames="python", by_track=False))
    assert rows.keys() == {
        ("$train.py:3 train",),
        ("$train.py:3 train", "$model.py:7 forward"),
    }


def test_number_of_visible_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_MAX_NODES", 3)
    events = [EventSpec(0, f"f{at}", 100 * at, 100 * at + 10 + at) for at in range(10)]
    tree = build(make_trace(*events), by_track=False)
    nodes = select_visible(tree.total_ps, tree.parent)
    assert [tree.names[at] for at in nodes] == ["f7", "f8", "f9"]
