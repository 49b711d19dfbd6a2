"""Analysis of profiler captures of TensorFlow, JAX, PyTorch and the built-in Python sampler.

Start with `trace.Trace`, the in-memory form of every capture, and `captures.open_capture`, which
reads one. `steps` divides a trace into steps and says what their time went into; `findings.summary`
combines all results for the overview. `timeline` answers the queries of the trace viewer.

Modules, each importing only those before it:

- this one: the array operations that analyses share, on unique values, nesting and time
  intervals. Interval sets are int64 arrays of shape (n, 2) with a start and an end per row, sorted
  and disjoint
- `trace`: the data model
- `attribution`: what device work and gaps belong to, and how long devices were busy
- `captures`: find, group, read and export capture files
- `xla_programs`, `ops`, `xprof`, `steps`: which op each event is, and which step it belongs to
- `kernels`, `roofline`, `communication`, `memory`: device kernels, FLOPs and bytes, collectives,
  allocations
- `calls`: operators, modules, flame graphs and call trees
- `findings`: what to change, the summary of a capture, and the comparison of two
- `timeline`: lanes, levels of detail, search and event details
- `profile_data`, `sql`: captures as tables, for programs, and queries over them

This package may import `formats`, `logdir` and `index`, but nothing that serves HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np

from tracklight.types import Bool, Int8, Int32, Int64

#: Profilers number things from 1. Up to this value, a lookup table is cheap.
_MAX_TABLE_VALUE = 1 << 20
#: Sorted runs of intervals are merged on their own if they have this many rows on average.
_MIN_RUN_ROWS = 64
_MIN_TIME, _MAX_TIME = -(1 << 62), 1 << 62

Value = TypeVar("Value")


def _import_native() -> ModuleType | None:
    try:
        from tracklight.analysis.profiles import _nesting
    except ImportError:
        return None
    return _nesting


#: The compiled loops, or None if the package was installed without a C compiler.
NATIVE = _import_native()


class Interner(dict[Value, int], Generic[Value]):
    """Assign consecutive ids to values in the order in which they are first seen.

    A plain dict lookup with ``__missing__``, because readers look up millions of values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.interned: list[Value] = []

    def __missing__(self, value: Value) -> int:
        id = self[value] = len(self.interned)
        self.interned.append(value)
        return id


class StringInterner(Interner[str]):
    """An interner of names and texts."""


def unique_inverse(values: np.ndarray[Any, Any]) -> tuple[Int64, Int64]:
    """Do what `np.unique` does with ``return_inverse``, several times faster for small integers.

    Without ``return_inverse``, `np.unique` also imports ``numpy.ma``, which takes 30 ms.
    """
    if not len(values) or values.min() < 0 or values.max() >= _MAX_TABLE_VALUE:
        unique, inverse = np.unique(values, return_inverse=True)
        return unique.astype(np.int64), inverse
    unique = np.flatnonzero(np.bincount(values))
    table = np.zeros(int(unique[-1]) + 1, np.int64)
    table[unique] = np.arange(len(unique))
    return unique, table.take(values)


def map_unique(values: Int64, map_value: Callable[[int], int]) -> Int32:
    """Return the result of a function for each value. It is called once for each unique value."""
    if not len(values) or values.min() < 0 or values.max() >= _MAX_TABLE_VALUE:
        unique, inverse = unique_inverse(values)
        return np.array([map_value(value) for value in unique.tolist()], np.int32)[inverse]
    unique = np.flatnonzero(np.bincount(values))
    table = np.zeros(int(unique[-1]) + 1, np.int32)
    table[unique] = [map_value(value) for value in unique.tolist()]
    return table.take(values)


def unique_counts(values: Int64) -> tuple[Int64, Int64]:
    """Do what `np.unique` does with ``return_counts``, by sorting instead of slower hashing."""
    ordered = np.sort(values)
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    first = np.concatenate([np.zeros(min(len(values), 1), np.int64), changes])
    return ordered[first], np.diff(np.append(first, len(values)))


def select_largest(values: Int64, count: int) -> Int64:
    """Return the positions of the largest values, largest first and equal ones in order."""
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        positions = np.flatnonzero(values >= least)
    else:
        positions = np.arange(len(values))
    return positions[np.argsort(-values[positions], kind="stable")][:count]


def sum_by_index(index: Int32, values: Int64, count: int) -> Int64:
    """Return the sum of the values of each index from 0 to ``count - 1``.

    Of integers, as a day of picoseconds exceeds the precision of float64.
    """
    if NATIVE is not None:
        sums: Int64 = NATIVE.sum_by_index(
            np.ascontiguousarray(index, np.int32), np.ascontiguousarray(values), count
        )
        return sums
    return sum_by_index_in_numpy(index, values, count)


