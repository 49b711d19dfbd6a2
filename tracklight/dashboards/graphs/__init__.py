"""The Graphs dashboard: model graphs, explored scope by scope.

`Graphs` declares the routes, and writes graphs as files and static exports. `GraphLibrary` opens
the graphs of the log and those that users upload.

- `overview`: totals, statistics, colors and changes of a graph as a whole.
- `views`: groups, nodes, search results and paths.
- `overlays`: uploaded data of nodes, and their weights.
- `schemas`: requests and responses.

Uses `tracklight.plugin` and `tracklight.analysis.graphs`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec
import numpy as np

from tracklight.analysis.graphs import Graph, NodeDetails, format_shape
from tracklight.analysis.graphs.comparison import compare_graphs
from tracklight.analysis.graphs.graph_index import GraphIndex, Location
from tracklight.analysis.graphs.graphdef import NodeExecution, parse_step_stats
from tracklight.analysis.graphs.groups import Group
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_graph_file, parse_logged_graph
from tracklight.analysis.media import compute_fingerprints, has_fingerprint
from tracklight.dashboards.graphs.overlays import (
    OverlayLibrary,
    build_overlay,
    build_weights,
    color_by_overlay,
    export_weights,
    parse_overlay_file,
)
from tracklight.dashboards.graphs.overview import (
    build_overview,
    build_statistics,
    color_group,
    list_changes,
)
from tracklight.dashboards.graphs.schemas import (
    ChangesRequest,
    ChangesResponse,
    ColoringRequest,
    ColoringResponse,
    GraphFileRequest,
    GraphRequest,
    GraphRow,
    GraphsResponse,
    GraphStepRow,
    GroupRequest,
    GroupResponse,
    GroupsRequest,
    GroupsResponse,
    NodeRequest,
    NodeResponse,
    OverlayRequest,
    OverlayResponse,
    OverlayRow,
    OverviewResponse,
    PathRequest,
    PathResponse,
    SearchRequest,
    SearchResponse,
    StatisticsRequest,
    StatisticsResponse,
    TraceRequest,
    TraceResponse,
    UploadRequest,
    WeightsFileRequest,
    WeightsRequest,
    WeightsResponse,
)
from tracklight.dashboards.graphs.views import (
    build_group,
    build_node,
    build_path,
    search_nodes,
    trace_dependencies,
)
from tracklight.errors import LogError, Message, TracklightError
from tracklight.formats import proto
from tracklight.formats.batch import Content
from tracklight.formats.values import Tensor, decode_value
from tracklight.plugin import Blob, Context, Dashboard, Empty, Route, Source, Stream
from tracklight.types import Kind, TagInfo
from tracklight.util.files import hash_key
from tracklight.util.memory import LruCache, UploadStore, make_upload_id

# ---- graphs of the log and uploads

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


_MAX_UPLOAD_BYTES = 256 << 20
_MAX_OVERLAY_BYTES = 32 << 20

_UNSAFE_FILENAME = re.compile(r"[^\w.-]+")
_MAX_FILENAME_LENGTH = 100
_LINES_PER_CHUNK = 500

#: Limits of a static export: children in all groups of one graph and of all graphs, and nodes of
#: a graph with all their details.
_MAX_GRAPH_CHILDREN = 5000
_MAX_TOTAL_CHILDREN = 30_000
_MAX_EXPORTED_NODES = 1000


class Graphs(Dashboard):
    """Model graphs, explored scope by scope. The server keeps the graph and returns parts of it."""

    name = "graphs"
    title = "Graphs"
    plugins = tuple(GRAPH_PARSERS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = GraphLibrary(context)
        self._overlays = OverlayLibrary()

    def routes(self) -> Sequence[Route]:
        return [
            Route("list", Empty, self.graphs, "GET"),
            Route("about", GraphRequest, self.about, "GET", immutable=has_fingerprint),
            Route("group", GroupRequest, self.group, "GET", immutable=has_fingerprint),
            Route("groups", GroupsRequest, self.groups),
            Route(
                "statistics", StatisticsRequest, self.statistics, "GET", immutable=has_fingerprint
            ),
            Route("paint", ColoringRequest, self.paint, "GET", immutable=has_fingerprint),
            Route("node", NodeRequest, self.node, "GET", immutable=has_fingerprint),
            Route("weights", WeightsRequest, self.weights, "GET", immutable=has_fingerprint),
            Route("weights_file", WeightsFileRequest, self.weights_file, "GET"),
            Route("changes", ChangesRequest, self.changes, "GET", immutable=has_fingerprint),
            Route("search", SearchRequest, self.search, "GET", immutable=has_fingerprint),
            Route("trace", TraceRequest, self.trace, "GET", immutable=has_fingerprint),
            Route("path", PathRequest, self.path, "GET", immutable=has_fingerprint),
            Route("file", GraphFileRequest, self.file, "GET"),
            Route(
                "upload",
                UploadRequest,
                self.upload,
                mutates=True,
                upload_bytes=_MAX_UPLOAD_BYTES,
            ),
            Route(
                "upload_overlay",
                UploadRequest,
                self.upload_overlay,
                mutates=True,
                upload_bytes=_MAX_OVERLAY_BYTES,
            ),
            Route("overlay", OverlayRequest, self.overlay, "GET"),
        ]

    def prepare(self) -> None:
        self._library.prepare()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, self._library, runs)

    def graphs(self, request: Empty) -> GraphsResponse:
        """List the graphs of the log and those uploaded since the server started."""
        response = self._library.list_graphs()
        response.overlays = self._overlays.list_rows()
        return response

    def about(self, request: GraphRequest) -> OverviewResponse:
        """Return the totals of a graph and its default view."""
        return build_overview(self._library.open(request))

    def group(self, request: GroupRequest) -> GroupResponse:
        """Return the children of a group with the edges between and around them."""
        return build_group(self._library.open(request), request)

    def groups(self, request: GroupsRequest) -> GroupsResponse:
        """Return several groups at once."""
        graph_index = self._library.open(request)
        groups = (
            GroupRequest(request.id, group=group, fold=request.fold, limit=request.limit)
            for group in request.groups
        )
        return GroupsResponse([build_group(graph_index, group) for group in groups])

    def statistics(self, request: StatisticsRequest) -> StatisticsResponse:
        """Return color scales, rankings, skip connections and shape issues of a graph."""
        profile = self._library.get_profile(request, request.profile)
        return build_statistics(self._library.open(request), profile)

    def paint(self, request: ColoringRequest) -> ColoringResponse:
        """Return the category or number of each child of a group on a color scale."""
        graph_index = self._library.open(request)
        if request.by == "overlay":
            return color_by_overlay(graph_index, self._overlays, request)
        profile = self._library.get_profile(request, request.profile)
        return color_group(graph_index, request, profile)

    def node(self, request: NodeRequest) -> NodeResponse:
        """Return the details of a node or group."""
        graph_index = self._library.open(request)
        profile = self._library.get_profile(request, request.profile)
        return build_node(graph_index, request, profile)

    def weights(self, request: WeightsRequest) -> WeightsResponse:
        """Return statistics and histograms of the weights of a node."""
        return build_weights(self._library.open(request), request)

    def weights_file(self, request: WeightsFileRequest) -> Blob:
        """Download a tensor of the weights of a node as a NumPy file."""
        return export_weights(self._library.open(request), request)

    def changes(self, request: ChangesRequest) -> ChangesResponse:
        """List the nodes and edges in which two compared graphs differ."""
        return list_changes(self._library.open(request), request)

    def search(self, request: SearchRequest) -> SearchResponse:
        """Find nodes and scopes that match all words of a query, including function bodies.

        Words match in names, operations, shapes, types, devices and attributes. The prefixes
        ``name:``, ``op:``, ``shape:``, ``dtype:``, ``device:`` and ``attr:`` select one of these;
        an asterisk matches any text.
        """
        return search_nodes(self._library.open(request), request)

    def trace(self, request: TraceRequest) -> TraceResponse:
        """Find all nodes that a node or group depends on, or that depend on it."""
        return trace_dependencies(self._library.open(request), request)

    def path(self, request: PathRequest) -> PathResponse:
        """Find the shortest path between two nodes or groups."""
        return build_path(self._library.open(request), request)

    def file(self, request: GraphFileRequest) -> Stream:
        """Download a graph or group with all nodes, as JSON or in Graphviz's DOT language."""
        title = request.title or self._library.get_title(request.id)
        return export_graph_file(self._library.open(request), request, title)

    def upload(self, request: UploadRequest) -> GraphRow:
        """Open a model file of any format that tracklight reads.

        It is kept in memory until the server stops or eight other files have been uploaded.
        """
        graph = parse_graph_file(request.name, request.body)
        return self._library.add_upload(request.name, graph, len(request.body))

    def overlay(self, request: OverlayRequest) -> OverlayResponse:
        """Return the range of uploaded data on a graph, the largest values and unknown names."""
        return build_overlay(self._library.open(request), self._overlays, request)

    def upload_overlay(self, request: UploadRequest) -> OverlayRow:
        """Open a JSON or CSV file with numbers for nodes, to color any graph by them.

        It is kept in memory until the server stops or sixteen other files have been uploaded.
        """
        return self._overlays.add(request.name, parse_overlay_file(request.name, request.body))


