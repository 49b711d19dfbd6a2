"""What is seen when one group is open: its children, series among them as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.analysis.graphs.graphdef import ARGUMENT, RESULT
from tracklight.analysis.graphs.hierarchy import (
    MIN_SERIES_OPS,
    MIN_SERIES_SCOPES,
    Hierarchy,
    get_label,
    iter_numbered_runs,
    split_label,
)
from tracklight.analysis.graphs.model import Graph
from tracklight.types import Bool, Int32

ChildKind = Literal["op", "scope", "series", "input", "output"]

_BOUNDARY_KINDS: dict[str, ChildKind] = {ARGUMENT: "input", RESULT: "output"}


@dataclass(frozen=True, slots=True)
class Child:
    """A box of a picture. ``item`` is the place of a node, ``~scope``, or None for a series."""

    path: str
    label: str
    kind: ChildKind
    item: int | None
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The children of a scope or of a series, by rank."""

    path: str
    scope: int
    """The scope that it is, or for a part of one the scope that it is in."""
    first: int
    last: int
    children: Sequence[Child]
    starts: Int32
    """The first rank of each child."""
    is_partial: bool = False
    """True for a series, and for a single node."""

    def get_child_indexes(self, ranks: Int32) -> Int32:
        """In which child each leaf of this level stands."""
        return (np.searchsorted(self.starts, ranks, side="right") - 1).astype(np.int32)

    @property
    def is_single(self) -> Bool:
        """Of each child whether it holds one leaf only."""
        single: Bool = np.diff(self.starts, append=self.last) == 1
        return single

    def get_child_index(self, rank: int) -> int:
        """In which child a leaf of this level stands."""
        return int(np.searchsorted(self.starts, rank, side="right")) - 1


def build_scope_group(hierarchy: Hierarchy, scope: int, fold: bool) -> Group:
    scopes = hierarchy.scopes
    children = [_make_child(hierarchy, item) for item in scopes.items[scope]]
    if fold:
        children = list(_fold_series(hierarchy, scopes.paths[scope], children))
    span = int(scopes.first[scope]), int(scopes.last[scope])
    return _make_group(scopes.paths[scope], scope, span, children)


def build_series_group(hierarchy: Hierarchy, outer: Group, series: Child) -> Group:
    """The members of a series that stands in ``outer``."""
    children = [_make_child(hierarchy, item) for item in hierarchy.scopes.items[outer.scope]]
    inside = [child for child in children if series.first <= child.first < series.last]
    span = series.first, series.last
    return _make_group(series.path, outer.scope, span, inside, is_part=True)


def build_node_group(hierarchy: Hierarchy, place: int) -> Group:
    """A node by itself."""
    child = _make_child(hierarchy, place)
    span = child.first, child.last
    return _make_group(child.path, int(hierarchy.node_scope[place]), span, [child], is_part=True)


def _make_group(
    path: str, scope: int, span: tuple[int, int], children: Sequence[Child], is_part: bool = False
) -> Group:
    starts = np.array([child.first for child in children], np.int32)
    return Group(path, scope, *span, children, starts, is_part)


def _make_child(hierarchy: Hierarchy, item: int) -> Child:
    if item < 0:
        scopes, scope = hierarchy.scopes, ~item
        path = scopes.paths[scope]
        span = int(scopes.first[scope]), int(scopes.last[scope])
        return Child(path, get_label(path), "scope", item, *span)
    path, rank = hierarchy.paths[item], int(hierarchy.rank[item])
    kind = _BOUNDARY_KINDS.get(hierarchy.graph.ops[item], "op")
    return Child(path, get_label(path), kind, item, rank, rank + 1)


def _fold_series(hierarchy: Hierarchy, scope: str, children: Sequence[Child]) -> Iterator[Child]:
    common = [_get_series_key(hierarchy, child) for child in children]
    taken = {child.path for child in children}
    for first, last in iter_numbered_runs([child.label for child in children], common):
        members = children[first:last]
        fewest = MIN_SERIES_SCOPES if members[0].kind == "scope" else MIN_SERIES_OPS
        if len(members) < fewest or len(members) == len(children):
            yield from members
        else:
            yield _make_series(scope, members, taken)


def _get_series_key(hierarchy: Hierarchy, child: Child) -> tuple[str, object]:
    if child.item is not None and child.item >= 0:
        return child.kind, hierarchy.graph.ops[child.item]
    return child.kind, child.last - child.first


