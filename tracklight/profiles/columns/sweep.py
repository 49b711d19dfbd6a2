"""Divides time among what went on: every instant once, to the most telling thing of it."""

from __future__ import annotations

import numpy as np

from tracklight.types import Bool, Int64


def divide(start: Int64, end: Int64, kind: Int64, spans: Int64, kinds: int) -> Int64:
    """How much of each span belongs to each kind: one row a span, one column a kind.

    ``spans`` are rows of a start and an end, in order and apart. An instant at which several kinds
    go on belongs to the highest; one at which nothing does belongs to none.
    """
    # Two at one time are no matter: nothing lies between them.
    edges = np.sort(np.concatenate([start, end, spans.ravel()]))
    if len(edges) < 2:
        return np.zeros((len(spans), kinds), np.int64)
    highest = _find_highest(edges, start, end, kind, kinds)
    which = np.searchsorted(spans[:, 0], edges[:-1], "right") - 1
    inside = (which >= 0) & (edges[:-1] < spans[which, 1]) & (highest >= 0)
    cell = which[inside] * kinds + highest[inside]
    # Doubles would do for an hour of picoseconds, and not for a day of them.
    out = np.zeros(len(spans) * kinds, np.int64)
    np.add.at(out, cell, np.diff(edges)[inside])
    return out.reshape(len(spans), kinds)


def cover(start: Int64, end: Int64, spans: Int64) -> Int64:
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


def _find_highest(edges: Int64, start: Int64, end: Int64, kind: Int64, kinds: int) -> Int64:
    """The highest kind that goes on between each edge and the next; -1: none."""
    highest = np.full(len(edges) - 1, -1, np.int64)
    for each in range(kinds):
        mine = kind == each
        if mine.any():
            highest[_find_busy(edges, start[mine], end[mine])] = each
    return highest


def _find_busy(edges: Int64, start: Int64, end: Int64) -> Bool:
    """Between which edges at least one of these goes on."""
    begun = np.bincount(np.searchsorted(edges, start), minlength=len(edges))
    ended = np.bincount(np.searchsorted(edges, end), minlength=len(edges))
    return np.cumsum(begun - ended)[:-1] > 0
