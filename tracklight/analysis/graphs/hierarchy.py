"""Where nodes stand in the tree of scopes: one path for each, whatever they are named.

Names come from anywhere. A path has no empty part, is not endlessly deep and belongs to one node
only; for nearly every node it is its name.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs.model import Graph
from tracklight.types import Bool, Int32, Int64

#: Stands in paths between a call, the function that it runs and what is inside of that.
FUNCTION_SEPARATOR = "|"

_SEPARATOR_REPLACEMENT = "\N{BROKEN BAR}"

_NAMELESS = "(no name)"

_MAX_DEPTH = 100


def make_paths(names: Sequence[str]) -> list[str]:
    """A node ``a`` beside nodes in the scope ``a`` stands inside of it, as ``a/(a)``; the second of
    a name is ``a (2)``."""
    paths = list(names) if _are_plain(names) else [_normalize(name) for name in names]
    scopes = expand_scopes({path.rpartition("/")[0] for path in paths})
    if scopes.isdisjoint(unlike := set(paths)) and len(unlike) == len(paths):
        return paths
    taken = dict.fromkeys(scopes, 1)
    return [_make_unique(_move_inside(path, scopes), taken) for path in paths]


def expand_scopes(inner: Iterable[str]) -> set[str]:
    """Some scopes with all that they are in, but for the root."""
    known = {""}
    for scope in inner:
        while scope not in known:
            known.add(scope)
            scope = get_scope(scope)
    return known - {""}


def get_scope(path: str) -> str:
    return path.rpartition("/")[0]


def get_label(path: str) -> str:
    return path.rpartition("/")[2]


def _are_plain(names: Sequence[str]) -> bool:
    """Whether all are paths as they are: told of the whole, as there may be very many."""
    text = "\n".join(["", *names, ""])
    odd = ("//", FUNCTION_SEPARATOR, "\n/", "/\n", "\n\n")
    longest = max(map(len, names), default=0)
    return longest < _MAX_DEPTH and not any(part in text for part in odd)


def _normalize(name: str) -> str:
    parts = [
        part or _NAMELESS
        for part in name.replace(FUNCTION_SEPARATOR, _SEPARATOR_REPLACEMENT).split("/")
    ]
    return "/".join([*parts[:_MAX_DEPTH], ":".join(parts[_MAX_DEPTH:])][: len(parts)])


def _move_inside(path: str, scopes: set[str]) -> str:
    return f"{path}/({get_label(path)})" if path in scopes else path


def _make_unique(path: str, taken: dict[str, int]) -> str:
    while path in taken:
        taken[path] += 1
        path = f"{path} ({taken[path]})"
    taken[path] = 1
    return path


# Nodes that differ by a number in their names only, which are shown as one.

_DIGITS = "0123456789"

#: Numbers of more digits are no numbers in a row.
_MAX_DIGITS = 9

MIN_SERIES_OPS = 5

_NEVER = np.iinfo(np.int64).max

#: People know their model by its scopes: only very many of them are shown as one.
MIN_SERIES_SCOPES = 25


def split_label(label: str) -> tuple[str, int]:
    """``conv_12`` and ``conv12`` are the twelfth of ``conv``, and ``conv`` is its 0th."""
    (stem,), (number,) = split_labels([label])
    return stem, number


def split_labels(labels: Sequence[str]) -> tuple[list[str], list[int]]:
    """Many in one go: that of a huge graph takes a noticeable part of reading it."""
    plain = [label.rstrip(_DIGITS) for label in labels]
    digits = [
        label[len(stem) :] if len(label) - len(stem) <= _MAX_DIGITS else ""
        for label, stem in zip(labels, plain, strict=True)
    ]
    stems = [
        stem.rstrip("_") if number else label
        for label, stem, number in zip(labels, plain, digits, strict=True)
    ]
    return stems, [int(number) if number else 0 for number in digits]


def sort_items(
    holder: Int32, arrival: Int64, labels: Sequence[str], common: Sequence[Hashable]
) -> Int64:
    """The order of all things by what holds them: as they came, but series in a row, each where its
    first one is.

    ``common`` is what a thing has in common with others of its kind.
    """
    numbers, kind = _number_kinds(holder, labels, common)
    by_number = np.lexsort((arrival, numbers, kind))
    rows = by_number[_is_in_series(kind[by_number], numbers[by_number])]
    first, rank = arrival.copy(), np.zeros(len(arrival), np.int64)
    for begin, end in pairwise([0, *_list_breaks(kind[rows]), len(rows)]):
        first[rows[begin:end]] = arrival[rows[begin:end]].min(initial=_NEVER)
    rank[rows] = np.arange(len(rows))
    return np.lexsort((rank, first, holder))


def _number_kinds(
    holder: Int32, labels: Sequence[str], common: Sequence[Hashable]
) -> tuple[Int64, Int64]:
    """The number in each label, and one for all that stand together and differ in that only."""
    stems, numbers = split_labels(labels)
    stem, sort = _number_distinct(stems), _number_distinct(common)
    # In 64 bits from the start: before NumPy 2, a product of 32 bits and one number stays in these.
    by_stem = holder.astype(np.int64) * (stem.max(initial=0) + 1) + stem
    kind = by_stem * (sort.max(initial=0) + 1) + sort
    return np.array(numbers, np.int64), kind


def _number_distinct(things: Sequence[Hashable]) -> Int64:
    """Equal numbers for equal things."""
    known = {thing: number for number, thing in enumerate(dict.fromkeys(things))}
    return np.array([known[thing] for thing in things], np.int64)


def _is_in_series(kind: Int64, numbers: Int64) -> Bool:
    """Whether each of some sorted things is of a kind with enough that follow each other."""
    follows = (np.diff(kind) == 0) & (np.diff(numbers) == 1)
    begins = np.flatnonzero(follows)
    for _ in range(MIN_SERIES_OPS - 2):
        begins = begins[begins + 1 < len(follows)] + 1
        begins = begins[follows[begins]]
    return np.isin(kind, kind[begins])


def _list_breaks(kind: Int64) -> list[int]:
    changes: list[int] = (np.flatnonzero(np.diff(kind)) + 1).tolist()
    return changes


def iter_numbered_runs(
    labels: Sequence[str], common: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Where stretches of one kind with numbers that follow each other begin and end."""
    first, before = 0, None
    for place, (label, shared) in enumerate(zip(labels, common, strict=True)):
        stem, number = split_label(label)
        if place and before != (stem, number - 1, shared):
            yield first, place
            first = place
        before = (stem, number, shared)
    if labels:
        yield first, len(labels)


