"""Which groups of a graph are open in its default view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from math import isnan

import numpy as np

from tracklight.analysis.graphs.comparison import Change
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
from tracklight.analysis.graphs.model import count_known_elements, format_shape
from tracklight.analysis.graphs.statistics import (
    CategoryScale,
    ColorScale,
    NumberScale,
    list_color_scales,
)
from tracklight.dashboards.graphs.schemas import (
    ChangeCounts,
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

_MAX_OPEN_GROUPS = 20

#: A group is opened if it holds at least this share of what surrounds it.
_MIN_OPEN_SHARE = 0.6

#: Scopes are opened while the picture has at most this many boxes.
_MAX_BOXES = 16

#: Finding calls takes a look at every node; in larger graphs no function is opened.
_MAX_SEARCHED_NODES = 20_000


def list_default_groups(atlas: GraphIndex) -> list[str]:
    """Return the groups to open at first, from the outermost on.

    A scope is opened if it is all there is, or most of it while there are few boxes to see. A
    function is opened if it holds most of the graph: TensorFlow wraps a whole training step in
    one call, without which there would be nothing of the model to see.
    """
    sizes = _Sizes(atlas)
    spot, scope, boxes, opened = Location(atlas.root, "", ""), ROOT, 0, list[str]()
    while len(opened) < _MAX_OPEN_GROUPS:
        sheet = spot.subgraph
        children = sheet.get_scope_group(scope, fold=True).children
        boxes += len(children)
        groups = [child for child in children if sizes.is_group(sheet, child)]
        largest = max(groups, key=lambda child: sizes.of(sheet, child), default=None)
        if largest is None or largest.item is None:
            break
        holds_most = sizes.of(sheet, largest) >= _MIN_OPEN_SHARE * sum(
            sizes.of(sheet, child) for child in children
        )
        if largest.kind != "scope":
            if not holds_most:
                break
            functions = atlas.list_functions(sheet, largest.item)
            bodies = [
                f"{spot.full_path(largest.path)}{FUNCTION_SEPARATOR}{name}{FUNCTION_SEPARATOR}"
                for name in functions
            ]
            opened += bodies
            spot = atlas.locate(bodies[functions.index(max(functions, key=sizes.of_function))])
            scope = ROOT
            continue
        added = len(sheet.get_scope_group(~largest.item, fold=True).children)
        if len(children) > 1 and not (holds_most and boxes + added <= _MAX_BOXES):
            break
        scope = ~largest.item
        opened.append(spot.full_path(largest.path))
    return opened


class _Sizes:
    """Number of nodes in children of a level, those of functions that they call included."""

    def __init__(self, atlas: GraphIndex) -> None:
        self._atlas = atlas
        functions = atlas.graph.functions
        nodes = len(atlas.graph) + sum(len(body) for body in functions.values())
        self._has_functions = bool(functions) and nodes <= _MAX_SEARCHED_NODES
        self._of_function: dict[str, int] = {}
        self._totals: dict[int, list[int]] = {}

    def is_group(self, sheet: Subgraph, child: Child) -> bool:
        if child.kind == "scope":
            return True
        is_searched = self._has_functions and child.kind == "op" and child.item is not None
        return is_searched and bool(self._atlas.list_functions(sheet, child.item or 0))

    def of(self, sheet: Subgraph, child: Child) -> int:
        if not self._has_functions:
            return child.last - child.first
        totals = self._sum_up(sheet)
        return totals[child.last] - totals[child.first]

    def of_function(self, name: str) -> int:
        known = self._of_function.get(name)
        if known is None:
            # A function that calls itself is counted once.
            self._of_function[name] = 0
            known = self._of_function[name] = self._sum_up(self._atlas.get_body(name))[-1]
        return known

    def _sum_up(self, sheet: Subgraph) -> list[int]:
        """Return the size of all nodes before each rank."""
        totals = self._totals.get(id(sheet))
        if totals is None:
            sizes = (self._of_node(sheet, place) for place in sheet.hierarchy.node_by_rank.tolist())
            totals = self._totals[id(sheet)] = [0, *accumulate(sizes)]
        return totals

    def _of_node(self, sheet: Subgraph, place: int) -> int:
        names = self._atlas.list_functions(sheet, place)
        return 1 + sum(self.of_function(name) for name in names)


# A graph at a glance: only what is known without looking at every node.

_MAX_OVERVIEW_OPS = 200

_MAX_FUNCTIONS = 1000


def build_overview(atlas: GraphIndex) -> OverviewResponse:
    graph, hierarchy, both = atlas.graph, atlas.root.hierarchy, atlas.comparison
    control = int(graph.edges.control.sum())
    functions = list(graph.functions.items())[:_MAX_FUNCTIONS]
    return OverviewResponse(
        nodes=len(graph),
        edges=len(graph.edges) - control,
        control_edges=control,
        depth=int(hierarchy.scopes.depth[hierarchy.node_scope].max(initial=-1)) + 1,
        functions=[NamedCount(name, len(body)) for name, body in functions],
        ops=[NamedCount(*pair) for pair in Counter(graph.ops).most_common(_MAX_OVERVIEW_OPS)],
        problems=list(graph.problems),
        open=list_default_groups(atlas),
        changes=None if both is None else _count_changes(both.change),
        edge_changes=None if both is None else _count_changes(both.edges.change),
    )


def _count_changes(changes: Int32) -> ChangeCounts:
    counts = np.bincount(changes, minlength=len(Change)).tolist()
    return ChangeCounts(
        *(counts[change] for change in (Change.SAME, Change.ADDED, Change.REMOVED, Change.CHANGED))
    )


# What somebody would look for in a model: its skip connections, and shapes that are wrong.

#: In larger graphs nobody waits for it.
_MAX_INSIGHT_NODES = 50_000

_MAX_INSIGHTS = 200


def build_insights(sheet: Subgraph) -> tuple[list[SkipConnectionRow], list[ShapeIssueRow]]:
    if len(sheet.graph) > _MAX_INSIGHT_NODES:
        return [], []
    inflow = DataFlow(sheet)
    skips = islice(iter_skip_connections(sheet, inflow), _MAX_INSIGHTS)
    misfits = islice(iter_shape_issues(sheet, inflow), _MAX_INSIGHTS)
    return [_make_skip_row(sheet, it) for it in skips], [
        _make_shape_issue_row(sheet, it) for it in misfits
    ]


def _make_skip_row(sheet: Subgraph, skip: SkipConnection) -> SkipConnectionRow:
    path, op = _get_path_and_op(sheet, skip.target)
    source, _ = _get_path_and_op(sheet, skip.source)
    return SkipConnectionRow(
        path, op, source, skip.passed, sheet.list_ancestors_of_rank(skip.target)
    )


def _make_shape_issue_row(sheet: Subgraph, misfit: ShapeIssue) -> ShapeIssueRow:
    path, op = _get_path_and_op(sheet, misfit.rank)
    return ShapeIssueRow(path, op, misfit.message, sheet.list_ancestors_of_rank(misfit.rank))


def _get_path_and_op(sheet: Subgraph, rank: int) -> tuple[str, str]:
    place = int(sheet.hierarchy.node_by_rank[rank])
    return sheet.hierarchy.paths[place], sheet.graph.ops[place]


# Colours for the children of a group, and the legends that go with them.

Profile = Mapping[str, NodeExecution]

_MAX_CATEGORIES = 200

_MAX_RANKED = 20


def color_group(atlas: GraphIndex, ask: ColoringRequest, profile: Profile) -> ColoringResponse:
    spot = atlas.locate(ask.group)
    level = spot.subgraph.get_group(spot.path, ask.fold)
    scales = _list_scales(atlas, spot.subgraph, profile)
    scale = next((scale for scale in scales if scale.by == ask.by), None)
    if scale is None:
        raise UsageError(f'this graph cannot be coloured by "{ask.by}"')
    return apply_scale(scale, level.children[ask.offset : ask.offset + ask.most])


def apply_scale(scale: ColorScale, children: Sequence[Child]) -> ColoringResponse:
    if isinstance(scale, NumberScale):
        value = np.array([scale.total(child.first, child.last) for child in children])
        return ColoringResponse(scale.by, "number", [], [], value)
    share = [scale.count(child.first, child.last) for child in children]
    return ColoringResponse(scale.by, "category", list(scale.names), share, None)


def build_statistics(atlas: GraphIndex, profile: Profile) -> StatisticsResponse:
    sheet = atlas.root
    scales = _list_scales(atlas, sheet, profile)
    numbers = {scale.by: scale.value for scale in scales if isinstance(scale, NumberScale)}
    census = sheet.statistics
    # Two graphs laid over each other have shapes side by side that never met.
    skips, misfits = build_insights(sheet) if atlas.comparison is None else ([], [])
    return StatisticsResponse(
        scales=[_make_scale_row(atlas, scale) for scale in scales],
        parameters=int(census.parameters.sum()),
        largest=[_make_tensor_row(sheet, rank) for rank in _list_top_ranks(census.output_elements)],
        owners=_make_ranked_rows(sheet, numbers.get("parameters")),
        slowest=_make_ranked_rows(sheet, numbers.get("time")),
        hungriest=_make_ranked_rows(sheet, numbers.get("memory")),
        skips=skips,
        misfits=misfits,
    )


def _list_scales(atlas: GraphIndex, sheet: Subgraph, profile: Profile) -> list[ColorScale]:
    comparison = atlas.comparison if sheet is atlas.root else None
    return list_color_scales(sheet.hierarchy, sheet.statistics, profile, comparison)


def _make_scale_row(atlas: GraphIndex, scale: ColorScale) -> ScaleRow:
    if isinstance(scale, CategoryScale):
        counts = scale.count(0, len(scale.code))[:_MAX_CATEGORIES]
        tallies = [NamedCount(scale.names[place], count) for place, count in counts]
        return ScaleRow(scale.by, scale.title, "category", "", 0.0, 0.0, tallies)
    # The range is that of the innermost open group of the graph itself, not of a function.
    outer = [group for group in list_default_groups(atlas) if FUNCTION_SEPARATOR not in group]
    children = atlas.root.get_group(outer[-1] if outer else "", True).children
    totals = [scale.total(it.first, it.last) for it in children]
    high = max((total for total in totals if not isnan(total)), default=0.0)
    return ScaleRow(scale.by, scale.title, "number", scale.unit, 0.0, high, [])


def _list_top_ranks(column: Int64 | Float64) -> list[int]:
    """The ranks of the highest values above zero, the highest first."""
    known = np.flatnonzero(column > 0)
    order = np.argsort(-column[known], kind="stable")[:_MAX_RANKED]
    return [int(rank) for rank in known[order]]


def _make_ranked_rows(sheet: Subgraph, column: Float64 | None) -> list[RankedRow]:
    if column is None:
        return []
    return [
        RankedRow(*_name_rank(sheet, rank), float(column[rank]), sheet.list_ancestors_of_rank(rank))
        for rank in _list_top_ranks(column)
    ]


def _make_tensor_row(sheet: Subgraph, rank: int) -> TensorRow:
    outputs = sheet.tensors.get_outputs(int(sheet.hierarchy.node_by_rank[rank]))
    largest = max(outputs, key=lambda output: count_known_elements(output) or 0)
    return TensorRow(
        *_name_rank(sheet, rank),
        largest.dtype,
        format_shape(largest.shape),
        count_known_elements(largest) or 0,
        float(sheet.statistics.output_bytes[rank]),
        sheet.list_ancestors_of_rank(rank),
    )


def _name_rank(sheet: Subgraph, rank: int) -> tuple[str, str]:
    place = int(sheet.hierarchy.node_by_rank[rank])
    return sheet.hierarchy.paths[place], sheet.graph.ops[place]