def _make_series(scope: str, members: Sequence[Child], taken: set[str]) -> Child:
    (stem, low), (_, high) = split_label(members[0].label), split_label(members[-1].label)
    label = f"{stem}[{low}-{high}]"
    path = f"{scope}/{label}" if scope else label
    while path in taken:
        label, path = f"{label}*", f"{path}*"
    taken.add(path)
    return Child(path, label, "series", None, members[0].first, members[-1].last)


# Edges between what is seen: all that join the same two boxes are one.


@dataclass(frozen=True, slots=True, eq=False)
class EdgeBundles:
    """Edges between two children of a level, by the places of these."""

    source: Int32
    target: Int32
    edges: Int32
    """All edges of all bundles."""
    bundle: Int32
    """In which bundle each of the edges is."""

    def __len__(self) -> int:
        return len(self.source)

    def filter(self, kept: Bool) -> EdgeBundles:
        edges, bundle = _keep_edges(self.edges, self.bundle, kept)
        return EdgeBundles(self.source[kept], self.target[kept], edges, bundle)


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryEdges:
    """Edges that lead into a level, or out of it, by the child and who is on the other side."""

    child: Int32
    partner: Sequence[str]
    edges: Int32
    bundle: Int32

    def __len__(self) -> int:
        return len(self.child)

    def filter(self, kept: Bool) -> BoundaryEdges:
        edges, bundle = _keep_edges(self.edges, self.bundle, kept)
        partner = [name for name, keep in zip(self.partner, kept.tolist(), strict=True) if keep]
        return BoundaryEdges(self.child[kept], partner, edges, bundle)


def bundle_child_edges(hierarchy: Hierarchy, level: Group) -> EdgeBundles:
    """The edges between the children of a level; of a node to itself as well."""
    found = hierarchy.get_scope_edges(level.scope)
    edges = hierarchy.graph.edges
    source, target = hierarchy.rank[edges.source[found]], hierarchy.rank[edges.target[found]]
    if level.is_partial:
        inside = _is_inside(source, level) & _is_inside(target, level)
        found, source, target = found[inside], source[inside], target[inside]
    tail, head = level.get_child_indexes(source), level.get_child_indexes(target)
    shown = (tail != head) | ((source == target) & level.is_single[head])
    tail, head, bundle = number_pairs(tail[shown], head[shown])
    return EdgeBundles(tail, head, found[shown], bundle)


def bundle_boundary_edges(
    hierarchy: Hierarchy, level: Group, outer: Sequence[Group], incoming: bool
) -> BoundaryEdges:
    """The edges that cross the border of a level; ``outer`` are all around it, the root first.

    The partner is the box on the other side at the level where the two ends meet. It is the same
    one at each border that the edge crosses on its way.
    """
    edges = hierarchy.graph.edges
    find = hierarchy.get_incoming_edges if incoming else hierarchy.get_outgoing_edges
    near, far = (edges.target, edges.source) if incoming else (edges.source, edges.target)
    found = find(level.first, level.last)
    found = found[~_is_inside(hierarchy.rank[far[found]], level)]
    child = level.get_child_indexes(hierarchy.rank[near[found]])
    partner, names = _name_partners(hierarchy, found, far, outer)
    child, partner, bundle = number_pairs(child, partner)
    return BoundaryEdges(child, [names[number] for number in partner.tolist()], found, bundle)