# Download as a file


def export_graph_file(graph_index: GraphIndex, request: GraphFileRequest, title: str) -> Stream:
    """Return all nodes of a group and the edges between them as a file."""
    location = graph_index.locate(request.group)
    group = location.resolve_group(True)
    if request.format == "json":
        functions = graph_index.graph.functions
        lines, media_type = _iter_json(location, group, functions), "application/json"
    else:
        lines, media_type = _iter_dot(location, group), "text/vnd.graphviz"
    name = _UNSAFE_FILENAME.sub("-", f"{title}-{request.group}").strip("-.") or "graph"
    filename = f"{name[:_MAX_FILENAME_LENGTH]}.{request.format}"
    return Stream(_join_chunks(lines), media_type, filename)


def _iter_json(location: Location, group: Group, library: Mapping[str, Graph]) -> Iterator[bytes]:
    """Yield the nodes of a group, and the bodies of the functions that they call."""
    graph = location.subgraph.graph
    called: dict[str, None] = {}
    yield b'{"nodes":[\n'
    yield from _iter_json_nodes(graph, _list_nodes(location, group), called)
    yield b"\n]"
    written: set[str] = set()
    while pending := [name for name in called if name in library and name not in written]:
        for name in pending:
            yield b',\n"functions":{' if not written else b",\n"
            written.add(name)
            yield msgspec.json.encode(name) + b':{"nodes":[\n'
            yield from _iter_json_nodes(library[name], range(len(library[name])), called)
            yield b"\n]}"
    yield b"}}\n" if written else b"}\n"


