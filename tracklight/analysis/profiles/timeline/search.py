"""Finds events by their names, or by what is said of them, in the whole trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.timeline.layout import TextMatcher, Timeline
from tracklight.analysis.profiles.timeline.tiles import shorten_name
from tracklight.types import Bool, Float64, Int32, Int64

_MAX_NAMES = 200
_MAX_HITS = 2_000
_MARK_COUNT = 1_000


class NameRow(msgspec.Struct):
    """All found events of one name."""

    id: int
    text: str
    count: int
    total_ps: float
    longest: int
    """The event that took longest."""


class SearchResult(msgspec.Struct):
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


def search_events(
    timeline: Timeline, matches: TextMatcher, offset: int = 0, *, include_args: bool = False
) -> SearchResult:
    """Find the events whose names fit, and with ``arguments`` those of which one of them does."""
    trace = timeline.trace
    names = matches(trace.names)
    found = names[trace.name]
    if include_args:
        found = found | timeline.arg_index.match(matches)
    events = np.flatnonzero(found)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    shown = events[offset : offset + _MAX_HITS]
    return SearchResult(
        len(events),
        float(trace.duration_ps[events].sum()),
        sum_by_name(timeline, events, trace.duration_ps[events])[:_MAX_NAMES],
        np.flatnonzero(names).astype(np.int32),
        np.packbits(found, bitorder="little") if include_args else np.empty(0, np.uint8),
        offset,
        shown.astype(np.int32),
        trace.track[shown],
        timeline.lane[shown],
        trace.start_ps[shown].astype(np.float64),
        trace.duration_ps[shown].astype(np.float64),
        _make_marks(timeline, events),
    )


def sum_by_name(timeline: Timeline, events: Int64, took: Int64) -> list[NameRow]:
    """Events by their names; ``took`` says how long each one counts."""
    trace = timeline.trace
    ids, which, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total = np.bincount(which, took.astype(np.float64), len(ids))
    by_length = np.argsort(trace.duration_ps[events], kind="stable")
    longest = np.zeros(len(ids), np.int64)
    longest[which[by_length]] = events[by_length]
    rows = zip(ids.tolist(), counts.tolist(), total.tolist(), longest.tolist(), strict=True)
    made = (NameRow(id, shorten_name(trace.names[id]), *rest) for id, *rest in rows)
    return sorted(made, key=lambda row: -row.total_ps)


def _make_marks(timeline: Timeline, events: Int64) -> NDArray[np.uint8]:
    span = max(timeline.end_ps - timeline.start_ps, 1)
    at = (timeline.trace.start_ps[events] - timeline.start_ps) * (_MARK_COUNT / span)
    marks = np.zeros(_MARK_COUNT, np.uint8)
    marks[np.minimum(at.astype(np.int64), _MARK_COUNT - 1)] = 1
    return marks


def make_word_matcher(query: str) -> TextMatcher:
    """Whether all words of a query are in a text; an asterisk stands for anything.

    A query in quotation marks is the whole text.
    """
    fits = _make_text_predicate(query)

    def find(texts: Sequence[str]) -> Bool:
        return np.array([fits(text) for text in texts], bool)

    return find


def _make_text_predicate(query: str) -> Callable[[str], bool]:
    query = query.strip()
    if len(query) > 1 and query[0] == query[-1] == '"':
        return query[1:-1].__eq__
    words = query.lower().split()
    if not words:
        return lambda name: False
    if not any("*" in word for word in words):
        return lambda name: all(word in name.lower() for word in words)
    patterns = [_make_wildcard_predicate(word) for word in words]
    return lambda name: all(pattern(name.lower()) for pattern in patterns)


def _make_wildcard_predicate(word: str) -> Callable[[str], bool]:
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
