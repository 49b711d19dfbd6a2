"""How long ops took, on the host and on devices: all of them, each counted once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracklight.profiles.columns import numbering
from tracklight.profiles.columns.nesting import measure_inner
from tracklight.profiles.ops.book import Naming, Side
from tracklight.profiles.ops.naming import name_ops
from tracklight.profiles.ops.opname import Op
from tracklight.profiles.trace import Trace
from tracklight.types import Int32, Int64


class Ops(NamedTuple):
    """One row an op, those that took longest by themselves first."""

    ops: list[Op]
    sides: Int32
    counts: Int64
    total_ps: Int64
    self_ps: Int64
    """Without what ran inside of it."""
    longest: Int64
    """The event that took longest."""
    idle_ps: dict[Side, int]
    """How long threads, or devices, did nothing between their first op and their last."""


def sum_ops(trace: Trace, naming: Naming | None = None) -> Ops:
    naming = naming or name_ops(trace)
    alone, idle = _measure(trace, naming)
    named = np.flatnonzero(naming.op >= 0)
    op, count = naming.op[named], len(naming.ops)
    calls = _count_calls(op, naming.call[named], trace.name[named], count)
    own = _add_up(op, alone[named], count)
    order = np.argsort(-own, kind="stable")
    # An op whose every event was given another name is none.
    order = order[calls[order] > 0]
    return Ops(
        ops=[naming.ops[at] for at in order.tolist()],
        sides=np.array(naming.sides, np.int32)[order],
        counts=calls[order],
        total_ps=_add_up(op, trace.duration_ps[named], count)[order],
        self_ps=own[order],
        longest=_find_longest(op, named, trace.duration_ps[named], count)[order],
        idle_ps=idle,
    )


def _measure(trace: Trace, naming: Naming) -> tuple[Int64, dict[Side, int]]:
    """How long each event took by itself, and how long nobody did anything."""
    alone = trace.duration_ps.copy()
    idle = dict.fromkeys(Side, 0)
    side_of = np.array([*naming.sides, -1], np.int64)[naming.op]
    for side in Side:
        events = np.flatnonzero(side_of == side)
        for mine in np.split(events, np.flatnonzero(np.diff(trace.track[events])) + 1):
            start, end = trace.start_ps[mine], trace.end_ps[mine]
            if side != Side.DEVICE:  # whose kernels overlap, and are never nested
                alone[mine] -= measure_inner(start, end)
            idle[side] += _measure_idle(start, end)
    return alone, idle


def _measure_idle(start: Int64, end: Int64) -> int:
    """How long nothing ran between the first beginning and the last end."""
    busy_until = np.maximum.accumulate(end)[:-1]
    return int(np.maximum(start[1:] - busy_until, 0).sum())


def _count_calls(op: Int32, call: Int64, name: Int32, count: int) -> Int64:
    """Count a call that launches several kernels once.

    Where it is not known what launched them, as often as the commonest of its kernels ran.
    """
    keys = op.astype(np.int64) << 32
    called = np.bincount(numbering.count(keys | call)[0] >> 32, minlength=count)
    pairs, times = numbering.count(keys | name)
    commonest = np.zeros(count, np.int64)
    np.maximum.at(commonest, pairs >> 32, times)
    return np.minimum(called, commonest)


def _add_up(op: Int32, ps: Int64, count: int) -> Int64:
    """Sum by op in whole picoseconds, of which a day is more than doubles hold."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, op, ps)
    return sums


def _find_longest(op: Int32, events: Int64, duration: Int64, count: int) -> Int64:
    longest = np.zeros(count, np.int64)
    order = np.argsort(duration, kind="stable")
    longest[op[order]] = events[order]
    return longest