def _iter_json_nodes(
    graph: Graph, nodes: Iterable[int], called: dict[str, None]
) -> Iterator[bytes]:
    """Yield nodes, and add the functions that they call to ``called``."""
    order = np.lexsort((graph.edges.position, graph.edges.target))
    starts = np.searchsorted(graph.edges.target[order], np.arange(len(graph) + 1))
    for number, node in enumerate(nodes):
        edges = order[starts[node] : starts[node + 1]].tolist()
        details = graph.describe(node)
        called.update(dict.fromkeys(details.functions))
        description = _describe_node(graph, node, edges, details)
        yield (b",\n" if number else b"") + msgspec.json.encode(description)


def _describe_node(
    graph: Graph, node: int, edges: list[int], details: NodeDetails
) -> dict[str, object]:
    return {
        "name": graph.names[node],
        "op": graph.ops[node],
        "inputs": [_format_input(graph, edge) for edge in edges],
        "outputs": [
            {"dtype": output.dtype, "shape": output.shape and list(output.shape)}
            for output in details.outputs
        ],
        "device": details.device,
        "parameters": details.parameters,
        "attributes": dict(details.attributes),
        "functions": list(details.functions),
        "source": details.source,
    }


def _format_input(graph: Graph, edge: int) -> str:
    """Format an input as in a GraphDef."""
    edges = graph.edges
    name = graph.names[edges.source[edge]]
    output = edges.output[edge]
    if edges.control[edge]:
        return f"^{name}"
    return name if output in ("", "0") else f"{name}:{output}"


def _iter_dot(location: Location, group: Group) -> Iterator[bytes]:
    """Yield a graph in the DOT language, with scopes as clusters."""
    hierarchy, graph = location.subgraph.hierarchy, location.subgraph.graph
    yield b"digraph {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n"
    open_scopes: list[str] = []
    for node in _list_nodes(location, group):
        path = hierarchy.paths[node]
        yield from _change_scope(open_scopes, path.split("/")[:-1])
        label = f"{path.rpartition('/')[2]}\n{graph.ops[node]}".strip()
        indent = "  " * (len(open_scopes) + 1)
        yield f"{indent}{_quote(path)} [label={_quote(label)}];\n".encode()
    yield from _change_scope(open_scopes, [])
    for edge in hierarchy.get_incoming_edges(group.first, group.last).tolist():
        yield _format_dot_edge(location, group, edge)
    yield b"}\n"


