"""The answers under ``api/``: each handler asks the index and says it in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

import tracklight
from tracklight.errors import UnknownRun
from tracklight.server.live import Live, Status
from tracklight.server.overview import Overview
from tracklight.server.scalars import Chart, ScalarQuery, Scalars
from tracklight.server.source import Source
from tracklight.server.surroundings import Surroundings, look_around
from tracklight.server.wire import FileRow, Json, RunRow, TagRow, file_row, readable

_MOST_BODY_BYTES = 1 << 20


class RootRow(msgspec.Struct):
    """A log directory that is watched."""

    name: str
    path: str


class StatusAnswer(msgspec.Struct):
    """``found`` is what lies in the log directories, said only while there is no run."""

    version: str
    cursor: str
    roots: list[RootRow]
    status: Status
    found: list[Surroundings]


class RunsAnswer(msgspec.Struct):
    """All runs, as of ``cursor``."""

    cursor: str
    runs: list[RunRow]


class TagsAnswer(msgspec.Struct):
    """The tags of ``run``, or of all runs when that is null, as of ``cursor``."""

    cursor: str
    run: str | None
    tags: list[TagRow]


class FilesAnswer(msgspec.Struct):
    """Event files, run by run."""

    files: list[FileRow]


class ChartsAnswer(msgspec.Struct):
    """One chart for each that was asked for, in that order."""

    cursor: str
    charts: list[Chart]


class Api:
    """Handlers that share the index, what is merged from it, and the live state.

    A cursor is always taken before the index is asked: what changes between the two is then told
    twice, never missed.
    """

    def __init__(self, source: Source, overview: Overview, live: Live) -> None:
        self.source = source
        self.overview = overview
        self.live = live
        self.scalars = Scalars(source, overview)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/status", self.status),
            Route("/runs", self.runs),
            Route("/tags", self.tags),
            Route("/files", self.files),
            Route("/scalars/query", self.query_scalars, methods=["POST"]),
            Route("/live", self.follow),
        ]

    def status(self, _: Request) -> Response:
        """How the server stands: what it watches and how far it has read."""
        roots = self.source.roots
        return Json(
            StatusAnswer(
                version=tracklight.__version__,
                cursor=self.live.history.cursor(),
                roots=[RootRow(root.name, readable(root.path)) for root in roots],
                status=self.live.status(),
                found=[] if self.overview.runs() else [look_around(root.path) for root in roots],
            )
        )

    def runs(self, _: Request) -> Response:
        """All runs with their counts."""
        cursor = self.live.history.cursor()
        return Json(RunsAnswer(cursor, list(self.overview.runs().values())))

    def tags(self, request: Request) -> Response:
        """The tags of the run that is asked for, or of all runs together."""
        cursor = self.live.history.cursor()
        run = request.query_params.get("run")
        if run is None:
            rows = [shared.row() for shared in self.overview.tags()]
        else:
            rows = self.overview.tags_of(run)
        return Json(TagsAnswer(cursor, run, rows))

    def files(self, request: Request) -> Response:
        """Event files of one run or of all; with ``damaged=1`` only those with damage."""
        run = request.query_params.get("run")
        damaged = request.query_params.get("damaged") == "1"
        if run is None:
            names = [
                row.name for row in self.overview.runs().values() if row.damaged or not damaged
            ]
            rows = _iter_files(self.source, names)
        else:
            rows = (file_row(run, info) for info in self.source.files(run))
        return Json(FilesAnswer([row for row in rows if row.damaged or not damaged]))

    async def query_scalars(self, request: Request) -> Response:
        """Scalars reduced to the pixels that are asked for."""
        query = msgspec.json.decode(await read_body(request), type=ScalarQuery)
        cursor = self.live.history.cursor()
        charts = await run_in_threadpool(self.scalars.answer, query)
        return Json(ChartsAnswer(cursor, charts))

    async def follow(self, request: Request) -> Response:
        """The stream of changes; see ``server.live``."""
        since = request.query_params.get("since", "")
        cursor = request.headers.get("last-event-id") or since
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(
            self.live.stream(cursor), media_type="text/event-stream", headers=headers
        )


async def read_body(request: Request) -> bytes:
    """The body of a request, which may not be larger than any honest one."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY_BYTES:
            raise HTTPException(413, "this request is larger than one megabyte")
    return bytes(body)


def _iter_files(source: Source, runs: Iterable[str]) -> Iterator[FileRow]:
    """The files of some runs; runs that vanish meanwhile are passed over."""
    for name in runs:
        try:
            files = source.files(name)
        except UnknownRun:
            continue
        yield from (file_row(name, info) for info in files)
