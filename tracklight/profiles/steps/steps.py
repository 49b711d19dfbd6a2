"""Finds the steps of a trace: by one rule after the other, until one finds some.

Programs mark their steps in many ways and many do not at all, so there is always an answer, and it
always says by which rule it was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tracklight.profiles.columns.nesting import find_parents
from tracklight.profiles.trace import Trace
from tracklight.types import Int64

#: A pattern that repeats less often may be chance.
_FEWEST_REPEATS = 3
_IMPLICIT = ("FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process")


class Steps(NamedTuple):
    rule: str
    names: tuple[str, ...]
    spans: Int64
    """Rows of a start and an end, in ps, in order and apart."""


def find_steps(trace: Trace, marker: str = "") -> Steps:
    """Find the steps, by the ``marker`` that somebody chose if there is one."""
    rules: dict[str, Callable[[Trace], Int64]] = {
        f"events that are called {marker}, as chosen": lambda trace: _find_named(trace, marker),
        "marks of steps by the program": _find_marks,
        "batches that Keras profiled": lambda trace: _find_starting(trace, "Profiled batch"),
        "steps of PyTorch's profiler, or of ours": _find_profiler_steps,
        "what repeats at the top of the busiest thread": _find_repeating,
    }
    if not marker:
        del rules[next(iter(rules))]
    for rule, find in rules.items():
        events = find(trace)
        if len(events):
            return _make_steps(trace, rule, events)
    return _take_all(trace)


def _make_steps(trace: Trace, rule: str, events: Int64) -> Steps:
    """Let each step reach from its mark to the mark's end, or to the next if that comes before.

    A mark inside of another one is none of its own.
    """
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    end = trace.end_ps[events]
    events = events[~np.append(False, end[1:] <= np.maximum.accumulate(end)[:-1])]
    start, end = trace.start_ps[events], trace.end_ps[events]
    end[:-1] = np.minimum(end[:-1], start[1:])
    return Steps(rule, _name(trace, events), np.column_stack([start, end]))


def _name(trace: Trace, events: Int64) -> tuple[str, ...]:
    at, numbers = trace.find_numbers("step_num")
    number = dict(zip(at.tolist(), numbers.tolist(), strict=True))
    names = [trace.names[trace.name[event]] for event in events.tolist()]
    return tuple(
        f"{name} {number[event]}" if event in number else name if "#" in name else f"{name} {at}"
        for at, (event, name) in enumerate(zip(events.tolist(), names, strict=True))
    )


def _find_named(trace: Trace, name: str) -> Int64:
    return np.flatnonzero(trace.find_names(lambda each: each == name))


def _find_starting(trace: Trace, start: str) -> Int64:
    return np.flatnonzero(trace.find_names(lambda name: name.startswith(start)) & ~trace.on_device)


def _find_profiler_steps(trace: Trace) -> Int64:
    return _find_starting(trace, "ProfilerStep#")


def _find_marks(trace: Trace) -> Int64:
    """What the program put a root around, and called something."""
    events, level = trace.find_numbers("_r")
    is_root = np.zeros(len(trace), bool)
    is_root[events[level > 0]] = True
    return np.flatnonzero(is_root & trace.find_names(lambda name: name not in _IMPLICIT))


def _find_repeating(trace: Trace) -> Int64:
    """The name that fills most of the busiest thread's time and comes again and again."""
    top = _find_top(trace)
    if not len(top):
        return top
    busy = np.bincount(trace.track[top], trace.duration_ps[top].astype(float))
    mine = top[trace.track[top] == np.argmax(busy)]
    _, which, counts = np.unique(trace.name[mine], return_inverse=True, return_counts=True)
    time = np.bincount(which, trace.duration_ps[mine].astype(float))
    time[counts < _FEWEST_REPEATS] = -1
    repeats: Int64 = mine[(which == np.argmax(time)) & (time.max() > 0)]
    return repeats


def _find_top(trace: Trace) -> Int64:
    """Events of hosts that stand inside of no other."""
    found: list[Int64] = []
    for track in np.unique(trace.track[~trace.on_device]).tolist():
        first, last = np.searchsorted(trace.track, [track, track + 1])
        parents = find_parents(trace.end_ps[first:last])
        found.append(first + np.flatnonzero(parents < 0))
    return np.concatenate([np.empty(0, np.int64), *found])


def _take_all(trace: Trace) -> Steps:
    if not len(trace):
        return Steps("none: nothing was recorded", (), np.empty((0, 2), np.int64))
    span = np.array([[trace.start_ps.min(), trace.end_ps.max()]])
    return Steps("none: nothing repeats, so the whole capture is one step", ("all",), span)
