"""What lies in a log directory in which no run was found, so that the page can say it."""

from __future__ import annotations

import math
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

import tracklight
from tracklight.analysis.source import Blob, Empty, Source
from tracklight.errors import LogError, RunNotFoundError, UsageError
from tracklight.formats.batch import Content
from tracklight.formats.hparams import SESSION_START_TAG, HParamValue
from tracklight.formats.media import TEXT_MEDIA_TYPE, UNKNOWN_MEDIA_TYPE, sniff_media_type
from tracklight.index.event_file import compute_value_key
from tracklight.logdir.names import natural_key
from tracklight.logdir.roots import is_url
from tracklight.plugin import Route
from tracklight.server.alerts.monitor import AlertService, AlertsResponse
from tracklight.server.events import LiveUpdates, LoadStatus
from tracklight.server.notes import (
    AlertRule,
    Annotation,
    ChartLayout,
    NotesDocument,
    NotesStore,
    RunNote,
    RunNoteUpdate,
)
from tracklight.server.plugins import DashboardRegistry
from tracklight.server.source import (
    FileRow,
    LogOverview,
    LogSource,
    Refresher,
    RunRow,
    TagRow,
    VersionedCache,
    make_file_row,
    make_tag_row,
    to_valid_unicode,
)
from tracklight.types import Bool, Float64, Int64, Kind, SeriesSummary, ValueLocations
from tracklight.util.json_number import JsonNumber, to_json_number
from tracklight.util.lru_cache import LruCache

_MAX_ENTRIES = 1000


class LogdirProbe(msgspec.Struct):
    """A log directory as the file system shows it; ``entries`` is null where that is not local."""

    path: str
    exists: bool
    entries: int | None
    examples: list[str]


def probe_logdir(path: str) -> LogdirProbe:
    """Look into the log directory ``path``, one level deep and not beyond a thousand entries."""
    if is_url(path):
        return LogdirProbe(to_valid_unicode(path), True, None, [])
    place = Path(path).absolute()
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES))
    except OSError:
        return LogdirProbe(to_valid_unicode(str(place)), False, 0, [])
    examples = [to_valid_unicode(name) for name in names[:3]]
    return LogdirProbe(to_valid_unicode(str(place)), True, len(names), examples)


# What the server itself answers under ``api/``; dashboards answer for themselves.


class RootRow(msgspec.Struct):
    """A log directory that is watched."""

    name: str
    path: str


class StatusResponse(msgspec.Struct):
    """``found`` is what lies in the log directories, said only while there is no run."""

    version: str
    cursor: str
    roots: list[RootRow]
    status: LoadStatus
    found: list[LogdirProbe]


class RunsResponse(msgspec.Struct):
    """All runs, as of ``cursor``."""

    cursor: str
    runs: list[RunRow]


class TagsRequest(msgspec.Struct):
    """Tags of this run, or of all."""

    run: str | None = None


class TagsResponse(msgspec.Struct):
    """The tags of ``run``, or of all runs when that is null, as of ``cursor``."""

    cursor: str
    run: str | None
    tags: list[TagRow]


class TagNamesRequest(msgspec.Struct):
    """The tags that any of these runs has."""

    runs: list[str]


class TagNamesResponse(msgspec.Struct):
    """Names of tags, of whatever kind, in the order in which tags are listed."""

    tags: list[str]


class FilesRequest(msgspec.Struct):
    """Files of this run, or of all; with ``damaged`` only those in which something is broken."""

    run: str | None = None
    damaged: bool = False


class FilesResponse(msgspec.Struct):
    """Event files, run by run."""

    files: list[FileRow]


class DashboardRow(msgspec.Struct):
    """One tab; ``active`` when the log holds something for it to show.

    ``module_url`` is where its web half lies, relative to the page; null for tracklight's own.
    """

    name: str
    title: str
    plugins: list[str]
    active: bool
    module_url: str | None


