"""The tree of scopes that the names of a graph's nodes form.

Leaves are numbered in depth-first order. These **ranks** make queries fast: the nodes inside of a
scope are a range of ranks, and the child of a scope that contains a node is found by bisection.

`build_hierarchy` is the entry point. The module also turns names into unique paths
(`make_paths`), orders numbered siblings next to each other (`sort_items`) and finds scopes with
the same structure (`compute_structure_ids`).
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs import Graph
from tracklight.types import Bool, Int32, Int64

#: The number of the root scope.
ROOT = 0

#: Separates a call, the function and the path inside of it, as in ``call|function|path``.
FUNCTION_SEPARATOR = "|"
#: Replaces the separator in names.
_SEPARATOR_REPLACEMENT = "\N{BROKEN BAR}"
_NAMELESS = "(no name)"
_MAX_NESTED_SCOPES = 100

#: A series is shown as one box if it has at least this many operations, or this many scopes.
#: Users know their model by its scopes, so only long series of scopes are folded.
MIN_SERIES_OPS = 5
MIN_SERIES_SCOPES = 25
#: Longer digit strings in names are not sequence numbers.
_MAX_DIGITS = 9
_DIGITS = "0123456789"

#: The structure id of a scope that is unlike all others.
UNIQUE_STRUCTURE = -1
_Hashes = NDArray[np.uint64]
_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, slots=True, eq=False)
class Scopes:
    """All scopes as columns; the root is first, and parents come before their children."""

    paths: Sequence[str]
    parent: Int32
    """-1 for the root."""
    depth: Int32
    first: Int32
    last: Int32
    """The leaves inside have the ranks from ``first`` to ``last`` (exclusive)."""
    items: Sequence[Sequence[int]]
    """The direct children in rank order: the index of a node, or ``~scope``."""


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A graph with the positions of its nodes and edges in the scope tree."""

    graph: Graph
    paths: Sequence[str]
    """The path of each node."""
    scopes: Scopes
    rank: Int32
    """The rank of each node."""
    node_by_rank: Int32
    node_scope: Int32
    """The scope that contains each node."""
    edge_scope: Int32
    """The innermost scope that contains both ends of each edge."""
    edges_by_scope: Int32
    """The edges, sorted by ``edge_scope``."""
    edges_by_source: Int32
    edges_by_target: Int32
    """The edges, sorted by the rank of one end."""
    node_by_path: dict[str, int]
    scope_by_path: dict[str, int]

    def get_scope_edges(self, scope: int) -> Int32:
        """Return the edges whose innermost common scope is this one."""
        return _slice_sorted(self.edges_by_scope, self.edge_scope, scope, scope + 1)

    def get_outgoing_edges(self, first: int, last: int) -> Int32:
        """Return the edges from leaves in a range of ranks."""
        ranks = self.rank[self.graph.edges.source]
        return _slice_sorted(self.edges_by_source, ranks, first, last)

    def get_incoming_edges(self, first: int, last: int) -> Int32:
        """Return the edges to leaves in a range of ranks."""
        ranks = self.rank[self.graph.edges.target]
        return _slice_sorted(self.edges_by_target, ranks, first, last)


def build_hierarchy(graph: Graph) -> Hierarchy:
    """Arrange the nodes of a graph in the tree of its scopes."""
    paths = make_paths(graph.names)
    containers = [get_scope(path) for path in paths]
    scope_by_path = _number_scopes(set(containers))
    node_scope = np.array([scope_by_path[path] for path in containers], np.int32)
    parent = np.array([scope_by_path.get(get_scope(path), -1) for path in scope_by_path], np.int32)
    parent[ROOT] = -1
    depth = _compute_depth(parent)
    labels = [get_label(path) for path in paths]
    items = _sort_scope_items(graph, labels, list(scope_by_path), node_scope, parent)
    node_by_rank, first, last = _walk(items)
    rank = np.empty(len(node_by_rank), np.int32)
    rank[node_by_rank] = np.arange(len(node_by_rank), dtype=np.int32)
    edges = graph.edges
    edge_scope = _compute_common_scopes(
        node_scope[edges.source], node_scope[edges.target], parent, depth
    )
    return Hierarchy(
        graph=graph,
        paths=paths,
        scopes=Scopes(list(scope_by_path), parent, depth, first, last, items),
        rank=rank,
        node_by_rank=node_by_rank,
        node_scope=node_scope,
        edge_scope=edge_scope,
        edges_by_scope=_argsort(edge_scope),
        edges_by_source=_argsort(rank[edges.source]),
        edges_by_target=_argsort(rank[edges.target]),
        node_by_path={path: node for node, path in enumerate(paths)},
        scope_by_path=scope_by_path,
    )


