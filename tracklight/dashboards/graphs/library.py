"""The graphs that a log holds."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import numpy as np

from tracklight.analysis.graphs.comparison import compare_graphs
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.graphdef import NodeExecution, parse_step_stats
from tracklight.analysis.graphs.model import Graph
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_logged_graph
from tracklight.analysis.media.values import compute_fingerprints
from tracklight.dashboards.graphs.schemas import (
    GraphRequest,
    GraphRow,
    GraphsResponse,
    GraphStepRow,
)
from tracklight.errors import LogError, TracklightError
from tracklight.formats import proto
from tracklight.formats.batch import Content
from tracklight.formats.values import Tensor, decode_value
from tracklight.plugin import Context, Source
from tracklight.types import Kind, TagInfo
from tracklight.util.hashing import hash_key
from tracklight.util.lru_cache import LruCache

#: The tag under which a run's own graph stands.
RUN_GRAPH_TAG = "__run_graph__"

#: What a tag of this plugin holds is no graph but lies over the graph of its run.
PROFILE_PLUGIN = "graph_tagged_run_metadata"

GraphKind = Literal["op", "profile", "conceptual"]

_KIND_BY_PLUGIN: dict[str, GraphKind] = {
    "graph_keras_model": "conceptual",
    "graph_run_metadata": "profile",
}


def iter_graphs(log: Source, runs: Sequence[str] | None = None) -> Iterator[GraphRow]:
    """Every tag with graphs; of runs that are there."""
    names = [run.name for run in log.runs()] if runs is None else runs
    for run in names:
        tags = log.tags(run)
        profiles = [info.tag for info in tags if info.plugin == PROFILE_PLUGIN]
        for info in tags:
            if info.plugin in GRAPH_PARSERS:
                yield _make_row(log, run, info, profiles)


def _make_row(log: Source, run: str, info: TagInfo, profiles: list[str]) -> GraphRow:
    located = log.locate(run, info.tag)
    kept = np.flatnonzero(~located.overwritten)
    marks = compute_fingerprints(located)
    kind = _KIND_BY_PLUGIN.get(info.plugin, "op")
    return GraphRow(
        id=make_graph_id(run, info.tag, info.plugin),
        run=run,
        tag=info.tag,
        title="Graph of the run" if info.tag == RUN_GRAPH_TAG else info.display_name or info.tag,
        kind=kind,
        plugin=info.plugin,
        bytes=int(located.size[kept[-1]]) if len(kept) else 0,
        steps=[
            GraphStepRow(at, int(located.step[at]), float(located.wall_time[at]), int(marks[at]))
            for at in kept.tolist()
        ],
        profiles=[] if kind == "conceptual" else profiles,
    )


def make_graph_id(run: str, tag: str, plugin: str) -> str:
    """Return the id of a graph in URLs."""
    return hash_key(run, tag, plugin, size_bytes=8)


# The graphs that were looked at last, ready for the next ask.

#: The ids of two graphs follow, the older first: a graph of both.
COMPARE_PREFIX = "compare~"

_CACHE_IDLE_S = 600.0

#: Counted in bytes of the log; in memory a graph takes several times as much.
_CACHE_BYTES = 512 << 20

_MAX_UPLOADS = 8

_PREPARE_BYTES = 4 << 20

_GONE_MESSAGE = "the log no longer has this graph; load the page again"


class GraphLibrary:
    """May be asked from any thread; a graph is read by one of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache: LruCache[str, GraphIndex] = LruCache(
            max_bytes=_CACHE_BYTES, idle_s=_CACHE_IDLE_S, keep_oversized=True
        )
        self._uploads: OrderedDict[str, tuple[GraphRow, GraphIndex]] = OrderedDict()
        self._rows_cache: tuple[int, Mapping[str, GraphRow]] | None = None
        self._lock = threading.Lock()

    def list_graphs(self) -> GraphsResponse:
        cursor = self._context.cursor()
        with self._lock:
            uploads = [row for row, _ in self._uploads.values()]
        return GraphsResponse(cursor, [*self._list_rows().values(), *uploads])

    def prepare(self) -> None:
        """Read the graph that is seen first, if it is so large that somebody would wait for it."""
        row = next(iter(self._list_rows().values()), None)
        if row is not None and row.bytes >= _PREPARE_BYTES:
            # What is wrong with it is told to who asks for it.
            with suppress(TracklightError, OSError):
                self._open_logged(GraphRequest(row.id))

    def open(self, ask: GraphRequest) -> GraphIndex:
        """The graph that is asked for, read if it is not at hand."""
        with self._lock:
            upload = self._uploads.get(ask.id)
        if upload is not None:
            return upload[1]
        return (
            self._open_comparison(ask.id)
            if ask.id.startswith(COMPARE_PREFIX)
            else self._open_logged(ask)
        )

    def add_upload(self, name: str, graph: Graph, size_bytes: int) -> GraphRow:
        """Keep a graph that somebody brought, until eight others have come."""
        key = f"upload-{secrets.token_hex(8)}"
        row = GraphRow(key, "", name, name, "upload", "", size_bytes, [], [])
        atlas = GraphIndex(graph)
        with self._lock:
            self._uploads[key] = (row, atlas)
            while len(self._uploads) > _MAX_UPLOADS:
                self._uploads.popitem(last=False)
        return row

    def find_row(self, graph: str) -> GraphRow | None:
        """The tag that a graph was logged under; None for one that was brought or compared."""
        return self._list_rows().get(graph)

    def get_profile(self, ask: GraphRequest, tag: str | None) -> Mapping[str, NodeExecution]:
        """What is known of a step: from the tag that is named, else from the graph's own trace."""
        row = self.find_row(ask.id)
        if row is None or (tag is None and row.kind != "profile"):
            return {}
        if tag not in (None, *row.profiles):
            raise LogError(_GONE_MESSAGE)
        return parse_step_stats(
            self.read_bytes(row.run, tag or row.tag, None if tag else ask.index)
        )

    def read_bytes(self, run: str, tag: str, index: int | None = None) -> bytes:
        """What was logged under a tag of one text, by default the last of it."""
        located = self._context.log.locate(run, tag)
        place = len(located) - 1 if index is None else index
        if not 0 <= place < len(located):
            raise LogError(_GONE_MESSAGE)
        return _unwrap(self._context.log.read(located, place), int(located.content[place]))

    def _list_rows(self) -> Mapping[str, GraphRow]:
        """The graphs of the log by their ids; found again only when the log has changed."""
        version = self._context.log.version
        listed = self._rows_cache
        if listed is None or listed[0] != version:
            rows = {row.id: row for row in iter_graphs(self._context.log)}
            self._rows_cache = listed = (version, rows)
        return listed[1]

    def _open_logged(self, ask: GraphRequest) -> GraphIndex:
        row = self.find_row(ask.id)
        steps = [] if row is None else row.steps
        index = steps[-1].index if steps and ask.index is None else ask.index
        step = next((step for step in steps if step.index == index), None)
        if row is None or step is None or ask.mark not in (None, step.mark):
            raise LogError(_GONE_MESSAGE)

        def read() -> GraphIndex:
            return GraphIndex(
                parse_logged_graph(row.plugin, self.read_bytes(row.run, row.tag, step.index))
            )

        return self._cache.get_or_build(f"{row.id} {step.mark}", read, lambda _: row.bytes)

    def _open_comparison(self, key: str) -> GraphIndex:
        first, _, second = key.removeprefix(COMPARE_PREFIX).partition("~")
        before, after = self.open(GraphRequest(first)), self.open(GraphRequest(second))
        nodes = len(before.graph) + len(after.graph)

        def compare() -> GraphIndex:
            comparison = compare_graphs(before.graph, after.graph)
            return GraphIndex(comparison.graph, comparison)

        return self._cache.get_or_build(
            f"{key} {id(before)} {id(after)}", compare, lambda _: 100 * nodes
        )


def _unwrap(data: bytes, content: int) -> bytes:
    """What a record holds: a field of its own, or a text in a summary."""
    if content == Content.RUN_METADATA:
        return bytes(proto.parse("TaggedRunMetadata", data).run_metadata)
    if content >= Content.GRAPH:
        return data
    value = decode_value(data, Kind.TENSOR)
    texts = value.array.reshape(-1).tolist() if isinstance(value, Tensor) else []
    return texts[0] if texts and isinstance(texts[0], bytes) else b""
