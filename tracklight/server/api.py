"""The server's own routes below ``api/v1/``: status, runs, tags, files and blobs.

Dashboards have routes of their own (`tracklight.server.plugins`), as have the table of runs
(`tracklight.server.run_table`), notes (`tracklight.server.notes`) and live updates
(`tracklight.server.events`).

A cursor in a response is always taken before the index is read: a change between the two is then
reported twice, never missed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

import tracklight
from tracklight.analysis.source import Blob, Empty, Source
from tracklight.errors import LogError, RunNotFoundError, UnavailableError
from tracklight.formats.batch import Content
from tracklight.index.event_file import compute_value_key
from tracklight.logdir.access import is_url
from tracklight.plugin import Route
from tracklight.server.events import LiveUpdates, LoadStatus
from tracklight.server.plugins import DashboardRegistry
from tracklight.server.source import (
    FileRow,
    LogOverview,
    LogSource,
    Refresher,
    RunRow,
    RunTotals,
    TagRow,
    make_file_row,
    make_tag_row,
    sum_runs,
    to_valid_unicode,
)
from tracklight.types import Bool, Float64, Int64, Kind, ValueLocations

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
    """The state of the log; ``directories`` is given only while there are no runs.

    With ``read_only``, notes, layouts and workspaces cannot be changed.
    """

    version: str
    cursor: str
    roots: list[RootRow]
    status: LoadStatus
    directories: list[LogdirProbe]
    read_only: bool = False


class DashboardRow(msgspec.Struct):
    """A dashboard; ``active`` if the log has something for it to show.

    ``module_url`` is the URL of its web part, relative to the page; null if it is built in.
    """

    name: str
    title: str
    plugins: list[str]
    active: bool
    module_url: str | None


class RunsRequest(msgspec.Struct):
    """With more than ``limit`` runs, none are listed; null lists any number of runs."""

    limit: int | None = None


class RunsResponse(msgspec.Struct):
    """All runs, as of ``cursor``.

    ``totals`` tells about them if there are more than the limit of the request.
    """

    cursor: str
    runs: list[RunRow]
    totals: RunTotals | None = None


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
        read_only: bool = False,
    ) -> None:
        self.source = source
        self.read_only = read_only
        self.overview = overview
        self.live = live
        self.registry = registry

    def routes(self) -> list[Route]:
        return [
            Route("status", Empty, self.status, "GET"),
            Route("dashboards", Empty, self.dashboards, "GET"),
            Route("runs", RunsRequest, self.runs, "GET", self.live.get_etag),
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
            read_only=self.read_only,
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

    def runs(self, request: RunsRequest) -> RunsResponse:
        """Return all runs with their counts, in natural order, or only their totals."""
        cursor = self.live.history.cursor()
        runs = list(self.overview.runs().values())
        if request.limit is None or len(runs) <= request.limit:
            return RunsResponse(cursor, runs)
        return RunsResponse(cursor, [], sum_runs(runs))

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
            except (RunNotFoundError, UnavailableError):  # removed meanwhile, or restarting
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
    from tracklight.formats.media import TEXT_MEDIA_TYPE, UNKNOWN_MEDIA_TYPE, sniff_media_type

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
