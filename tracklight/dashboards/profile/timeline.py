"""The trace viewer: the timeline at any level of detail, and what is asked about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

import msgspec
import numpy as np

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.timeline_asks import EventAsk, SearchAsk, StretchAsk, TilesAsk
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.errors import UsageError
from tracklight.media.expressions import match_lines
from tracklight.plugin import Route
from tracklight.profiles.steps.steps import find_steps
from tracklight.profiles.timeline.flows import Arrows, Flows, find_flows, show_arrows
from tracklight.profiles.timeline.sayings import Test
from tracklight.profiles.timeline.searching import Found, find_words, search
from tracklight.profiles.timeline.selection import Selected, sum_selection
from tracklight.profiles.timeline.telling import Told, tell
from tracklight.profiles.timeline.tiles import Tiles, cut_tiles, pick_level, pick_words
from tracklight.profiles.timeline.timeline import Timeline
from tracklight.profiles.timeline.tracks import TrackRow, list_tracks
from tracklight.types import Bool, Float64

_MOST_TILES = 64
#: Entries that a copy of the board carries; they take about two megabytes.
_MOST_COPIED = 60_000


class StepColumns(msgspec.Struct):
    rule: str
    """How they were found."""
    names: list[str]
    start: Float64
    end: Float64


class TimelineAnswer(msgspec.Struct):
    """A trace as a whole; times are picoseconds since it began."""

    start_ps: float
    end_ps: float
    events: int
    tracks: list[TrackRow]
    """In the order to show them in: the main thread, devices, other threads."""
    steps: StepColumns
    flows: int
    """How many arrows lead from one event to another."""
    problems: list[str]


class CopiedTimeline(msgspec.Struct):
    """What a copy of the board carries: all tracks in all tiles of one level of detail."""

    timeline: TimelineAnswer
    level: int
    first: int
    last: int
    tiles: Tiles


class _Viewer:
    """Answers what is asked about timelines."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def timeline(self, ask: CaptureAsk) -> TimelineAnswer:
        """The tracks of a trace, how long it is, and its steps."""
        opened = self._store.open(ask)
        timeline = get_timeline(opened)
        return TimelineAnswer(
            timeline.start_ps,
            timeline.end_ps,
            len(opened.trace),
            list_tracks(timeline),
            _tell_steps(opened, ask.marker),
            len(get_flows(opened).source),
            list(opened.trace.problems),
        )

    def tiles(self, ask: TilesAsk) -> Tiles:
        """What is seen of some tracks, in tiles of one level of detail.

        Events shorter than 2 ** level ps that begin in the same cell of that size are one entry,
        of which ``count`` says how many they are and ``event`` which one is the longest.
        """
        timeline = get_timeline(self._store.open(ask))
        tiles = range(ask.first, ask.last + 1)
        if len(tiles) > _MOST_TILES:
            raise UsageError(f"at most {_MOST_TILES} tiles can be asked for at once")
        return cut_tiles(timeline, ask.level, tiles, _check(timeline, ask.tracks))

    def event(self, ask: EventAsk) -> Told:
        """One event: what is said of it, what it is in, and how it compares with its like."""
        opened = self._store.open(ask)
        return tell(get_timeline(opened), get_flows(opened), ask.event)

    def search(self, ask: SearchAsk) -> Found:
        """Events in whose names, or in one of whose arguments, a query is, in the whole trace.

        All words of it have to be there in any order; an asterisk stands for anything, and a query
        in quotation marks is the whole name. An argument is looked at as ``key=value``.
        """
        fits = find_expression(ask.query) if ask.regex else find_words(ask.query)
        timeline = get_timeline(self._store.open(ask))
        return search(timeline, fits, ask.offset, arguments=ask.arguments)

    def selection(self, ask: StretchAsk) -> Selected:
        """What went on in some tracks in a stretch of time, by name and by track."""
        timeline = get_timeline(self._store.open(ask))
        return sum_selection(timeline, ask.start, ask.end, _check(timeline, ask.tracks))

    def flows(self, ask: StretchAsk) -> Arrows:
        """Who brought about what, in a stretch of time: arrows from calls to their kernels."""
        opened = self._store.open(ask)
        timeline = get_timeline(opened)
        tracks = _check(timeline, ask.tracks)
        return show_arrows(timeline, get_flows(opened), ask.start, ask.end, tracks)


def find_expression(query: str) -> Test:
    """Whether an expression matches some of a text."""

    def find(texts: Sequence[str]) -> Bool:
        lines = "\n".join(text.replace("\n", " ") for text in texts)
        return match_lines(query, lines, len(texts))

    return find


def get_timeline(opened: Opened) -> Timeline:
    return opened.find("timeline", lambda: Timeline(opened.trace))


def get_flows(opened: Opened) -> Flows:
    return opened.find("flows", lambda: find_flows(opened.trace))


def _tell_steps(opened: Opened, marker: str) -> StepColumns:
    steps = opened.find(("steps", marker), lambda: find_steps(opened.trace, marker))
    start, end = steps.spans.T.astype(np.float64)
    return StepColumns(steps.rule, list(steps.names), start, end)


def _check(timeline: Timeline, tracks: list[int]) -> list[int]:
    known = len(timeline.trace.tracks)
    unknown = [track for track in tracks if track >= known]
    if unknown:
        raise UsageError(f"there is no track {unknown[0]}: this capture has {known}")
    return tracks


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    timeline = get_timeline(store.open(ask))
    answer = _Viewer(store).timeline(ask)
    level, tiles = pick_level(timeline, _MOST_COPIED)
    drawn = cut_tiles(timeline, level, tiles, [track.id for track in answer.tracks])
    drawn.words = pick_words(timeline, np.unique(drawn.name).tolist())
    path = f"timeline?capture={quote(ask.capture, safe='')}"
    yield path, CopiedTimeline(answer, level, tiles.start, tiles.stop - 1, drawn)


def _explain(opened: Opened) -> Why | None:
    if len(opened.trace):
        return None
    return Why("Nothing was recorded.", "Let the profiler run while the program does something.")


def _routes(store: Store) -> Sequence[Route]:
    viewer = _Viewer(store)
    return [
        Route("timeline", CaptureAsk, viewer.timeline),
        Route("timeline/tiles", TilesAsk, viewer.tiles),
        Route("timeline/event", EventAsk, viewer.event),
        Route("timeline/search", SearchAsk, viewer.search),
        Route("timeline/selection", StretchAsk, viewer.selection),
        Route("timeline/flows", StretchAsk, viewer.flows),
    ]


TOOL = Tool("trace", "Trace", _routes, _explain, _copies)