def sum_by_index_in_numpy(index: Int32, values: Int64, count: int) -> Int64:
    """NumPy version of ``_nesting.sum_by_index``."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, index, values)
    return sums


def compute_parents(end: Int64, skipped: Iterable[int] = ()) -> Int64:
    """Return the innermost event that contains each event of one track, -1 for none.

    Args:
        end: Ends of the events, which are sorted by start.
        skipped: Events that get no parent and become no parent.
    """
    parents = np.full(len(end), -1, np.int64)
    ignored = set(skipped)
    stack: list[tuple[int, int]] = []
    for event, event_end in enumerate(end.tolist()):
        if event in ignored:
            continue
        # Events that ended before this one started also end earlier: comparing ends is enough.
        while stack and stack[-1][1] < event_end:
            stack.pop()
        if stack:
            parents[event] = stack[-1][0]
        stack.append((event, event_end))
    return parents


def compute_child_time(start: Int64, end: Int64) -> Int64:
    """Return how long other events ran directly inside each event of one thread.

    Events are sorted by start. Profilers close the calls that are open at the end of a capture in
    any order, so an event that outlasts its parent counts as its child for as long as both run.
    """
    if NATIVE is not None:
        child_time: Int64 = NATIVE.compute_child_time(start, end)
        return child_time
    return compute_child_time_python(start, end)


def compute_child_time_python(start: Int64, end: Int64) -> Int64:
    """Python version of ``_nesting.compute_child_time``."""
    child_time = [0] * len(start)
    stack: list[tuple[int, int]] = []
    for event, (event_start, event_end) in enumerate(
        zip(start.tolist(), end.tolist(), strict=True)
    ):
        while stack and stack[-1][1] <= event_start:
            stack.pop()
        if stack:
            parent, parent_end = stack[-1]
            child_time[parent] += min(event_end, parent_end) - event_start
        stack.append((event, event_end))
    return np.array(child_time, np.int64)


def compute_callers(start: Int64, end: Int64) -> tuple[Int64, Int32]:
    """Return the innermost event that runs when each event of one thread starts, and its depth.

    Events are sorted by start. The caller of an event without one is -1, and its depth is 0.
    """
    if NATIVE is not None:
        callers, depths = NATIVE.compute_callers(start, end)
        return callers, depths
    return compute_callers_python(start, end)


def compute_callers_python(start: Int64, end: Int64) -> tuple[Int64, Int32]:
    """Python version of ``_nesting.compute_callers``."""
    callers, depths = [-1] * len(start), [0] * len(start)
    stack: list[tuple[int, int]] = []
    events = zip(start.tolist(), end.tolist(), strict=True)
    for event, (event_start, event_end) in enumerate(events):
        while stack and stack[-1][1] <= event_start:
            stack.pop()
        if stack:
            callers[event], depths[event] = stack[-1][0], len(stack)
        stack.append((event, event_end))
    return np.array(callers, np.int64), np.array(depths, np.int32)


def merge_intervals(rows: Int64) -> Int64:
    """Return unsorted, possibly overlapping intervals as an interval set."""
    return merge_spans(rows[:, 0], rows[:, 1])


def merge_spans(start: Int64, end: Int64) -> Int64:
    """Return intervals, given by their starts and ends in any order, as an interval set."""
    if NATIVE is not None:
        start, end = np.ascontiguousarray(start), np.ascontiguousarray(end)
        merged: Int64 | None = NATIVE.merge_sorted(start, end)
        if merged is None:
            start, end = _merge_runs(start, end)
            order = np.argsort(start, kind="stable")
            merged = NATIVE.merge_sorted(start[order], end[order])
        assert merged is not None
        return merged
    return merge_spans_in_numpy(start, end)


def _merge_runs(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Merge each run of sorted intervals, such as those of a track, before all are sorted."""
    bounds = np.flatnonzero(start[1:] < start[:-1]) + 1
    if NATIVE is None or len(bounds) * _MIN_RUN_ROWS > len(start):
        return start, end
    edges = pairwise([0, *bounds.tolist(), len(start)])
    merged = [NATIVE.merge_sorted(start[first:stop], end[first:stop]) for first, stop in edges]
    rows = np.concatenate(merged)
    return rows[:, 0], rows[:, 1]


def merge_spans_in_numpy(start: Int64, end: Int64) -> Int64:
    """NumPy version of ``_nesting.merge_sorted``, which sorts as well."""
    is_long = end > start
    if not is_long.any():
        return np.empty((0, 2), np.int64)
    start, end = start[is_long], end[is_long]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.append(True, start[1:] > end[:-1])
    return np.column_stack([start[first], end[np.append(first[1:], True)]])


def union_intervals(sets: Iterable[Int64]) -> Int64:
    return merge_intervals(np.concatenate([np.empty((0, 2), np.int64), *sets]))


