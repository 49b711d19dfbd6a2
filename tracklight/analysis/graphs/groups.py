"""What an open group shows: its children, the edges between and around them, and their roles.

A group is the root, a scope, a series of numbered siblings, or (for uniform handling) a single
node. All edges between the same two boxes are one bundle. Positions are ranks, see
`tracklight.analysis.graphs.hierarchy`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.analysis.graphs import ARGUMENT, RESULT, Graph
from tracklight.analysis.graphs.hierarchy import (
    MIN_SERIES_OPS,
    MIN_SERIES_SCOPES,
    Hierarchy,
    get_label,
    iter_numbered_runs,
    split_label,
)
from tracklight.types import Bool, Int32

ChildKind = Literal["op", "scope", "series", "input", "output"]
_BOUNDARY_KINDS: dict[str, ChildKind] = {ARGUMENT: "input", RESULT: "output"}

ChildRole = Literal["", "noop", "constant", "summary", "resource", "hub", "lonely"]
_SUMMARY_OP = re.compile(r"[A-Za-z]+Summary(V2)?")
_CONSTANT_OPS = frozenset({"Constant", "prim::Constant", "onnx::Constant"})
#: Operators of PyTorch that collect values, such as the kernel size of a layer.
_COLLECTIONS = frozenset({"prim::ListConstruct", "prim::TupleConstruct"})
#: Operations that feed a tensor into a graph or function.
_INPUT_OPS = frozenset({"Placeholder", ARGUMENT})
#: In a scope with at most this many children, a series that hides a path is not folded.
_MAX_UNFOLDED = 200
#: Only groups with at least this many children have hubs.
_MIN_CHILDREN = 15
#: A child with this many neighbors or fewer is no hub.
_MIN_HUB_DEGREE = 4
#: Stands for the neighbors outside of a group.
_OUTSIDE = -1
#: A scope with at least this share of all nodes is no hub.
_MIN_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Child:
    """A box in an open group."""

    path: str
    label: str
    kind: ChildKind
    item: int | None
    """The index of a node, ``~scope``, or None for a series."""
    first: int
    last: int
    """Ranks of the leaves inside; ``last`` is exclusive."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The children of a scope or series, in rank order."""

    path: str
    scope: int
    """The scope itself, or the scope that contains a series or node."""
    first: int
    last: int
    """Ranks of the leaves inside; ``last`` is exclusive."""
    children: Sequence[Child]
    starts: Int32
    """The first rank of each child."""
    is_partial: bool = False
    """True for a series and for a single node."""

    def get_child_indexes(self, ranks: Int32) -> Int32:
        """Return the index of the child that contains each leaf."""
        return (np.searchsorted(self.starts, ranks, side="right") - 1).astype(np.int32)

    @property
    def is_single(self) -> Bool:
        """Whether each child is a single leaf."""
        single: Bool = np.diff(self.starts, append=self.last) == 1
        return single

    def get_child_index(self, rank: int) -> int:
        """Return the index of the child that contains a leaf."""
        return int(np.searchsorted(self.starts, rank, side="right")) - 1


def build_scope_group(hierarchy: Hierarchy, scope: int, fold: bool) -> Group:
    """Return the children of a scope; with ``fold`` each long series is one child."""
    scopes = hierarchy.scopes
    children = [_make_child(hierarchy, item) for item in scopes.items[scope]]
    ranks = int(scopes.first[scope]), int(scopes.last[scope])
    group = _make_group(scopes.paths[scope], scope, ranks, children)
    if not fold:
        return group
    folded = list(_fold_series(hierarchy, group))
    return group if len(folded) == len(children) else _make_group(group.path, scope, ranks, folded)


def build_series_group(hierarchy: Hierarchy, outer: Group, series: Child) -> Group:
    """Return the members of a series that is a child of ``outer``."""
    children = [_make_child(hierarchy, item) for item in hierarchy.scopes.items[outer.scope]]
    members = [child for child in children if series.first <= child.first < series.last]
    ranks = series.first, series.last
    return _make_group(series.path, outer.scope, ranks, members, is_partial=True)