def _number_scopes(paths: Iterable[str]) -> dict[str, int]:
    """Number scopes and their ancestors; the root is 0 and parents have lower numbers."""
    ordered = sorted(expand_scopes(paths), key=lambda path: (path.count("/"), path))
    return {path: number for number, path in enumerate(["", *ordered])}


def _sort_scope_items(
    graph: Graph, labels: Sequence[str], scopes: Sequence[str], node_scope: Int32, parent: Int32
) -> list[list[int]]:
    """Return the children of each scope in graph order, with the members of a series adjacent."""
    leaf_counts, first_leaf = _count_leaves(node_scope, parent)
    container = np.concatenate([node_scope, parent[1:]])
    order = sort_items(
        container,
        np.concatenate([np.arange(len(node_scope)), first_leaf[1:]]),
        [*labels, *map(get_label, scopes[1:])],
        [*graph.ops, *leaf_counts[1:].tolist()],
    )
    items = np.concatenate([np.arange(len(node_scope)), ~np.arange(1, len(scopes))])[order]
    ends = np.searchsorted(container[order], np.arange(len(scopes) + 1))
    return [items[begin:end].tolist() for begin, end in pairwise(ends.tolist())]


def _count_leaves(node_scope: Int32, parent: Int32) -> tuple[Int64, Int64]:
    """Return the number of leaves in each scope at any depth, and the first of them."""
    counts = np.bincount(node_scope, minlength=len(parent))
    first = np.full(len(parent), len(node_scope))
    np.minimum.at(first, node_scope, np.arange(len(node_scope)))
    for scope in range(len(parent) - 1, ROOT, -1):
        counts[parent[scope]] += counts[scope]
        first[parent[scope]] = min(first[parent[scope]], first[scope])
    return counts, first


def _walk(items: Sequence[Sequence[int]]) -> tuple[Int32, Int32, Int32]:
    """Walk the tree depth-first; return the node of each rank and the ranks of each scope."""
    order: list[int] = []
    first, last = np.zeros((2, len(items)), np.int32)

    def enter(scope: int) -> None:
        first[scope] = len(order)
        children = items[scope]
        if min(children, default=0) >= 0:
            order.extend(children)
        else:
            for item in children:
                enter(~item) if item < 0 else order.append(item)
        last[scope] = len(order)

    enter(ROOT)
    return np.array(order, np.int32), first, last


def _compute_depth(parent: Int32) -> Int32:
    depth = np.zeros(len(parent), np.int32)
    for scope in range(1, len(parent)):
        depth[scope] = depth[parent[scope]] + 1
    return depth


def _compute_common_scopes(one: Int32, other: Int32, parent: Int32, depth: Int32) -> Int32:
    """Return the lowest common ancestors of pairs of scopes, climbing all pairs in parallel."""
    one, other = one.copy(), other.copy()
    while True:
        apart = np.flatnonzero(one != other)
        if not len(apart):
            return one
        difference = depth[one[apart]] - depth[other[apart]]
        climb_one, climb_other = apart[difference >= 0], apart[difference <= 0]
        one[climb_one] = parent[one[climb_one]]
        other[climb_other] = parent[other[climb_other]]


def _argsort(keys: Int32) -> Int32:
    return np.argsort(keys, kind="stable").astype(np.int32)


def _slice_sorted(order: Int32, keys: Int32, first: int, last: int) -> Int32:
    """Return the part of ``order``, which sorts ``keys``, with keys in a half-open range."""
    begin = int(np.searchsorted(keys, first, side="left", sorter=order))
    end = int(np.searchsorted(keys, last, side="left", sorter=order))
    return order[begin:end]