class LogApi:
    """Answers that share the index, what is merged from it, and the live state.

    A cursor is always taken before the index is asked: what changes between the two is then told
    twice, never missed.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        live: LiveUpdates,
        plugins: DashboardRegistry,
    ) -> None:
        self.source = source
        self.overview = overview
        self.live = live
        self.registry = plugins

    def routes(self) -> list[Route]:
        return [
            Route("status", Empty, self.status, "GET"),
            Route("dashboards", Empty, self.dashboards, "GET"),
            Route("runs", Empty, self.runs, "GET", self.live.get_etag),
            Route("tags", TagsRequest, self.tags, "GET", self.live.get_etag),
            Route("tags", TagNamesRequest, self.list_tag_names),
            Route("files", FilesRequest, self.files, "GET", self.live.get_etag),
        ]

    def status(self, _: Empty) -> StatusResponse:
        """How the server stands: what it watches and how far it has read."""
        roots = self.source.roots
        return StatusResponse(
            version=tracklight.__version__,
            cursor=self.live.history.cursor(),
            roots=[RootRow(root.name, to_valid_unicode(root.path)) for root in roots],
            status=self.live.status(),
            found=[] if self.overview.runs() else [probe_logdir(root.path) for root in roots],
        )

    def dashboards(self, _: Empty) -> list[DashboardRow]:
        """All dashboards, in the order of their tabs."""
        active = self.registry.list_active(self.source, self.overview.tags())
        return [
            DashboardRow(
                name=name,
                title=found.title,
                plugins=list(found.plugins),
                active=found in active,
                module_url=f"plugins/{name}/index.js" if found.web_dir else None,
            )
            for name, found in self.registry.entries.items()
        ]

    def runs(self, _: Empty) -> RunsResponse:
        """All runs with their counts, in natural order."""
        cursor = self.live.history.cursor()
        return RunsResponse(cursor, list(self.overview.runs().values()))

    def tags(self, ask: TagsRequest) -> TagsResponse:
        """The tags of one run, or of all runs together."""
        cursor = self.live.history.cursor()
        if ask.run is None:
            rows = [make_tag_row(shared) for shared in self.overview.tags()]
        else:
            rows = self.overview.list_run_tags(ask.run)
        return TagsResponse(cursor, ask.run, rows)

    def list_tag_names(self, ask: TagNamesRequest) -> TagNamesResponse:
        """The names of the tags that any of some runs has."""
        chosen = frozenset(ask.runs)
        found = (it.tag for it in self.overview.tags() if not chosen.isdisjoint(it.runs))
        return TagNamesResponse([*dict.fromkeys(found)])

    def files(self, ask: FilesRequest) -> FilesResponse:
        """Event files with their damage."""
        if ask.run is None:
            runs = self.overview.runs().values()
            names = [row.name for row in runs if row.damaged or not ask.damaged]
            rows = _iter_files(self.source, names)
        else:
            rows = (make_file_row(ask.run, info) for info in self.source.files(ask.run))
        return FilesResponse([row for row in rows if row.damaged or not ask.damaged])


def _iter_files(source: LogSource, runs: Iterable[str]) -> Iterator[FileRow]:
    """The files of some runs; runs that vanish meanwhile are passed over."""
    for name in runs:
        try:
            files = source.files(name)
        except RunNotFoundError:
            continue
        yield from (make_file_row(name, info) for info in files)


# ``GET api/health``: whether the server is well, for what watches over it.


class HealthResponse(msgspec.Struct):
    """``failing`` while the log cannot be read; it is tried again, so a restart is no help."""

    status: Literal["ok", "loading", "failing"]
    version: str


def create_health_route(follower: Refresher) -> Route:
    def answer(_: Empty) -> HealthResponse:
        """Whether the server is well; answered without a token."""
        if follower.failure is not None:
            return HealthResponse("failing", tracklight.__version__)
        return HealthResponse("loading" if follower.is_loading else "ok", tracklight.__version__)

    return Route("health", Empty, answer, "GET")


# ``api/blobs``: the values of a log that are files, each at an address that never changes.

_FILE_KINDS = frozenset({Kind.IMAGE, Kind.AUDIO, Kind.TEXT})

_NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class BlobListRequest(msgspec.Struct):
    """``limit`` values of a tag of a run, from number ``start`` on."""

    run: str
    tag: str
    start: _NonNegative = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class BlobListResponse(msgspec.Struct):
    """``total`` counts all values; the columns tell of those that were asked for."""

    kind: str
    total: int
    step: Int64
    wall_time: Float64
    overwritten: Bool
    bytes: Int64
    fingerprint: list[str]


class BlobRequest(msgspec.Struct):
    """Part ``part`` of value ``index``: a value may hold several pictures or clips."""

    fingerprint: str
    run: str
    tag: str
    index: _NonNegative
    part: _NonNegative = 0


class BlobApi:
    """Lists values that are not scalars, and reads one of them from the log."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def routes(self) -> list[Route]:
        return [
            Route("blobs", BlobListRequest, self.list_blobs, "GET"),
            Route("blobs/{fingerprint}", BlobRequest, self.read_blob, "GET"),
        ]

    def list_blobs(self, ask: BlobListRequest) -> BlobListResponse:
        """Where the values of a tag that are no scalars are found: the addresses of the files."""
        located = self._source.locate(ask.run, ask.tag)
        at = slice(ask.start, ask.start + ask.limit)
        numbers = range(len(located))[at]
        return BlobListResponse(
            kind=str(located.kind),
            total=len(located),
            step=located.step[at],
            wall_time=located.wall_time[at],
            overwritten=located.overwritten[at],
            bytes=located.size[at],
            fingerprint=[compute_value_key(located, number) for number in numbers],
        )

    def read_blob(self, ask: BlobRequest) -> Blob:
        """One picture, clip or text as a file; of other kinds, the bytes that were logged."""
        located = self._source.locate(ask.run, ask.tag)
        if ask.index >= len(located) or compute_value_key(located, ask.index) != ask.fingerprint:
            raise LogError(f'the log no longer has this value of "{ask.tag}"; load the page again')
        data = self._source.read(located, ask.index)
        parts = _split_parts(data, located, ask.index)
        if ask.part >= len(parts):
            raise LogError(f"this value has {len(parts)} parts, so there is no part {ask.part}")
        content, media_type = parts[ask.part]
        return Blob(content, media_type, immutable=True)


