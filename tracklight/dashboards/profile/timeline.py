"""The trace viewer: the timeline at any level of detail, and what is asked about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

import numpy as np

from tracklight.analysis.media.time_limits import match_lines
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.timeline.details import (
    EventDetails,
    FlowArrows,
    Flows,
    SelectionSummary,
    collect_flows,
    get_event_details,
    select_flow_arrows,
    summarize_selection,
)
from tracklight.analysis.profiles.timeline.layout import (
    TextMatcher,
    Timeline,
    list_tracks,
)
from tracklight.analysis.profiles.timeline.search import (
    SearchResult,
    make_word_matcher,
    search_events,
)
from tracklight.analysis.profiles.timeline.tiles import (
    Tiles,
    choose_level,
    make_name_table,
    make_tiles,
)
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    EventRequest,
    SearchRequest,
    StaticTimeline,
    StepColumns,
    TilesRequest,
    TimelineResponse,
    TimeRangeRequest,
)
from tracklight.dashboards.profile.store import CaptureStore, EmptyReason, LoadedCapture, Tool
from tracklight.errors import UsageError
from tracklight.plugin import Route
from tracklight.types import Bool

_MAX_TILES = 64

#: Entries that a copy of the board carries; they take about two megabytes.
_MAX_STATIC_ENTRIES = 60_000


class _TimelineRoutes:
    """Answers what is asked about timelines."""

    def __init__(self, store: CaptureStore) -> None:
        self._store = store

    def timeline(self, ask: CaptureRequest) -> TimelineResponse:
        """The tracks of a trace, how long it is, and its steps."""
        opened = self._store.load(ask)
        timeline = get_timeline(opened)
        return TimelineResponse(
            timeline.start_ps,
            timeline.end_ps,
            len(opened.trace),
            list_tracks(timeline),
            _make_step_columns(opened, ask.marker),
            len(get_flows(opened).source),
            list(opened.trace.problems),
        )

    def tiles(self, ask: TilesRequest) -> Tiles:
        """What is seen of some tracks, in tiles of one level of detail.

        Events shorter than 2 ** level ps that begin in the same cell of that size are one entry,
        of which ``count`` says how many they are and ``event`` which one is the longest.
        """
        timeline = get_timeline(self._store.load(ask))
        tiles = range(ask.first, ask.last + 1)
        if len(tiles) > _MAX_TILES:
            raise UsageError(f"at most {_MAX_TILES} tiles can be asked for at once")
        return make_tiles(timeline, ask.level, tiles, _check_tracks(timeline, ask.tracks))

    def event(self, ask: EventRequest) -> EventDetails:
        """One event: what is said of it, what it is in, and how it compares with its like."""
        opened = self._store.load(ask)
        return get_event_details(get_timeline(opened), get_flows(opened), ask.event)

    def search(self, ask: SearchRequest) -> SearchResult:
        """Events in whose names, or in one of whose arguments, a query is, in the whole trace.

        All words of it have to be there in any order; an asterisk stands for anything, and a query
        in quotation marks is the whole name. An argument is looked at as ``key=value``.
        """
        fits = make_regex_matcher(ask.query) if ask.regex else make_word_matcher(ask.query)
        timeline = get_timeline(self._store.load(ask))
        return search_events(timeline, fits, ask.offset, include_args=ask.arguments)

    def selection(self, ask: TimeRangeRequest) -> SelectionSummary:
        """What went on in some tracks in a stretch of time, by name and by track."""
        timeline = get_timeline(self._store.load(ask))
        return summarize_selection(
            timeline, ask.start, ask.end, _check_tracks(timeline, ask.tracks)
        )

    def flows(self, ask: TimeRangeRequest) -> FlowArrows:
        """Who brought about what, in a stretch of time: arrows from calls to their kernels."""
        opened = self._store.load(ask)
        timeline = get_timeline(opened)
        tracks = _check_tracks(timeline, ask.tracks)
        return select_flow_arrows(timeline, get_flows(opened), ask.start, ask.end, tracks)


def make_regex_matcher(query: str) -> TextMatcher:
    """Whether an expression matches some of a text."""

    def find(texts: Sequence[str]) -> Bool:
        lines = "\n".join(text.replace("\n", " ") for text in texts)
        return match_lines(query, lines, len(texts))

    return find


def get_timeline(opened: LoadedCapture) -> Timeline:
    return opened.get_or_compute("timeline", lambda: Timeline(opened.trace))


def get_flows(opened: LoadedCapture) -> Flows:
    return opened.get_or_compute("flows", lambda: collect_flows(opened.trace))


def _make_step_columns(opened: LoadedCapture, marker: str) -> StepColumns:
    steps = opened.get_or_compute(("steps", marker), lambda: detect_steps(opened.trace, marker))
    start, end = steps.spans.T.astype(np.float64)
    return StepColumns(steps.rule, list(steps.names), start, end)


def _check_tracks(timeline: Timeline, tracks: list[int]) -> list[int]:
    known = len(timeline.trace.tracks)
    unknown = [track for track in tracks if track >= known]
    if unknown:
        raise UsageError(f"there is no track {unknown[0]}: this capture has {known}")
    return tracks


def _iter_timeline_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    timeline = get_timeline(store.load(ask))
    answer = _TimelineRoutes(store).timeline(ask)
    level, tiles = choose_level(timeline, _MAX_STATIC_ENTRIES)
    drawn = make_tiles(timeline, level, tiles, [track.id for track in answer.tracks])
    drawn.words = make_name_table(timeline, np.unique(drawn.name).tolist())
    path = f"timeline?capture={quote(ask.capture, safe='')}"
    yield path, StaticTimeline(answer, level, tiles.start, tiles.stop - 1, drawn)


def _explain_no_timeline(opened: LoadedCapture) -> EmptyReason | None:
    if len(opened.trace):
        return None
    return EmptyReason(
        "Nothing was recorded.", "Let the profiler run while the program does something."
    )


def _make_timeline_routes(store: CaptureStore) -> Sequence[Route]:
    viewer = _TimelineRoutes(store)
    return [
        Route("timeline", CaptureRequest, viewer.timeline),
        Route("timeline/tiles", TilesRequest, viewer.tiles),
        Route("timeline/event", EventRequest, viewer.event),
        Route("timeline/search", SearchRequest, viewer.search),
        Route("timeline/selection", TimeRangeRequest, viewer.selection),
        Route("timeline/flows", TimeRangeRequest, viewer.flows),
    ]


TIMELINE_TOOL = Tool(
    "trace", "Trace", _make_timeline_routes, _explain_no_timeline, _iter_timeline_static
)