def make_paths(names: Sequence[str]) -> list[str]:
    """Return a unique path for each node; for nearly all nodes it is the name.

    A path has no empty parts and a limited depth. A node ``a`` next to a scope ``a`` becomes
    ``a/(a)``; the second node of the same name becomes ``a (2)``.
    """
    paths = list(names) if _are_plain(names) else [_normalize(name) for name in names]
    scopes = expand_scopes({path.rpartition("/")[0] for path in paths})
    if scopes.isdisjoint(distinct := set(paths)) and len(distinct) == len(paths):
        return paths
    counts = dict.fromkeys(scopes, 1)
    return [_make_unique(_move_inside(path, scopes), counts) for path in paths]


def expand_scopes(paths: Iterable[str]) -> set[str]:
    """Return scopes together with all their ancestors except the root."""
    known = {""}
    for scope in paths:
        while scope not in known:
            known.add(scope)
            scope = get_scope(scope)
    return known - {""}


def get_scope(path: str) -> str:
    return path.rpartition("/")[0]


def get_label(path: str) -> str:
    return path.rpartition("/")[2]


def _are_plain(names: Sequence[str]) -> bool:
    """Return whether no name needs to be normalized; checked on one joined text for speed."""
    text = "\n".join(["", *names, ""])
    special = ("//", FUNCTION_SEPARATOR, "\n/", "/\n", "\n\n")
    longest = max(map(len, names), default=0)
    return longest < _MAX_NESTED_SCOPES and not any(part in text for part in special)


def _normalize(name: str) -> str:
    plain = name.replace(FUNCTION_SEPARATOR, _SEPARATOR_REPLACEMENT)
    parts = [part or _NAMELESS for part in plain.split("/")]
    return "/".join(
        [*parts[:_MAX_NESTED_SCOPES], ":".join(parts[_MAX_NESTED_SCOPES:])][: len(parts)]
    )


def _move_inside(path: str, scopes: set[str]) -> str:
    return f"{path}/({get_label(path)})" if path in scopes else path


def _make_unique(path: str, counts: dict[str, int]) -> str:
    while path in counts:
        counts[path] += 1
        path = f"{path} ({counts[path]})"
    counts[path] = 1
    return path


def split_label(label: str) -> tuple[str, int]:
    """Split ``conv_12`` or ``conv12`` into ``conv`` and 12; the number of ``conv`` is 0."""
    (stem,), (number,) = split_labels([label])
    return stem, number


def split_labels(labels: Sequence[str]) -> tuple[list[str], list[int]]:
    """Split many labels at once, which is faster for large graphs."""
    stripped = [label.rstrip(_DIGITS) for label in labels]
    digits = [
        label[len(stem) :] if len(label) - len(stem) <= _MAX_DIGITS else ""
        for label, stem in zip(labels, stripped, strict=True)
    ]
    stems = [
        stem.rstrip("_") if number else label
        for label, stem, number in zip(labels, stripped, digits, strict=True)
    ]
    return stems, [int(number) if number else 0 for number in digits]


def sort_items(
    container: Int32, arrival: Int64, labels: Sequence[str], common: Sequence[Hashable]
) -> Int64:
    """Sort items by container and arrival, with the members of a series adjacent.

    Args:
        container: The scope of each item.
        arrival: The position of each item in the graph. A series is where its first member is.
        labels: The last part of each path.
        common: What members of a series must have in common, such as the operation.

    Returns:
        The indexes of the items in order.
    """
    numbers, kind = _number_kinds(container, labels, common)
    by_number = np.lexsort((arrival, numbers, kind))
    members = by_number[_is_in_series(kind[by_number], numbers[by_number])]
    first, rank = arrival.copy(), np.zeros(len(arrival), np.int64)
    for begin, end in pairwise([0, *_list_breaks(kind[members]), len(members)]):
        series = members[begin:end]
        first[series] = arrival[series].min(initial=np.iinfo(np.int64).max)
    rank[members] = np.arange(len(members))
    return np.lexsort((rank, first, container))


def _number_kinds(
    container: Int32, labels: Sequence[str], common: Sequence[Hashable]
) -> tuple[Int64, Int64]:
    """Return the number in each label, and an id for items that differ in that number only."""
    stems, numbers = split_labels(labels)
    stem, shared = _number_distinct(stems), _number_distinct(common)
    # Before NumPy 2, the product of an int32 array and a scalar stays int32 and could overflow.
    by_stem = container.astype(np.int64) * (stem.max(initial=0) + 1) + stem
    kind = by_stem * (shared.max(initial=0) + 1) + shared
    return np.array(numbers, np.int64), kind


