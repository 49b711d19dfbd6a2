"""The tools that a capture is looked at with, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracklight.analysis.media.values import has_fingerprint
from tracklight.analysis.profiles.captures.chrome_export import iter_chrome_trace
from tracklight.dashboards.profile import memory, ops, overview, timeline
from tracklight.dashboards.profile.overview import get_hosts_response
from tracklight.dashboards.profile.schemas import (
    CaptureFileRequest,
    CaptureRequest,
    CapturesResponse,
    HostsResponse,
    OpeningResponse,
    ToolsResponse,
)
from tracklight.dashboards.profile.store import CaptureStore, Tool, make_tools_response
from tracklight.errors import TracklightError
from tracklight.plugin import Context, Dashboard, Empty, Route, Stream

TOOLS: tuple[Tool, ...] = (
    overview.OVERVIEW_TOOL,
    overview.INPUT_TOOL,
    timeline.TIMELINE_TOOL,
    ops.OPS_TOOL,
    ops.KERNELS_TOOL,
    memory.MEMORY_TOOL,
    ops.PROGRAM_TOOL,
    ops.ROOFLINE_TOOL,
    overview.COMPARE_TOOL,
)


# A capture as a file: as it is, or in the form that Perfetto opens.

_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")

_CHUNK_BYTES = 1 << 20


def make_file_stream(store: CaptureStore, ask: CaptureFileRequest) -> Stream:
    file = store.listing.get_file(ask.capture, ask.host)
    base = re.split(r"[/\\]", file.path)[-1]
    if ask.format == "original":
        name = f"{file.run}-{file.session}-{base}" if file.session not in base else base
        chunks = _iter_file_chunks(store, ask)
        return Stream(chunks, "application/octet-stream", _UNSAFE_CHARACTERS.sub("-", name))
    # Read now: what fails later cannot be told any more.
    trace = store.load(ask).trace
    name = (
        _UNSAFE_CHARACTERS.sub("-", f"{file.run}-{file.session}-{file.host}").strip("-.") or "trace"
    )
    return Stream(iter_chrome_trace(trace), "application/gzip", f"{name}.trace.json.gz")


def _iter_file_chunks(store: CaptureStore, ask: CaptureFileRequest) -> Iterator[bytes]:
    with store.open_file(ask) as path, path.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            yield chunk


# What a copy of a board, which has no server, knows of captures.


def iter_static_responses(
    context: Context, store: CaptureStore, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """The captures of some runs, each as every tool shows it at first."""
    listing = store.listing.list_captures()
    listing.captures = [row for row in listing.captures if row.run in frozenset(runs)]
    if not listing.captures:
        return
    yield "captures", listing
    for row in listing.captures:
        ask = CaptureRequest(row.id)
        try:
            opened = store.load(ask)
        except (TracklightError, OSError):
            continue  # the page says that the copy has nothing of it
        yield f"tools?capture={row.id}", make_tools_response(TOOLS, opened)
        if len(row.hosts) > 1:
            yield f"hosts?capture={row.id}", get_hosts_response(context, store, ask)
        for tool in TOOLS:
            if tool.explain_empty(opened) is None:
                yield from tool.iter_static_responses(store, ask)


class Profile(Dashboard):
    """Reads each capture once, and answers all that is asked of it from that."""

    name = "profile"
    title = "Profile"
    plugins = ("profile",)
    files = ("captures",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._store = CaptureStore(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("captures", Empty, self.captures, "GET"),
            Route("opening", CaptureRequest, self.opening, "GET"),
            Route("tools", CaptureRequest, self.tools, "GET", immutable=has_fingerprint),
            Route("hosts", CaptureRequest, self.hosts, "GET"),
            Route("file", CaptureFileRequest, self.file, "GET"),
            *(route for tool in TOOLS for route in tool.make_routes(self._store)),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self.context, self._store, runs)

    def captures(self, ask: Empty) -> CapturesResponse:
        """All captures of the log, by run and time."""
        return self._store.listing.list_captures()

    def opening(self, ask: CaptureRequest) -> OpeningResponse:
        """How far the reading of a capture has come; this starts nothing."""
        return self._store.get_opening(ask)

    def tools(self, ask: CaptureRequest) -> ToolsResponse:
        """What a capture can be looked at with, and why it cannot be with the rest."""
        return self._store.get_or_compute(
            ask, "tools", ToolsResponse, lambda opened: make_tools_response(TOOLS, opened)
        )

    def hosts(self, ask: CaptureRequest) -> HostsResponse:
        """How an average step went on every host of a capture."""
        return get_hosts_response(self.context, self._store, ask)

    def file(self, ask: CaptureFileRequest) -> Stream:
        """A capture as its profiler wrote it, or in the form that Perfetto opens."""
        return make_file_stream(self._store, ask)
