"""The server's own routes below ``api/v1/``: status, runs, tags, files, blobs and the run table.

Dashboards have routes of their own (`tracklight.server.plugins`), as have notes
(`tracklight.server.notes`) and live updates (`tracklight.server.events`).

A cursor in a response is always taken before the index is read: a change between the two is then
reported twice, never missed.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from tracklight.server.events import LiveUpdates, LoadStatus
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

_MAX_PROBED_ENTRIES = 1000
_MAX_PROBED_EXAMPLES = 3


# ---- status, runs, tags, files


class HealthResponse(msgspec.Struct):
    """``failing`` while the log cannot be read; it is retried, so a restart does not help."""

    status: Literal["ok", "loading", "failing"]
    version: str


def create_health_route(refresher: Refresher) -> Route:
    def health(_: Empty) -> HealthResponse:
        """Return the state of the server; needs no token."""
        if refresher.failure is not None:
            return HealthResponse("failing", tracklight.__version__)
        return HealthResponse("loading" if refresher.is_loading else "ok", tracklight.__version__)

    return Route("health", Empty, health, "GET")


class LogdirProbe(msgspec.Struct):
    """What a log directory contains; ``entries`` is null if it is not local."""

    path: str
    exists: bool
    entries: int | None
    examples: list[str]


class RootRow(msgspec.Struct):
    """A log directory."""

    name: str
    path: str


class StatusResponse(msgspec.Struct):
    """The state of the log; ``directories`` is given only while there are no runs."""

    version: str
    cursor: str
    roots: list[RootRow]
    status: LoadStatus
    directories: list[LogdirProbe]


class DashboardRow(msgspec.Struct):
    """A dashboard; ``active`` if the log has something for it to show.

    ``module_url`` is the URL of its web part, relative to the page; null if it is built in.
    """

    name: str
    title: str
    plugins: list[str]
    active: bool
    module_url: str | None


class RunsResponse(msgspec.Struct):
    """All runs, as of ``cursor``."""

    cursor: str
    runs: list[RunRow]


class TagsRequest(msgspec.Struct):
    """The run whose tags to list; null for all runs."""

    run: str | None = None


class TagsResponse(msgspec.Struct):
    """The tags of ``run``, or of all runs if it is null, as of ``cursor``."""

    cursor: str
    run: str | None
    tags: list[TagRow]


class TagNamesRequest(msgspec.Struct):
    """The runs whose tags to list."""

    runs: list[str]


class TagNamesResponse(msgspec.Struct):
    """Names of tags of all kinds, in the order in which tags are listed."""

    tags: list[str]


class FilesRequest(msgspec.Struct):
    """The run whose files to list, null for all runs; with ``damaged`` only damaged files."""

    run: str | None = None
    damaged: bool = False


class FilesResponse(msgspec.Struct):
    """Event files, grouped by run."""

    files: list[FileRow]


class LogApi:
    """The routes that describe the log as a whole."""

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        live: LiveUpdates,
        registry: DashboardRegistry,
    ) -> None:
        self.source = source
        self.overview = overview
        self.live = live
        self.registry = registry

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
        """Return the log directories and the progress of reading them."""
        roots = self.source.roots
        has_runs = bool(self.overview.runs())
        return StatusResponse(
            version=tracklight.__version__,
            cursor=self.live.history.cursor(),
            roots=[RootRow(root.name, to_valid_unicode(root.path)) for root in roots],
            status=self.live.status(),
            directories=[] if has_runs else [probe_logdir(root.path) for root in roots],
        )

    def dashboards(self, _: Empty) -> list[DashboardRow]:
        """Return all dashboards, in the order of their tabs."""
        active = self.registry.list_active(self.source, self.overview.tags())
        return [
            DashboardRow(
                name=name,
                title=entry.title,
                plugins=list(entry.plugins),
                active=entry in active,
                module_url=f"plugins/{name}/index.js" if entry.web_dir else None,
            )
            for name, entry in self.registry.entries.items()
        ]

    def runs(self, _: Empty) -> RunsResponse:
        """Return all runs with their counts, in natural order."""
        cursor = self.live.history.cursor()
        return RunsResponse(cursor, list(self.overview.runs().values()))

    def tags(self, request: TagsRequest) -> TagsResponse:
        """Return the tags of one run, or of all runs merged."""
        cursor = self.live.history.cursor()
        if request.run is None:
            rows = [make_tag_row(shared) for shared in self.overview.tags()]
        else:
            rows = self.overview.list_run_tags(request.run)
        return TagsResponse(cursor, request.run, rows)

    def list_tag_names(self, request: TagNamesRequest) -> TagNamesResponse:
        """Return the names of the tags that any of several runs has."""
        runs = frozenset(request.runs)
        tags = (shared.tag for shared in self.overview.tags() if not runs.isdisjoint(shared.runs))
        return TagNamesResponse([*dict.fromkeys(tags)])

    def files(self, request: FilesRequest) -> FilesResponse:
        """Return event files and where they are damaged."""
        if request.run is None:
            runs = self.overview.runs().values()
            names = [row.name for row in runs if row.damaged or not request.damaged]
            rows = self._iter_files(names)
        else:
            run = request.run
            rows = (make_file_row(run, info) for info in self.source.files(run))
        return FilesResponse([row for row in rows if row.damaged or not request.damaged])

    def _iter_files(self, runs: Iterable[str]) -> Iterator[FileRow]:
        for name in runs:
            try:
                files = self.source.files(name)
            except RunNotFoundError:  # removed meanwhile
                continue
            yield from (make_file_row(name, info) for info in files)


def probe_logdir(path: str) -> LogdirProbe:
    """Look into a log directory, one level deep and at most a thousand entries."""
    if is_url(path):
        return LogdirProbe(to_valid_unicode(path), True, None, [])
    directory = Path(path).absolute()
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_PROBED_ENTRIES))
    except OSError:
        return LogdirProbe(to_valid_unicode(str(directory)), False, 0, [])
    examples = [to_valid_unicode(name) for name in names[:_MAX_PROBED_EXAMPLES]]
    return LogdirProbe(to_valid_unicode(str(directory)), True, len(names), examples)


# ---- blobs: logged values as files

_FILE_KINDS = frozenset({Kind.IMAGE, Kind.AUDIO, Kind.TEXT})
_NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class BlobListRequest(msgspec.Struct):
    """Up to ``limit`` values of a tag of a run, from number ``start`` on."""

    run: str
    tag: str
    start: _NonNegative = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class BlobListResponse(msgspec.Struct):
    """``total`` counts all values; the columns describe those that were requested."""

    kind: str
    total: int
    step: Int64
    wall_time: Float64
    overwritten: Bool
    bytes: Int64
    fingerprint: list[str]


class BlobRequest(msgspec.Struct):
    """Part ``part`` of value ``index``: a value may contain several images or audio clips."""

    fingerprint: str
    run: str
    tag: str
    index: _NonNegative
    part: _NonNegative = 0


class BlobApi:
    """The routes below ``blobs``: logged values as files, at URLs that never change."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def routes(self) -> list[Route]:
        return [
            Route("blobs", BlobListRequest, self.list_blobs, "GET"),
            Route("blobs/{fingerprint}", BlobRequest, self.read_blob, "GET"),
        ]

    def list_blobs(self, request: BlobListRequest) -> BlobListResponse:
        """Return the fingerprints with which the values of a tag can be read as files."""
        locations = self._source.locate(request.run, request.tag)
        rows = slice(request.start, request.start + request.limit)
        return BlobListResponse(
            kind=str(locations.kind),
            total=len(locations),
            step=locations.step[rows],
            wall_time=locations.wall_time[rows],
            overwritten=locations.overwritten[rows],
            bytes=locations.size[rows],
            fingerprint=[compute_value_key(locations, i) for i in range(len(locations))[rows]],
        )

    def read_blob(self, request: BlobRequest) -> Blob:
        """Return an image, audio clip or text as a file; other values as they were logged."""
        locations = self._source.locate(request.run, request.tag)
        index = request.index
        is_known = index < len(locations)
        if not is_known or compute_value_key(locations, index) != request.fingerprint:
            raise LogError(
                "log.value_gone",
                'the log no longer has this value of "{tag}"; reload the page',
                tag=request.tag,
            )
        data = self._source.read(locations, index)
        parts = _split_parts(data, locations, index)
        if request.part >= len(parts):
            raise LogError(
                "log.no_part",
                "there is no part {part}: this value has {parts} parts",
                part=request.part,
                parts=len(parts),
            )
        content, media_type = parts[request.part]
        return Blob(content, media_type, immutable=True)


