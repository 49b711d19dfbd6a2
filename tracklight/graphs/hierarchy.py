"""The tree of scopes that the names of a graph make up, and where in it each edge lies.

The leaves are numbered in the order of a walk through the tree. These **ranks** make everything
quick: what is inside of a scope is a range of ranks, and in which child of a scope a leaf stands is
found by bisection.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.graphs.model import Graph
from tracklight.graphs.naming import list_scopes, make_paths, scope_of
from tracklight.graphs.series import put_together
from tracklight.types import Int32, Int64

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
    order: Int32
    """The place of the node of each rank."""
    scope: Int32
    """By the place of the node, the scope that it is in."""
    meeting: Int32
    """For each edge the innermost scope that holds both of its ends."""
    by_meeting: Int32
    """The edges in the order of where they meet."""
    by_source: Int32
    by_target: Int32
    """The edges in the order of the ranks of their ends."""
    place_of: dict[str, int]
    scope_of: dict[str, int]

    def find_edges(self, scope: int) -> Int32:
        """The edges that meet in a scope."""
        return _cut(self.by_meeting, self.meeting, scope, scope + 1)

    def find_outgoing(self, first: int, last: int) -> Int32:
        """The edges from leaves of these ranks."""
        return _cut(self.by_source, self.rank[self.graph.edges.source], first, last)

    def find_incoming(self, first: int, last: int) -> Int32:
        """The edges to leaves of these ranks."""
        return _cut(self.by_target, self.rank[self.graph.edges.target], first, last)


def build_hierarchy(graph: Graph) -> Hierarchy:
    paths = make_paths(graph.names)
    split = [path.rpartition("/") for path in paths]
    numbers = _number_scopes({scope for scope, _, _ in split})
    scope = np.array([numbers[scope] for scope, _, _ in split], np.int32)
    items = _sort_items(graph, [label for _, _, label in split], numbers, scope)
    order, first, last = _walk(items)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    parent = np.array([numbers.get(scope_of(path), -1) for path in numbers], np.int32)
    parent[ROOT] = -1
    depth = _measure_depth(parent)
    edges = graph.edges
    meeting = _find_meeting(scope[edges.source], scope[edges.target], parent, depth)
    return Hierarchy(
        graph,
        paths,
        Scopes(list(numbers), parent, depth, first, last, items),
        rank,
        order,
        scope,
        meeting,
        _sort(meeting),
        _sort(rank[edges.source]),
        _sort(rank[edges.target]),
        {path: place for place, path in enumerate(paths)},
        numbers,
    )


def _number_scopes(inner: Iterable[str]) -> dict[str, int]:
    """The root is 0; whoever holds a scope has a lower number."""
    found = sorted(list_scopes(inner), key=lambda path: (path.count("/"), path))
    return {path: number for number, path in enumerate(["", *found])}


def _sort_items(
    graph: Graph, labels: Sequence[str], numbers: dict[str, int], scope: Int32
) -> list[list[int]]:
    """What is in each scope, in the order of the graph, but series in a row."""
    leaves, scopes = _count_leaves(scope, numbers), list(numbers)
    items: list[list[tuple[str, Hashable, int]]] = [[] for _ in numbers]
    opened = {ROOT}
    for place, holder in enumerate(scope.tolist()):
        inner = holder
        while inner not in opened:
            opened.add(inner)
            around, _, label = scopes[inner].rpartition("/")
            items[numbers[around]].append((label, int(leaves[inner]), ~inner))
            inner = numbers[around]
        items[holder].append((labels[place], graph.ops[place], place))
    return [put_together(inside) for inside in items]


def _count_leaves(scope: Int32, numbers: dict[str, int]) -> Int64:
    counts = np.bincount(scope, minlength=len(numbers)).astype(np.int64)
    for path, number in reversed(numbers.items()):
        if number != ROOT:
            counts[numbers[scope_of(path)]] += counts[number]
    return counts


def _walk(items: Sequence[Sequence[int]]) -> tuple[Int32, Int32, Int32]:
    order: list[int] = []
    first, last = np.zeros((2, len(items)), np.int32)

    def enter(scope: int) -> None:
        first[scope] = len(order)
        for item in items[scope]:
            if item < 0:
                enter(~item)
            else:
                order.append(item)
        last[scope] = len(order)

    enter(ROOT)
    return np.array(order, np.int32), first, last


def _measure_depth(parent: Int32) -> Int32:
    depth = np.zeros(len(parent), np.int32)
    for scope in range(1, len(parent)):
        depth[scope] = depth[parent[scope]] + 1
    return depth


def _find_meeting(one: Int32, other: Int32, parent: Int32, depth: Int32) -> Int32:
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


def _sort(keys: Int32) -> Int32:
    return np.argsort(keys, kind="stable").astype(np.int32)


def _cut(order: Int32, keys: Int32, first: int, last: int) -> Int32:
    """The part of ``order``, which sorts ``keys``, with keys from ``first`` to before ``last``."""
    begin = int(np.searchsorted(keys, first, side="left", sorter=order))
    end = int(np.searchsorted(keys, last, side="left", sorter=order))
    return order[begin:end]
