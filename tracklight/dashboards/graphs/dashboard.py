"""A graph as a file that other programs read."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tracklight.analysis.graphs.graph_index import GraphIndex, Location
from tracklight.analysis.graphs.groups import Group
from tracklight.analysis.graphs.model import format_shape
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_graph_file
from tracklight.analysis.media.values import has_fingerprint
from tracklight.dashboards.graphs.library import GraphLibrary, iter_graphs
from tracklight.dashboards.graphs.overview import build_overview, build_statistics, color_group
from tracklight.dashboards.graphs.schemas import (
    ChangesRequest,
    ChangesResponse,
    ColoringRequest,
    ColoringResponse,
    GraphFileRequest,
    GraphRequest,
    GraphRow,
    GraphsResponse,
    GroupRequest,
    GroupResponse,
    GroupsRequest,
    GroupsResponse,
    NodeRequest,
    NodeResponse,
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
)
from tracklight.dashboards.graphs.views import (
    build_group,
    build_node,
    build_path,
    list_changes,
    resolve_group,
    search_nodes,
    trace_dependencies,
)
from tracklight.errors import TracklightError
from tracklight.plugin import Context, Dashboard, Empty, Route, Stream

_UNSAFE_FILENAME = re.compile(r"[^\w.-]+")

_LINES_PER_CHUNK = 500


def export_graph_file(atlas: GraphIndex, ask: GraphFileRequest, title: str) -> Stream:
    """All nodes of a group, without scopes folded, and the edges between them."""
    spot = atlas.locate(ask.group)
    level = resolve_group(spot, True)
    lines = _iter_json(spot, level) if ask.format == "json" else _iter_dot(spot, level)
    media_type = "application/json" if ask.format == "json" else "text/vnd.graphviz"
    name = _UNSAFE_FILENAME.sub("-", f"{title}-{ask.group}").strip("-.") or "graph"
    return Stream(_join_chunks(lines), media_type, f"{name[:100]}.{ask.format}")


def _iter_json(spot: Location, level: Group) -> Iterator[bytes]:
    yield b'{"nodes":[\n'
    for number, place in enumerate(_list_nodes(spot, level)):
        yield (b",\n" if number else b"") + msgspec.json.encode(_describe_node(spot, place))
    yield b"\n]}\n"


def _describe_node(spot: Location, place: int) -> dict[str, object]:
    graph, sheet = spot.subgraph.graph, spot.subgraph
    detail = graph.describe(place)
    rank = int(sheet.hierarchy.rank[place])
    edges = sorted(
        sheet.hierarchy.get_incoming_edges(rank, rank + 1).tolist(),
        key=lambda edge: int(graph.edges.position[edge]),
    )
    return {
        "name": graph.names[place],
        "op": graph.ops[place],
        "inputs": [_name_input(spot, edge) for edge in edges],
        "outputs": [
            {"dtype": output.dtype, "shape": output.shape and list(output.shape)}
            for output in detail.outputs
        ],
        "device": detail.device,
        "parameters": detail.parameters,
        "attributes": dict(detail.attributes),
        "functions": list(detail.functions),
        "source": detail.source,
    }


def _name_input(spot: Location, edge: int) -> str:
    """As a GraphDef writes it."""
    edges = spot.subgraph.graph.edges
    name = spot.subgraph.graph.names[edges.source[edge]]
    output = edges.output[edge]
    if edges.control[edge]:
        return f"^{name}"
    return name if output in ("", "0") else f"{name}:{output}"


def _iter_dot(spot: Location, level: Group) -> Iterator[bytes]:
    """Scopes are clusters, so that Graphviz draws them as boxes."""
    hierarchy, graph = spot.subgraph.hierarchy, spot.subgraph.graph
    yield b"digraph {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n"
    open_scopes: list[str] = []
    for place in _list_nodes(spot, level):
        path = hierarchy.paths[place]
        yield from _change_scope(open_scopes, path.split("/")[:-1])
        label = f"{path.rpartition('/')[2]}\n{graph.ops[place]}".strip()
        indent = "  " * (len(open_scopes) + 1)
        yield f"{indent}{_quote(path)} [label={_quote(label)}];\n".encode()
    yield from _change_scope(open_scopes, [])
    for edge in hierarchy.get_incoming_edges(level.first, level.last).tolist():
        yield _format_dot_edge(spot, level, edge)
    yield b"}\n"


def _change_scope(opened: list[str], wanted: list[str]) -> Iterator[bytes]:
    """Close the scopes that are left and open those that are entered."""
    common = 0
    while common < min(len(opened), len(wanted)) and opened[common] == wanted[common]:
        common += 1
    while len(opened) > common:
        yield f"{'  ' * len(opened)}}}\n".encode()
        opened.pop()
    for name in wanted[common:]:
        opened.append(name)
        indent = "  " * len(opened)
        cluster = _quote("cluster_" + "/".join(opened))
        yield f"{indent}subgraph {cluster} {{\n{indent}  label={_quote(name)};\n".encode()


def _format_dot_edge(spot: Location, level: Group, edge: int) -> bytes:
    hierarchy, edges = spot.subgraph.hierarchy, spot.subgraph.graph.edges
    source, target = int(edges.source[edge]), int(edges.target[edge])
    if not level.first <= hierarchy.rank[source] < level.last:
        return b""
    if edges.control[edge]:
        style = " [style=dashed]"
    else:
        tensor = spot.subgraph.tensors.find_edge_tensor(edge)
        shape = "" if tensor is None else format_shape(tensor.shape)
        style = f" [label={_quote(shape)}]" if shape else ""
    ends = f"{_quote(hierarchy.paths[source])} -> {_quote(hierarchy.paths[target])}"
    return f"  {ends}{style};\n".encode()


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _list_nodes(spot: Location, level: Group) -> list[int]:
    places: list[int] = spot.subgraph.hierarchy.node_by_rank[level.first : level.last].tolist()
    return places


def _join_chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Fewer, larger pieces."""
    pieces: list[bytes] = []
    for line in lines:
        pieces.append(line)
        if len(pieces) >= _LINES_PER_CHUNK:
            yield b"".join(pieces)
            pieces.clear()
    yield b"".join(pieces)


