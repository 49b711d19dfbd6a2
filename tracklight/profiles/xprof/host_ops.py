"""How long the ops of a host took by xprof's own rules, to be held against xprof.

Ours (`ops`) look at devices as well, and count a call once however it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracklight.profiles.columns.nesting import find_parents
from tracklight.profiles.ops.book import Side
from tracklight.profiles.ops.opname import Op, find_op
from tracklight.profiles.ops.sums import Ops
from tracklight.profiles.trace import Trace
from tracklight.profiles.xprof.groups import find_host_events
from tracklight.types import Int64

_ALLOCATES = ("MemoryAllocation", "MemoryDeallocation")


@dataclass
class OpTime:
    type: str
    count: int = 0
    total_ps: int = 0
    self_ps: int = 0
    longest: int = -1
    """The event that took longest, and how long."""
    longest_ps: int = -1


@dataclass
class HostOps:
    ops: dict[str, OpTime]
    """By name; ops of one name and unlike types are one."""
    idle_ps: int
    """How long threads did nothing between their first op and their last."""


def sum_host_ops(trace: Trace, with_allocations: bool = False) -> HostOps:
    """Sum up the ops of a host over its threads.

    Memory that an op takes and gives back is no op, though it names one; xprof counts it as one
    more call, so ``with_allocations`` gives the counts that it shows.
    """
    found = HostOps({}, 0)
    events = find_host_events(trace)
    tracks = trace.track[events]
    named = dict(_iter_named(trace, events, with_allocations))
    for track in np.unique(tracks).tolist():
        mine = [event for event in events[tracks == track].tolist() if event in named]
        if mine:
            _add_thread(trace, np.array(mine), [named[event] for event in mine], found)
    return found


def sum_as_xprof(trace: Trace) -> Ops:
    """What xprof shows of the ops of a host, in the form that ours have."""
    found = sum_host_ops(trace, with_allocations=True)
    rows = sorted(found.ops.items(), key=lambda row: -row[1].self_ps)
    numbers = np.array(
        [(op.count, op.total_ps, op.self_ps, op.longest) for _, op in rows], np.int64
    ).reshape(-1, 4)
    return Ops(
        [Op(name, op.type) for name, op in rows],
        np.full(len(rows), Side.HOST, np.int32),
        counts=numbers[:, 0],
        total_ps=numbers[:, 1],
        self_ps=numbers[:, 2],
        longest=numbers[:, 3],
        idle_ps={Side.HOST: found.idle_ps, Side.DEVICE: 0, Side.PYTHON: 0},
    )


def _iter_named(trace: Trace, events: Int64, with_allocations: bool) -> Iterator[tuple[int, Op]]:
    by_name = [find_op(name) for name in trace.names]
    is_memory = [name in _ALLOCATES and not with_allocations for name in trace.names]
    at, texts = trace.find_texts("tf_op")
    told = dict(zip(at.tolist(), texts, strict=True))
    for event, name in zip(events.tolist(), trace.name[events].tolist(), strict=True):
        op = by_name[name]
        if op is None and event in told and told[event] and not is_memory[name]:
            op = find_op(told[event]) or Op(told[event], "")
        if op is not None:
            yield event, op


def _add_thread(trace: Trace, events: Int64, ops: list[Op], found: HostOps) -> None:
    start, end = trace.start_ps[events], trace.end_ps[events]
    duration = end - start
    parents = find_parents(end)
    inside = np.zeros(len(events), np.int64)
    has = parents >= 0
    np.add.at(inside, parents[has], duration[has])
    alone = duration - inside
    rows = zip(events.tolist(), ops, duration.tolist(), alone.tolist(), strict=True)
    for event, op, total, own in rows:
        sums = found.ops.setdefault(op.name, OpTime(op.type))
        sums.count += 1
        sums.total_ps += total
        sums.self_ps += own
        if total > sums.longest_ps:
            sums.longest, sums.longest_ps = event, total
    found.idle_ps += int(end.max() - start.min() - alone.sum())
