"""Finds events by their names, or by what is said of them, in the whole trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.profiles.timeline.sayings import Test
from tracklight.profiles.timeline.tiles import shorten
from tracklight.profiles.timeline.timeline import Timeline
from tracklight.types import Bool, Float64, Int32, Int64

_MOST_NAMES = 200
_MOST_HITS = 2_000
_MARKS = 1_000


class NameRow(msgspec.Struct):
    """All found events of one name."""

    id: int
    text: str
    count: int
    total_ps: float
    longest: int
    """The event that took longest."""


class Found(msgspec.Struct):
    count: int
    total_ps: float
    names: list[NameRow]
    """Those that took longest together, first."""
    ids: Int32
    """All names that fit."""
    told: NDArray[np.uint8]
    """A bit for each event of the trace, where arguments were looked through; else nothing."""
    offset: int
    """Which one of all, in order of their starts, is the first of the following."""
    event: Int32
    track: Int32
    lane: Int32
    start: Float64
    duration: Float64
    marks: NDArray[np.uint8]
    """The whole trace in a thousand parts: where there is any."""


def search(timeline: Timeline, fits: Test, offset: int = 0, *, arguments: bool = False) -> Found:
    """Find the events whose names fit, and with ``arguments`` those of which one of them does."""
    trace = timeline.trace
    names = fits(trace.names)
    found = names[trace.name]
    if arguments:
        found = found | timeline.sayings.find(fits)
    events = np.flatnonzero(found)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    shown = events[offset : offset + _MOST_HITS]
    return Found(
        len(events),
        float(trace.duration_ps[events].sum()),
        sum_names(timeline, events, trace.duration_ps[events])[:_MOST_NAMES],
        np.flatnonzero(names).astype(np.int32),
        np.packbits(found, bitorder="little") if arguments else np.empty(0, np.uint8),
        offset,
        shown.astype(np.int32),
        trace.track[shown],
        timeline.lane[shown],
        trace.start_ps[shown].astype(np.float64),
        trace.duration_ps[shown].astype(np.float64),
        _mark(timeline, events),
    )


def sum_names(timeline: Timeline, events: Int64, took: Int64) -> list[NameRow]:
    """Events by their names; ``took`` says how long each one counts."""
    trace = timeline.trace
    ids, which, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total = np.bincount(which, took.astype(np.float64), len(ids))
    by_length = np.argsort(trace.duration_ps[events], kind="stable")
    longest = np.zeros(len(ids), np.int64)
    longest[which[by_length]] = events[by_length]
    rows = zip(ids.tolist(), counts.tolist(), total.tolist(), longest.tolist(), strict=True)
    made = (NameRow(id, shorten(trace.names[id]), *rest) for id, *rest in rows)
    return sorted(made, key=lambda row: -row.total_ps)


def _mark(timeline: Timeline, events: Int64) -> NDArray[np.uint8]:
    span = max(timeline.end_ps - timeline.start_ps, 1)
    at = (timeline.trace.start_ps[events] - timeline.start_ps) * (_MARKS / span)
    marks = np.zeros(_MARKS, np.uint8)
    marks[np.minimum(at.astype(np.int64), _MARKS - 1)] = 1
    return marks


def find_words(query: str) -> Test:
    """Whether all words of a query are in a text; an asterisk stands for anything.

    A query in quotation marks is the whole text.
    """
    fits = _find_one(query)

    def find(texts: Sequence[str]) -> Bool:
        return np.array([fits(text) for text in texts], bool)

    return find


def _find_one(query: str) -> Callable[[str], bool]:
    query = query.strip()
    if len(query) > 1 and query[0] == query[-1] == '"':
        return query[1:-1].__eq__
    words = query.lower().split()
    if not words:
        return lambda name: False
    if not any("*" in word for word in words):
        return lambda name: all(word in name.lower() for word in words)
    patterns = [_find_parts(word) for word in words]
    return lambda name: all(pattern(name.lower()) for pattern in patterns)


def _find_parts(word: str) -> Callable[[str], bool]:
    """The parts between asterisks one after the other, which is found in one pass."""
    parts = [part for part in re.split(r"\*+", word) if part]

    def is_in(name: str) -> bool:
        at = 0
        for part in parts:
            at = name.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return True

    return is_in