# The tree of scopes that the names of a graph make up, and where in it each edge lies.
#
# The leaves are numbered in the order of a walk through the tree. These **ranks** make everything
# quick: what is inside of a scope is a range of ranks, and in which child of a scope a leaf stands is
# found by bisection.

ROOT = 0


@dataclass(frozen=True, slots=True, eq=False)
class Scopes:
    """All groups, the root first and each after the one that it is in."""

    paths: Sequence[str]
    parent: Int32
    depth: Int32
    first: Int32
    last: Int32
    """The leaves inside are those of ranks from ``first`` to before ``last``."""
    items: Sequence[Sequence[int]]
    """What stands in each, by rank: the place of a node, or ``~scope``."""


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A graph with the places of its nodes and edges in the tree."""

    graph: Graph
    paths: Sequence[str]
    """By the place of the node."""
    scopes: Scopes
    rank: Int32
    """By the place of the node."""
    node_by_rank: Int32
    """The place of the node of each rank."""
    node_scope: Int32
    """By the place of the node, the scope that it is in."""
    edge_scope: Int32
    """For each edge the innermost scope that holds both of its ends."""
    edges_by_scope: Int32
    """The edges in the order of where they meet."""
    edges_by_source: Int32
    edges_by_target: Int32
    """The edges in the order of the ranks of their ends."""
    node_by_path: dict[str, int]
    scope_by_path: dict[str, int]

    def get_scope_edges(self, scope: int) -> Int32:
        """The edges that meet in a scope."""
        return _slice_sorted(self.edges_by_scope, self.edge_scope, scope, scope + 1)

    def get_outgoing_edges(self, first: int, last: int) -> Int32:
        """The edges from leaves of these ranks."""
        return _slice_sorted(self.edges_by_source, self.rank[self.graph.edges.source], first, last)

    def get_incoming_edges(self, first: int, last: int) -> Int32:
        """The edges to leaves of these ranks."""
        return _slice_sorted(self.edges_by_target, self.rank[self.graph.edges.target], first, last)


def build_hierarchy(graph: Graph) -> Hierarchy:
    paths = make_paths(graph.names)
    holders = [get_scope(path) for path in paths]
    numbers = _number_scopes(set(holders))
    scope = np.array([numbers[holder] for holder in holders], np.int32)
    parent = np.array([numbers.get(get_scope(path), -1) for path in numbers], np.int32)
    parent[ROOT] = -1
    depth = _measure_depth(parent)
    items = _sort_items(graph, [get_label(path) for path in paths], list(numbers), scope, parent)
    order, first, last = _walk(items)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    edges = graph.edges
    meeting = _compute_common_scopes(scope[edges.source], scope[edges.target], parent, depth)
    return Hierarchy(
        graph,
        paths,
        Scopes(list(numbers), parent, depth, first, last, items),
        rank,
        order,
        scope,
        meeting,
        _argsort(meeting),
        _argsort(rank[edges.source]),
        _argsort(rank[edges.target]),
        {path: place for place, path in enumerate(paths)},
        numbers,
    )


def _number_scopes(inner: Iterable[str]) -> dict[str, int]:
    """The root is 0; whoever holds a scope has a lower number."""
    found = sorted(expand_scopes(inner), key=lambda path: (path.count("/"), path))
    return {path: number for number, path in enumerate(["", *found])}


def _sort_items(
    graph: Graph, labels: Sequence[str], scopes: Sequence[str], scope: Int32, parent: Int32
) -> list[list[int]]:
    """What is in each scope, in the order of the graph, but series in a row."""
    leaves, arrival = _count_leaves(scope, parent)
    holder = np.concatenate([scope, parent[1:]])
    order = sort_items(
        holder,
        np.concatenate([np.arange(len(scope)), arrival[1:]]),
        [*labels, *map(get_label, scopes[1:])],
        [*graph.ops, *leaves[1:].tolist()],
    )
    items = np.concatenate([np.arange(len(scope)), ~np.arange(1, len(scopes))])[order]
    ends = np.searchsorted(holder[order], np.arange(len(scopes) + 1))
    return [items[begin:end].tolist() for begin, end in pairwise(ends.tolist())]


def _count_leaves(scope: Int32, parent: Int32) -> tuple[Int64, Int64]:
    """How many leaves each scope holds, however deep, and the place of the first."""
    counts = np.bincount(scope, minlength=len(parent))
    first = np.full(len(parent), len(scope))
    np.minimum.at(first, scope, np.arange(len(scope)))
    for inner in range(len(parent) - 1, ROOT, -1):
        counts[parent[inner]] += counts[inner]
        first[parent[inner]] = min(first[parent[inner]], first[inner])
    return counts, first


def _walk(items: Sequence[Sequence[int]]) -> tuple[Int32, Int32, Int32]:
    order: list[int] = []
    first, last = np.zeros((2, len(items)), np.int32)

    def enter(scope: int) -> None:
        first[scope] = len(order)
        inside = items[scope]
        if min(inside, default=0) >= 0:
            order.extend(inside)
        else:
            for item in inside:
                enter(~item) if item < 0 else order.append(item)
        last[scope] = len(order)

    enter(ROOT)
    return np.array(order, np.int32), first, last


def _measure_depth(parent: Int32) -> Int32:
    depth = np.zeros(len(parent), np.int32)
    for scope in range(1, len(parent)):
        depth[scope] = depth[parent[scope]] + 1
    return depth


def _compute_common_scopes(one: Int32, other: Int32, parent: Int32, depth: Int32) -> Int32:
    """Climb from both ends of all edges at once, the deeper end first."""
    one, other = one.copy(), other.copy()
    while True:
        apart = np.flatnonzero(one != other)
        if not len(apart):
            return one
        deeper = depth[one[apart]] - depth[other[apart]]
        up, over = apart[deeper >= 0], apart[deeper <= 0]
        one[up] = parent[one[up]]
        other[over] = parent[other[over]]


def _argsort(keys: Int32) -> Int32:
    return np.argsort(keys, kind="stable").astype(np.int32)


def _slice_sorted(order: Int32, keys: Int32, first: int, last: int) -> Int32:
    """The part of ``order``, which sorts ``keys``, with keys from ``first`` to before ``last``."""
    begin = int(np.searchsorted(keys, first, side="left", sorter=order))
    end = int(np.searchsorted(keys, last, side="left", sorter=order))
    return order[begin:end]


# Which scopes of a graph are built alike: the same operations, joined in the same way.

_Hashes = NDArray[np.uint64]

_MIX_A = np.uint64(0x9E3779B97F4A7C15)

_MIX_B = np.uint64(0xBF58476D1CE4E5B9)

UNIQUE_STRUCTURE = -1


def compute_structure_ids(hierarchy: Hierarchy) -> Int32:
    """For each scope a number that it shares with all that are built alike; -1 for the only one.

    Sums of hashes do not tell every difference, but all that people meet: which operations there
    are, which of them read from which, and how many scopes they are sorted into.
    """
    scopes = hierarchy.scopes
    ops = _hash_ops(hierarchy.graph.ops)
    leaves = _prefix_sums(ops[hierarchy.node_by_rank])
    inside = leaves[scopes.last] - leaves[scopes.first]
    joined = _accumulate_scopes(_hash_edges(hierarchy, ops), scopes.parent, scopes.depth)
    inner = _accumulate_scopes(np.ones(len(inside), np.uint64), scopes.parent, scopes.depth)
    return _number_signatures(_mix(inside) ^ _mix(joined * _MIX_B) ^ _mix(inner * _MIX_A))


def _hash_ops(ops: Sequence[str]) -> _Hashes:
    known = {op: zlib.crc32(op.encode("utf-8", "replace")) for op in set(ops)}
    return _mix(np.array([known[op] for op in ops], np.uint64))


def _hash_edges(hierarchy: Hierarchy, ops: _Hashes) -> _Hashes:
    """The sum for each scope over the edges that meet in it."""
    edges = hierarchy.graph.edges
    hashes = _mix(ops[edges.source] * _MIX_A ^ ops[edges.target] ^ edges.control)
    sums = np.zeros(len(hierarchy.scopes.paths), np.uint64)
    np.add.at(sums, hierarchy.edge_scope, hashes)
    return sums


def _accumulate_scopes(own: _Hashes, parent: Int32, depth: Int32) -> _Hashes:
    """What each scope has with all that are inside of it."""
    total: _Hashes = own.copy()
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
