"""Responses about a graph as a whole: totals, default view, statistics, colors and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from math import isnan

import numpy as np

from tracklight.analysis.graphs import count_known_elements, format_output, format_shape
from tracklight.analysis.graphs.comparison import (
    CHANGE_NAMES,
    Change,
    ChangeName,
    Comparison,
    combine_changes,
)
from tracklight.analysis.graphs.graph_index import GraphIndex, Location, Subgraph
from tracklight.analysis.graphs.graphdef import NodeExecution
from tracklight.analysis.graphs.groups import Child
from tracklight.analysis.graphs.hierarchy import FUNCTION_SEPARATOR, ROOT
from tracklight.analysis.graphs.insights import (
    DataFlow,
    ShapeIssue,
    SkipConnection,
    iter_shape_issues,
    iter_skip_connections,
)
from tracklight.analysis.graphs.statistics import (
    CategoryScale,
    ColorScale,
    NumberScale,
    list_color_scales,
)
from tracklight.analysis.source import Sentence
from tracklight.dashboards.graphs.schemas import (
    AttributeRow,
    CategoryCount,
    ChangeCounts,
    ChangedEdgeRow,
    ChangedNodeRow,
    ChangesRequest,
    ChangesResponse,
    ColoringRequest,
    ColoringResponse,
    NamedCount,
    OverviewResponse,
    RankedRow,
    ScaleRow,
    ShapeIssueRow,
    SkipConnectionRow,
    StatisticsResponse,
    TensorRow,
)
from tracklight.errors import UsageError
from tracklight.types import Float64, Int32, Int64

Profile = Mapping[str, NodeExecution]

_MAX_OVERVIEW_OPS = 200
_MAX_FUNCTIONS = 1000

#: Limits of the default view: a group is opened if it has at least this share of the nodes of its
#: parent, while the view has at most this many boxes. Finding calls describes every node, so in
#: larger graphs no functions are opened.
_MAX_OPEN_GROUPS = 20
_MIN_OPEN_SHARE = 0.6
_MAX_BOXES = 60
_MAX_SEARCHED_NODES = 20_000

_DIFFERENCES = (Change.ADDED, Change.REMOVED, Change.CHANGED)

_MAX_CATEGORIES = 200
_MAX_RANKED = 20
#: Insights are not computed for larger graphs, to keep the response fast.
_MAX_INSIGHT_NODES = 50_000
_MAX_INSIGHTS = 200


def build_overview(graph_index: GraphIndex) -> OverviewResponse:
    """Return totals that are known without describing every node."""
    graph, hierarchy = graph_index.graph, graph_index.root.hierarchy
    comparison = graph_index.comparison
    control = int(graph.edges.control.sum())
    functions = list(graph.functions.items())[:_MAX_FUNCTIONS]
    return OverviewResponse(
        nodes=len(graph),
        edges=len(graph.edges) - control,
        control_edges=control,
        depth=int(hierarchy.scopes.depth[hierarchy.node_scope].max(initial=-1)) + 1,
        functions=[NamedCount(name, len(body)) for name, body in functions],
        ops=[NamedCount(*pair) for pair in Counter(graph.ops).most_common(_MAX_OVERVIEW_OPS)],
        problems=[Sentence.make(problem) for problem in graph.problems],
        default_groups=list_default_groups(graph_index),
        changes=None if comparison is None else _count_changes(comparison.change),
        edge_changes=None if comparison is None else _count_changes(comparison.edges.change),
        properties=[AttributeRow(*pair) for pair in graph.properties.items()],
    )


def _count_changes(changes: Int32) -> ChangeCounts:
    counts = np.bincount(changes, minlength=len(Change)).tolist()
    return ChangeCounts(
        same=counts[Change.SAME],
        added=counts[Change.ADDED],
        removed=counts[Change.REMOVED],
        changed=counts[Change.CHANGED],
    )


def list_default_groups(graph_index: GraphIndex) -> list[str]:
    """Return the groups that are open in the default view, outermost first.

    A scope is opened if it is the only child, or if it has most of the nodes and the view stays
    small. A function is opened if it has most of the nodes: TensorFlow wraps a whole training
    step in one call, so that nothing of the model would be visible otherwise.
    """
    sizes = _Sizes(graph_index)
    location, scope, boxes = Location(graph_index.root, "", ""), ROOT, 0
    opened: list[str] = []
    while len(opened) < _MAX_OPEN_GROUPS:
        subgraph = location.subgraph
        children = subgraph.get_scope_group(scope, fold=True).children
        boxes += len(children)
        groups = [child for child in children if sizes.is_group(subgraph, child)]
        largest = max(groups, key=lambda child: sizes.get(subgraph, child), default=None)
        if largest is None or largest.item is None:
            break
        total = sum(sizes.get(subgraph, child) for child in children)
        has_most = sizes.get(subgraph, largest) >= _MIN_OPEN_SHARE * total
        path = location.full_path(largest.path)
        if largest.kind != "scope":
            if not has_most:
                break
            functions = graph_index.list_functions(subgraph, largest.item)
            bodies = [f"{path}{FUNCTION_SEPARATOR}{name}{FUNCTION_SEPARATOR}" for name in functions]
            opened += bodies
            main = max(functions, key=sizes.get_function)
            location, scope = graph_index.locate(bodies[functions.index(main)]), ROOT
            continue
        added = len(subgraph.get_scope_group(~largest.item, fold=True).children)
        if len(children) > 1 and not (has_most and boxes + added <= _MAX_BOXES):
            break
        scope = ~largest.item
        opened.append(path)
    return opened


class _Sizes:
    """Number of nodes in children of a group, including the functions that they call."""

    def __init__(self, graph_index: GraphIndex) -> None:
        self._graph_index = graph_index
        functions = graph_index.graph.functions
        nodes = len(graph_index.graph) + sum(len(body) for body in functions.values())
        self._has_functions = bool(functions) and nodes <= _MAX_SEARCHED_NODES
        self._function_sizes: dict[str, int] = {}
        self._totals: dict[int, list[int]] = {}

    def is_group(self, subgraph: Subgraph, child: Child) -> bool:
        if child.kind == "scope":
            return True
        is_searched = self._has_functions and child.kind == "op" and child.item is not None
        return is_searched and bool(self._graph_index.list_functions(subgraph, child.item or 0))

    def get(self, subgraph: Subgraph, child: Child) -> int:
        if not self._has_functions:
            return child.last - child.first
        totals = self._get_totals(subgraph)
        return totals[child.last] - totals[child.first]

    def get_function(self, name: str) -> int:
        size = self._function_sizes.get(name)
        if size is None:
            # A recursive function counts once.
            self._function_sizes[name] = 0
            size = self._get_totals(self._graph_index.get_body(name))[-1]
            self._function_sizes[name] = size
        return size

    def _get_totals(self, subgraph: Subgraph) -> list[int]:
        """Return the total size of all nodes before each rank."""
        totals = self._totals.get(id(subgraph))
        if totals is None:
            nodes = subgraph.hierarchy.node_by_rank.tolist()
            sizes = (self._get_node(subgraph, node) for node in nodes)
            totals = self._totals[id(subgraph)] = [0, *accumulate(sizes)]
        return totals

    def _get_node(self, subgraph: Subgraph, node: int) -> int:
        names = self._graph_index.list_functions(subgraph, node)
        return 1 + sum(self.get_function(name) for name in names)


def color_group(
    graph_index: GraphIndex, request: ColoringRequest, profile: Profile
) -> ColoringResponse:
    """Return the category or number of each child of a group.

    Raises:
        UsageError: The graph has no data for the requested scale.
    """
    location = graph_index.locate(request.group)
    group = location.subgraph.get_group(location.path, request.fold)
    scales = _list_scales(graph_index, location.subgraph, profile)
    scale = next((scale for scale in scales if scale.by == request.by), None)
    if scale is None:
        raise UsageError(
            "graphs.unknown_coloring", 'this graph cannot be colored by "{by}"', by=request.by
        )
    return apply_scale(scale, group.children[request.offset : request.offset + request.limit])


def apply_scale(scale: ColorScale, children: Sequence[Child]) -> ColoringResponse:
    if isinstance(scale, NumberScale):
        value = np.array([scale.total(child.first, child.last) for child in children])
        return ColoringResponse(scale.by, "number", [], [], value)
    counts = [
        [CategoryCount(*pair) for pair in scale.count(child.first, child.last)]
        for child in children
    ]
    return ColoringResponse(scale.by, "category", list(scale.names), counts, None)


def build_statistics(graph_index: GraphIndex, profile: Profile) -> StatisticsResponse:
    """Return color scales, rankings, skip connections and shape issues of a graph."""
    subgraph = graph_index.root
    scales = _list_scales(graph_index, subgraph, profile)
    numbers = {scale.by: scale.value for scale in scales if isinstance(scale, NumberScale)}
    statistics = subgraph.statistics
    # In the union of two graphs, edges of one meet shapes of the other.
    skips, issues = build_insights(subgraph) if graph_index.comparison is None else ([], [])
    largest = _list_top_ranks(statistics.output_elements)
    return StatisticsResponse(
        scales=[_make_scale_row(graph_index, scale) for scale in scales],
        parameters=int(statistics.parameters.sum()),
        largest=[_make_tensor_row(subgraph, rank) for rank in largest],
        most_parameters=_make_ranked_rows(subgraph, numbers.get("parameters")),
        slowest=_make_ranked_rows(subgraph, numbers.get("time")),
        most_memory=_make_ranked_rows(subgraph, numbers.get("memory")),
        skip_connections=skips,
        shape_issues=issues,
    )


def _list_scales(graph_index: GraphIndex, subgraph: Subgraph, profile: Profile) -> list[ColorScale]:
    comparison = graph_index.comparison if subgraph is graph_index.root else None
    return list_color_scales(subgraph.hierarchy, subgraph.statistics, profile, comparison)


def _make_scale_row(graph_index: GraphIndex, scale: ColorScale) -> ScaleRow:
    if isinstance(scale, CategoryScale):
        counts = scale.count(0, len(scale.code))[:_MAX_CATEGORIES]
        categories = [NamedCount(scale.names[index], count) for index, count in counts]
        return ScaleRow(scale.by, "category", "", 0.0, 0.0, categories)
    # The range is that of the innermost open group outside of functions.
    opened = [path for path in list_default_groups(graph_index) if FUNCTION_SEPARATOR not in path]
    children = graph_index.root.get_group(opened[-1] if opened else "", True).children
    totals = [scale.total(child.first, child.last) for child in children]
    high = max((total for total in totals if not isnan(total)), default=0.0)
    return ScaleRow(scale.by, "number", scale.unit, 0.0, high, [])


def _list_top_ranks(column: Int64 | Float64) -> list[int]:
    """Return the ranks of the highest values above zero, in descending order."""
    positive = np.flatnonzero(column > 0)
    order = np.argsort(-column[positive], kind="stable")[:_MAX_RANKED]
    return [int(rank) for rank in positive[order]]


def _make_ranked_rows(subgraph: Subgraph, column: Float64 | None) -> list[RankedRow]:
    if column is None:
        return []
    return [
        RankedRow(
            *_get_path_and_op(subgraph, rank),
            float(column[rank]),
            subgraph.list_ancestors_of_rank(rank),
        )
        for rank in _list_top_ranks(column)
    ]


def _make_tensor_row(subgraph: Subgraph, rank: int) -> TensorRow:
    outputs = subgraph.tensors.get_outputs(int(subgraph.hierarchy.node_by_rank[rank]))
    largest = max(outputs, key=lambda output: count_known_elements(output) or 0)
    return TensorRow(
        *_get_path_and_op(subgraph, rank),
        largest.dtype,
        format_shape(largest.shape),
        count_known_elements(largest) or 0,
        float(subgraph.statistics.output_bytes[rank]),
        subgraph.list_ancestors_of_rank(rank),
    )


def build_insights(subgraph: Subgraph) -> tuple[list[SkipConnectionRow], list[ShapeIssueRow]]:
    """Return skip connections and shape issues; empty for large graphs."""
    if len(subgraph.graph) > _MAX_INSIGHT_NODES:
        return [], []
    data_flow = DataFlow(subgraph)
    skips = islice(iter_skip_connections(subgraph, data_flow), _MAX_INSIGHTS)
    issues = islice(iter_shape_issues(subgraph, data_flow), _MAX_INSIGHTS)
    return (
        [_make_skip_row(subgraph, skip) for skip in skips],
        [_make_shape_issue_row(subgraph, issue) for issue in issues],
    )


def _make_skip_row(subgraph: Subgraph, skip: SkipConnection) -> SkipConnectionRow:
    path, op = _get_path_and_op(subgraph, skip.target)
    source, _ = _get_path_and_op(subgraph, skip.source)
    ancestors = subgraph.list_ancestors_of_rank(skip.target)
    return SkipConnectionRow(path, op, source, skip.passed, ancestors)


def _make_shape_issue_row(subgraph: Subgraph, issue: ShapeIssue) -> ShapeIssueRow:
    path, op = _get_path_and_op(subgraph, issue.rank)
    message = Sentence.make(issue.message)
    return ShapeIssueRow(path, op, message, subgraph.list_ancestors_of_rank(issue.rank))


def _get_path_and_op(subgraph: Subgraph, rank: int) -> tuple[str, str]:
    node = int(subgraph.hierarchy.node_by_rank[rank])
    return subgraph.hierarchy.paths[node], subgraph.graph.ops[node]


def list_bundle_changes(
    graph_index: GraphIndex, subgraph: Subgraph, edges: Int32, bundle: Int32, count: int
) -> list[ChangeName | None]:
    """Return the change of each bundle of edges; None outside of comparisons."""
    if graph_index.comparison is None or subgraph is not graph_index.root:
        return [None] * count
    order = np.argsort(bundle, kind="stable")
    changes = graph_index.comparison.edges.change[edges[order]]
    starts = np.searchsorted(bundle[order], np.arange(count + 1)).tolist()
    return [
        combine_changes(changes[starts[number] : starts[number + 1]].tolist())
        for number in range(count)
    ]


def get_edge_change(
    graph_index: GraphIndex, subgraph: Subgraph, edge: int
) -> tuple[ChangeName | None, str]:
    """Return the change of an edge, and the previous tensor if it was changed or removed."""
    if graph_index.comparison is None or subgraph is not graph_index.root:
        return None, ""
    change = Change(int(graph_index.comparison.edges.change[edge]))
    before, _ = graph_index.comparison.edges.get_tensors(edge)
    if before is None or change not in (Change.CHANGED, Change.REMOVED):
        return CHANGE_NAMES[change], ""
    return CHANGE_NAMES[change], format_output(before)


def list_changes(graph_index: GraphIndex, request: ChangesRequest) -> ChangesResponse:
    """Return the nodes and edges in which two compared graphs differ.

    Raises:
        UsageError: The graph is not a comparison.
    """
    comparison = graph_index.comparison
    if comparison is None:
        raise UsageError("graphs.not_a_comparison", "this graph is not a comparison of two graphs")
    root = Location(graph_index.root, "", "")
    nodes = _iter_changed(comparison.change, request.limit)
    edges = _iter_changed(comparison.edges.change, request.limit)
    return ChangesResponse(
        [_make_changed_node_row(root, comparison, node, request.fold) for node in nodes],
        [_make_changed_edge_row(root, comparison, edge, request.fold) for edge in edges],
    )


def _iter_changed(changes: Int32, max_count: int) -> Iterator[int]:
    for change in _DIFFERENCES:
        yield from np.flatnonzero(changes == change)[:max_count].tolist()


def _make_changed_node_row(
    root: Location, comparison: Comparison, node: int, fold: bool
) -> ChangedNodeRow:
    subgraph = root.subgraph
    return ChangedNodeRow(
        path=subgraph.hierarchy.paths[node],
        op=subgraph.graph.ops[node],
        change=CHANGE_NAMES[comparison.change[node]],
        ancestors=root.list_ancestors(subgraph.get_node_group(node), fold),
    )


def _make_changed_edge_row(
    root: Location, comparison: Comparison, edge: int, fold: bool
) -> ChangedEdgeRow:
    subgraph, edges = root.subgraph, comparison.graph.edges
    source, target = int(edges.source[edge]), int(edges.target[edge])
    before, after = comparison.edges.get_tensors(edge)
    return ChangedEdgeRow(
        source=subgraph.hierarchy.paths[source],
        target=subgraph.hierarchy.paths[target],
        control=bool(edges.control[edge]),
        change=CHANGE_NAMES[comparison.edges.change[edge]],
        before="" if before is None else format_output(before),
        after="" if after is None else format_output(after),
        ancestors=root.list_ancestors(subgraph.get_node_group(target), fold),
    )
