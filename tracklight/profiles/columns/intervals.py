"""Sets of times: rows of a start and an end, in order and apart."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracklight.types import Bool, Int64


def merge(rows: Int64) -> Int64:
    """Rows in any order, which may overlap, as a set."""
    rows = rows[rows[:, 1] > rows[:, 0]]
    if not len(rows):
        return np.empty((0, 2), np.int64)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    end = np.maximum.accumulate(rows[:, 1])
    first = np.append(True, rows[1:, 0] > end[:-1])
    last = np.append(first[1:], True)
    return np.column_stack([rows[first, 0], end[last]])


def unite(sets: Iterable[Int64]) -> Int64:
    return merge(np.concatenate([np.empty((0, 2), np.int64), *sets]))


def intersect(one: Int64, other: Int64) -> Int64:
    """What is in both sets."""
    edges = np.unique(np.concatenate([one.ravel(), other.ravel()]))
    inside = _covers(one, edges[:-1]) & _covers(other, edges[:-1])
    return merge(np.column_stack([edges[:-1], edges[1:]])[inside])


def measure(rows: Int64) -> int:
    return int((rows[:, 1] - rows[:, 0]).sum())


def _covers(rows: Int64, at: Int64) -> Bool:
    """Whether a set holds what comes right after each of some times."""
    begun = np.searchsorted(rows[:, 0], at, "right")
    ended = np.searchsorted(rows[:, 1], at, "right")
    covers: Bool = begun > ended
    return covers
