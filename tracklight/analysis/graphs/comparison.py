"""What became of the parts of a graph from one version of it to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np

from tracklight.analysis.graphs.model import (
    Edges,
    Graph,
    NodeDetails,
    TensorLookup,
    TensorSpec,
    format_output,
)
from tracklight.types import Int32


class Change(IntEnum):
    """What became of a node or an edge from one graph to the other."""

    SAME = 0
    ADDED = 1
    REMOVED = 2
    CHANGED = 3


ChangeName = Literal["same", "added", "removed", "changed"]

#: By their numbers.
CHANGE_NAMES: tuple[ChangeName, ...] = ("same", "added", "removed", "changed")


def combine_changes(changes: Iterable[int]) -> ChangeName:
    """What is to say of several at once: something has changed where not all is of one kind."""
    kinds = set(changes)
    return CHANGE_NAMES[Change(kinds.pop()) if len(kinds) == 1 else Change.CHANGED]


# The edges of two graphs, paired: which came, which went, and where something else flows.

#: A node by its name, and which of those of that name it is.
NodeKey = tuple[str, int]

#: An edge by its ends, the output that it comes from, whether something flows, and which of those
#: that are alike in all this it is. Not by its place among the inputs: one more input before it
#: would make all edges after it new ones.
_EdgeKey = tuple[NodeKey, NodeKey, str, bool, int]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeComparison:
    """The edges of two graphs together; each side's own number of an edge, -1 where it has none."""

    edges: Edges
    before_index: Int32
    after_index: Int32
    change: Int32
    _tensors: tuple[TensorLookup, TensorLookup]

    def get_tensors(self, edge: int) -> tuple[TensorSpec | None, TensorSpec | None]:
        """What flows along an edge, in the one graph and in the other."""
        if self.edges.control[edge]:
            return None, None
        old, new = int(self.before_index[edge]), int(self.after_index[edge])
        tensors_before, tensors_after = self._tensors
        return (
            tensors_before.find_edge_tensor(old) if old >= 0 else None,
            tensors_after.find_edge_tensor(new) if new >= 0 else None,
        )


def compare_edges(
    before: Graph, after: Graph, places: Mapping[NodeKey, int], keys: Sequence[Sequence[NodeKey]]
) -> EdgeComparison:
    """``places`` of nodes in the graph of both; ``keys`` of the nodes of each, in their order."""
    old, new = (_index_edges(graph, own) for graph, own in zip((before, after), keys, strict=True))
    joined = list(dict.fromkeys([*new, *old]))
    numbers_before = np.array([old.get(key, -1) for key in joined], np.int32)
    numbers_after = np.array([new.get(key, -1) for key in joined], np.int32)
    tensors = TensorLookup(before), TensorLookup(after)
    return EdgeComparison(
        Edges(
            np.array([places[key[0]] for key in joined], np.int32),
            np.array([places[key[1]] for key in joined], np.int32),
            _merge_positions(before.edges, after.edges, numbers_before, numbers_after),
            [key[2] for key in joined],
            np.array([key[3] for key in joined], bool),
        ),
        numbers_before,
        numbers_after,
        _classify_edges(joined, numbers_before, numbers_after, tensors),
        tensors,
    )


def _index_edges(graph: Graph, keys: Sequence[NodeKey]) -> dict[_EdgeKey, int]:
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


def _merge_positions(before: Edges, after: Edges, old: Int32, new: Int32) -> Int32:
    position = np.empty(len(old), np.int32)
    position[new < 0] = before.position[old[new < 0]]
    position[new >= 0] = after.position[new[new >= 0]]
    return position


def _classify_edges(
    joined: Sequence[_EdgeKey], old: Int32, new: Int32, tensors: tuple[TensorLookup, TensorLookup]
) -> Int32:
    change = np.full(len(joined), Change.SAME, np.int32)
    change[old < 0], change[new < 0] = Change.ADDED, Change.REMOVED
    for place in np.flatnonzero(change == Change.SAME).tolist():
        is_control = joined[place][3]
        carried = tensors[0].find_edge_tensor(old[place]), tensors[1].find_edge_tensor(new[place])
        if not is_control and carried[0] != carried[1]:
            change[place] = Change.CHANGED
    return change


