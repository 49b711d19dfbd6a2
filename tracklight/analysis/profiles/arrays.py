"""Plain arithmetic on columns: numbers told apart, nesting, sets of times, time divided."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np

from tracklight.types import Bool, Int64

# Tells numbers apart, many of them at once.

#: Profilers number from 1 on; up to this, a table of all numbers is no matter.
_MAX_TABLE_VALUE = 1 << 20


def unique_inverse(values: np.ndarray[Any, Any]) -> tuple[Int64, Int64]:
    """As `np.unique` with ``return_inverse``, in a fraction of the time where numbers are small."""
    if not len(values) or values.min() < 0 or values.max() >= _MAX_TABLE_VALUE:
        unlike, which = np.unique(values, return_inverse=True)
        return unlike.astype(np.int64), which
    unlike = np.flatnonzero(np.bincount(values))
    places = np.zeros(int(unlike[-1]) + 1, np.int64)
    places[unlike] = np.arange(len(unlike))
    return unlike, places[values]


def unique_counts(values: Int64) -> tuple[Int64, Int64]:
    """As `np.unique` with ``return_counts``, which hashes what is sorted faster."""
    ordered = np.sort(values)
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    first = np.concatenate([np.zeros(min(len(values), 1), np.int64), changes])
    return ordered[first], np.diff(np.append(first, len(values)))


# Which event of a track another one stands inside of, and for how long.


def _import_native() -> ModuleType | None:
    try:
        from tracklight.analysis.profiles import _nesting
    except ImportError:
        return None
    return _nesting


#: The compiled loops; None where there was no compiler.
NATIVE = _import_native()


def compute_parents(end: Int64, skipped: Iterable[int] = ()) -> Int64:
    """Of each event of one track, in order of their starts, the innermost that contains it.

    -1: none does.
    One that only reaches into another is not inside of it. ``skipped`` ones have no parent and are
    nobody's.
    """
    parents = np.full(len(end), -1, np.int64)
    left_out = set(skipped)
    open_: list[tuple[int, int]] = []
    for event, last in enumerate(end.tolist()):
        if event in left_out:
            continue
        while open_ and open_[-1][1] < last:
            open_.pop()
        # All that is left ends no earlier; what ended before this began, ends before it ends.
        if open_:
            parents[event] = open_[-1][0]
        open_.append((event, last))
    return parents


def compute_child_time(start: Int64, end: Int64) -> Int64:
    """For how long others ran inside of each event of one thread, in order of their starts.

    Profilers end the calls that are open when they stop in any order, so one that outlasts the call
    that it began in stands inside of it all the same, for as long as both go on.
    """
    if NATIVE is not None:
        found: Int64 = NATIVE.measure_inner(start, end)
        return found
    return compute_child_time_python(start, end)


def compute_child_time_python(start: Int64, end: Int64) -> Int64:
    taken = [0] * len(start)
    open_: list[tuple[int, int]] = []
    for event, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while open_ and open_[-1][1] <= first:
            open_.pop()
        if open_:
            around, ends = open_[-1]
            taken[around] += min(last, ends) - first
        open_.append((event, last))
    return np.array(taken, np.int64)


# Sets of times: rows of a start and an end, in order and apart.


def merge_intervals(rows: Int64) -> Int64:
    """Rows in any order, which may overlap, as a set."""
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


def intersect_intervals(one: Int64, other: Int64) -> Int64:
    """What is in both sets."""
    edges = np.unique(np.concatenate([one.ravel(), other.ravel()]))
    inside = _is_covered(one, edges[:-1]) & _is_covered(other, edges[:-1])
    return merge_intervals(np.column_stack([edges[:-1], edges[1:]])[inside])


def measure_intervals(rows: Int64) -> int:
    return int((rows[:, 1] - rows[:, 0]).sum())


def _is_covered(rows: Int64, at: Int64) -> Bool:
    """Whether a set holds what comes right after each of some times."""
    begun = np.searchsorted(rows[:, 0], at, "right")
    ended = np.searchsorted(rows[:, 1], at, "right")
    covers: Bool = begun > ended
    return covers


# Divides time among what went on: every instant once, to the most telling thing of it.


def attribute_time(start: Int64, end: Int64, kind: Int64, spans: Int64, kinds: int) -> Int64:
    """How much of each span belongs to each kind: one row a span, one column a kind.

    ``spans`` are rows of a start and an end, in order and apart. An instant at which several kinds
    go on belongs to the highest; one at which nothing does belongs to none.
    """
    # Two at one time are no matter: nothing lies between them.
    edges = np.sort(np.concatenate([start, end, spans.ravel()]))
    if len(edges) < 2:
        return np.zeros((len(spans), kinds), np.int64)
    highest = _get_highest_kind(edges, start, end, kind, kinds)
    which = np.searchsorted(spans[:, 0], edges[:-1], "right") - 1
    inside = (which >= 0) & (edges[:-1] < spans[which, 1]) & (highest >= 0)
    cell = which[inside] * kinds + highest[inside]
    # Doubles would do for an hour of picoseconds, and not for a day of them.
    out = np.zeros(len(spans) * kinds, np.int64)
    np.add.at(out, cell, np.diff(edges)[inside])
    return out.reshape(len(spans), kinds)


def measure_coverage(start: Int64, end: Int64, spans: Int64) -> Int64:
    """How much of each span, a row of a start and an end, something goes on in."""
    if not len(start):
        return np.zeros(len(spans), np.int64)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    begins = np.append(True, start[1:] > end[:-1])
    first, last = start[begins], end[np.append(begins[1:], True)]
    before = np.append(0, np.cumsum(last - first))
    stretch = np.searchsorted(first, spans, "right") - 1
    into = np.clip(spans, first[stretch], last[stretch]) - first[stretch]
    covered = np.where(stretch < 0, 0, before[stretch] + into)
    through: Int64 = covered[:, 1] - covered[:, 0]
    return through


def _get_highest_kind(edges: Int64, start: Int64, end: Int64, kind: Int64, kinds: int) -> Int64:
    """The highest kind that goes on between each edge and the next; -1: none."""
    highest = np.full(len(edges) - 1, -1, np.int64)
    for each in range(kinds):
        mine = kind == each
        if mine.any():
            highest[_is_busy(edges, start[mine], end[mine])] = each
    return highest


def _is_busy(edges: Int64, start: Int64, end: Int64) -> Bool:
    """Between which edges at least one of these goes on."""
    begun = np.bincount(np.searchsorted(edges, start), minlength=len(edges))
    ended = np.bincount(np.searchsorted(edges, end), minlength=len(edges))
    return np.cumsum(begun - ended)[:-1] > 0


# Numbers things in the order in which they are met.

Value = TypeVar("Value")


class Interner(dict[Value, int], Generic[Value]):
    """Asking for a thing gives its number; a million asks must cost little, so this is a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.interned: list[Value] = []

    def __missing__(self, thing: Value) -> int:
        place = self[thing] = len(self.interned)
        self.interned.append(thing)
        return place


class StringInterner(Interner[str]):
    def intern(self, word: str) -> int:
        return self[word]
