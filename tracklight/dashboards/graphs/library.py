"""The graphs that were looked at last, ready for the next ask."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress

from tracklight.dashboards.graphs.answers import GraphRow, GraphsAnswer
from tracklight.dashboards.graphs.asks import GraphAsk
from tracklight.dashboards.graphs.listing import iter_graphs
from tracklight.errors import LogError, TracklightError
from tracklight.formats import proto
from tracklight.formats.batch import Content
from tracklight.formats.values import Tensor, decode_value
from tracklight.graphs.atlas import Atlas
from tracklight.graphs.comparing import compare_graphs
from tracklight.graphs.logged import read_graph
from tracklight.graphs.model import Graph
from tracklight.graphs.profile import Execution, read_profile
from tracklight.plugin import Context
from tracklight.types import Kind
from tracklight.util.lru_cache import LruCache

#: The ids of two graphs follow, the older first: a graph of both.
COMPARE = "compare~"
_IDLE_S = 600.0
#: Counted in bytes of the log; in memory a graph takes several times as much.
_KEPT_BYTES = 512 << 20
_MOST_UPLOADS = 8
_LARGE_BYTES = 4 << 20
_GONE = "the log no longer has this graph; load the page again"


class Library:
    """May be asked from any thread; a graph is read by one of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache: LruCache[str, Atlas] = LruCache(
            max_bytes=_KEPT_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._uploads: OrderedDict[str, tuple[GraphRow, Atlas]] = OrderedDict()
        self._listed: tuple[int, Mapping[str, GraphRow]] | None = None
        self._lock = threading.Lock()

    def listing(self) -> GraphsAnswer:
        cursor = self._context.cursor()
        with self._lock:
            uploads = [row for row, _ in self._uploads.values()]
        return GraphsAnswer(cursor, [*self._list_rows().values(), *uploads])

    def prepare(self) -> None:
        """Read the graph that is seen first, if it is so large that somebody would wait for it."""
        row = next(iter(self._list_rows().values()), None)
        if row is not None and row.bytes >= _LARGE_BYTES:
            # What is wrong with it is told to who asks for it.
            with suppress(TracklightError, OSError):
                self._open_logged(GraphAsk(row.id))

    def open(self, ask: GraphAsk) -> Atlas:
        """The graph that is asked for, read if it is not at hand."""
        with self._lock:
            upload = self._uploads.get(ask.id)
        if upload is not None:
            return upload[1]
        return self._open_both(ask.id) if ask.id.startswith(COMPARE) else self._open_logged(ask)

    def add(self, name: str, graph: Graph, size_bytes: int) -> GraphRow:
        """Keep a graph that somebody brought, until eight others have come."""
        key = f"upload-{secrets.token_hex(8)}"
        row = GraphRow(key, "", name, name, "upload", "", size_bytes, [], [])
        atlas = Atlas(graph)
        with self._lock:
            self._uploads[key] = (row, atlas)
            while len(self._uploads) > _MOST_UPLOADS:
                self._uploads.popitem(last=False)
        return row

    def find_row(self, graph: str) -> GraphRow | None:
        """The tag that a graph was logged under; None for one that was brought or compared."""
        return self._list_rows().get(graph)

    def profile(self, ask: GraphAsk, tag: str | None) -> Mapping[str, Execution]:
        """What is known of a step: from the tag that is named, else from the graph's own trace."""
        row = self.find_row(ask.id)
        if row is None or (tag is None and row.kind != "profile"):
            return {}
        if tag not in (None, *row.profiles):
            raise LogError(_GONE)
        return read_profile(self.read_bytes(row.run, tag or row.tag, None if tag else ask.index))

    def read_bytes(self, run: str, tag: str, index: int | None = None) -> bytes:
        """What was logged under a tag of one text, by default the last of it."""
        located = self._context.log.located(run, tag)
        place = len(located) - 1 if index is None else index
        if not 0 <= place < len(located):
            raise LogError(_GONE)
        return _unwrap(self._context.log.read(located, place), int(located.content[place]))

    def _list_rows(self) -> Mapping[str, GraphRow]:
        """The graphs of the log by their ids; found again only when the log has changed."""
        version = self._context.log.version
        listed = self._listed
        if listed is None or listed[0] != version:
            rows = {row.id: row for row in iter_graphs(self._context.log)}
            self._listed = listed = (version, rows)
        return listed[1]

    def _open_logged(self, ask: GraphAsk) -> Atlas:
        row = self.find_row(ask.id)
        steps = [] if row is None else row.steps
        index = steps[-1].index if steps and ask.index is None else ask.index
        step = next((step for step in steps if step.index == index), None)
        if row is None or step is None or ask.mark not in (None, step.mark):
            raise LogError(_GONE)

        def read() -> Atlas:
            return Atlas(read_graph(row.plugin, self.read_bytes(row.run, row.tag, step.index)))

        return self._cache.get_or_build(f"{row.id} {step.mark}", read, lambda _: row.bytes)

    def _open_both(self, key: str) -> Atlas:
        first, _, second = key.removeprefix(COMPARE).partition("~")
        before, after = self.open(GraphAsk(first)), self.open(GraphAsk(second))
        nodes = len(before.graph) + len(after.graph)

        def compare() -> Atlas:
            comparison = compare_graphs(before.graph, after.graph)
            return Atlas(comparison.graph, comparison)

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