# Two graphs as one that has all nodes and edges of both, with what became of each.


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same about a node; nothing for what was not there."""

    property_name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Where the nodes of the graph of both stand in each of the two; -1 for who is not there."""

    before: Graph
    after: Graph
    before_index: Int32
    after_index: Int32
    change: Int32
    edges: EdgeComparison
    graph: Graph

    def list_differences(self, place: int) -> list[Difference]:
        """In what the graphs differ about a node; nothing where only one of them has it."""
        old, new = int(self.before_index[place]), int(self.after_index[place])
        if old < 0 or new < 0:
            return []
        one, other = _list_properties(self.before, old), _list_properties(self.after, new)
        differing = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        return [Difference(key, one.get(key, ""), other.get(key, "")) for key in differing]


def compare_graphs(before: Graph, after: Graph) -> Comparison:
    old, new = _index_nodes(before), _index_nodes(after)
    keys = [*new, *(key for key in old if key not in new)]
    places = {key: place for place, key in enumerate(keys)}
    edges = compare_edges(before, after, places, (list(old), list(new)))
    place_before = np.array([old.get(key, -1) for key in keys], np.int32)
    place_after = np.array([new.get(key, -1) for key in keys], np.int32)
    pairs = list(zip(place_before.tolist(), place_after.tolist(), strict=True))

    def describe(place: int) -> NodeDetails:
        was, now = pairs[place]
        return before.describe(was) if now < 0 else after.describe(now)

    graph = Graph(
        [name for name, _ in keys],
        [before.ops[was] if now < 0 else after.ops[now] for was, now in pairs],
        edges.edges,
        describe,
        {**before.functions, **after.functions},
        tuple(dict.fromkeys([*before.problems, *after.problems])),
    )
    inputs = _list_inputs(before), _list_inputs(after)
    change = [_classify_node(before, after, was, now, inputs) for was, now in pairs]
    return Comparison(
        before, after, place_before, place_after, np.array(change, np.int32), edges, graph
    )


def _index_nodes(graph: Graph) -> dict[NodeKey, int]:
    seen: Counter[str] = Counter()
    places = {}
    for place, name in enumerate(graph.names):
        places[name, seen[name]] = place
        seen[name] += 1
    return places


def _list_inputs(graph: Graph) -> dict[int, list[str]]:
    """The inputs of every node as a GraphDef would write them."""
    edges, inputs = graph.edges, dict[int, list[str]]()
    for source, target, output, control in zip(
        edges.source.tolist(),
        edges.target.tolist(),
        edges.output,
        edges.control.tolist(),
        strict=True,
    ):
        name = graph.names[source]
        text = f"^{name}" if control else name if output in ("", "0") else f"{name}:{output}"
        inputs.setdefault(target, []).append(text)
    return inputs


def _classify_node(
    before: Graph,
    after: Graph,
    was: int,
    now: int,
    inputs: tuple[dict[int, list[str]], dict[int, list[str]]],
) -> Change:
    if was < 0 or now < 0:
        return Change.ADDED if was < 0 else Change.REMOVED
    same = (
        before.ops[was] == after.ops[now]
        and inputs[0].get(was) == inputs[1].get(now)
        and before.describe(was) == after.describe(now)
    )
    return Change.SAME if same else Change.CHANGED


def _list_properties(graph: Graph, place: int) -> dict[str, str]:
    """All there is to say about a node, line by line."""
    detail = graph.describe(place)
    shapes = map(format_output, detail.outputs)
    return {
        "operation": graph.ops[place],
        "inputs": ", ".join(_list_inputs_of(graph, place)),
        "outputs": ", ".join(shapes),
        "parameters": f"{detail.parameters:,}",
        "device": detail.device,
        "source": detail.source,
        **detail.attributes,
    }


def _list_inputs_of(graph: Graph, place: int) -> list[str]:
    edges = graph.edges
    rows = np.flatnonzero(edges.target == place).tolist()
    return [
        graph.names[edges.source[row]] + (f":{edges.output[row]}" if edges.output[row] else "")
        for row in rows
    ]