def _split_parts(data: bytes, locations: ValueLocations, index: int) -> list[tuple[bytes, str]]:
    """Return the files in a value, each with its media type."""
    if locations.kind not in _FILE_KINDS or locations.content[index] >= Content.GRAPH:
        return [(data, UNKNOWN_MEDIA_TYPE)]
    # Decoding loads protobuf, which a log of scalars does not need.
    from tracklight.formats.values import Audio, Images, Text, decode_value

    value = decode_value(data, locations.kind)
    if isinstance(value, Text):
        return [(str(text).encode(), TEXT_MEDIA_TYPE) for text in np.ravel(value.array)]
    files = value.encoded if isinstance(value, Images) else ()
    files = value.clips if isinstance(value, Audio) else files
    return [(file, sniff_media_type(file)) for file in files]


# ---- the table of runs: hyperparameters, and metrics as one number each

_MAX_EXAMPLE_VALUES = 20
#: Each metric takes about 2 MB for 10,000 runs.
_MAX_CACHED_METRICS = 32

#: The last, lowest and highest value of a metric in one run.
MetricValues = tuple[float | None, float | None, float | None]
HParams = Mapping[str, HParamValue]
Cell = bool | JsonNumber | None

#: The prefixes of column keys, in the order of `MetricValues`.
_AGGREGATES = ("last", "min", "max")
_NO_VALUES: MetricValues = (None, None, None)
_NO_HPARAMS: HParams = {}


