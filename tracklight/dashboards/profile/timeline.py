"""The trace viewer: the timeline at any level of detail, search, details of events and notes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from tracklight.analysis.media.time_limits import match_lines
from tracklight.analysis.profiles.attribution import EventPairs
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.timeline import (
    TextMatcher,
    Tiles,
    Timeline,
    choose_level,
    list_tracks,
    make_name_table,
    make_tiles,
)
from tracklight.analysis.profiles.timeline.details import (
    Counter,
    EventDetails,
    EventSet,
    FlowArrows,
    SearchResult,
    SelectionSummary,
    collect_flows,
    get_event_details,
    has_counters,
    list_counters,
    make_word_matcher,
    sample_counter,
    search_events,
    select_flow_arrows,
    summarize_events,
    summarize_selection,
)
from tracklight.analysis.source import Sentence
from tracklight.dashboards.profile.schemas import (
    AddNoteRequest,
    CaptureRequest,
    CountersRequest,
    CountersResponse,
    DeleteNoteRequest,
    EventRequest,
    EventSetRequest,
    SearchRequest,
    StaticTimeline,
    StepColumns,
    TileRange,
    TilesRequest,
    TimelineResponse,
    TimeNote,
    TimeNotesResponse,
    TimeRangeRequest,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
)
from tracklight.errors import Message, UsageError
from tracklight.plugin import Route
from tracklight.types import MEMORY_KINDS, Bool
from tracklight.util.files import JsonFile

_MAX_TILES = 64
#: Entries in the timeline of a static export, about two megabytes.
_MAX_STATIC_ENTRIES = 60_000
#: Values of a counter, and of all counters, in a static export.
_MAX_STATIC_CELLS, _MAX_STATIC_VALUES = 4000, 60_000
_MAX_NOTES = 500


class TimeNoteStore:
    """Notes at times of traces, by capture, in a file beside the notes on the log.

    All servers of the log share it. Changes raise `SaveError` if it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._file: JsonFile[dict[str, list[TimeNote]]] = JsonFile(
            path, dict[str, list[TimeNote]], dict
        )

    def get(self, capture: str) -> TimeNotesResponse:
        return TimeNotesResponse(self._file.read().get(capture, []))

    def add(self, capture: str, time_ps: float, text: str) -> TimeNotesResponse:
        note = TimeNote(uuid.uuid4().hex[:12], time_ps, text)

        def add(before: dict[str, list[TimeNote]]) -> dict[str, list[TimeNote]]:
            notes = [*before.get(capture, []), note]
            if len(notes) > _MAX_NOTES:
                raise UsageError(
                    "profile.too_many_notes",
                    "A capture can have {max_notes} notes. Delete one first",
                    max_notes=_MAX_NOTES,
                )
            return {**before, capture: sorted(notes, key=lambda item: item.time_ps)}

        return TimeNotesResponse(self._file.update(add)[capture])

    def delete(self, capture: str, id: str) -> TimeNotesResponse:
        def delete(before: dict[str, list[TimeNote]]) -> dict[str, list[TimeNote]]:
            return {**before, capture: [item for item in before.get(capture, []) if item.id != id]}

        return TimeNotesResponse(self._file.update(delete)[capture])


class _TimelineRoutes:
    """Handlers of the routes of the trace viewer."""

    def __init__(self, store: CaptureStore) -> None:
        self._store = store
        self._notes = TimeNoteStore(store.notes_path.with_suffix(".trace-notes.json"))

    def timeline(self, request: CaptureRequest) -> TimelineResponse:
        """Return the tracks, the duration and the steps of a trace."""
        capture = self._store.load(request)
        timeline = get_timeline(capture)
        return TimelineResponse(
            start_ps=timeline.start_ps,
            end_ps=timeline.end_ps,
            events=len(capture.trace),
            tracks=list_tracks(timeline),
            steps=_make_step_columns(capture, request.marker),
            flows=len(get_flows(capture).source),
            has_counters=has_counters(capture.trace),
            problems=[Sentence.make(problem) for problem in capture.trace.problems],
        )

    def tiles(self, request: TilesRequest) -> Tiles:
        """Return what is visible of some tracks, in tiles of one level of detail.

        Neighboring events that are shorter than 2 ** level ps and start in the same cell of that
        width are one entry: ``count`` is their number and ``event`` the longest of them.
        """
        timeline = get_timeline(self._store.load(request))
        tiles = range(request.first, request.last + 1)
        if len(tiles) > _MAX_TILES:
            raise UsageError(
                "profile.too_many_tiles",
                "Cannot return {tiles} tiles at once, at most {max_tiles}",
                tiles=len(tiles),
                max_tiles=_MAX_TILES,
            )
        return make_tiles(timeline, request.level, tiles, _check_tracks(timeline, request.tracks))

    def event(self, request: EventRequest) -> EventDetails:
        """Return the arguments, stack, children and flows of an event, and its rank by name."""
        capture = self._store.load(request)
        return get_event_details(get_timeline(capture), get_flows(capture), request.event)

    def search(self, request: SearchRequest) -> SearchResult:
        """Search the whole trace for events by name, or also by argument.

        All words of the query have to occur, in any order. An asterisk matches anything. A query in
        quotation marks has to be the whole name. Arguments are searched as ``key=value``.
        """
        make_matcher = make_regex_matcher if request.regex else make_word_matcher
        timeline = get_timeline(self._store.load(request))
        return search_events(
            timeline, make_matcher(request.query), request.offset, include_args=request.arguments
        )

    def selection(self, request: TimeRangeRequest) -> SelectionSummary:
        """Sum up the events of some tracks in a range of time, by name and by track."""
        timeline = get_timeline(self._store.load(request))
        tracks = _check_tracks(timeline, request.tracks)
        return summarize_selection(timeline, request.start, request.end, tracks)

    def events(self, request: EventSetRequest) -> EventSet:
        """Return the positions of selected events, and sum them up by name."""
        timeline = get_timeline(self._store.load(request))
        return summarize_events(timeline, request.events, request.boxes)

    def counters(self, request: CountersRequest) -> CountersResponse:
        """Return recorded counters, the memory in use and the queues of devices in a range."""
        counters = _get_counters(self._store.load(request), request.marker)
        if request.end <= request.start:
            raise UsageError("profile.empty_range", "The range of time is empty")
        return CountersResponse(
            [
                sample_counter(counter, request.start, request.end, request.cells)
                for counter in counters
            ]
        )

    def flows(self, request: TimeRangeRequest) -> FlowArrows:
        """Return the flows between some tracks in a range of time, as from launches to kernels."""
        capture = self._store.load(request)
        timeline = get_timeline(capture)
        tracks = _check_tracks(timeline, request.tracks)
        flows = get_flows(capture)
        return select_flow_arrows(timeline, flows, request.start, request.end, tracks)

    def notes(self, request: CaptureRequest) -> TimeNotesResponse:
        """Return the notes that users added at times of a trace."""
        return self._notes.get(request.capture)

    def add_note(self, request: AddNoteRequest) -> TimeNotesResponse:
        """Add a note at a time. Notes are stored beside those on the log."""
        self._store.listing.get_files(request.capture)
        return self._notes.add(request.capture, request.time_ps, request.text)

    def delete_note(self, request: DeleteNoteRequest) -> TimeNotesResponse:
        """Delete a note."""
        return self._notes.delete(request.capture, request.id)


