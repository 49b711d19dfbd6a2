"""The Profile dashboard: where the time and the memory of a program went.

`Profile` lists the tools, and offers captures as files and in static exports. `store` lists
captures, loads them and caches what is computed from them. Each tool is a `store.Tool` with its
routes: `overview` (also input, hosts and comparison), `timeline`, `ops` (also kernels, programs,
roofline, PyTorch operators and call tree), `communication`, `memory` and `queries`. Requests and
responses are in `schemas`, or with the only tool that uses them.

The computations are in `tracklight.analysis.profiles`. Otherwise, this package may import what
`tracklight.plugin` offers to every dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracklight.analysis.profiles.captures.chrome_trace import iter_chrome_trace
from tracklight.dashboards.profile import (
    communication,
    memory,
    ops,
    overview,
    queries,
    timeline,
)
from tracklight.dashboards.profile.overview import get_hosts_response
from tracklight.dashboards.profile.schemas import (
    CaptureFileRequest,
    CaptureRequest,
    CaptureRow,
    CapturesResponse,
    CaptureUploadRequest,
    HostsResponse,
    OpeningResponse,
    ToolsResponse,
    has_version,
)
from tracklight.dashboards.profile.store import (
    MAX_UPLOAD_BYTES,
    CaptureStore,
    Tool,
    make_tools_response,
)
from tracklight.errors import TracklightError
from tracklight.plugin import Context, Dashboard, Empty, Route, Stream

#: In display order.
TOOLS: tuple[Tool, ...] = (
    overview.OVERVIEW_TOOL,
    overview.INPUT_TOOL,
    timeline.TIMELINE_TOOL,
    ops.CALL_TREE_TOOL,
    ops.OPS_TOOL,
    ops.OPERATORS_TOOL,
    ops.KERNELS_TOOL,
    communication.COMMUNICATION_TOOL,
    memory.MEMORY_TOOL,
    ops.PROGRAM_TOOL,
    ops.ROOFLINE_TOOL,
    queries.QUERY_TOOL,
    overview.COMPARE_TOOL,
)

_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")
_CHUNK_BYTES = 1 << 20


class Profile(Dashboard):
    """Shows the captures of profilers. Each capture is read once for all tools."""

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
            Route("tools", CaptureRequest, self.tools, "GET", immutable=has_version),
            Route("hosts", CaptureRequest, self.hosts, "GET"),
            Route("file", CaptureFileRequest, self.file, "GET"),
            Route(
                "upload",
                CaptureUploadRequest,
                self.upload,
                mutates=True,
                upload_bytes=MAX_UPLOAD_BYTES,
            ),
            *(route for tool in TOOLS for route in tool.make_routes(self._store)),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self.context, self._store, runs)

    def captures(self, request: Empty) -> CapturesResponse:
        """List all captures of the log, by run and time."""
        return self._store.listing.list_captures()

    def opening(self, request: CaptureRequest) -> OpeningResponse:
        """Return the progress of reading a capture, without starting to read it."""
        return self._store.get_opening(request)

    def tools(self, request: CaptureRequest) -> ToolsResponse:
        """List the tools, and why some of them have nothing to show of a capture."""
        return self._store.get_or_compute(
            request, "tools", ToolsResponse, lambda capture: make_tools_response(TOOLS, capture)
        )

    def hosts(self, request: CaptureRequest) -> HostsResponse:
        """Return the average step of every host of a capture."""
        return get_hosts_response(self.context, self._store, request)

    def file(self, request: CaptureFileRequest) -> Stream:
        """Download a capture file as it is, or in the Chrome trace format for Perfetto."""
        return make_file_stream(self._store, request)

    def upload(self, request: CaptureUploadRequest) -> CaptureRow:
        """Open a capture file: XPlane, Chrome trace or memory profile.

        It is kept until the server stops or eight other files have been uploaded.
        """
        return self._store.upload(request.name, request.body)


def make_file_stream(store: CaptureStore, request: CaptureFileRequest) -> Stream:
    file = store.listing.get_file(request.capture, request.host)
    if request.format == "original":
        filename = re.split(r"[/\\]", file.path)[-1]
        if file.session not in filename:
            filename = f"{file.run}-{file.session}-{filename}"
        chunks = _iter_file_chunks(store, request)
        return Stream(chunks, "application/octet-stream", _UNSAFE_CHARACTERS.sub("-", filename))
    # Load the trace now: once the first chunk is sent, errors cannot be reported any more.
    trace = store.load(request).trace
    name = _UNSAFE_CHARACTERS.sub("-", f"{file.run}-{file.session}-{file.host}").strip("-.")
    filename = f"{name or 'trace'}.trace.json.gz"
    return Stream(iter_chrome_trace(trace), "application/gzip", filename)


def _iter_file_chunks(store: CaptureStore, request: CaptureFileRequest) -> Iterator[bytes]:
    with store.open_file(request) as path, path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def iter_static_responses(
    context: Context, store: CaptureStore, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Yield what a static export contains of some runs: the default view of every tool."""
    listing = store.listing.list_captures()
    listing.captures = [row for row in listing.captures if row.run in frozenset(runs)]
    if not listing.captures:
        return
    for row in listing.captures:
        row.version = None
    yield "captures", listing
    for row in listing.captures:
        request = CaptureRequest(row.id)
        try:
            capture = store.load(request)
        except (TracklightError, OSError):
            continue  # the page says that the export does not contain it
        yield f"tools?capture={row.id}", make_tools_response(TOOLS, capture)
        if len(row.hosts) > 1:
            yield f"hosts?capture={row.id}", get_hosts_response(context, store, request)
        for tool in TOOLS:
            if tool.explain_empty(capture) is None:
                yield from tool.iter_static_responses(store, request)
