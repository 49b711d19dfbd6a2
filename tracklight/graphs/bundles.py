"""Edges between what is seen: all that join the same two boxes are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.levels import Level
from tracklight.types import Bool, Int32


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """Edges between two children of a level, by the places of these."""

    source: Int32
    target: Int32
    edges: Int32
    """All edges of all bundles."""
    bundle: Int32
    """In which bundle each of the edges is."""

    def __len__(self) -> int:
        return len(self.source)

    def keep(self, kept: Bool) -> Bundles:
        edges, bundle = _keep_edges(self.edges, self.bundle, kept)
        return Bundles(self.source[kept], self.target[kept], edges, bundle)


@dataclass(frozen=True, slots=True, eq=False)
class Border:
    """Edges that lead into a level, or out of it, by the child and who is on the other side."""

    child: Int32
    partner: Sequence[str]
    edges: Int32
    bundle: Int32

    def __len__(self) -> int:
        return len(self.child)

    def keep(self, kept: Bool) -> Border:
        edges, bundle = _keep_edges(self.edges, self.bundle, kept)
        partner = [name for name, keep in zip(self.partner, kept.tolist(), strict=True) if keep]
        return Border(self.child[kept], partner, edges, bundle)


def join_children(hierarchy: Hierarchy, level: Level) -> Bundles:
    """The edges between the children of a level; of a node to itself as well."""
    found = hierarchy.find_edges(level.scope)
    edges = hierarchy.graph.edges
    source, target = hierarchy.rank[edges.source[found]], hierarchy.rank[edges.target[found]]
    if level.is_part:
        inside = _is_inside(source, level) & _is_inside(target, level)
        found, source, target = found[inside], source[inside], target[inside]
    tail, head = level.find_child(source), level.find_child(target)
    shown = (tail != head) | ((source == target) & level.is_single[head])
    tail, head, bundle = join_pairs(tail[shown], head[shown])
    return Bundles(tail, head, found[shown], bundle)


def join_border(
    hierarchy: Hierarchy, level: Level, outer: Sequence[Level], incoming: bool
) -> Border:
    """The edges that cross the border of a level; ``outer`` are all around it, the root first.

    The partner is the box on the other side at the level where the two ends meet. It is the same
    one at each border that the edge crosses on its way.
    """
    edges = hierarchy.graph.edges
    find = hierarchy.find_incoming if incoming else hierarchy.find_outgoing
    near, far = (edges.target, edges.source) if incoming else (edges.source, edges.target)
    found = find(level.first, level.last)
    found = found[~_is_inside(hierarchy.rank[far[found]], level)]
    child = level.find_child(hierarchy.rank[near[found]])
    partner, names = _name_partners(hierarchy, found, far, outer)
    child, partner, bundle = join_pairs(child, partner)
    return Border(child, [names[number] for number in partner.tolist()], found, bundle)


def join_pairs(one: Int32, other: Int32) -> tuple[Int32, Int32, Int32]:
    """The distinct pairs of two columns, and which of them stands in each row."""
    width = int(other.max(initial=0)) + 1
    keys, inverse = np.unique(one.astype(np.int64) * width + other, return_inverse=True)
    pairs = (keys // width).astype(np.int32), (keys % width).astype(np.int32)
    return *pairs, inverse.reshape(-1).astype(np.int32)


def _name_partners(
    hierarchy: Hierarchy, found: Int32, far: Int32, outer: Sequence[Level]
) -> tuple[Int32, list[str]]:
    """For each edge a number, and what each number stands for."""
    meeting, ranks = hierarchy.meeting[found], hierarchy.rank[far[found]]
    numbers = np.zeros(len(found), np.int32)
    names: list[str] = []
    for level in outer:
        here = np.flatnonzero(meeting == level.scope)
        if level.is_part:
            here = here[_is_inside(ranks[here], level)]
        children, inverse = np.unique(level.find_child(ranks[here]), return_inverse=True)
        numbers[here] = inverse.reshape(-1) + len(names)
        names += [level.children[number].path for number in children.tolist()]
    return numbers, names


def _keep_edges(edges: Int32, bundle: Int32, kept: Bool) -> tuple[Int32, Int32]:
    """The edges of some bundles, which are numbered anew."""
    numbers = np.cumsum(kept, dtype=np.int32) - 1
    chosen = kept[bundle]
    return edges[chosen], numbers[bundle[chosen]]


def _is_inside(ranks: Int32, level: Level) -> Bool:
    inside: Bool = (ranks >= level.first) & (ranks < level.last)
    return inside