def _split_parts(data: bytes, located: ValueLocations, index: int) -> list[tuple[bytes, str]]:
    """The files in a value, each with its type."""
    if located.kind not in _FILE_KINDS or located.content[index] >= Content.GRAPH:
        return [(data, UNKNOWN_MEDIA_TYPE)]
    # Decoding brings protobuf in, which a board of scalars never needs.
    from tracklight.formats.values import Audio, Images, Text, decode_value

    value = decode_value(data, located.kind)
    if isinstance(value, Text):
        return [(str(text).encode(), TEXT_MEDIA_TYPE) for text in np.ravel(value.array)]
    files = value.encoded if isinstance(value, Images) else ()
    files = value.clips if isinstance(value, Audio) else files
    return [(file, sniff_media_type(file)) for file in files]


# Last, lowest and highest value of a metric in every run, worked out again only where it grew.

#: Metrics that are remembered; each takes about 2 MB for 10,000 runs.
_MAX_CACHED_METRICS = 32

#: Last, lowest, highest.
MetricValues = tuple[float | None, float | None, float | None]


class RunMetrics:
    """Remembers the latest metrics that were asked for, run by run."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._lock = threading.Lock()
        self._cache: LruCache[str, dict[str, tuple[RunRow, MetricValues]]] = LruCache(
            max_items=_MAX_CACHED_METRICS
        )

    def read(self, tag: str) -> dict[str, MetricValues]:
        """For every run that has the scalar ``tag``."""
        with self._lock:
            known = self._refresh(tag)
            self._cache.put(tag, known)
        return {run: values for run, (_, values) in known.items()}

    def _refresh(self, tag: str) -> dict[str, tuple[RunRow, MetricValues]]:
        rows = self._overview.runs()
        before = self._cache.find(tag) or {}
        runs = [run for run in self._overview.runs_with_scalar(tag) if run in rows]
        # A run's row tells of its bytes and points: where it is the same, so are the values.
        grown = [run for run in runs if run not in before or before[run][0] != rows[run]]
        digests = self._source.summaries([(run, tag) for run in grown])
        news = {
            run: (rows[run], _get_values(digest))
            for run, digest in zip(grown, digests, strict=True)
            if digest is not None
        }
        known = before | news
        return {run: known[run] for run in runs if run in known}


def _get_values(digest: SeriesSummary) -> MetricValues:
    last, low, high = (
        None if point is None else point.value for point in (digest.last, digest.min, digest.max)
    )
    return last, low, high


# The hyperparameters of every run, wherever its writer put them.

HParams = Mapping[str, HParamValue]


class RunHParams:
    """Hands the hyperparameters of sessions on to their runs."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._cached = VersionedCache(source, self._read)

    def read(self) -> Mapping[str, HParams]:
        """The hyperparameters of all runs that have some."""
        return self._cached.get()

    def _read(self) -> Mapping[str, HParams]:
        if not (self._source.settings() or self._source.plugin_data(SESSION_START_TAG)):
            return {}
        from tracklight.analysis.experiments.sessions import (
            get_session_reader,
            inherit_hparams,  # most logs hold none
        )

        sessions = get_session_reader(self._source).read().sessions
        own = {session.name: session.hparams for session in sessions if session.hparams}
        return inherit_hparams(own, self._overview.runs()) if own else {}


