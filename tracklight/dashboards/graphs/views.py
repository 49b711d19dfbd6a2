"""Searches, traces and ways, as paths and ranks that the page can mark in any open group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import isnan
from typing import Literal

import numpy as np

from tracklight.analysis.graphs.comparison import (
    CHANGE_NAMES,
    Change,
    ChangeName,
    Comparison,
    combine_changes,
)
from tracklight.analysis.graphs.graph_index import GraphIndex, Location, Subgraph, bundle_call_edges
from tracklight.analysis.graphs.graphdef import NodeExecution
from tracklight.analysis.graphs.groups import (
    BoundaryEdges,
    Child,
    ChildRole,
    EdgeBundles,
    Group,
    bundle_boundary_edges,
    bundle_child_edges,
    compute_roles,
)
from tracklight.analysis.graphs.hierarchy import UNIQUE_STRUCTURE
from tracklight.analysis.graphs.model import count_known_elements, format_output, format_shape
from tracklight.analysis.graphs.queries import SearchHit, compress_ranks, parse_query
from tracklight.dashboards.graphs.schemas import (
    AttributeRow,
    BoundaryColumns,
    ChangedEdgeRow,
    ChangedNodeRow,
    ChangesRequest,
    ChangesResponse,
    ChildRow,
    DifferenceRow,
    EdgeColumns,
    ExecutionRow,
    GroupRequest,
    GroupResponse,
    NamedCount,
    NeighborRow,
    NodeRequest,
    NodeResponse,
    OutputRow,
    PathNodeRow,
    PathRequest,
    PathResponse,
    SearchHitRow,
    SearchRequest,
    SearchResponse,
    TraceRequest,
    TraceResponse,
)
from tracklight.errors import UsageError
from tracklight.types import Bool, Float64, Int32

_MAX_TRACE_ENDS = 20

_MAX_PATH_NODES = 500

#: A word that is in everything is not worth counting to the end.
_MAX_HITS = 10_000


def search_nodes(atlas: GraphIndex, ask: SearchRequest) -> SearchResponse:
    hits = list(islice(_iter_hits(atlas, ask), _MAX_HITS))
    shown = [_make_hit_row(spot, hit, ask.fold) for spot, hit in hits[: ask.most]]
    return SearchResponse(len(hits), shown)


def trace_dependencies(atlas: GraphIndex, ask: TraceRequest) -> TraceResponse:
    spot = atlas.locate(ask.path)
    level = resolve_group(spot, True)
    neighbours = spot.subgraph.adjacency
    start = range(level.first, level.last)
    ranks, ends = neighbours.trace(start, ask.direction == "inputs", ask.control)
    hierarchy = spot.subgraph.hierarchy
    names = [
        spot.full_path(hierarchy.paths[hierarchy.node_by_rank[rank]])
        for rank in ends[:_MAX_TRACE_ENDS]
    ]
    return TraceResponse(len(ranks), *compress_ranks(ranks), spot.prefix, names)


def build_path(atlas: GraphIndex, ask: PathRequest) -> PathResponse:
    start, end = atlas.locate(ask.start), atlas.locate(ask.end)
    if start.prefix != end.prefix:
        raise UsageError("a way leads between two nodes of the graph, or of one function's body")
    ends = [
        range(level.first, level.last)
        for level in (resolve_group(start, True), resolve_group(end, True))
    ]
    direction, ranks = start.subgraph.adjacency.compute_path(*ends)
    spans = compress_ranks(np.array(sorted(ranks), np.int32))
    nodes = [_make_path_node_row(start, rank, ask) for rank in ranks[:_MAX_PATH_NODES]]
    return PathResponse(direction, len(ranks), *spans, start.prefix, nodes)


def resolve_group(spot: Location, fold: bool) -> Group:
    """What a path leads to: a node or a group."""
    place = spot.subgraph.hierarchy.node_by_path.get(spot.path)
    return (
        spot.subgraph.get_group(spot.path, fold)
        if place is None
        else spot.subgraph.get_node_group(place)
    )


def _iter_hits(atlas: GraphIndex, ask: SearchRequest) -> Iterator[tuple[Location, SearchHit]]:
    """On the graph itself, then in the functions that it calls by itself."""
    words = parse_query(ask.query)
    root = Location(atlas.root, "", "")
    yield from ((root, hit) for hit in atlas.root.text_index.iter_hits(words, ask.most))
    for spot in atlas.iter_bodies():
        yield from ((spot, hit) for hit in spot.subgraph.text_index.iter_hits(words, ask.most))


def _make_hit_row(spot: Location, hit: SearchHit, fold: bool) -> SearchHitRow:
    sheet = spot.subgraph
    is_scope = hit.item < 0
    level = sheet.get_scope_group(~hit.item, fold) if is_scope else sheet.get_node_group(hit.item)
    return SearchHitRow(
        spot.full_path(level.path),
        "scope" if is_scope else level.children[0].kind,
        "" if is_scope else sheet.graph.ops[hit.item],
        hit.field,
        hit.text,
        level.first,
        level.last,
        spot.prefix,
        list_ancestors(spot, level, fold),
    )


def list_ancestors(spot: Location, level: Group, fold: bool) -> list[str]:
    """The groups to open so that something is seen: those around the call, the body, its scopes."""
    inner = [spot.full_path(path) for path in spot.subgraph.list_ancestors(level, fold)]
    if spot.call is None:
        return inner
    call = spot.call
    leaf = call.subgraph.get_node_group(call.subgraph.hierarchy.node_by_path[call.path])
    return [*list_ancestors(call, leaf, fold), spot.prefix, *inner]


def _make_path_node_row(spot: Location, rank: int, ask: PathRequest) -> PathNodeRow:
    hierarchy = spot.subgraph.hierarchy
    place = int(hierarchy.node_by_rank[rank])
    around = list_ancestors(spot, spot.subgraph.get_node_group(place), ask.fold)
    return PathNodeRow(
        spot.full_path(hierarchy.paths[place]), spot.subgraph.graph.ops[place], rank, around
    )


# In what two graphs differ, edge by edge and as lists; nothing of a graph by itself.

_DIFFERENCES = (Change.ADDED, Change.REMOVED, Change.CHANGED)


def list_bundle_changes(
    atlas: GraphIndex, sheet: Subgraph, edges: Int32, bundle: Int32, count: int
) -> list[ChangeName | None]:
    """What became of bundles of edges; None in a graph by itself."""
    if atlas.comparison is None or sheet is not atlas.root:
        return [None] * count
    order = np.argsort(bundle, kind="stable")
    kinds = atlas.comparison.edges.change[edges[order]]
    starts = np.searchsorted(bundle[order], np.arange(count + 1)).tolist()
    return [combine_changes(kinds[starts[at] : starts[at + 1]].tolist()) for at in range(count)]


def get_edge_change(atlas: GraphIndex, sheet: Subgraph, edge: int) -> tuple[ChangeName | None, str]:
    """What became of an edge, and what flowed along it if that is not what flows now."""
    if atlas.comparison is None or sheet is not atlas.root:
        return None, ""
    change = Change(int(atlas.comparison.edges.change[edge]))
    before, _ = atlas.comparison.edges.get_tensors(edge)
    is_told = before is not None and change in (Change.CHANGED, Change.REMOVED)
    return CHANGE_NAMES[change], format_output(before) if before and is_told else ""


def list_changes(atlas: GraphIndex, ask: ChangesRequest) -> ChangesResponse:
    both = atlas.comparison
    if both is None:
        raise UsageError("only two graphs that are compared differ in something")
    root = Location(atlas.root, "", "")
    return ChangesResponse(
        [
            _make_changed_node_row(root, both, place, ask)
            for place in _iter_changed(both.change, ask.most)
        ],
        [
            _make_changed_edge_row(root, both, edge, ask)
            for edge in _iter_changed(both.edges.change, ask.most)
        ],
    )


def _iter_changed(changes: Int32, most: int) -> Iterator[int]:
    for kind in _DIFFERENCES:
        yield from np.flatnonzero(changes == kind)[:most].tolist()


def _make_changed_node_row(
    root: Location, both: Comparison, place: int, ask: ChangesRequest
) -> ChangedNodeRow:
    sheet = root.subgraph
    return ChangedNodeRow(
        sheet.hierarchy.paths[place],
        sheet.graph.ops[place],
        CHANGE_NAMES[both.change[place]],
        list_ancestors(root, sheet.get_node_group(place), ask.fold),
    )


def _make_changed_edge_row(
    root: Location, both: Comparison, edge: int, ask: ChangesRequest
) -> ChangedEdgeRow:
    sheet, edges = root.subgraph, both.graph.edges
    source, target = int(edges.source[edge]), int(edges.target[edge])
    before, after = both.edges.get_tensors(edge)
    return ChangedEdgeRow(
        sheet.hierarchy.paths[source],
        sheet.hierarchy.paths[target],
        bool(edges.control[edge]),
        CHANGE_NAMES[both.edges.change[edge]],
        "" if before is None else format_output(before),
        "" if after is None else format_output(after),
        list_ancestors(root, sheet.get_node_group(target), ask.fold),
    )


# What is seen of an open group: its children, and the edges between and around them.

#: Scopes that hold nothing but one other are opened together, but not without end.
_MAX_CHAIN_LENGTH = 20

#: Counting parameters takes a look at every node.
_MAX_COUNTED_NODES = 20_000


def build_group(atlas: GraphIndex, ask: GroupRequest) -> GroupResponse:
    spot = atlas.locate(ask.group)
    level = spot.subgraph.get_group(spot.path, ask.fold)
    scene = _GroupView(
        atlas,
        spot,
        level,
        bundle_child_edges(spot.subgraph.hierarchy, level),
        get_boundary_edges(spot, level, ask.fold, incoming=True),
        get_boundary_edges(spot, level, ask.fold, incoming=False),
    )
    window = slice(ask.offset, ask.offset + ask.most)
    return GroupResponse(
        path=ask.group,
        kind=_get_group_kind(spot, level),
        total=len(level.children),
        offset=ask.offset,
        children=list(_iter_children(scene, ask.fold, window)),
        edges=_make_edge_columns(scene, window),
        ins=_make_boundary_columns(scene, window, incoming=True),
        outs=_make_boundary_columns(scene, window, incoming=False),
    )


def get_boundary_edges(spot: Location, level: Group, fold: bool, incoming: bool) -> BoundaryEdges:
    """What crosses the border of a level; for the body of a function what its call is joined to."""
    sheet = spot.subgraph
    if level.path or spot.call is None:
        around = sheet.list_enclosing_groups(level, fold)
        return bundle_boundary_edges(sheet.hierarchy, level, around, incoming)
    return bundle_call_edges(spot, level, fold, incoming)


def iter_scope_chain(sheet: Subgraph, scope: int, fold: bool) -> Iterator[int]:
    """The scopes inside of one that are all that there is to see, one inside of the other."""
    for _ in range(_MAX_CHAIN_LENGTH):
        children = sheet.get_scope_group(scope, fold).children
        if len(children) != 1 or children[0].kind != "scope" or children[0].item is None:
            return
        scope = ~children[0].item
        yield scope


@dataclass(frozen=True, slots=True)
class _GroupView:
    atlas: GraphIndex
    location: Location
    group: Group
    bundles: EdgeBundles
    ins: BoundaryEdges
    outs: BoundaryEdges

    @property
    def boundary_subgraph(self) -> Subgraph:
        """The sheet of the edges over the border."""
        call = self.location.call
        return self.location.subgraph if self.group.path or call is None else call.subgraph

    def count_inputs(self) -> Int32:
        return self._count(self.bundles.target, self.ins)

    def count_outputs(self) -> Int32:
        return self._count(self.bundles.source, self.outs)

    def _count(self, ends: Int32, border: BoundaryEdges) -> Int32:
        size = len(self.group.children)
        inside = np.bincount(ends[self.bundles.bundle], minlength=size)
        across = np.bincount(border.child[border.bundle], minlength=size)
        return (inside + across).astype(np.int32)


def _get_group_kind(spot: Location, level: Group) -> Literal["scope", "series", "function"]:
    if level.is_partial:
        return "series"
    return "function" if spot.call is not None and not level.path else "scope"


def _iter_children(scene: _GroupView, fold: bool, window: slice) -> Iterator[ChildRow]:
    spot, level = scene.location, scene.group
    roles = compute_roles(
        spot.subgraph.hierarchy,
        level,
        scene.bundles,
        scene.ins,
        scene.outs,
        lambda place: bool(scene.atlas.list_functions(spot.subgraph, place)),
    )
    degrees = zip(scene.count_inputs()[window], scene.count_outputs()[window], strict=True)
    for child, role, (inputs, outputs) in zip(
        level.children[window], roles[window], degrees, strict=True
    ):
        row = _make_child_row(scene.atlas, spot, child, role, fold)
        row.inputs, row.outputs = int(inputs), int(outputs)
        yield row


def _make_child_row(
    atlas: GraphIndex, spot: Location, child: Child, role: ChildRole, fold: bool
) -> ChildRow:
    sheet, item = spot.subgraph, child.item
    row = ChildRow(
        path=spot.full_path(child.path),
        label=child.label,
        kind=child.kind,
        op="",
        nodes=child.last - child.first,
        first=child.first,
        last=child.last,
        shape="",
        dtype="",
        functions=[],
        aux=role,
        inputs=0,
        outputs=0,
        structure=UNIQUE_STRUCTURE,
        parameters=_count_parameters(atlas, sheet, child),
        change=atlas.find_change(sheet, child.first, child.last),
        chain=[],
    )
    if item is None:
        row.op = _get_common_op(sheet, child)
    elif item < 0:
        paths = sheet.hierarchy.scopes.paths
        row.structure = int(sheet.structures[~item])
        row.chain = [spot.full_path(paths[scope]) for scope in iter_scope_chain(sheet, ~item, fold)]
    else:
        outputs = sheet.tensors.get_outputs(item)
        row.op = sheet.graph.ops[item]
        row.shape = format_shape(outputs[0].shape) if outputs else ""
        row.dtype = outputs[0].dtype if outputs else ""
        row.functions = atlas.list_functions(sheet, item)
    return row


def _count_parameters(atlas: GraphIndex, sheet: Subgraph, child: Child) -> int:
    if len(sheet.graph) > _MAX_COUNTED_NODES:
        return -1
    return int(sheet.statistics.parameters[child.first : child.last].sum())


def _get_common_op(sheet: Subgraph, series: Child) -> str:
    """The operation of a series of nodes; of scopes there is none."""
    places = sheet.hierarchy.node_by_rank[series.first : series.last].tolist()
    ops = {sheet.graph.ops[place] for place in places}
    return ops.pop() if len(ops) == 1 else ""


def _make_edge_columns(scene: _GroupView, window: slice) -> EdgeColumns:
    bundles = scene.bundles
    bundles = bundles.filter(
        _is_in_window(bundles.source, window) & _is_in_window(bundles.target, window)
    )
    sheet = scene.location.subgraph
    return EdgeColumns(
        bundles.source - np.int32(window.start),
        bundles.target - np.int32(window.start),
        *_measure_bundles(scene, sheet, bundles.edges, bundles.bundle, len(bundles)),
    )


def _make_boundary_columns(scene: _GroupView, window: slice, incoming: bool) -> BoundaryColumns:
    border = scene.ins if incoming else scene.outs
    border = border.filter(_is_in_window(border.child, window))
    across = _measure_bundles(
        scene, scene.boundary_subgraph, border.edges, border.bundle, len(border)
    )
    prefix = scene.location.prefix if scene.boundary_subgraph is scene.location.subgraph else ""
    partner = [prefix + path for path in border.partner]
    beside, names, columns = _make_offscreen_columns(scene, window, incoming)
    counts, controls, sizes = (
        np.concatenate([one, other]) for one, other in zip(across[:3], columns[:3], strict=True)
    )
    return BoundaryColumns(
        np.concatenate([border.child, beside]) - np.int32(window.start),
        [*partner, *names],
        counts,
        controls,
        sizes,
        [*across[3], *columns[3]],
        [*across[4], *columns[4]],
        [*across[5], *columns[5]],
    )


_BundleColumns = tuple[Int32, Int32, Float64, list[str], list[str], list[ChangeName | None]]


def _make_offscreen_columns(
    scene: _GroupView, window: slice, incoming: bool
) -> tuple[Int32, list[str], _BundleColumns]:
    """The bundles that join a child to one which is not in the answer."""
    bundles = scene.bundles
    near, far = (bundles.target, bundles.source) if incoming else (bundles.source, bundles.target)
    kept = _is_in_window(near, window) & ~_is_in_window(far, window)
    chosen = bundles.filter(kept)
    children, outwards = scene.group.children, scene.location.full_path
    names = [outwards(children[place].path) for place in far[kept].tolist()]
    columns = _measure_bundles(
        scene, scene.location.subgraph, chosen.edges, chosen.bundle, len(chosen)
    )
    return near[kept], names, columns


def _measure_bundles(
    scene: _GroupView, sheet: Subgraph, edges: Int32, bundle: Int32, count: int
) -> _BundleColumns:
    flow = sheet.tensors.measure_bundles(edges, bundle, count)
    control = sheet.graph.edges.control[edges]
    return (
        np.bincount(bundle, minlength=count).astype(np.int32),
        np.bincount(bundle[control], minlength=count).astype(np.int32),
        flow.size,
        flow.label,
        flow.dtype,
        list_bundle_changes(scene.atlas, sheet, edges, bundle, count),
    )


def _is_in_window(places: Int32, window: slice) -> Bool:
    inside: Bool = (places >= window.start) & (places < window.stop)
    return inside


# All that is known of one node or group.

Profile = Mapping[str, NodeExecution]

_MAX_GROUP_OPS = 50


def build_node(atlas: GraphIndex, ask: NodeRequest, profile: Profile) -> NodeResponse:
    spot = atlas.locate(ask.path)
    place = spot.subgraph.hierarchy.node_by_path.get(spot.path)
    level = resolve_group(spot, ask.fold)
    node = _make_node_response(atlas, spot, level, ask)
    if place is None:
        _fill_group(atlas, spot, level, node, ask)
    else:
        _fill_node(atlas, spot, place, node, ask)
    node.ran = _find_execution(spot, level, profile)
    return node


def _make_node_response(
    atlas: GraphIndex, spot: Location, level: Group, ask: NodeRequest
) -> NodeResponse:
    return NodeResponse(
        path=ask.path,
        name=level.path,
        kind="series" if level.is_partial else "scope",
        op="",
        device="",
        source="",
        nodes=level.last - level.first,
        parameters=spot.subgraph.count_parameters(level.first, level.last),
        attributes=[],
        inputs=[],
        inputs_total=0,
        outputs=[],
        outputs_total=0,
        tensors=[],
        functions=[],
        ops=[],
        inside=list_ancestors(spot, level, ask.fold),
        first=level.first,
        last=level.last,
        body=spot.prefix,
        ran=None,
        change=atlas.find_change(spot.subgraph, level.first, level.last),
        changes=[],
    )


def _fill_node(
    atlas: GraphIndex, spot: Location, place: int, node: NodeResponse, ask: NodeRequest
) -> None:
    graph, hierarchy = spot.subgraph.graph, spot.subgraph.hierarchy
    detail = graph.describe(place)
    node.name, node.op = graph.names[place], graph.ops[place]
    node.kind = spot.subgraph.get_node_group(place).children[0].kind
    node.device, node.source = detail.device, detail.source
    node.attributes = [AttributeRow(key, value) for key, value in detail.attributes.items()]
    node.tensors = [
        OutputRow(it.dtype, format_shape(it.shape), count_known_elements(it))
        for it in detail.outputs
    ]
    node.functions = atlas.list_functions(spot.subgraph, place)
    shown = slice(ask.offset, ask.offset + ask.most)
    incoming = hierarchy.get_incoming_edges(node.first, node.last)
    incoming = incoming[np.argsort(graph.edges.position[incoming], kind="stable")]
    outgoing = hierarchy.get_outgoing_edges(node.first, node.last)
    node.inputs_total, node.outputs_total = len(incoming), len(outgoing)
    sources, targets = graph.edges.source, graph.edges.target
    node.inputs = [
        _make_neighbor_row(atlas, spot, edge, int(sources[edge]), ask) for edge in incoming[shown]
    ]
    node.outputs = [
        _make_neighbor_row(atlas, spot, edge, int(targets[edge]), ask) for edge in outgoing[shown]
    ]
    if atlas.comparison is not None and spot.subgraph is atlas.root:
        found = atlas.comparison.list_differences(place)
        node.changes = [DifferenceRow(it.property_name, it.before, it.after) for it in found]


def _make_neighbor_row(
    atlas: GraphIndex, spot: Location, edge: int, other: int, ask: NodeRequest
) -> NeighborRow:
    sheet = spot.subgraph
    change, was = get_edge_change(atlas, sheet, int(edge))
    edges = sheet.graph.edges
    control = bool(edges.control[edge])
    tensor = None if control else sheet.tensors.find_edge_tensor(int(edge))
    return NeighborRow(
        spot.full_path(sheet.hierarchy.paths[other]),
        sheet.graph.ops[other],
        int(edges.position[edge]),
        edges.output[edge],
        control,
        "" if tensor is None else format_shape(tensor.shape),
        "" if tensor is None else tensor.dtype,
        None if tensor is None else _nan_to_none(count_known_elements(tensor)),
        1,
        list_ancestors(spot, sheet.get_node_group(other), ask.fold),
        change,
        was,
    )


def _fill_group(
    atlas: GraphIndex, spot: Location, level: Group, node: NodeResponse, ask: NodeRequest
) -> None:
    graph = spot.subgraph.graph
    places = spot.subgraph.hierarchy.node_by_rank[level.first : level.last].tolist()
    ops = Counter(graph.ops[place] for place in places)
    node.ops = [NamedCount(*pair) for pair in ops.most_common(_MAX_GROUP_OPS)]
    shown = slice(ask.offset, ask.offset + ask.most)
    incoming = list(_iter_group_neighbors(atlas, spot, level, ask, incoming=True))
    outgoing = list(_iter_group_neighbors(atlas, spot, level, ask, incoming=False))
    node.inputs_total, node.outputs_total = len(incoming), len(outgoing)
    node.inputs, node.outputs = incoming[shown], outgoing[shown]


def _iter_group_neighbors(
    atlas: GraphIndex, spot: Location, level: Group, ask: NodeRequest, incoming: bool
) -> Iterator[NeighborRow]:
    """Who is on the other side of a group's border, whichever of its children is joined to them."""
    border = get_boundary_edges(spot, level, ask.fold, incoming)
    is_body = spot.call is not None and not level.path
    sheet = spot.call.subgraph if is_body and spot.call is not None else spot.subgraph
    names = list(dict.fromkeys(border.partner))
    numbers = {name: number for number, name in enumerate(names)}
    partner = np.array([numbers[name] for name in border.partner], np.int32)
    bundle = partner[border.bundle] if len(border) else border.bundle
    flow = sheet.tensors.measure_bundles(border.edges, bundle, len(names))
    counts = np.bincount(bundle, minlength=len(names))
    changes = list_bundle_changes(atlas, sheet, border.edges, bundle, len(names))
    data = np.bincount(bundle[~sheet.graph.edges.control[border.edges]], minlength=len(names))
    for number in np.argsort(-counts, kind="stable").tolist():
        path = names[number] if is_body else spot.full_path(names[number])
        place = sheet.hierarchy.node_by_path.get(names[number])
        yield NeighborRow(
            path,
            "" if place is None else sheet.graph.ops[place],
            -1,
            "",
            not data[number],
            flow.label[number],
            flow.dtype[number],
            _nan_to_none(flow.size[number]),
            int(counts[number]),
            [],
            changes[number],
            "",
        )


def _nan_to_none(size: float | None) -> float | None:
    return None if size is None or isnan(size) else float(size)


def _find_execution(spot: Location, level: Group, profile: Profile) -> ExecutionRow | None:
    hierarchy = spot.subgraph.hierarchy
    places = hierarchy.node_by_rank[level.first : level.last].tolist() if profile else []
    names = (hierarchy.graph.names[place] for place in places)
    ran = [profile[name] for name in names if name in profile]
    if not ran:
        return None
    devices = {one.device for one in ran}
    return ExecutionRow(
        time_us=sum(one.duration_us for one in ran),
        memory_bytes=float(sum(one.memory_bytes for one in ran)),
        start_us=min(one.start_us for one in ran) - min(one.start_us for one in profile.values()),
        device=devices.pop() if len(devices) == 1 else "",
        outputs=list(ran[0].outputs) if len(ran) == 1 else [],
    )
