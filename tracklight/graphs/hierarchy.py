"""The tree of scopes that the names of a graph make up, and where in it each edge lies.

The leaves are numbered in the order of a walk through the tree. These **ranks** make everything
quick: what is inside of a scope is a range of ranks, and in which child of a scope a leaf stands is
found by bisection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracklight.graphs.model import Graph
from tracklight.graphs.naming import label_of, list_scopes, make_paths, scope_of
from tracklight.graphs.series import sort_together
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
    holders = [scope_of(path) for path in paths]
    numbers = _number_scopes(set(holders))
    scope = np.array([numbers[holder] for holder in holders], np.int32)
    parent = np.array([numbers.get(scope_of(path), -1) for path in numbers], np.int32)
    parent[ROOT] = -1
    depth = _measure_depth(parent)
    items = _sort_items(graph, [label_of(path) for path in paths], list(numbers), scope, parent)
    order, first, last = _walk(items)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
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
    graph: Graph, labels: Sequence[str], scopes: Sequence[str], scope: Int32, parent: Int32
) -> list[list[int]]:
    """What is in each scope, in the order of the graph, but series in a row."""
    leaves, arrival = _sum_up_leaves(scope, parent)
    holder = np.concatenate([scope, parent[1:]])
    order = sort_together(
        holder,
        np.concatenate([np.arange(len(scope)), arrival[1:]]),
        [*labels, *map(label_of, scopes[1:])],
        [*graph.ops, *leaves[1:].tolist()],
    )
    items = np.concatenate([np.arange(len(scope)), ~np.arange(1, len(scopes))])[order]
    ends = np.searchsorted(holder[order], np.arange(len(scopes) + 1))
    return [items[begin:end].tolist() for begin, end in pairwise(ends.tolist())]


def _sum_up_leaves(scope: Int32, parent: Int32) -> tuple[Int64, Int64]:
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
