"""Search a whole trace for events by their names or arguments."""

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
    """Events of one name."""

    id: int
    text: str
    count: int
    total_ps: float
    longest: int
    """The longest event."""


class SearchResult(msgspec.Struct):
    """The matching events: totals over all of them, and columns of one page."""

    count: int
    total_ps: float
    names: list[NameRow]
    """By total duration, longest first."""
    name_ids: Int32
    """All matching names."""
    matches: NDArray[np.uint8]
    """One bit per event of the trace if arguments were searched; empty otherwise."""
    offset: int
    """Number of matching events, by start, before the first one in the columns."""
    event: Int32
    track: Int32
    lane: Int32
    start: Float64
    duration: Float64
    marks: NDArray[np.uint8]
    """For each thousandth of the trace, whether it contains a match."""


def search_events(
    timeline: Timeline, matches: TextMatcher, offset: int = 0, *, include_args: bool = False
) -> SearchResult:
    """Return the events with a matching name, or with ``include_args`` a matching argument."""
    trace = timeline.trace
    name_matches = matches(trace.names)
    is_match = name_matches[trace.name]
    if include_args:
        is_match = is_match | timeline.arg_index.match(matches)
    events = np.flatnonzero(is_match)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    page = events[offset : offset + _MAX_HITS]
    return SearchResult(
        count=len(events),
        total_ps=float(trace.duration_ps[events].sum()),
        names=sum_by_name(timeline, events, trace.duration_ps[events])[:_MAX_NAMES],
        name_ids=np.flatnonzero(name_matches).astype(np.int32),
        matches=np.packbits(is_match, bitorder="little") if include_args else np.empty(0, np.uint8),
        offset=offset,
        event=page.astype(np.int32),
        track=trace.track[page],
        lane=timeline.lane[page],
        start=trace.start_ps[page].astype(np.float64),
        duration=trace.duration_ps[page].astype(np.float64),
        marks=_make_marks(timeline, events),
    )


def sum_by_name(timeline: Timeline, events: Int64, duration_ps: Int64) -> list[NameRow]:
    """Group events by name, longest total duration first.

    Args:
        timeline: The timeline of the trace.
        events: Numbers of the events.
        duration_ps: How much of each event to count.
    """
    trace = timeline.trace
    ids, inverse, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    total = np.bincount(inverse, duration_ps.astype(np.float64), len(ids))
    by_duration = np.argsort(trace.duration_ps[events], kind="stable")
    longest = np.zeros(len(ids), np.int64)
    longest[inverse[by_duration]] = events[by_duration]
    columns = zip(ids.tolist(), counts.tolist(), total.tolist(), longest.tolist(), strict=True)
    rows = (NameRow(id, shorten_name(trace.names[id]), *rest) for id, *rest in columns)
    return sorted(rows, key=lambda row: -row.total_ps)


def _make_marks(timeline: Timeline, events: Int64) -> NDArray[np.uint8]:
    span = max(timeline.end_ps - timeline.start_ps, 1)
    position = (timeline.trace.start_ps[events] - timeline.start_ps) * (_MARK_COUNT / span)
    marks = np.zeros(_MARK_COUNT, np.uint8)
    marks[np.minimum(position.astype(np.int64), _MARK_COUNT - 1)] = 1
    return marks


def make_word_matcher(query: str) -> TextMatcher:
    """Return a matcher of texts that contain all words of a query, in any order and case.

    An asterisk matches anything. A query in quotation marks has to be the whole text.
    """
    predicate = _make_text_predicate(query)

    def match(texts: Sequence[str]) -> Bool:
        return np.array([predicate(text) for text in texts], bool)

    return match


def _make_text_predicate(query: str) -> Callable[[str], bool]:
    query = query.strip()
    if len(query) > 1 and query[0] == query[-1] == '"':
        return query[1:-1].__eq__
    words = query.lower().split()
    if not words:
        return lambda text: False
    if not any("*" in word for word in words):
        return lambda text: all(word in text.lower() for word in words)
    predicates = [_make_wildcard_predicate(word) for word in words]
    return lambda text: all(predicate(text.lower()) for predicate in predicates)


def _make_wildcard_predicate(word: str) -> Callable[[str], bool]:
    """Return whether the parts between asterisks follow each other, in a single pass."""
    parts = [part for part in re.split(r"\*+", word) if part]

    def contains(text: str) -> bool:
        position = 0
        for part in parts:
            position = text.find(part, position)
            if position < 0:
                return False
            position += len(part)
        return True

    return contains