def build_node_group(hierarchy: Hierarchy, node: int) -> Group:
    """Return a group that consists of one node."""
    child = _make_child(hierarchy, node)
    scope, ranks = int(hierarchy.node_scope[node]), (child.first, child.last)
    return _make_group(child.path, scope, ranks, [child], is_partial=True)


def _make_group(
    path: str,
    scope: int,
    ranks: tuple[int, int],
    children: Sequence[Child],
    is_partial: bool = False,
) -> Group:
    starts = np.array([child.first for child in children], np.int32)
    return Group(path, scope, *ranks, children, starts, is_partial)


def _make_child(hierarchy: Hierarchy, item: int) -> Child:
    if item < 0:
        scopes, scope = hierarchy.scopes, ~item
        path = scopes.paths[scope]
        first, last = int(scopes.first[scope]), int(scopes.last[scope])
        return Child(path, get_label(path), "scope", item, first, last)
    path, rank = hierarchy.paths[item], int(hierarchy.rank[item])
    kind = _BOUNDARY_KINDS.get(hierarchy.graph.ops[item], "op")
    return Child(path, get_label(path), kind, item, rank, rank + 1)


def _fold_series(hierarchy: Hierarchy, group: Group) -> Iterator[Child]:
    children = group.children
    keys = [_get_series_key(hierarchy, child) for child in children]
    used_paths = {child.path for child in children}
    readers: list[list[int]] | None = None
    for first, last in iter_numbered_runs([child.label for child in children], keys):
        members = children[first:last]
        min_members = MIN_SERIES_SCOPES if members[0].kind == "scope" else MIN_SERIES_OPS
        is_series = min_members <= len(members) < len(children)
        if is_series and len(children) <= _MAX_UNFOLDED:
            readers = readers or _list_readers(hierarchy, group)
            is_series = not _hides_path(readers, first, last)
        if is_series:
            yield _make_series(group.path, members, used_paths)
        else:
            yield from members


def _list_readers(hierarchy: Hierarchy, group: Group) -> list[list[int]]:
    """Return the children that read the outputs of each child, without control edges."""
    edges = hierarchy.graph.edges
    selected = hierarchy.get_scope_edges(group.scope)
    selected = selected[~edges.control[selected]]
    source, target, _ = number_pairs(
        group.get_child_indexes(hierarchy.rank[edges.source[selected]]),
        group.get_child_indexes(hierarchy.rank[edges.target[selected]]),
    )
    readers: list[list[int]] = [[] for _ in group.children]
    for one, other in zip(source.tolist(), target.tolist(), strict=True):
        readers[one].append(other)
    return readers


def _hides_path(readers: Sequence[Sequence[int]], first: int, last: int) -> bool:
    """Return whether a path leads from a member of a series through other children to a member.

    As one box, such a series would be before and after these children: of a chain of
    convolutions and activations, only two boxes with edges in both directions would remain.
    """
    pending = [reader for member in range(first, last) for reader in readers[member]]
    seen = set(range(first, last))
    while pending:
        child = pending.pop()
        if child in seen:
            continue
        seen.add(child)
        if any(first <= reader < last for reader in readers[child]):
            return True
        pending += readers[child]
    return False


def _get_series_key(hierarchy: Hierarchy, child: Child) -> tuple[str, object]:
    """Return what the members of a series have in common: the operation, or the size."""
    if child.item is not None and child.item >= 0:
        return child.kind, hierarchy.graph.ops[child.item]
    return child.kind, child.last - child.first