def _number_distinct(values: Sequence[Hashable]) -> Int64:
    """Return equal numbers for equal values."""
    known = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([known[value] for value in values], np.int64)


def _is_in_series(kind: Int64, numbers: Int64) -> Bool:
    """Return which sorted items are of a kind with enough consecutive numbers."""
    follows = (np.diff(kind) == 0) & (np.diff(numbers) == 1)
    starts = np.flatnonzero(follows)
    for _ in range(MIN_SERIES_OPS - 2):
        starts = starts[starts + 1 < len(follows)] + 1
        starts = starts[follows[starts]]
    return np.isin(kind, kind[starts])


def _list_breaks(kind: Int64) -> list[int]:
    breaks: list[int] = (np.flatnonzero(np.diff(kind)) + 1).tolist()
    return breaks


def iter_numbered_runs(
    labels: Sequence[str], common: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Yield begin and end of runs of one kind with consecutive numbers."""
    first, previous = 0, None
    for index, (label, shared) in enumerate(zip(labels, common, strict=True)):
        stem, number = split_label(label)
        if index and previous != (stem, number - 1, shared):
            yield first, index
            first = index
        previous = (stem, number, shared)
    if labels:
        yield first, len(labels)


def compute_structure_ids(hierarchy: Hierarchy) -> Int32:
    """Return a number for each scope that it shares with all scopes of the same structure.

    Scopes have the same structure if they contain the same operations, connected in the same way
    and in the same number of scopes. Sums of hashes are compared, which may miss differences that
    are rare in practice. Scopes without a match get `UNIQUE_STRUCTURE`.
    """
    scopes = hierarchy.scopes
    ops = _hash_ops(hierarchy.graph.ops)
    leaf_sums = _prefix_sums(ops[hierarchy.node_by_rank])
    leaves = leaf_sums[scopes.last] - leaf_sums[scopes.first]
    edges = _accumulate_scopes(_hash_edges(hierarchy, ops), scopes.parent, scopes.depth)
    counts = _accumulate_scopes(np.ones(len(leaves), np.uint64), scopes.parent, scopes.depth)
    return _number_signatures(_mix(leaves) ^ _mix(edges * _MIX_B) ^ _mix(counts * _MIX_A))


def _hash_ops(ops: Sequence[str]) -> _Hashes:
    known = {op: zlib.crc32(op.encode("utf-8", "replace")) for op in set(ops)}
    return _mix(np.array([known[op] for op in ops], np.uint64))


def _hash_edges(hierarchy: Hierarchy, ops: _Hashes) -> _Hashes:
    """Sum the hashes of the edges in each scope."""
    edges = hierarchy.graph.edges
    hashes = _mix(ops[edges.source] * _MIX_A ^ ops[edges.target] ^ edges.control)
    sums = np.zeros(len(hierarchy.scopes.paths), np.uint64)
    np.add.at(sums, hierarchy.edge_scope, hashes)
    return sums


def _accumulate_scopes(values: _Hashes, parent: Int32, depth: Int32) -> _Hashes:
    """Add the values of all descendants to each scope."""
    total: _Hashes = values.copy()
    for level in range(int(depth.max(initial=0)), 0, -1):
        scopes = np.flatnonzero(depth == level)
        np.add.at(total, parent[scopes], total[scopes])
    return total


def _number_signatures(signatures: _Hashes) -> Int32:
    _, first, inverse, count = np.unique(
        signatures, return_index=True, return_inverse=True, return_counts=True
    )
    numbers = np.full(len(first), UNIQUE_STRUCTURE, np.int32)
    shared = np.flatnonzero(count > 1)
    numbers[shared[np.argsort(first[shared])]] = np.arange(len(shared), dtype=np.int32)
    return numbers[inverse.reshape(-1)]


def _prefix_sums(hashes: _Hashes) -> _Hashes:
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])


def _mix(values: _Hashes) -> _Hashes:
    values = (values ^ (values >> np.uint64(31))) * _MIX_A
    mixed: _Hashes = (values ^ (values >> np.uint64(29))) * _MIX_B
    return mixed