def make_regex_matcher(query: str) -> TextMatcher:
    """Return a matcher of texts in which a regular expression matches."""

    def match(texts: Sequence[str]) -> Bool:
        lines = "\n".join(text.replace("\n", " ") for text in texts)
        return match_lines(query, lines, len(texts))

    return match


def get_timeline(capture: LoadedCapture) -> Timeline:
    return capture.get_or_compute("timeline", lambda: Timeline(capture.trace))


def get_flows(capture: LoadedCapture) -> EventPairs:
    return capture.get_or_compute("flows", lambda: collect_flows(capture.trace))


def _get_counters(capture: LoadedCapture, marker: str) -> list[Counter]:
    return capture.get_or_compute(
        ("counters", marker), lambda: list_counters(capture.trace, capture.get_steps(marker))
    )


def _make_step_columns(capture: LoadedCapture, marker: str) -> StepColumns:
    steps = capture.get_or_compute(("steps", marker), lambda: detect_steps(capture.trace, marker))
    start, end = steps.spans.T.astype(np.float64)
    return StepColumns(Sentence.make(steps.rule), list(steps.names), start, end)


def _check_tracks(timeline: Timeline, tracks: list[int]) -> list[int]:
    count = len(timeline.trace.tracks)
    unknown = [track for track in tracks if track >= count]
    if unknown:
        raise UsageError(
            "profile.no_track",
            "No track {track}: this capture has {count} tracks",
            track=unknown[0],
            count=count,
        )
    return tracks


def _explain_no_timeline(capture: LoadedCapture) -> EmptyReason | None:
    if len(capture.trace):
        return None
    if capture.file.kind in MEMORY_KINDS:
        return explain_empty(capture)
    return EmptyReason(
        Message("profile.empty", "Nothing was recorded."),
        Message("profile.empty_timeline_hint", "Run the profiler while the program does work."),
    )


def _make_timeline_routes(store: CaptureStore) -> Sequence[Route]:
    handlers = _TimelineRoutes(store)
    return [
        Route("timeline", CaptureRequest, handlers.timeline),
        Route("timeline/tiles", TilesRequest, handlers.tiles),
        Route("timeline/event", EventRequest, handlers.event),
        Route("timeline/search", SearchRequest, handlers.search),
        Route("timeline/selection", TimeRangeRequest, handlers.selection),
        Route("timeline/events", EventSetRequest, handlers.events),
        Route("timeline/counters", CountersRequest, handlers.counters),
        Route("timeline/flows", TimeRangeRequest, handlers.flows),
        Route("timeline/notes", CaptureRequest, handlers.notes, "GET"),
        Route("timeline/add-note", AddNoteRequest, handlers.add_note, mutates=True),
        Route("timeline/delete-note", DeleteNoteRequest, handlers.delete_note, mutates=True),
    ]


def _iter_timeline_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    capture = store.load(request)
    timeline = get_timeline(capture)
    response = _TimelineRoutes(store).timeline(request)
    level, range_ = choose_level(timeline, _MAX_STATIC_ENTRIES)
    tiles = make_tiles(timeline, level, range_, [track.id for track in response.tracks])
    # Without a server, names cannot be requested later: include all of them.
    tiles.names = make_name_table(timeline, np.unique(tiles.name).tolist())
    path = f"timeline?capture={quote(request.capture, safe='')}"
    response.exported = TileRange(level, range_.start, range_.stop - 1)
    counters = _get_counters(capture, request.marker)
    cells = max(_MAX_STATIC_VALUES // max(len(counters), 1), 1)
    span = timeline.start_ps, max(timeline.end_ps, timeline.start_ps + 1)
    sampled = CountersResponse(
        [sample_counter(counter, *span, min(cells, _MAX_STATIC_CELLS)) for counter in counters]
    )
    yield path, StaticTimeline(response, tiles, sampled)


TIMELINE_TOOL = Tool("trace", _make_timeline_routes, _explain_no_timeline, _iter_timeline_static)
