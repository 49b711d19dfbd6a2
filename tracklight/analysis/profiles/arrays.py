"""Array operations that the analyses share: unique values, nesting and time intervals.

Interval sets are int64 arrays of shape (n, 2) with a start and an end per row, sorted and disjoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np

from tracklight.types import Bool, Int32, Int64

#: Profilers number things from 1. Up to this value, a lookup table is cheap.
_MAX_TABLE_VALUE = 1 << 20

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
    """Do what `np.unique` does with ``return_inverse``, several times faster for small integers."""
    if not len(values) or values.min() < 0 or values.max() >= _MAX_TABLE_VALUE:
        unique, inverse = np.unique(values, return_inverse=True)
        return unique.astype(np.int64), inverse
    unique = np.flatnonzero(np.bincount(values))
    table = np.zeros(int(unique[-1]) + 1, np.int64)
    table[unique] = np.arange(len(unique))
    return unique, table[values]


def unique_counts(values: Int64) -> tuple[Int64, Int64]:
    """Do what `np.unique` does with ``return_counts``, by sorting instead of slower hashing."""
    ordered = np.sort(values)
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    first = np.concatenate([np.zeros(min(len(values), 1), np.int64), changes])
    return ordered[first], np.diff(np.append(first, len(values)))


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
    rows = rows[rows[:, 1] > rows[:, 0]]
    if not len(rows):
        return np.empty((0, 2), np.int64)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    end = np.maximum.accumulate(rows[:, 1])
    first = np.append(True, rows[1:, 0] > end[:-1])
    last = np.append(first[1:], True)
    return np.column_stack([rows[first, 0], end[last]])


def union_intervals(sets: Iterable[Int64]) -> Int64:
    return merge_intervals(np.concatenate([np.empty((0, 2), np.int64), *sets]))


def _sort_edges(one: Int64, other: Int64) -> Int64:
    """Return all starts and ends in order. The intervals between equal ones are empty."""
    return np.sort(np.concatenate([one.ravel(), other.ravel()]))


def intersect_intervals(one: Int64, other: Int64) -> Int64:
    edges = _sort_edges(one, other)
    inside = _is_covered(one, edges[:-1]) & _is_covered(other, edges[:-1])
    return merge_intervals(np.column_stack([edges[:-1], edges[1:]])[inside])


def split_by_spans(rows: Int64, spans: Int64) -> tuple[Int64, Int64]:
    """Return the parts of an interval set that are within spans, and the span of each part.

    Neighboring spans stay separate. Spans are sorted and disjoint.
    """
    edges = _sort_edges(rows, spans)
    span = np.searchsorted(spans[:, 0], edges[:-1], "right") - 1
    inside = (span >= 0) & (edges[:-1] < edges[1:]) & _is_covered(rows, edges[:-1])
    inside[inside] = edges[:-1][inside] < spans[span[inside], 1]
    return np.column_stack([edges[:-1], edges[1:]])[inside], span[inside]


def subtract_intervals(one: Int64, other: Int64) -> Int64:
    """Return the parts of an interval set that are not in the other."""
    edges = _sort_edges(one, other)
    inside = _is_covered(one, edges[:-1]) & ~_is_covered(other, edges[:-1])
    return merge_intervals(np.column_stack([edges[:-1], edges[1:]])[inside])


def measure_intervals(rows: Int64) -> int:
    """Return the total length of an interval set."""
    return int((rows[:, 1] - rows[:, 0]).sum())


def _is_covered(rows: Int64, times: Int64) -> Bool:
    """Return whether an interval set contains the instant right after each time."""
    started = np.searchsorted(rows[:, 0], times, "right")
    ended = np.searchsorted(rows[:, 1], times, "right")
    is_covered: Bool = started > ended
    return is_covered


def attribute_time(start: Int64, end: Int64, kind: Int64, spans: Int64, kinds: int) -> Int64:
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
    # Duplicate edges are harmless: the interval between them is empty.
    edges = np.sort(np.concatenate([start, end, spans.ravel()]))
    if len(edges) < 2:
        return np.zeros((len(spans), kinds), np.int64)
    highest = _get_highest_kind(edges, start, end, kind, kinds)
    span = np.searchsorted(spans[:, 0], edges[:-1], "right") - 1
    inside = (span >= 0) & (edges[:-1] < spans[span, 1]) & (highest >= 0)
    cell = span[inside] * kinds + highest[inside]
    # Sum integers: float64 is exact for about an hour of picoseconds, but not for a day.
    time = np.zeros(len(spans) * kinds, np.int64)
    np.add.at(time, cell, np.diff(edges)[inside])
    return time.reshape(len(spans), kinds)


def measure_coverage(start: Int64, end: Int64, spans: Int64) -> Int64:
    """Return for how much of each span at least one event runs."""
    if not len(start):
        return np.zeros(len(spans), np.int64)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    is_first = np.append(True, start[1:] > end[:-1])
    first, last = start[is_first], end[np.append(is_first[1:], True)]
    busy_before = np.append(0, np.cumsum(last - first))
    interval = np.searchsorted(first, spans, "right") - 1
    busy_in_interval = np.clip(spans, first[interval], last[interval]) - first[interval]
    busy_until = np.where(interval < 0, 0, busy_before[interval] + busy_in_interval)
    coverage: Int64 = busy_until[:, 1] - busy_until[:, 0]
    return coverage


def _get_highest_kind(edges: Int64, start: Int64, end: Int64, kind: Int64, kinds: int) -> Int64:
    """Return the highest kind that runs between each pair of neighboring edges, -1 for none."""
    highest = np.full(len(edges) - 1, -1, np.int64)
    for each in range(kinds):
        mask = kind == each
        if mask.any():
            highest[_is_busy(edges, start[mask], end[mask])] = each
    return highest


def _is_busy(edges: Int64, start: Int64, end: Int64) -> Bool:
    """Return whether any event runs between each pair of neighboring edges."""
    started = np.bincount(np.searchsorted(edges, start), minlength=len(edges))
    ended = np.bincount(np.searchsorted(edges, end), minlength=len(edges))
    return np.cumsum(started - ended)[:-1] > 0
