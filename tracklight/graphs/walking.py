"""Ways through a graph: what a node depends on, what depends on it, and how two are joined."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.graphs.hierarchy import Hierarchy
from tracklight.types import Bool, Int32

Direction = Literal["forward", "backward", "undirected", "none"]
_Follow = Callable[[int], Sequence[int]]


class Neighbours:
    """Who reads from each leaf and from whom it reads, all by rank."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        edges, count = hierarchy.graph.edges, len(hierarchy.graph)
        source, target = hierarchy.rank[edges.source], hierarchy.rank[edges.target]
        every = np.ones(len(edges), bool)
        self._inputs = _List(target, source, every, count)
        self._outputs = _List(source, target, every, count)
        self._data_inputs = _List(target, source, ~edges.control, count)
        self._data_outputs = _List(source, target, ~edges.control, count)

    def trace(self, start: Iterable[int], inputs: bool, control: bool) -> tuple[Int32, list[int]]:
        """All ranks that are reached from some, themselves included, and those where it ends."""
        if control:
            follow = self._inputs if inputs else self._outputs
        else:
            follow = self._data_inputs if inputs else self._data_outputs
        before = _search(follow.of, start, frozenset())[0]
        ranks = np.sort(np.fromiter(before, np.int32, len(before)))
        return ranks, [rank for rank in ranks.tolist() if not follow.of(rank)]

    def find_path(self, start: range, end: range) -> tuple[Direction, list[int]]:
        """The fewest steps from one range of leaves to another: along the edges, else against them,
        else whichever way they lead."""
        goal = frozenset(end)

        def either(rank: int) -> Sequence[int]:
            return [*self._outputs.of(rank), *self._inputs.of(rank)]

        ways: list[tuple[Direction, _Follow]] = [
            ("forward", self._outputs.of),
            ("backward", self._inputs.of),
            ("undirected", either),
        ]
        for direction, follow in ways:
            before, reached = _search(follow, start, goal)
            if reached is not None:
                return direction, _unwind(before, reached)
        return "none", []


def join_ranks(ranks: Int32) -> tuple[Int32, Int32]:
    """Sorted ranks as ranges."""
    breaks = np.flatnonzero(np.diff(ranks) > 1)
    first = np.concatenate([ranks[:1], ranks[breaks + 1]])
    last = np.concatenate([ranks[breaks], ranks[-1:]]) + 1
    return first.astype(np.int32), last.astype(np.int32)


@dataclass(slots=True)
class _List:
    """The ``other`` ends of edges by the rank of their ``own`` ends."""

    starts: list[int]
    others: list[int]

    def __init__(self, own: Int32, other: Int32, kept: Bool, count: int) -> None:
        own, other = own[kept], other[kept]
        order = np.argsort(own, kind="stable")
        self.starts = np.searchsorted(own[order], np.arange(count + 1)).tolist()
        self.others = other[order].tolist()

    def of(self, rank: int) -> Sequence[int]:
        return self.others[self.starts[rank] : self.starts[rank + 1]]


def _search(
    follow: _Follow, start: Iterable[int], goal: frozenset[int]
) -> tuple[dict[int, int], int | None]:
    """Step by step further away: for each rank the one before it, and the first one of the goal."""
    before = {rank: -1 for rank in start}
    reached = next((rank for rank in before if rank in goal), None)
    waiting = deque(before)
    while waiting and reached is None:
        rank = waiting.popleft()
        for other in follow(rank):
            if other not in before:
                before[other] = rank
                waiting.append(other)
                if other in goal:
                    reached = other
                    break
    return before, reached


def _unwind(before: dict[int, int], rank: int) -> list[int]:
    way = []
    while rank >= 0:
        way.append(rank)
        rank = before[rank]
    return way[::-1]