# Columns for the table of runs: hyperparameters, and metrics in one number each.

_MAX_EXAMPLE_VALUES = 20

#: The order in which RunDigests has them.
_AGGREGATES = ("last", "min", "max")

_NO_VALUES: MetricValues = (None, None, None)

_NO_HPARAMS: HParams = {}

Cell = bool | JsonNumber | None


class HParamColumn(msgspec.Struct):
    """What is known of a hyperparameter over all runs; ``values`` are the first of them."""

    name: str
    type: Literal["number", "string", "bool"]
    distinct: int
    low: float | None
    high: float | None
    values: list[Cell]


class ColumnListResponse(msgspec.Struct):
    """The columns that can be asked for; ``metrics`` are the tags of scalars."""

    hparams: list[HParamColumn]
    metrics: list[str]


class ColumnsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Columns by key: ``hparam:lr``, ``last:loss``, ``min:loss``, ``max:acc``."""

    columns: Annotated[list[str], msgspec.Meta(max_length=100)]


class ColumnsResponse(msgspec.Struct):
    """For each column a value a run, in the order of ``runs``; null where a run has none."""

    runs: list[str]
    columns: dict[str, list[Cell]]


class RunTableApi:
    """Answers for the table of runs."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._overview = overview
        self._hparams = RunHParams(source, overview)
        self._metrics = RunMetrics(source, overview)
        self._columns = VersionedCache(source, self._build_list)

    def routes(self) -> Sequence[Route]:
        return [
            Route("runs/columns", Empty, self.list_columns, "GET"),
            Route("runs/columns", ColumnsRequest, self.read_columns),
        ]

    def list_columns(self, _: Empty) -> ColumnListResponse:
        """The columns that the table of runs can have."""
        return self._columns.get()

    def read_columns(self, ask: ColumnsRequest) -> ColumnsResponse:
        """Some columns of the table of runs."""
        runs = list(self._overview.runs())
        return ColumnsResponse(runs, {key: self._read_column(key, runs) for key in ask.columns})

    def _build_list(self) -> ColumnListResponse:
        columns: dict[str, list[HParamValue]] = {}
        for hparams in self._hparams.read().values():
            for name, value in hparams.items():
                columns.setdefault(name, []).append(value)
        names = sorted(columns, key=natural_key)
        tags = (shared.tag for shared in self._overview.tags() if shared.kind is Kind.SCALAR)
        return ColumnListResponse(
            [describe_hparam(name, columns[name]) for name in names], sorted(tags, key=natural_key)
        )

    def _read_column(self, key: str, runs: Sequence[str]) -> list[Cell]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            known = self._hparams.read()
            return [_make_cell(known.get(run, _NO_HPARAMS).get(name)) for run in runs]
        if kind not in _AGGREGATES:
            raise UsageError(
                f'"{key}" is no column; a column is hparam:NAME, last:TAG, min:TAG or max:TAG'
            )
        values = self._metrics.read(name)
        at = _AGGREGATES.index(kind)
        return [_make_cell(values.get(run, _NO_VALUES)[at]) for run in runs]


