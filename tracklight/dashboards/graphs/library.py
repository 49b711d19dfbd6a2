"""The graphs of a log and uploaded graphs, with a cache of those that were opened last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import numpy as np

from tracklight.analysis.graphs import Graph
from tracklight.analysis.graphs.comparison import compare_graphs
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.graphdef import NodeExecution, parse_step_stats
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_logged_graph
from tracklight.analysis.media import compute_fingerprints
from tracklight.dashboards.graphs.schemas import (
    GraphRequest,
    GraphRow,
    GraphsResponse,
    GraphStepRow,
)
from tracklight.errors import LogError, Message, TracklightError
from tracklight.formats import proto
from tracklight.formats.batch import Content
from tracklight.formats.values import Tensor, decode_value
from tracklight.plugin import Context, Source
from tracklight.types import Kind, TagInfo
from tracklight.util.files import hash_key
from tracklight.util.memory import LruCache, UploadStore, make_upload_id

#: The tag of the graph that belongs to a run as a whole.
RUN_GRAPH_TAG = "__run_graph__"
#: Tags of this plugin have execution times and memory for the graph of their run.
PROFILE_PLUGIN = "graph_tagged_run_metadata"
#: Prefix of the id of a comparison; the ids of two graphs follow, the older one first.
COMPARE_PREFIX = "compare~"

GraphKind = Literal["op", "profile", "conceptual"]
_KIND_BY_PLUGIN: dict[str, GraphKind] = {
    "graph_keras_model": "conceptual",
    "graph_run_metadata": "profile",
}

#: Measured in bytes of the log; a graph takes several times as much memory.
_CACHE_BYTES = 512 << 20
_CACHE_IDLE_S = 600.0
_MAX_UPLOADS = 8
#: Uploaded files are kept with their weights.
_MAX_UPLOADED_BYTES = 1 << 30
#: Graphs of at least this size are loaded before the first request.
PREPARE_BYTES = 4 << 20
_GONE_MESSAGE = Message("graphs.gone", "the log no longer has this graph; reload the page")


def iter_graphs(log: Source, runs: Sequence[str] | None = None) -> Iterator[GraphRow]:
    """Yield all tags with graphs, of some runs or of all."""
    names = [run.name for run in log.runs()] if runs is None else runs
    for run in names:
        tags = log.tags(run)
        profiles = [info.tag for info in tags if info.plugin == PROFILE_PLUGIN]
        for info in tags:
            if info.plugin in GRAPH_PARSERS:
                yield _make_row(log, run, info, profiles)


def _make_row(log: Source, run: str, info: TagInfo, profiles: list[str]) -> GraphRow:
    locations = log.locate(run, info.tag)
    current = np.flatnonzero(~locations.overwritten)
    fingerprints = compute_fingerprints(locations)
    kind = _KIND_BY_PLUGIN.get(info.plugin, "op")
    return GraphRow(
        id=make_graph_id(run, info.tag, info.plugin),
        run=run,
        tag=info.tag,
        title="Run graph" if info.tag == RUN_GRAPH_TAG else info.display_name or info.tag,
        kind=kind,
        plugin=info.plugin,
        bytes=int(locations.size[current[-1]]) if len(current) else 0,
        steps=[
            GraphStepRow(
                index,
                int(locations.step[index]),
                float(locations.wall_time[index]),
                int(fingerprints[index]),
            )
            for index in current.tolist()
        ],
        profiles=[] if kind == "conceptual" else profiles,
    )


def make_graph_id(run: str, tag: str, plugin: str) -> str:
    """Return the id of a graph in URLs."""
    return hash_key(run, tag, plugin, size_bytes=8)


class GraphLibrary:
    """Open graphs by id. Thread-safe; a graph is loaded by one thread while others wait."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache: LruCache[str, GraphIndex] = LruCache(
            max_bytes=_CACHE_BYTES, idle_s=_CACHE_IDLE_S, keep_oversized=True
        )
        self._uploads: UploadStore[tuple[GraphRow, GraphIndex]] = UploadStore(
            max_items=_MAX_UPLOADS, max_bytes=_MAX_UPLOADED_BYTES
        )
        self._rows_cache: tuple[int, Mapping[str, GraphRow]] | None = None

    def list_graphs(self) -> GraphsResponse:
        """Return the graphs of the log, followed by uploads."""
        cursor = self._context.cursor()
        uploads = [row for row, _ in self._uploads.list_values()]
        return GraphsResponse(cursor, [*self._list_rows().values(), *uploads])

    def prepare(self) -> None:
        """Load the first graph if it is so large that users would have to wait for it."""
        row = next(iter(self._list_rows().values()), None)
        if row is not None and row.bytes >= PREPARE_BYTES:
            # A request for the graph reports the error.
            with suppress(TracklightError, OSError):
                self._open_logged(GraphRequest(row.id))

    def open(self, request: GraphRequest) -> GraphIndex:
        """Return a logged, uploaded or compared graph.

        Raises:
            LogError: The log does not have the graph any more.
            FormatError: The graph cannot be parsed.
        """
        upload = self._uploads.find(request.id)
        if upload is not None:
            return upload[1]
        if request.id.startswith(COMPARE_PREFIX):
            return self._open_comparison(request.id)
        return self._open_logged(request)

    def add_upload(self, name: str, graph: Graph, size_bytes: int) -> GraphRow:
        """Keep an uploaded graph until eight others, or 1 GB, have been uploaded."""
        graph_id = make_upload_id()
        row = GraphRow(graph_id, "", name, name, "upload", "", size_bytes, [], [])
        self._uploads.put(graph_id, (row, GraphIndex(graph)), size_bytes)
        return row

    def find_row(self, graph_id: str) -> GraphRow | None:
        """Return the row of a logged graph; None for uploads and comparisons."""
        return self._list_rows().get(graph_id)

    def get_title(self, graph_id: str) -> str:
        """Return what a file with the graph is called."""
        upload = self._uploads.find(graph_id)
        if upload is not None:
            return upload[0].title
        row = self.find_row(graph_id)
        return "graph" if row is None else f"{row.run}-{row.title}"

    def get_profile(self, request: GraphRequest, tag: str | None) -> Mapping[str, NodeExecution]:
        """Return executions by node name, from a tag or else from the graph's own trace."""
        row = self.find_row(request.id)
        if row is None or (tag is None and row.kind != "profile"):
            return {}
        if tag not in (None, *row.profiles):
            raise LogError(_GONE_MESSAGE)
        index = None if tag else request.index
        return parse_step_stats(self.read_bytes(row.run, tag or row.tag, index))

    def read_bytes(self, run: str, tag: str, index: int | None = None) -> bytes:
        """Return the serialized message that was logged under a tag, by default the last one."""
        locations = self._context.log.locate(run, tag)
        row = len(locations) - 1 if index is None else index
        if not 0 <= row < len(locations):
            raise LogError(_GONE_MESSAGE)
        return _unwrap(self._context.log.read(locations, row), int(locations.content[row]))

    def _list_rows(self) -> Mapping[str, GraphRow]:
        """Return the graphs of the log by id, cached until the log changes."""
        version = self._context.log.version
        cached = self._rows_cache
        if cached is None or cached[0] != version:
            rows = {row.id: row for row in iter_graphs(self._context.log)}
            self._rows_cache = cached = (version, rows)
        return cached[1]

    def _open_logged(self, request: GraphRequest) -> GraphIndex:
        row = self.find_row(request.id)
        steps = [] if row is None else row.steps
        index = steps[-1].index if steps and request.index is None else request.index
        step = next((step for step in steps if step.index == index), None)
        if row is None or step is None or request.fingerprint not in (None, step.fingerprint):
            raise LogError(_GONE_MESSAGE)

        def load() -> GraphIndex:
            data = self.read_bytes(row.run, row.tag, step.index)
            return GraphIndex(parse_logged_graph(row.plugin, data))

        return self._cache.get_or_build(f"{row.id} {step.fingerprint}", load, lambda _: row.bytes)

    def _open_comparison(self, graph_id: str) -> GraphIndex:
        first, _, second = graph_id.removeprefix(COMPARE_PREFIX).partition("~")
        before, after = self.open(GraphRequest(first)), self.open(GraphRequest(second))
        nodes = len(before.graph) + len(after.graph)

        def compare() -> GraphIndex:
            comparison = compare_graphs(before.graph, after.graph)
            return GraphIndex(comparison.graph, comparison)

        return self._cache.get_or_build(
            f"{graph_id} {id(before)} {id(after)}", compare, lambda _: 100 * nodes
        )


def _unwrap(data: bytes, content: int) -> bytes:
    """Return the message in a record: a field of the event, or a string tensor in a summary."""
    if content == Content.RUN_METADATA:
        return bytes(proto.parse("TaggedRunMetadata", data).run_metadata)
    if content >= Content.GRAPH:
        return data
    value = decode_value(data, Kind.TENSOR)
    texts = value.array.reshape(-1).tolist() if isinstance(value, Tensor) else []
    return texts[0] if texts and isinstance(texts[0], bytes) else b""
