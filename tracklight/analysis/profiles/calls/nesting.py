"""The caller of each event of some threads, and the device work that each event launched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import compute_callers, unique_inverse
from tracklight.analysis.profiles.attribution.launches import pair_launches
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int32, Int64


class Nesting(NamedTuple):
    """Some events of a trace and how they nest. All columns have one row per event of ``events``.

    A caller precedes its callees, as events are sorted by start.
    """

    events: Int64
    """Numbers of the events in the trace."""
    caller: Int64
    """The row of the caller of each event; -1 for none."""
    depth: Int32
    total_ps: Int64
    """Duration, or how much of it is in the window."""
    self_ps: Int64
    """Time without nested events."""


def nest_events(trace: Trace, mask: Bool, window: tuple[int, int] | None = None) -> Nesting:
    """Return how the events of a mask nest within each track.

    Args:
        trace: The trace.
        mask: The events to consider.
        window: Start and end in ps. Events outside are left out, others are cut off.
    """
    events = np.flatnonzero(mask)
    start, end = trace.start_ps[events], trace.end_ps[events]
    if window is not None:
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        is_inside = end > start
        events, start, end = events[is_inside], start[is_inside], end[is_inside]
    caller, depth = np.full(len(events), -1, np.int64), np.zeros(len(events), np.int32)
    bounds = np.flatnonzero(np.diff(trace.track[events], prepend=-1, append=-1)).tolist()
    for first, last in pairwise(bounds):
        own_caller, depth[first:last] = compute_callers(start[first:last], end[first:last])
        caller[first:last] = np.where(own_caller < 0, -1, own_caller + first)
    depth = _move_outlasting(start, end, caller, depth)
    total_ps = end - start
    self_ps = total_ps.copy()
    called = np.flatnonzero(caller >= 0)
    inside_ps = np.minimum(end[called], end[caller[called]]) - start[called]
    np.subtract.at(self_ps, caller[called], np.maximum(inside_ps, 0))
    np.maximum(self_ps, 0, out=self_ps)
    return Nesting(events, caller, depth, total_ps, self_ps)


def _move_outlasting(start: Int64, end: Int64, caller: Int64, depth: Int32) -> Int32:
    """Move events that mostly run after their caller to an outer one, and return new depths.

    A step that PyTorch's profiler begins is recorded as if the call that starts the profiler, which
    ends soon after, had called it.
    """
    rows, is_moved = np.flatnonzero(caller >= 0), False
    while len(rows):
        inside_ps = np.minimum(end[rows], end[caller[rows]]) - start[rows]
        rows = rows[2 * inside_ps < end[rows] - start[rows]]
        caller[rows] = caller[caller[rows]]
        is_moved |= bool(len(rows))
        rows = rows[caller[rows] >= 0]
    return _measure_depths(caller) if is_moved else depth


def _measure_depths(caller: Int64) -> Int32:
    """Return how many callers each event has, one above the other.

    The distance to an ancestor and that from it to another one are added up, so that the number of
    passes is the logarithm of the greatest depth.
    """
    ancestor = np.append(caller, -1).astype(np.int32)
    depth = (ancestor >= 0).astype(np.int32)
    while (ancestor >= 0).any():
        # The last row stands for no event: its depth is 0, and it has no ancestor.
        depth += depth[ancestor]
        ancestor = ancestor[ancestor]
    return depth[:-1]


def select_below(nesting: Nesting, is_root: Bool) -> Nesting:
    """Return only some events, without those that others of them called, and what they called.

    Args:
        nesting: The events.
        is_root: Whether each event of the trace is one of those to start from.
    """
    is_root = is_root[nesting.events]
    root = np.where(is_root, np.arange(len(nesting.events)), -1)
    # The outer one of two roots overrides the inner one.
    for rows in _iter_levels(nesting):
        caller = nesting.caller[rows]
        root_of_caller = np.where(caller >= 0, root[caller], -1)
        root[rows] = np.where(root_of_caller >= 0, root_of_caller, root[rows])
    rows = np.flatnonzero(root >= 0)
    new_row = np.full(len(nesting.events) + 1, -1, np.int64)
    new_row[rows] = np.arange(len(rows))
    is_outermost = root[rows] == rows
    return Nesting(
        events=nesting.events[rows],
        caller=np.where(is_outermost, -1, new_row[nesting.caller[rows]]),
        depth=nesting.depth[rows] - nesting.depth[root[rows]],
        total_ps=nesting.total_ps[rows],
        self_ps=nesting.self_ps[rows],
    )


def _iter_levels(nesting: Nesting) -> Iterator[Int64]:
    """Yield the rows of each depth, outermost first."""
    max_depth = int(nesting.depth.max(initial=-1))
    # NumPy sorts 16-bit integers by radix, which is faster.
    depth = nesting.depth.astype(np.uint16) if max_depth < 1 << 16 else nesting.depth
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(nesting.depth[order], np.arange(max_depth + 2)).tolist()
    return (order[first:last] for first, last in pairwise(bounds))


def sum_over_callees(nesting: Nesting, values: Int64) -> Int64:
    """Return for each event the sum of its own value and those of all events that it called."""
    total: Int64 = values.copy()
    for rows in [*_iter_levels(nesting)][:0:-1]:
        np.add.at(total, nesting.caller[rows], total[rows])
    return total


def propagate_down(nesting: Nesting, values: Int64) -> Int64:
    """Return the value of each event or, where it is -1, that of its nearest caller."""
    result: Int64 = values.copy()
    for rows in [*_iter_levels(nesting)][1:]:
        missing = rows[result[rows] < 0]
        result[missing] = result[nesting.caller[missing]]
    return result


def merge_paths(nesting: Nesting, name: Int32 | Int64) -> tuple[Int64, Int64, Int64]:
    """Merge events with the same names on their stacks into nodes.

    Returns:
        The node of each event, and for each node its parent (-1 for none) and its name. A parent
        precedes its children.
    """
    node = np.full(len(nesting.events), -1, np.int64)
    parents, names = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    count = 0
    for rows in _iter_levels(nesting):
        caller = nesting.caller[rows]
        parent = np.where(caller < 0, -1, node[caller])
        # Numbers from 0 make small keys, which are faster to find.
        first_parent = int(parent.min(initial=0))
        names_of, name_index = unique_inverse(name[rows])
        keys = (parent - first_parent) * len(names_of) + name_index
        unique, inverse = unique_inverse(keys)
        node[rows] = inverse.reshape(-1) + count
        parents.append(unique // len(names_of) + first_parent)
        names.append(names_of[unique % len(names_of)])
        count += len(unique)
    return node, np.concatenate(parents), np.concatenate(names)


def find_launchers(trace: Trace, nesting: Nesting) -> tuple[Int64, Int64]:
    """Return device events and the rows of the events that launched them.

    Of PyTorch's events, an external id names the op that ran during the launch. Otherwise, a
    correlation id names the call that launched the work; if that is not one of the events, it is
    the innermost event around the call.
    """
    row_of = np.full(len(trace) + 1, -1, np.int64)
    row_of[nesting.events] = np.arange(len(nesting.events))
    kernels, launchers = _pair_by_external_id(trace, row_of)
    is_paired = np.zeros(len(trace), bool)
    is_paired[kernels] = True
    calls, targets = pair_launches(trace)
    is_new = ~is_paired[targets] & trace.is_device_work[targets]
    calls, targets = calls[is_new], targets[is_new]
    rows = row_of[calls]
    is_unknown = rows < 0
    rows[is_unknown] = _find_enclosing(trace, nesting, calls[is_unknown])
    is_known = rows >= 0
    return np.append(kernels, targets[is_known]), np.append(launchers, rows[is_known])


def _pair_by_external_id(trace: Trace, row_of: Int64) -> tuple[Int64, Int64]:
    events, ids = trace.get_int_args("external")
    is_op = trace.match_categories("cpu_op", "user_annotation")[events] & ~trace.on_device[events]
    ops, op_ids = events[is_op], ids[is_op]
    is_work = trace.is_device_work[events]
    kernels, kernel_ids = events[is_work], ids[is_work]
    if not len(ops):
        return kernels[:0], kernels[:0]
    order = np.argsort(op_ids, kind="stable")
    ops, op_ids = ops[order], op_ids[order]
    match = np.minimum(np.searchsorted(op_ids, kernel_ids), len(ops) - 1)
    rows = np.where(op_ids[match] == kernel_ids, row_of[ops[match]], -1)
    is_known = rows >= 0
    return kernels[is_known], rows[is_known]


def _find_enclosing(trace: Trace, nesting: Nesting, calls: Int64) -> Int64:
    """Return the innermost event that runs when each call starts, -1 for none."""
    rows = np.searchsorted(nesting.events, calls) - 1
    track, start, end = trace.track, trace.start_ps, trace.end_ps
    for _ in range(int(nesting.depth.max(initial=0)) + 1):
        event = nesting.events[rows] if len(nesting.events) else rows
        is_same_track = (rows >= 0) & (track[event] == track[calls])
        is_outside = is_same_track & (end[event] <= start[calls])
        rows = np.where(is_same_track, rows, -1)
        if not is_outside.any():
            break
        rows[is_outside] = nesting.caller[rows[is_outside]]
    return rows