class HParamColumn(msgspec.Struct):
    """A hyperparameter over all runs; ``values`` are the first of its distinct values."""

    name: str
    type: Literal["number", "string", "bool"]
    distinct: int
    low: float | None
    high: float | None
    values: list[Cell]


class ColumnListResponse(msgspec.Struct):
    """The available columns; ``metrics`` are the tags of scalars."""

    hparams: list[HParamColumn]
    metrics: list[str]


class ColumnsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Columns by key: ``hparam:lr``, ``last:loss``, ``min:loss``, ``max:acc``."""

    columns: Annotated[list[str], msgspec.Meta(max_length=100)]


class ColumnsResponse(msgspec.Struct):
    """One value per run for each column, in the order of ``runs``; null if a run has none."""

    runs: list[str]
    columns: dict[str, list[Cell]]


class RunTableApi:
    """The routes ``runs/columns``."""

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
        """Return the available columns of the run table."""
        return self._columns.get()

    def read_columns(self, request: ColumnsRequest) -> ColumnsResponse:
        """Return the values of some columns of the run table."""
        runs = list(self._overview.runs())
        return ColumnsResponse(runs, {key: self._read_column(key, runs) for key in request.columns})

    def _build_list(self) -> ColumnListResponse:
        columns: dict[str, list[HParamValue]] = {}
        for hparams in self._hparams.read().values():
            for name, value in hparams.items():
                columns.setdefault(name, []).append(value)
        names = sorted(columns, key=natural_key)
        tags = self._overview.scalar_tags()
        return ColumnListResponse(
            [describe_hparam(name, columns[name]) for name in names], sorted(tags, key=natural_key)
        )

    def _read_column(self, key: str, runs: Sequence[str]) -> list[Cell]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            hparams = self._hparams.read()
            return [_make_cell(hparams.get(run, _NO_HPARAMS).get(name)) for run in runs]
        if kind not in _AGGREGATES:
            raise UsageError(
                "runs.unknown_column",
                'there is no column "{key}"; use hparam:NAME, last:TAG, min:TAG or max:TAG',
                key=key,
            )
        values = self._metrics.read(name)
        index = _AGGREGATES.index(kind)
        return [_make_cell(values.get(run, _NO_VALUES)[index]) for run in runs]


class RunHParams:
    """The hyperparameters of all runs, which inherit those of the sessions they belong to."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._cached = VersionedCache(source, self._read)

    def read(self) -> Mapping[str, HParams]:
        """Return the hyperparameters of all runs that have some."""
        return self._cached.get()

    def _read(self) -> Mapping[str, HParams]:
        if not (self._source.settings() or self._source.plugin_data(SESSION_START_TAG)):
            return {}
        # Most logs have no hyperparameters, so this is loaded only when needed.
        from tracklight.analysis.experiments.sessions import get_session_reader, inherit_hparams

        sessions = get_session_reader(self._source).read().sessions
        own = {session.name: session.hparams for session in sessions if session.hparams}
        return inherit_hparams(own, self._overview.runs()) if own else {}


