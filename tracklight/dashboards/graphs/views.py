"""Responses about parts of a graph: search results, paths, groups and nodes.

Positions are full paths and ranks, so that the page can mark them in any open group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import isnan
from typing import Literal

import numpy as np

from tracklight.analysis.graphs import Graph, count_known_elements, format_shape
from tracklight.analysis.graphs.comparison import ChangeName
from tracklight.analysis.graphs.graph_index import (
    GraphIndex,
    Location,
    SearchHit,
    Subgraph,
    bundle_call_edges,
    compress_ranks,
    parse_query,
)
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
from tracklight.dashboards.graphs.overview import get_edge_change, list_bundle_changes
from tracklight.dashboards.graphs.schemas import (
    AttributeRow,
    BoundaryColumns,
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
#: Hits are counted up to this number.
_MAX_HITS = 10_000

#: A chain of scopes with a single child each is opened together up to this length.
_MAX_CHAIN_LENGTH = 20
#: Counting parameters describes every node, so it is skipped in larger graphs.
_MAX_COUNTED_NODES = 20_000
_MAX_GROUP_OPS = 50

Profile = Mapping[str, NodeExecution]
#: Edge count, control edge count, size, label, dtype and change of each bundle.
_BundleColumns = tuple[Int32, Int32, Float64, list[str], list[str], list[ChangeName | None]]


# Search, dependencies and paths


def search_nodes(graph_index: GraphIndex, request: SearchRequest) -> SearchResponse:
    """Search the graph, then the functions that it calls."""
    hits = list(islice(_iter_hits(graph_index, request), _MAX_HITS))
    rows = [_make_hit_row(location, hit, request.fold) for location, hit in hits[: request.limit]]
    return SearchResponse(len(hits), rows)


def _iter_hits(
    graph_index: GraphIndex, request: SearchRequest
) -> Iterator[tuple[Location, SearchHit]]:
    terms = parse_query(request.query)
    root = Location(graph_index.root, "", "")
    for hit in root.subgraph.text_index.iter_hits(terms, request.limit):
        yield root, hit
    for location in graph_index.iter_bodies():
        for hit in location.subgraph.text_index.iter_hits(terms, request.limit):
            yield location, hit


def _make_hit_row(location: Location, hit: SearchHit, fold: bool) -> SearchHitRow:
    subgraph = location.subgraph
    if hit.item < 0:
        group = subgraph.get_scope_group(~hit.item, fold)
    else:
        group = subgraph.get_node_group(hit.item)
    return SearchHitRow(
        path=location.full_path(group.path),
        kind="scope" if hit.item < 0 else group.children[0].kind,
        op="" if hit.item < 0 else subgraph.graph.ops[hit.item],
        field=hit.field,
        text=hit.text,
        first=group.first,
        last=group.last,
        body=location.prefix,
        ancestors=location.list_ancestors(group, fold),
    )


def trace_dependencies(graph_index: GraphIndex, request: TraceRequest) -> TraceResponse:
    location = graph_index.locate(request.path)
    group = location.resolve_group(True)
    ranks, ends = location.subgraph.adjacency.trace(
        range(group.first, group.last), request.direction == "inputs", request.control
    )
    hierarchy = location.subgraph.hierarchy
    end_nodes = [hierarchy.node_by_rank[rank] for rank in ends[:_MAX_TRACE_ENDS]]
    end_paths = [location.full_path(hierarchy.paths[node]) for node in end_nodes]
    return TraceResponse(len(ranks), *compress_ranks(ranks), location.prefix, end_paths)


def build_path(graph_index: GraphIndex, request: PathRequest) -> PathResponse:
    """Return the shortest path between two nodes or groups.

    Raises:
        UsageError: The ends are not in the same graph or function body.
    """
    start, end = graph_index.locate(request.start), graph_index.locate(request.end)
    if start.prefix != end.prefix:
        raise UsageError(
            "graphs.path_ends_apart",
            "both ends of a path must be in the same graph or function body",
        )
    groups = start.resolve_group(True), end.resolve_group(True)
    direction, ranks = start.subgraph.adjacency.compute_path(
        *(range(group.first, group.last) for group in groups)
    )
    ranges = compress_ranks(np.array(sorted(ranks), np.int32))
    nodes = [_make_path_node_row(start, rank, request.fold) for rank in ranks[:_MAX_PATH_NODES]]
    return PathResponse(direction, len(ranks), *ranges, start.prefix, nodes)


def _make_path_node_row(location: Location, rank: int, fold: bool) -> PathNodeRow:
    subgraph = location.subgraph
    node = int(subgraph.hierarchy.node_by_rank[rank])
    return PathNodeRow(
        path=location.full_path(subgraph.hierarchy.paths[node]),
        op=subgraph.graph.ops[node],
        rank=rank,
        ancestors=location.list_ancestors(subgraph.get_node_group(node), fold),
    )


# Groups


def build_group(graph_index: GraphIndex, request: GroupRequest) -> GroupResponse:
    """Return the children of an open group with the edges between and around them."""
    location = graph_index.locate(request.group)
    group = location.subgraph.get_group(location.path, request.fold)
    view = _GroupView(
        graph_index,
        location,
        group,
        bundle_child_edges(location.subgraph.hierarchy, group),
        get_boundary_edges(location, group, request.fold, incoming=True),
        get_boundary_edges(location, group, request.fold, incoming=False),
    )
    window = slice(request.offset, request.offset + request.limit)
    return GroupResponse(
        path=request.group,
        kind=_get_group_kind(location, group),
        total=len(group.children),
        offset=request.offset,
        children=list(_iter_children(view, request.fold, window)),
        edges=_make_edge_columns(view, window),
        incoming=_make_boundary_columns(view, window, incoming=True),
        outgoing=_make_boundary_columns(view, window, incoming=False),
    )


def get_boundary_edges(
    location: Location, group: Group, fold: bool, incoming: bool
) -> BoundaryEdges:
    """Return the edges across the boundary of a group; for a function body those of the call."""
    subgraph = location.subgraph
    if group.path or location.call is None:
        enclosing = subgraph.list_enclosing_groups(group, fold)
        return bundle_boundary_edges(subgraph.hierarchy, group, enclosing, incoming)
    return bundle_call_edges(location, group, fold, incoming)


def iter_scope_chain(subgraph: Subgraph, scope: int, fold: bool) -> Iterator[int]:
    """Yield the scopes inside of a scope, as long as each is the only child of the one before."""
    for _ in range(_MAX_CHAIN_LENGTH):
        children = subgraph.get_scope_group(scope, fold).children
        if len(children) != 1 or children[0].kind != "scope" or children[0].item is None:
            return
        scope = ~children[0].item
        yield scope


@dataclass(frozen=True, slots=True)
class _GroupView:
    """An open group with all of its edges."""

    graph_index: GraphIndex
    location: Location
    group: Group
    bundles: EdgeBundles
    incoming: BoundaryEdges
    outgoing: BoundaryEdges

    @property
    def boundary_subgraph(self) -> Subgraph:
        """The subgraph that the boundary edges belong to: for a body that of the call."""
        call = self.location.call
        return self.location.subgraph if self.group.path or call is None else call.subgraph

    def count_inputs(self) -> Int32:
        return self._count_edges(self.bundles.target, self.incoming)

    def count_outputs(self) -> Int32:
        return self._count_edges(self.bundles.source, self.outgoing)

    def _count_edges(self, ends: Int32, boundary: BoundaryEdges) -> Int32:
        size = len(self.group.children)
        inside = np.bincount(ends[self.bundles.bundle], minlength=size)
        across = np.bincount(boundary.child[boundary.bundle], minlength=size)
        return (inside + across).astype(np.int32)


def _get_group_kind(location: Location, group: Group) -> Literal["scope", "series", "function"]:
    if group.is_partial:
        return "series"
    return "function" if location.call is not None and not group.path else "scope"


def _iter_children(view: _GroupView, fold: bool, window: slice) -> Iterator[ChildRow]:
    subgraph = view.location.subgraph
    roles = compute_roles(
        subgraph.hierarchy,
        view.group,
        view.bundles,
        view.incoming,
        view.outgoing,
        lambda node: bool(view.graph_index.list_functions(subgraph, node)),
    )
    degrees = zip(view.count_inputs()[window], view.count_outputs()[window], strict=True)
    for child, role, (inputs, outputs) in zip(
        view.group.children[window], roles[window], degrees, strict=True
    ):
        row = _make_child_row(view.graph_index, view.location, child, role, fold)
        row.inputs, row.outputs = int(inputs), int(outputs)
        yield row


def _make_child_row(
    graph_index: GraphIndex, location: Location, child: Child, role: ChildRole, fold: bool
) -> ChildRow:
    subgraph, item = location.subgraph, child.item
    row = ChildRow(
        path=location.full_path(child.path),
        label=child.label,
        kind=child.kind,
        op="",
        nodes=child.last - child.first,
        first=child.first,
        last=child.last,
        shape="",
        dtype="",
        functions=[],
        role=role,
        inputs=0,
        outputs=0,
        structure_id=UNIQUE_STRUCTURE,
        parameters=_count_parameters(subgraph, child),
        change=graph_index.find_change(subgraph, child.first, child.last),
        single_child_chain=[],
    )
    if item is None:
        row.op = _get_common_op(subgraph, child)
    elif item < 0:
        paths = subgraph.hierarchy.scopes.paths
        chain = iter_scope_chain(subgraph, ~item, fold)
        row.structure_id = int(subgraph.structures[~item])
        row.single_child_chain = [location.full_path(paths[scope]) for scope in chain]
    else:
        outputs = subgraph.tensors.get_outputs(item)
        row.op = subgraph.graph.ops[item]
        row.shape = format_shape(outputs[0].shape) if outputs else ""
        row.dtype = outputs[0].dtype if outputs else ""
        row.functions = graph_index.list_functions(subgraph, item)
    return row


def _count_parameters(subgraph: Subgraph, child: Child) -> int:
    if len(subgraph.graph) > _MAX_COUNTED_NODES:
        return -1
    return int(subgraph.statistics.parameters[child.first : child.last].sum())


def _get_common_op(subgraph: Subgraph, series: Child) -> str:
    """Return the operation of a series of nodes; empty for a series of scopes."""
    nodes = subgraph.hierarchy.node_by_rank[series.first : series.last].tolist()
    ops = {subgraph.graph.ops[node] for node in nodes}
    return ops.pop() if len(ops) == 1 else ""


def _make_edge_columns(view: _GroupView, window: slice) -> EdgeColumns:
    bundles = view.bundles
    is_visible = _is_in_window(bundles.source, window) & _is_in_window(bundles.target, window)
    bundles = bundles.filter(is_visible)
    subgraph = view.location.subgraph
    return EdgeColumns(
        bundles.source - np.int32(window.start),
        bundles.target - np.int32(window.start),
        *_measure_bundles(view, subgraph, bundles.edges, bundles.bundle, len(bundles)),
    )


def _make_boundary_columns(view: _GroupView, window: slice, incoming: bool) -> BoundaryColumns:
    boundary = view.incoming if incoming else view.outgoing
    boundary = boundary.filter(_is_in_window(boundary.child, window))
    subgraph = view.boundary_subgraph
    across = _measure_bundles(view, subgraph, boundary.edges, boundary.bundle, len(boundary))
    prefix = view.location.prefix if subgraph is view.location.subgraph else ""
    across_paths = [prefix + path for path in boundary.partner]
    children, offscreen_paths, offscreen = _make_offscreen_columns(view, window, incoming)
    counts, controls, sizes = (
        np.concatenate([one, other]) for one, other in zip(across[:3], offscreen[:3], strict=True)
    )
    return BoundaryColumns(
        np.concatenate([boundary.child, children]) - np.int32(window.start),
        [*across_paths, *offscreen_paths],
        counts,
        controls,
        sizes,
        [*across[3], *offscreen[3]],
        [*across[4], *offscreen[4]],
        [*across[5], *offscreen[5]],
    )


def _make_offscreen_columns(
    view: _GroupView, window: slice, incoming: bool
) -> tuple[Int32, list[str], _BundleColumns]:
    """Return the bundles between a child in the response and one that is not."""
    bundles = view.bundles
    near, far = (bundles.target, bundles.source) if incoming else (bundles.source, bundles.target)
    selected = _is_in_window(near, window) & ~_is_in_window(far, window)
    filtered = bundles.filter(selected)
    children, location = view.group.children, view.location
    paths = [location.full_path(children[index].path) for index in far[selected].tolist()]
    columns = _measure_bundles(
        view, location.subgraph, filtered.edges, filtered.bundle, len(filtered)
    )
    return near[selected], paths, columns


def _measure_bundles(
    view: _GroupView, subgraph: Subgraph, edges: Int32, bundle: Int32, count: int
) -> _BundleColumns:
    tensors = subgraph.tensors.measure_bundles(edges, bundle, count)
    control = subgraph.graph.edges.control[edges]
    return (
        np.bincount(bundle, minlength=count).astype(np.int32),
        np.bincount(bundle[control], minlength=count).astype(np.int32),
        tensors.size,
        tensors.label,
        tensors.dtype,
        list_bundle_changes(view.graph_index, subgraph, edges, bundle, count),
    )


def _is_in_window(indexes: Int32, window: slice) -> Bool:
    inside: Bool = (indexes >= window.start) & (indexes < window.stop)
    return inside


# Details of a node or group


def build_node(graph_index: GraphIndex, request: NodeRequest, profile: Profile) -> NodeResponse:
    """Return the details of a node or group."""
    location = graph_index.locate(request.path)
    node = location.subgraph.hierarchy.node_by_path.get(location.path)
    group = location.resolve_group(request.fold)
    response = _make_node_response(graph_index, location, group, request)
    if node is None:
        _fill_group(graph_index, location, group, response, request)
    else:
        _fill_node(graph_index, location, node, response, request)
    response.execution = _find_execution(location, group, profile)
    return response


def _make_node_response(
    graph_index: GraphIndex, location: Location, group: Group, request: NodeRequest
) -> NodeResponse:
    """Return a response with the fields that nodes and groups have in common."""
    return NodeResponse(
        path=request.path,
        name=group.path,
        kind="series" if group.is_partial else "scope",
        op="",
        op_summary="",
        device="",
        source="",
        nodes=group.last - group.first,
        parameters=location.subgraph.count_parameters(group.first, group.last),
        attributes=[],
        inputs=[],
        inputs_total=0,
        outputs=[],
        outputs_total=0,
        tensors=[],
        weights=False,
        functions=[],
        ops=[],
        ancestors=location.list_ancestors(group, request.fold),
        first=group.first,
        last=group.last,
        body=location.prefix,
        execution=None,
        change=graph_index.find_change(location.subgraph, group.first, group.last),
        changes=[],
    )


def _fill_node(
    graph_index: GraphIndex,
    location: Location,
    node: int,
    response: NodeResponse,
    request: NodeRequest,
) -> None:
    subgraph = location.subgraph
    graph, hierarchy = subgraph.graph, subgraph.hierarchy
    details = graph.describe(node)
    response.name, response.op = graph.names[node], graph.ops[node]
    response.kind = subgraph.get_node_group(node).children[0].kind
    response.device, response.source = details.device, details.source
    doc = graph_index.op_docs.find(graph.ops[node])
    response.op_summary = doc.summary if doc else ""
    response.attributes = [AttributeRow(key, value) for key, value in details.attributes.items()]
    response.tensors = [
        OutputRow(output.dtype, format_shape(output.shape), count_known_elements(output))
        for output in details.outputs
    ]
    response.weights = node in graph.weights
    response.functions = graph_index.list_functions(subgraph, node)
    incoming = hierarchy.get_incoming_edges(response.first, response.last)
    incoming = incoming[np.argsort(graph.edges.position[incoming], kind="stable")]
    outgoing = hierarchy.get_outgoing_edges(response.first, response.last)
    response.inputs_total, response.outputs_total = len(incoming), len(outgoing)
    window = slice(request.offset, request.offset + request.limit)
    sources, targets = graph.edges.source, graph.edges.target
    response.inputs = [
        _make_neighbor_row(graph_index, location, edge, int(sources[edge]), request.fold)
        for edge in incoming[window].tolist()
    ]
    response.outputs = [
        _make_neighbor_row(graph_index, location, edge, int(targets[edge]), request.fold)
        for edge in outgoing[window].tolist()
    ]
    if graph_index.comparison is not None and subgraph is graph_index.root:
        differences = graph_index.comparison.list_differences(node)
        response.changes = [
            DifferenceRow(difference.property_name, difference.before, difference.after)
            for difference in differences
        ]


def _make_neighbor_row(
    graph_index: GraphIndex, location: Location, edge: int, neighbor: int, fold: bool
) -> NeighborRow:
    subgraph = location.subgraph
    change, previous = get_edge_change(graph_index, subgraph, edge)
    edges = subgraph.graph.edges
    is_control = bool(edges.control[edge])
    tensor = None if is_control else subgraph.tensors.find_edge_tensor(edge)
    return NeighborRow(
        path=location.full_path(subgraph.hierarchy.paths[neighbor]),
        op=subgraph.graph.ops[neighbor],
        position=int(edges.position[edge]),
        input_name="" if is_control else _get_input_name(graph_index, subgraph.graph, edge),
        output=edges.output[edge],
        control=is_control,
        shape="" if tensor is None else format_shape(tensor.shape),
        dtype="" if tensor is None else tensor.dtype,
        size=None if tensor is None else _nan_to_none(count_known_elements(tensor)),
        count=1,
        ancestors=location.list_ancestors(subgraph.get_node_group(neighbor), fold),
        change=change,
        previous=previous,
    )


def _get_input_name(graph_index: GraphIndex, graph: Graph, edge: int) -> str:
    """Return the documented name of the input that an edge leads to; empty if it is unknown."""
    edges = graph.edges
    target, position = int(edges.target[edge]), int(edges.position[edge])
    doc = graph_index.op_docs.find(graph.ops[target])
    if doc is None:
        return ""
    first, last = np.searchsorted(edges.target, [target, target + 1])
    is_data = ~edges.control[first:last]
    count = int(edges.position[first:last][is_data].max()) + 1
    return doc.list_input_names(count)[position]


def _fill_group(
    graph_index: GraphIndex,
    location: Location,
    group: Group,
    response: NodeResponse,
    request: NodeRequest,
) -> None:
    subgraph = location.subgraph
    nodes = subgraph.hierarchy.node_by_rank[group.first : group.last].tolist()
    ops = Counter(subgraph.graph.ops[node] for node in nodes)
    response.ops = [NamedCount(*pair) for pair in ops.most_common(_MAX_GROUP_OPS)]
    window = slice(request.offset, request.offset + request.limit)
    incoming, outgoing = (
        list(
            _iter_group_neighbors(graph_index, location, group, request.fold, incoming=is_incoming)
        )
        for is_incoming in (True, False)
    )
    response.inputs_total, response.outputs_total = len(incoming), len(outgoing)
    response.inputs, response.outputs = incoming[window], outgoing[window]


def _iter_group_neighbors(
    graph_index: GraphIndex, location: Location, group: Group, fold: bool, incoming: bool
) -> Iterator[NeighborRow]:
    """Yield the partners across the boundary of a group, those with the most edges first."""
    boundary = get_boundary_edges(location, group, fold, incoming)
    call = location.call
    is_body = call is not None and not group.path
    subgraph = call.subgraph if is_body and call is not None else location.subgraph
    paths = list(dict.fromkeys(boundary.partner))
    numbers = {path: number for number, path in enumerate(paths)}
    partner = np.array([numbers[path] for path in boundary.partner], np.int32)
    bundle = partner[boundary.bundle] if len(boundary) else boundary.bundle
    tensors = subgraph.tensors.measure_bundles(boundary.edges, bundle, len(paths))
    counts = np.bincount(bundle, minlength=len(paths))
    changes = list_bundle_changes(graph_index, subgraph, boundary.edges, bundle, len(paths))
    is_data = ~subgraph.graph.edges.control[boundary.edges]
    data_counts = np.bincount(bundle[is_data], minlength=len(paths))
    for number in np.argsort(-counts, kind="stable").tolist():
        node = subgraph.hierarchy.node_by_path.get(paths[number])
        yield NeighborRow(
            path=paths[number] if is_body else location.full_path(paths[number]),
            op="" if node is None else subgraph.graph.ops[node],
            position=-1,
            input_name="",
            output="",
            control=not data_counts[number],
            shape=tensors.label[number],
            dtype=tensors.dtype[number],
            size=_nan_to_none(tensors.size[number]),
            count=int(counts[number]),
            ancestors=[],
            change=changes[number],
            previous="",
        )


def _nan_to_none(size: float | None) -> float | None:
    return None if size is None or isnan(size) else float(size)


def _find_execution(location: Location, group: Group, profile: Profile) -> ExecutionRow | None:
    hierarchy = location.subgraph.hierarchy
    nodes = hierarchy.node_by_rank[group.first : group.last].tolist() if profile else []
    names = (hierarchy.graph.names[node] for node in nodes)
    executions = [profile[name] for name in names if name in profile]
    if not executions:
        return None
    devices = {execution.device for execution in executions}
    profile_start_us = min(item.start_us for item in profile.values())
    return ExecutionRow(
        time_us=sum(execution.duration_us for execution in executions),
        memory_bytes=float(sum(execution.memory_bytes for execution in executions)),
        start_us=min(execution.start_us for execution in executions) - profile_start_us,
        device=devices.pop() if len(devices) == 1 else "",
        outputs=list(executions[0].outputs) if len(executions) == 1 else [],
    )