def _make_series(scope: str, members: Sequence[Child], used_paths: set[str]) -> Child:
    (stem, low), (_, high) = split_label(members[0].label), split_label(members[-1].label)
    label = f"{stem}[{low}-{high}]"
    path = f"{scope}/{label}" if scope else label
    while path in used_paths:
        label, path = f"{label}*", f"{path}*"
    used_paths.add(path)
    return Child(path, label, "series", None, members[0].first, members[-1].last)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeBundles:
    """Bundles of edges between children of a group."""

    source: Int32
    target: Int32
    """Indexes of children, one row per bundle."""
    edges: Int32
    """The edges of all bundles."""
    bundle: Int32
    """The bundle of each of these edges."""

    def __len__(self) -> int:
        return len(self.source)

    def filter(self, mask: Bool) -> EdgeBundles:
        """Return the bundles for which the mask is true."""
        edges, bundle = _filter_edges(self.edges, self.bundle, mask)
        return EdgeBundles(self.source[mask], self.target[mask], edges, bundle)


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryEdges:
    """Bundles of edges that enter or leave a group, by child and by partner outside."""

    child: Int32
    """The index of the child inside."""
    partner: Sequence[str]
    """The path of the box outside."""
    edges: Int32
    bundle: Int32

    def __len__(self) -> int:
        return len(self.child)

    def filter(self, mask: Bool) -> BoundaryEdges:
        """Return the bundles for which the mask is true."""
        edges, bundle = _filter_edges(self.edges, self.bundle, mask)
        partner = [path for path, keep in zip(self.partner, mask.tolist(), strict=True) if keep]
        return BoundaryEdges(self.child[mask], partner, edges, bundle)


def bundle_child_edges(hierarchy: Hierarchy, group: Group) -> EdgeBundles:
    """Bundle the edges between the children of a group, including loops of single nodes."""
    selected = hierarchy.get_scope_edges(group.scope)
    edges = hierarchy.graph.edges
    source, target = hierarchy.rank[edges.source[selected]], hierarchy.rank[edges.target[selected]]
    if group.is_partial:
        inside = _is_inside(source, group) & _is_inside(target, group)
        selected, source, target = selected[inside], source[inside], target[inside]
    tail, head = group.get_child_indexes(source), group.get_child_indexes(target)
    visible = (tail != head) | ((source == target) & group.is_single[head])
    tail, head, bundle = number_pairs(tail[visible], head[visible])
    return EdgeBundles(tail, head, selected[visible], bundle)


def bundle_boundary_edges(
    hierarchy: Hierarchy, group: Group, enclosing: Sequence[Group], incoming: bool
) -> BoundaryEdges:
    """Bundle the edges that cross the boundary of a group.

    The partner is the box on the other side in the innermost group that contains both ends, so
    it is the same at each boundary that an edge crosses.

    Args:
        enclosing: All groups around this one, the root first.
        incoming: Whether to return edges into the group or out of it.
    """
    edges = hierarchy.graph.edges
    find = hierarchy.get_incoming_edges if incoming else hierarchy.get_outgoing_edges
    near, far = (edges.target, edges.source) if incoming else (edges.source, edges.target)
    selected = find(group.first, group.last)
    selected = selected[~_is_inside(hierarchy.rank[far[selected]], group)]
    child = group.get_child_indexes(hierarchy.rank[near[selected]])
    partner, paths = _number_partners(hierarchy, selected, far, enclosing)
    child, partner, bundle = number_pairs(child, partner)
    return BoundaryEdges(child, [paths[number] for number in partner.tolist()], selected, bundle)