class RunMetrics:
    """The last, lowest and highest values of metrics, computed again only for grown runs."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._lock = threading.Lock()
        self._cache: LruCache[str, dict[str, tuple[RunRow, MetricValues]]] = LruCache(
            max_items=_MAX_CACHED_METRICS
        )

    def read(self, tag: str) -> dict[str, MetricValues]:
        """Return the values of the scalar ``tag`` in all runs that have it."""
        with self._lock:
            cached = self._refresh(tag)
            self._cache.put(tag, cached)
        return {run: values for run, (_, values) in cached.items()}

    def _refresh(self, tag: str) -> dict[str, tuple[RunRow, MetricValues]]:
        rows = self._overview.runs()
        before = self._cache.find(tag) or {}
        runs = [run for run in self._overview.runs_with_scalar(tag) if run in rows]
        # The row of a run has its bytes and points: if it is the same, so are the values.
        grown = [run for run in runs if run not in before or before[run][0] != rows[run]]
        summaries = self._source.summaries([(run, tag) for run in grown])
        updated = {
            run: (rows[run], _get_values(summary))
            for run, summary in zip(grown, summaries, strict=True)
            if summary is not None
        }
        cached = before | updated
        return {run: cached[run] for run in runs if run in cached}


def describe_hparam(name: str, values: Iterable[HParamValue]) -> HParamColumn:
    """Describe a hyperparameter by its values in all runs."""
    distinct = set(values)
    if any(isinstance(value, str) for value in distinct):
        texts = sorted(map(str, distinct), key=natural_key)
        examples: list[Cell] = [*texts[:_MAX_EXAMPLE_VALUES]]
        return HParamColumn(name, "string", len(distinct), None, None, examples)
    if all(isinstance(value, bool) for value in distinct):
        return HParamColumn(name, "bool", len(distinct), None, None, [*sorted(distinct)])
    numbers = sorted(map(float, distinct), key=lambda value: (not math.isfinite(value), value))
    low, high = compute_extent(numbers)
    cells = [_make_cell(value) for value in numbers[:_MAX_EXAMPLE_VALUES]]
    return HParamColumn(name, "number", len(distinct), low, high, cells)


def compute_extent(numbers: Iterable[float]) -> tuple[float | None, float | None]:
    """Return the lowest and highest finite number."""
    finite = [value for value in numbers if math.isfinite(value)]
    return min(finite, default=None), max(finite, default=None)


def _get_values(summary: SeriesSummary) -> MetricValues:
    points = (summary.last, summary.min, summary.max)
    last, low, high = (None if point is None else point.value for point in points)
    return last, low, high


def _make_cell(value: HParamValue | None) -> Cell:
    return to_json_number(value) if isinstance(value, float) else value