def number_pairs(one: Int32, other: Int32) -> tuple[Int32, Int32, Int32]:
    """The distinct pairs of two columns, and which of them stands in each row."""
    width = int(other.max(initial=0)) + 1
    keys, inverse = np.unique(one.astype(np.int64) * width + other, return_inverse=True)
    pairs = (keys // width).astype(np.int32), (keys % width).astype(np.int32)
    return *pairs, inverse.reshape(-1).astype(np.int32)


def _name_partners(
    hierarchy: Hierarchy, found: Int32, far: Int32, outer: Sequence[Group]
) -> tuple[Int32, list[str]]:
    """For each edge a number, and what each number stands for."""
    meeting, ranks = hierarchy.edge_scope[found], hierarchy.rank[far[found]]
    numbers = np.zeros(len(found), np.int32)
    names: list[str] = []
    for level in outer:
        here = np.flatnonzero(meeting == level.scope)
        if level.is_partial:
            here = here[_is_inside(ranks[here], level)]
        children, inverse = np.unique(level.get_child_indexes(ranks[here]), return_inverse=True)
        numbers[here] = inverse.reshape(-1) + len(names)
        names += [level.children[number].path for number in children.tolist()]
    return numbers, names


def _keep_edges(edges: Int32, bundle: Int32, kept: Bool) -> tuple[Int32, Int32]:
    """The edges of some bundles, which are numbered anew."""
    numbers = np.cumsum(kept, dtype=np.int32) - 1
    chosen = kept[bundle]
    return edges[chosen], numbers[bundle[chosen]]


def _is_inside(ranks: Int32, level: Group) -> Bool:
    inside: Bool = (ranks >= level.first) & (ranks < level.last)
    return inside


# Which nodes only clutter a picture: they are drawn aside until somebody puts them back.
#
# Aside are no-ops, constants, summaries, handles of resources such as variables, and hubs, which
# far more edges lead to than to others. What a picture is about is never aside: calls of functions,
# and scopes that hold a good part of the graph.

ChildRole = Literal["", "noop", "constant", "summary", "resource", "hub", "lonely"]

_SUMMARY = re.compile(r"[A-Za-z]+Summary(V2)?")

#: Among fewer boxes nobody stands out.
_MIN_CHILDREN = 15

_MIN_HUB_DEGREE = 4

#: A scope that holds at least this share of all nodes is no hub.
_MIN_SHARE = 0.1

#: What gives a graph or a function a tensor from outside.
_INPUTS = frozenset({"Placeholder", ARGUMENT})


def compute_roles(
    hierarchy: Hierarchy,
    level: Group,
    bundles: EdgeBundles,
    ins: BoundaryEdges,
    outs: BoundaryEdges,
    is_call: Callable[[int], bool],
) -> list[ChildRole]:
    """Return for each child why it is drawn aside; empty for most.

    Args:
        is_call: Whether the node at a place runs a function that can be opened.
    """
    crowded = _find_hubs(hierarchy, level, bundles)
    joined = np.zeros(len(level.children), bool)
    for ends in (bundles.source, bundles.target, ins.child, outs.child):
        joined[ends] = True
    alone = ~joined if joined.any() else np.zeros_like(joined)
    return [
        _get_role(hierarchy, child, bool(crowded[at]), bool(alone[at]), is_call)
        for at, child in enumerate(level.children)
    ]


def _get_role(
    hierarchy: Hierarchy, child: Child, crowded: bool, alone: bool, is_call: Callable[[int], bool]
) -> ChildRole:
    graph = hierarchy.graph
    place = child.item if child.item is not None and child.item >= 0 else None
    op = "" if place is None else graph.ops[place]
    if op == "NoOp":
        return "noop"
    if op.endswith("Const") or op in ("Constant", "prim::Constant", "onnx::Constant"):
        return "constant"
    if _SUMMARY.fullmatch(op):
        return "summary"
    if place is not None and op in _INPUTS and _is_resource(graph, place):
        return "resource"
    if not crowded and not alone:
        return ""
    if place is not None and is_call(place):
        return ""
    if child.kind == "scope" and child.last - child.first >= _MIN_SHARE * len(graph):
        return "lonely" if alone else ""
    return "hub" if crowded else "lonely"


def _is_resource(graph: Graph, place: int) -> bool:
    outputs = graph.describe(place).outputs
    return len(outputs) > 0 and outputs[0].dtype == "resource"


def _find_hubs(hierarchy: Hierarchy, level: Group, bundles: EdgeBundles) -> Bool:
    """Boxes that far more others lead to, or come from, than is usual here.

    Counted are bundles in which something flows; of who has none, those that only say an order.
    """
    control = hierarchy.graph.edges.control[bundles.edges]
    flows = np.zeros(len(bundles), bool)
    flows[bundles.bundle[~control]] = True
    count = len(level.children)
    if count < _MIN_CHILDREN:
        return np.zeros(count, bool)
    degrees = [_count_ends(ends, flows, count) for ends in (bundles.target, bundles.source)]
    into = degrees[0] > _compute_degree_limit(degrees[0], 1)
    return into | (degrees[1] > _compute_degree_limit(degrees[1], 4))


def _count_ends(ends: Int32, flows: Bool, count: int) -> Int32:
    data = np.bincount(ends[flows], minlength=count)
    order = np.bincount(ends[~flows], minlength=count)
    return np.where(data > 0, data, order).astype(np.int32)


def _compute_degree_limit(degrees: Int32, width: int) -> float:
    low, high = np.percentile(degrees, [25, 75])
    return max(float(high + width * (high - low)), _MIN_HUB_DEGREE)