def number_pairs(one: Int32, other: Int32) -> tuple[Int32, Int32, Int32]:
    """Return the distinct pairs of two columns, and the number of the pair in each row."""
    width = int(other.max(initial=0)) + 1
    keys, inverse = np.unique(one.astype(np.int64) * width + other, return_inverse=True)
    pairs = (keys // width).astype(np.int32), (keys % width).astype(np.int32)
    return *pairs, inverse.reshape(-1).astype(np.int32)


def _number_partners(
    hierarchy: Hierarchy, selected: Int32, far: Int32, enclosing: Sequence[Group]
) -> tuple[Int32, list[str]]:
    """Return the number of each edge's partner, and the path for each number."""
    common_scope, ranks = hierarchy.edge_scope[selected], hierarchy.rank[far[selected]]
    numbers = np.zeros(len(selected), np.int32)
    paths: list[str] = []
    for group in enclosing:
        rows = np.flatnonzero(common_scope == group.scope)
        if group.is_partial:
            rows = rows[_is_inside(ranks[rows], group)]
        children, inverse = np.unique(group.get_child_indexes(ranks[rows]), return_inverse=True)
        numbers[rows] = inverse.reshape(-1) + len(paths)
        paths += [group.children[index].path for index in children.tolist()]
    return numbers, paths


def _filter_edges(edges: Int32, bundle: Int32, mask: Bool) -> tuple[Int32, Int32]:
    """Return the edges of the selected bundles, with bundles renumbered."""
    numbers = np.cumsum(mask, dtype=np.int32) - 1
    kept = mask[bundle]
    return edges[kept], numbers[bundle[kept]]


def _is_inside(ranks: Int32, group: Group) -> Bool:
    inside: Bool = (ranks >= group.first) & (ranks < group.last)
    return inside


def compute_roles(
    hierarchy: Hierarchy,
    group: Group,
    bundles: EdgeBundles,
    incoming: BoundaryEdges,
    outgoing: BoundaryEdges,
    is_call: Callable[[int], bool],
) -> list[ChildRole]:
    """Return for each child why it is auxiliary and drawn aside; empty for most.

    Auxiliary are no-ops, constants, summaries, handles of resources such as variables, children
    without edges, and hubs, which have far more neighbors than others (by TensorBoard's limits).
    Calls of functions and scopes that contain a good part of the graph are never hubs. Unlike in
    TensorBoard, a hub is not removed if it is part of a path from inputs to outputs, or if a child
    would lose its only connection to them.

    Args:
        is_call: Whether a node calls a function that can be opened.
    """
    hubs = _mark_hubs(hierarchy, group, bundles)
    connected = np.zeros(len(group.children), bool)
    for ends in (bundles.source, bundles.target, incoming.child, outgoing.child):
        connected[ends] = True
    isolated = ~connected if connected.any() else np.zeros_like(connected)
    roles = [
        _get_role(hierarchy, child, bool(hubs[index]), bool(isolated[index]), is_call)
        for index, child in enumerate(group.children)
    ]
    _mark_constant_lists(hierarchy, group, bundles, incoming, roles)
    if "hub" in roles:
        _keep_main_paths(hierarchy, group, bundles, incoming, outgoing, roles)
    return roles


def _mark_constant_lists(
    hierarchy: Hierarchy,
    group: Group,
    bundles: EdgeBundles,
    incoming: BoundaryEdges,
    roles: list[ChildRole],
) -> None:
    """Give lists of constants the role of constants."""
    ops = hierarchy.graph.ops
    collections = {
        index
        for index, child in enumerate(group.children)
        if child.item is not None and child.item >= 0 and ops[child.item] in _COLLECTIONS
    }
    if not collections:
        return
    sources: dict[int, set[ChildRole]] = defaultdict(set)
    for source, target in zip(bundles.source.tolist(), bundles.target.tolist(), strict=True):
        if target in collections:
            sources[target].add(roles[source])
    entered = set(incoming.child.tolist())
    for index in collections - entered:
        if sources[index] == {"constant"}:
            roles[index] = "constant"


def _keep_main_paths(
    hierarchy: Hierarchy,
    group: Group,
    bundles: EdgeBundles,
    incoming: BoundaryEdges,
    outgoing: BoundaryEdges,
    roles: list[ChildRole],
) -> None:
    """Clear the role of hubs without which a data path would be interrupted.

    What remains are sources whose readers have another input, and sinks whose inputs have another
    reader, such as a global step or a saver. A boundary edge counts as another input or reader.
    """
    control = hierarchy.graph.edges.control
    inputs: dict[int, set[int]] = defaultdict(set)
    readers: dict[int, set[int]] = defaultdict(set)
    has_data = np.zeros(len(bundles), bool)
    has_data[bundles.bundle[~control[bundles.edges]]] = True
    ends = zip(bundles.source[has_data].tolist(), bundles.target[has_data].tolist(), strict=True)
    for source, target in ends:
        is_main = roles[source] in ("", "hub") and roles[target] in ("", "hub")
        if is_main and source != target:
            inputs[target].add(source)
            readers[source].add(target)
    for boundary, neighbors in ((incoming, inputs), (outgoing, readers)):
        crossing = boundary.bundle[~control[boundary.edges]]
        for child in boundary.child[np.unique(crossing)].tolist():
            neighbors[child].add(_OUTSIDE)
    hubs = [index for index, role in enumerate(roles) if role == "hub"]
    # The largest first: it may be the only hub that can be removed.
    for hub in sorted(hubs, key=lambda index: -len(inputs[index]) - len(readers[index])):
        is_inner = bool(inputs[hub] and readers[hub])
        is_boundary = group.children[hub].kind in ("input", "output")
        loses_input = any(len(inputs[item]) == 1 for item in readers[hub] - {_OUTSIDE})
        loses_reader = any(len(readers[item]) == 1 for item in inputs[hub] - {_OUTSIDE})
        if is_inner or is_boundary or loses_input or loses_reader:
            roles[hub] = ""
            continue
        for reader in readers[hub] - {_OUTSIDE}:
            inputs[reader].discard(hub)
        for source in inputs[hub] - {_OUTSIDE}:
            readers[source].discard(hub)


def _get_role(
    hierarchy: Hierarchy,
    child: Child,
    is_hub: bool,
    is_isolated: bool,
    is_call: Callable[[int], bool],
) -> ChildRole:
    graph = hierarchy.graph
    node = child.item if child.item is not None and child.item >= 0 else None
    op = "" if node is None else graph.ops[node]
    if op == "NoOp":
        return "noop"
    if op.endswith("Const") or op in _CONSTANT_OPS:
        return "constant"
    if _SUMMARY_OP.fullmatch(op):
        return "summary"
    if node is not None and op in _INPUT_OPS and _is_resource(graph, node):
        return "resource"
    if not is_hub and not is_isolated:
        return ""
    if node is not None and (is_call(node) or op in _INPUT_OPS):
        return "lonely" if is_isolated and not is_call(node) else ""
    if child.kind == "scope" and child.last - child.first >= _MIN_SHARE * len(graph):
        return "lonely" if is_isolated else ""
    return "hub" if is_hub else "lonely"


def _is_resource(graph: Graph, node: int) -> bool:
    outputs = graph.describe(node).outputs
    return len(outputs) > 0 and outputs[0].dtype == "resource"


def _mark_hubs(hierarchy: Hierarchy, group: Group, bundles: EdgeBundles) -> Bool:
    """Return which children have far more incoming or outgoing bundles than usual."""
    control = hierarchy.graph.edges.control[bundles.edges]
    has_data = np.zeros(len(bundles), bool)
    has_data[bundles.bundle[~control]] = True
    count = len(group.children)
    if count < _MIN_CHILDREN:
        return np.zeros(count, bool)
    fan_in = _count_ends(bundles.target, has_data, count)
    fan_out = _count_ends(bundles.source, has_data, count)
    # Many readers are more usual than many inputs.
    is_fan_in_hub = fan_in > _compute_degree_limit(fan_in, 1)
    return is_fan_in_hub | (fan_out > _compute_degree_limit(fan_out, 4))


def _count_ends(ends: Int32, has_data: Bool, count: int) -> Int32:
    """Count the bundles with data of each child, or its control bundles if it has no others."""
    data = np.bincount(ends[has_data], minlength=count)
    control = np.bincount(ends[~has_data], minlength=count)
    return np.where(data > 0, data, control).astype(np.int32)


def _compute_degree_limit(degrees: Int32, factor: int) -> float:
    """Return the upper quartile plus a multiple of the interquartile range."""
    low, high = np.percentile(degrees, [25, 75])
    return max(float(high + factor * (high - low)), _MIN_HUB_DEGREE)