def describe_hparam(name: str, values: Iterable[HParamValue]) -> HParamColumn:
    """One hyperparameter by the values that runs have of it."""
    distinct = set(values)
    if any(isinstance(value, str) for value in distinct):
        words = sorted(map(str, distinct), key=natural_key)
        return HParamColumn(
            name, "string", len(distinct), None, None, [*words[:_MAX_EXAMPLE_VALUES]]
        )
    if all(isinstance(value, bool) for value in distinct):
        return HParamColumn(name, "bool", len(distinct), None, None, [*sorted(distinct)])
    numbers = sorted(map(float, distinct), key=lambda value: (not math.isfinite(value), value))
    low, high = compute_extent(numbers)
    cells = [_make_cell(value) for value in numbers[:_MAX_EXAMPLE_VALUES]]
    return HParamColumn(name, "number", len(distinct), low, high, cells)


def compute_extent(numbers: Iterable[float]) -> tuple[float | None, float | None]:
    finite = [value for value in numbers if math.isfinite(value)]
    return min(finite, default=None), max(finite, default=None)


def _make_cell(value: HParamValue | None) -> Cell:
    return to_json_number(value) if isinstance(value, float) else value


# The answers on what users say: notes on runs, annotations at steps, layouts, rules for alerts.

_MAX_LAYOUTS = 100


class NotesResponse(msgspec.Struct):
    """Everything that is kept beside the log; ``revision`` grows with every change."""

    revision: int
    runs: dict[str, RunNote]
    annotations: tuple[Annotation, ...]
    layouts: tuple[ChartLayout, ...]
    alerts: AlertsResponse


class AnnotationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A word at a step; ``tag`` null puts it on every chart."""

    step: float
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000)]
    tag: str | None = None


class DeleteAnnotationRequest(msgspec.Struct):
    """One annotation."""

    id: str


class NotesApi:
    """Keeps what users say."""

    def __init__(self, store: NotesStore, alerts: AlertService) -> None:
        self._store = store
        self._alerts = alerts

    def routes(self) -> Sequence[Route]:
        return [
            Route("notes", Empty, self.read_notes, "GET"),
            Route("notes/runs", RunNoteUpdate, self.update_runs, "PATCH", mutates=True),
            Route(
                "notes/annotations", AnnotationRequest, self.add_annotation, "POST", mutates=True
            ),
            Route(
                "notes/annotations/{id}",
                DeleteAnnotationRequest,
                self.remove_annotation,
                "DELETE",
                mutates=True,
            ),
            Route("notes/layouts", ChartLayout, self.set_layout, "PUT", mutates=True),
            Route("alerts/rules", list[AlertRule], self.set_rules, "PUT", mutates=True),
        ]

    def read_notes(self, _: Empty) -> NotesResponse:
        """All notes, annotations and alerts."""
        return self._create_response(self._store.read())

    def update_runs(self, change: RunNoteUpdate) -> NotesResponse:
        """Set some fields of the notes on some runs; an empty text takes one away."""
        return self._update(lambda book: book.with_run_update(change))

    def add_annotation(self, new: AnnotationRequest) -> NotesResponse:
        """Put a word at a step."""
        created = Annotation(secrets.token_hex(6), new.step, new.text, new.tag, time.time())
        return self._update(lambda book: book.with_annotation(created))

    def remove_annotation(self, ask: DeleteAnnotationRequest) -> NotesResponse:
        """Take an annotation away."""
        if all(note.id != ask.id for note in self._store.read().annotations):
            raise LogError(f'no annotation "{ask.id}"')
        return self._update(lambda book: book.without_annotation(ask.id))

    def set_layout(self, layout: ChartLayout) -> NotesResponse:
        """Keep a layout of charts under its name; without categories it is taken away."""
        known = {kept.name for kept in self._store.read().layouts}
        if len(known | {layout.name}) > _MAX_LAYOUTS:
            raise UsageError(f"there are already {_MAX_LAYOUTS} layouts: remove one first")
        return self._update(lambda book: book.with_layout(layout))

    def set_rules(self, rules: list[AlertRule]) -> NotesResponse:
        """Replace the rules for alerts, but for those that are fixed."""
        self._alerts.set_rules(rules)
        return self._create_response(self._store.read())

    def _update(self, edit: Callable[[NotesDocument], NotesDocument]) -> NotesResponse:
        book = self._store.update(edit)
        self._alerts.request_reload()
        return self._create_response(book)

    def _create_response(self, book: NotesDocument) -> NotesResponse:
        return NotesResponse(
            revision=book.revision,
            runs=book.runs,
            annotations=book.annotations,
            layouts=book.layouts,
            alerts=self._alerts.create_response(),
        )