def intersect_intervals(one: Int64, other: Int64) -> Int64:
    return merge_intervals(split_intervals(one, other))


def split_intervals(rows: Int64, spans: Int64) -> Int64:
    """Return the parts of intervals that are in spans. Both are sorted and disjoint.

    Neighbors stay separate.
    """
    if NATIVE is not None:
        parts: Int64 = NATIVE.intersect_sorted(
            np.ascontiguousarray(rows), np.ascontiguousarray(spans)
        )
        return parts
    return split_intervals_in_numpy(rows, spans)


def split_intervals_in_numpy(rows: Int64, spans: Int64) -> Int64:
    """NumPy version of ``_nesting.intersect_sorted``."""
    # The intervals between equal edges are empty.
    edges = np.sort(np.concatenate([rows.ravel(), spans.ravel()]))
    starts, ends = edges[:-1], edges[1:]
    inside = (starts < ends) & _is_covered(rows, starts) & _is_covered(spans, starts)
    return np.column_stack([starts[inside], ends[inside]])


def split_by_spans(rows: Int64, spans: Int64) -> tuple[Int64, Int64]:
    """Return the parts of an interval set that are within spans, and the span of each part.

    Neighboring spans stay separate. Spans are sorted and disjoint.
    """
    parts = split_intervals(rows, spans)
    return parts, np.searchsorted(spans[:, 0], parts[:, 0], "right") - 1


def subtract_intervals(one: Int64, other: Int64) -> Int64:
    """Return the parts of an interval set that are not in the other."""
    edges = np.concatenate([[_MIN_TIME], other.ravel(), [_MAX_TIME]])
    return intersect_intervals(one, edges.reshape(-1, 2))


def locate_in_spans(spans: Int64, times_ps: Int64) -> Int64:
    """Return the span that contains each time, -1 for none. Spans are sorted and disjoint."""
    if NATIVE is not None:
        located: Int64 = NATIVE.locate_times(
            np.ascontiguousarray(spans), np.ascontiguousarray(times_ps, np.int64)
        )
        return located
    return locate_in_spans_in_numpy(spans, times_ps)


def locate_in_spans_in_numpy(spans: Int64, times_ps: Int64) -> Int64:
    """NumPy version of ``_nesting.locate_times``."""
    if not len(spans):
        return np.full(len(times_ps), -1, np.int64)
    index = np.searchsorted(spans[:, 0], times_ps, "right") - 1
    return np.where((index >= 0) & (times_ps < spans[index, 1]), index, -1)


def measure_intervals(rows: Int64) -> int:
    """Return the total length of an interval set."""
    return int((rows[:, 1] - rows[:, 0]).sum())


def _is_covered(rows: Int64, times: Int64) -> Bool:
    """Return whether an interval set contains the instant right after each time."""
    started = np.searchsorted(rows[:, 0], times, "right")
    ended = np.searchsorted(rows[:, 1], times, "right")
    is_covered: Bool = started > ended
    return is_covered


def attribute_time(start: Int64, end: Int64, kind: Int8 | Int64, spans: Int64, kinds: int) -> Int64:
    """Divide the time of each span among kinds of events, counting every instant once.

    An instant at which events of several kinds run is attributed to the highest kind.

    Args:
        start: Start of each event.
        end: End of each event.
        kind: Kind of each event, from 0 to ``kinds - 1``.
        spans: Interval set.
        kinds: Number of kinds.

    Returns:
        One row per span and one column per kind. Idle time is in no column.
    """
    time = np.zeros((len(spans), kinds), np.int64)
    covered, covered_ps = np.empty((0, 2), np.int64), np.zeros(len(spans), np.int64)
    for item in reversed(range(kinds)):
        mask = kind == item
        if mask.any():
            # What the kind adds to the time that higher ones cover.
            covered = union_intervals([covered, merge_spans(start[mask], end[mask])])
            known_ps = covered_ps
            covered_ps = measure_coverage(covered[:, 0], covered[:, 1], spans)
            time[:, item] = covered_ps - known_ps
    return time


def measure_coverage(start: Int64, end: Int64, spans: Int64) -> Int64:
    """Return for how much of each span at least one event runs."""
    first, last = merge_spans(start, end).T
    if not len(first):
        return np.zeros(len(spans), np.int64)
    busy_before = np.append(0, np.cumsum(last - first))
    interval = np.searchsorted(first, spans, "right") - 1
    busy_in_interval = np.clip(spans, first[interval], last[interval]) - first[interval]
    busy_until = np.where(interval < 0, 0, busy_before[interval] + busy_in_interval)
    coverage: Int64 = busy_until[:, 1] - busy_until[:, 0]
    return coverage
