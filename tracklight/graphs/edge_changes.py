"""The edges of two graphs, paired: which came, which went, and where something else flows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.graphs.changes import Change
from tracklight.graphs.model import Edges, Graph, Output
from tracklight.graphs.tensors import Tensors
from tracklight.types import Int32

#: A node by its name, and which of those of that name it is.
NodeKey = tuple[str, int]
#: An edge by its ends, the output that it comes from, whether something flows, and which of those
#: that are alike in all this it is. Not by its place among the inputs: one more input before it
#: would make all edges after it new ones.
_EdgeKey = tuple[NodeKey, NodeKey, str, bool, int]


@dataclass(frozen=True, slots=True, eq=False)
class EdgePairs:
    """The edges of two graphs together; each side's own number of an edge, -1 where it has none."""

    edges: Edges
    before: Int32
    after: Int32
    change: Int32
    _tensors: tuple[Tensors, Tensors]

    def find_carried(self, edge: int) -> tuple[Output | None, Output | None]:
        """What flows along an edge, in the one graph and in the other."""
        if self.edges.control[edge]:
            return None, None
        old, new = int(self.before[edge]), int(self.after[edge])
        tensors_before, tensors_after = self._tensors
        return (
            tensors_before.carried(old) if old >= 0 else None,
            tensors_after.carried(new) if new >= 0 else None,
        )


def pair_edges(
    before: Graph, after: Graph, places: Mapping[NodeKey, int], keys: Sequence[Sequence[NodeKey]]
) -> EdgePairs:
    """``places`` of nodes in the graph of both; ``keys`` of the nodes of each, in their order."""
    old, new = (_index(graph, own) for graph, own in zip((before, after), keys, strict=True))
    joined = list(dict.fromkeys([*new, *old]))
    numbers_before = np.array([old.get(key, -1) for key in joined], np.int32)
    numbers_after = np.array([new.get(key, -1) for key in joined], np.int32)
    tensors = Tensors(before), Tensors(after)
    return EdgePairs(
        Edges(
            np.array([places[key[0]] for key in joined], np.int32),
            np.array([places[key[1]] for key in joined], np.int32),
            _join_positions(before.edges, after.edges, numbers_before, numbers_after),
            [key[2] for key in joined],
            np.array([key[3] for key in joined], bool),
        ),
        numbers_before,
        numbers_after,
        _find_changes(joined, numbers_before, numbers_after, tensors),
        tensors,
    )


def _index(graph: Graph, keys: Sequence[NodeKey]) -> dict[_EdgeKey, int]:
    seen: Counter[tuple[NodeKey, NodeKey, str, bool]] = Counter()
    numbers: dict[_EdgeKey, int] = {}
    for number, edge in enumerate(_iter_edges(graph, keys)):
        key = (*edge, seen[edge])
        numbers[key] = number
        seen[edge] += 1
    return numbers


def _iter_edges(
    graph: Graph, keys: Sequence[NodeKey]
) -> Iterator[tuple[NodeKey, NodeKey, str, bool]]:
    edges = graph.edges
    ends = edges.source.tolist(), edges.target.tolist()
    for source, target, output, control in zip(
        *ends, edges.output, edges.control.tolist(), strict=True
    ):
        yield keys[source], keys[target], output, control


def _join_positions(before: Edges, after: Edges, old: Int32, new: Int32) -> Int32:
    position = np.empty(len(old), np.int32)
    position[new < 0] = before.position[old[new < 0]]
    position[new >= 0] = after.position[new[new >= 0]]
    return position


def _find_changes(
    joined: Sequence[_EdgeKey], old: Int32, new: Int32, tensors: tuple[Tensors, Tensors]
) -> Int32:
    change = np.full(len(joined), Change.SAME, np.int32)
    change[old < 0], change[new < 0] = Change.ADDED, Change.REMOVED
    for place in np.flatnonzero(change == Change.SAME).tolist():
        is_control = joined[place][3]
        carried = tensors[0].carried(old[place]), tensors[1].carried(new[place])
        if not is_control and carried[0] != carried[1]:
            change[place] = Change.CHANGED
    return change