# The graphs that a copy of a board takes along: as many of their groups as fit.

#: In all groups of a graph together, and in those of all graphs.
_MAX_GRAPH_CHILDREN, _MAX_TOTAL_CHILDREN = 5000, 30_000

#: So many nodes of a graph are carried with all that is known of them.
_MAX_EXPORTED_NODES = 1000


class GroupColorings(msgspec.Struct):
    group: str
    paints: list[ColoringResponse]


class StaticGraph(msgspec.Struct):
    """A graph without a server: groups that are not here cannot be opened."""

    about: OverviewResponse
    statistics: StatisticsResponse
    groups: list[GroupResponse]
    paints: list[GroupColorings]
    nodes: list[NodeResponse]


def iter_static_export(
    context: Context, library: GraphLibrary, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Graph by graph what is seen of it, and a list of those that could be read."""
    carried, left = [], _MAX_TOTAL_CHILDREN
    for row in iter_graphs(context.log, runs):
        if left <= 0:
            break
        try:
            copy = _export_graph(library.open(GraphRequest(row.id)), row)
        except TracklightError:
            continue
        yield f"copy/{row.id}", copy
        left -= sum(len(group.children) for group in copy.groups)
        row.steps, row.profiles = row.steps[-1:], []
        carried.append(row)
    if carried:
        yield "list", GraphsResponse(context.cursor(), carried)


def _export_graph(atlas: GraphIndex, row: GraphRow) -> StaticGraph:
    groups = list(_iter_groups(atlas, row.id))
    statistics = build_statistics(atlas, {})
    names = [scale.by for scale in statistics.scales]
    children = [child.path for group in groups for child in group.children]
    return StaticGraph(
        build_overview(atlas),
        statistics,
        groups,
        [_color_group(atlas, row.id, group.path, names) for group in groups],
        [
            build_node(atlas, NodeRequest(row.id, path=path), {})
            for path in children[:_MAX_EXPORTED_NODES]
        ],
    )


def _iter_groups(atlas: GraphIndex, graph: str) -> Iterator[GroupResponse]:
    """From the root on, level by level, until there are enough."""
    waiting, left = deque([""]), _MAX_GRAPH_CHILDREN
    while waiting and left > 0:
        group = build_group(atlas, GroupRequest(graph, group=waiting.popleft()))
        left -= len(group.children)
        yield group
        for child in group.children:
            if child.kind in ("scope", "series"):
                waiting.append(child.path)
            waiting.extend(f"{child.path}|{name}|" for name in child.functions)


def _color_group(atlas: GraphIndex, graph: str, group: str, names: Sequence[str]) -> GroupColorings:
    paints = []
    for by in names:
        try:
            paints.append(color_group(atlas, ColoringRequest(graph, group=group, by=by), {}))
        except TracklightError:
            # A function's body may have nothing of what the graph has.
            continue
    return GroupColorings(group, paints)


_MAX_UPLOAD_BYTES = 256 << 20


class Graphs(Dashboard):
    """Keeps the whole graph, and gives only what is open of it."""

    name = "graphs"
    title = "Graphs"
    plugins = tuple(GRAPH_PARSERS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = GraphLibrary(context)

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
            Route("changes", ChangesRequest, self.changes, "GET", immutable=has_fingerprint),
            Route("search", SearchRequest, self.search, "GET", immutable=has_fingerprint),
            Route("trace", TraceRequest, self.trace, "GET", immutable=has_fingerprint),
            Route("path", PathRequest, self.path, "GET", immutable=has_fingerprint),
            Route("file", GraphFileRequest, self.file, "GET"),
            Route("upload", UploadRequest, self.upload, upload_bytes=_MAX_UPLOAD_BYTES),
        ]

    def prepare(self) -> None:
        self._library.prepare()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_export(self.context, self._library, runs)

    def graphs(self, ask: Empty) -> GraphsResponse:
        """All graphs of the log, and those that were brought along since the server started."""
        return self._library.list_graphs()

    def about(self, ask: GraphRequest) -> OverviewResponse:
        """A graph at a glance."""
        return build_overview(self._library.open(ask))

    def group(self, ask: GroupRequest) -> GroupResponse:
        """The children of an open group with the edges between and around them."""
        return build_group(self._library.open(ask), ask)

    def groups(self, ask: GroupsRequest) -> GroupsResponse:
        """The same of several groups."""
        atlas = self._library.open(ask)
        asks = (
            GroupRequest(ask.id, group=group, fold=ask.fold, most=ask.most) for group in ask.groups
        )
        return GroupsResponse([build_group(atlas, one) for one in asks])

    def statistics(self, ask: StatisticsRequest) -> StatisticsResponse:
        """What the graph can be coloured by, and which of its nodes are the largest."""
        return build_statistics(
            self._library.open(ask), self._library.get_profile(ask, ask.profile)
        )

    def paint(self, ask: ColoringRequest) -> ColoringResponse:
        """How the children of a group are coloured."""
        atlas = self._library.open(ask)
        return color_group(atlas, ask, self._library.get_profile(ask, ask.profile))

    def node(self, ask: NodeRequest) -> NodeResponse:
        """All that is known of a node or a group."""
        return build_node(self._library.open(ask), ask, self._library.get_profile(ask, ask.profile))

    def changes(self, ask: ChangesRequest) -> ChangesResponse:
        """The nodes and edges in which two compared graphs differ."""
        return list_changes(self._library.open(ask), ask)

    def search(self, ask: SearchRequest) -> SearchResponse:
        """Nodes and scopes in which all words of a query are found, bodies of functions included.

        A word may be in names, operations, shapes, types, devices or attributes; ``name:``,
        ``op:``, ``shape:``, ``dtype:``, ``device:`` or ``attr:`` before it says in which, and an
        asterisk in it stands for anything.
        """
        return search_nodes(self._library.open(ask), ask)

    def trace(self, ask: TraceRequest) -> TraceResponse:
        """All that a node or group depends on, or all that depends on it."""
        return trace_dependencies(self._library.open(ask), ask)

    def path(self, ask: PathRequest) -> PathResponse:
        """The shortest way between two nodes or groups."""
        return build_path(self._library.open(ask), ask)

    def file(self, ask: GraphFileRequest) -> Stream:
        """A graph, or a group of it, with all of its nodes: as JSON, or for Graphviz."""
        row = self._library.find_row(ask.id)
        title = "graph" if row is None else f"{row.run}-{row.title}"
        return export_graph_file(self._library.open(ask), ask, title)

    def upload(self, ask: UploadRequest) -> GraphRow:
        """Look at a file: GraphDef (binary or text), SavedModel, ONNX or Keras. It is kept in
        memory until the server ends or eight others have come."""
        return self._library.add_upload(
            ask.name, parse_graph_file(ask.name, ask.body), len(ask.body)
        )