def _change_scope(open_scopes: list[str], scopes: list[str]) -> Iterator[bytes]:
    """Close and open clusters to get from one scope to another; updates ``open_scopes``."""
    common = 0
    while common < min(len(open_scopes), len(scopes)) and open_scopes[common] == scopes[common]:
        common += 1
    while len(open_scopes) > common:
        yield f"{'  ' * len(open_scopes)}}}\n".encode()
        open_scopes.pop()
    for name in scopes[common:]:
        open_scopes.append(name)
        indent = "  " * len(open_scopes)
        cluster = _quote("cluster_" + "/".join(open_scopes))
        yield f"{indent}subgraph {cluster} {{\n{indent}  label={_quote(name)};\n".encode()


def _format_dot_edge(location: Location, group: Group, edge: int) -> bytes:
    hierarchy, edges = location.subgraph.hierarchy, location.subgraph.graph.edges
    source, target = int(edges.source[edge]), int(edges.target[edge])
    if not group.first <= hierarchy.rank[source] < group.last:
        return b""
    if edges.control[edge]:
        style = " [style=dashed]"
    else:
        tensor = location.subgraph.tensors.find_edge_tensor(edge)
        shape = "" if tensor is None else format_shape(tensor.shape)
        style = f" [label={_quote(shape)}]" if shape else ""
    ends = f"{_quote(hierarchy.paths[source])} -> {_quote(hierarchy.paths[target])}"
    return f"  {ends}{style};\n".encode()


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _list_nodes(location: Location, group: Group) -> list[int]:
    nodes: list[int] = location.subgraph.hierarchy.node_by_rank[group.first : group.last].tolist()
    return nodes


def _join_chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to fewer, larger chunks."""
    chunk: list[bytes] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) >= _LINES_PER_CHUNK:
            yield b"".join(chunk)
            chunk.clear()
    yield b"".join(chunk)


# Static export


class GroupColorings(msgspec.Struct):
    """The colors of a group on all scales."""

    group: str
    paints: list[ColoringResponse]


class StaticGraph(msgspec.Struct):
    """A graph in a static export; groups that are not included cannot be opened."""

    about: OverviewResponse
    statistics: StatisticsResponse
    groups: list[GroupResponse]
    paints: list[GroupColorings]
    nodes: list[NodeResponse]


def iter_static_export(
    context: Context, library: GraphLibrary, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Yield the graphs of some runs and a list of those that could be read."""
    exported, children_left = [], _MAX_TOTAL_CHILDREN
    for row in iter_graphs(context.log, runs):
        if children_left <= 0:
            break
        try:
            graph = _export_graph(library.open(GraphRequest(row.id)), row)
        except TracklightError:
            continue
        yield f"copy/{row.id}", graph
        children_left -= sum(len(group.children) for group in graph.groups)
        row.steps, row.profiles = row.steps[-1:], []
        exported.append(row)
    if exported:
        yield "list", GraphsResponse(context.cursor(), exported)


def _export_graph(graph_index: GraphIndex, row: GraphRow) -> StaticGraph:
    groups = list(_iter_groups(graph_index, row.id))
    statistics = build_statistics(graph_index, {})
    scales = [scale.by for scale in statistics.scales]
    paths = [child.path for group in groups for child in group.children][:_MAX_EXPORTED_NODES]
    return StaticGraph(
        about=build_overview(graph_index),
        statistics=statistics,
        groups=groups,
        paints=[_color_on_all_scales(graph_index, row.id, group.path, scales) for group in groups],
        nodes=[build_node(graph_index, NodeRequest(row.id, path=path), {}) for path in paths],
    )


def _iter_groups(graph_index: GraphIndex, graph_id: str) -> Iterator[GroupResponse]:
    """Yield groups breadth-first from the root, up to a number of children."""
    queue, children_left = deque([""]), _MAX_GRAPH_CHILDREN
    while queue and children_left > 0:
        group = build_group(graph_index, GroupRequest(graph_id, group=queue.popleft()))
        children_left -= len(group.children)
        yield group
        for child in group.children:
            if child.kind in ("scope", "series"):
                queue.append(child.path)
            queue.extend(f"{child.path}|{name}|" for name in child.functions)


def _color_on_all_scales(
    graph_index: GraphIndex, graph_id: str, group: str, scales: Sequence[str]
) -> GroupColorings:
    colorings = []
    for by in scales:
        try:
            request = ColoringRequest(graph_id, group=group, by=by)
            colorings.append(color_group(graph_index, request, {}))
        except TracklightError:
            # A function body may have no data for a scale of the graph.
            continue
    return GroupColorings(group, colorings)
