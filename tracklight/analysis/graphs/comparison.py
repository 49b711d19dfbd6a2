"""Compare two graphs: their union, with the change of each node and edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np

from tracklight.analysis.graphs import (
    Edges,
    Graph,
    NodeDetails,
    TensorLookup,
    TensorSpec,
    format_output,
)
from tracklight.types import Int32


class Change(IntEnum):
    """The change of a node or edge from one graph to the other."""

    SAME = 0
    ADDED = 1
    REMOVED = 2
    CHANGED = 3


ChangeName = Literal["same", "added", "removed", "changed"]
#: The names of `Change`, by number.
CHANGE_NAMES: tuple[ChangeName, ...] = ("same", "added", "removed", "changed")

#: The name of a node, and which of the nodes with that name it is.
NodeKey = tuple[str, int]
#: Source, target, output of the source, whether it is a control edge, and which of the edges that
#: agree in all of these it is. The input position is not part of the key: inserting an input would
#: otherwise change all edges after it.
_EdgeKey = tuple[NodeKey, NodeKey, str, bool, int]


def combine_changes(changes: Iterable[int]) -> ChangeName:
    """Return the common change of several items; "changed" if they differ."""
    kinds = set(changes)
    return CHANGE_NAMES[Change(kinds.pop()) if len(kinds) == 1 else Change.CHANGED]


@dataclass(frozen=True, slots=True)
class Difference:
    """A property of a node that differs; a value is empty if the property is missing."""

    property_name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class EdgeComparison:
    """The edges of both graphs."""

    edges: Edges
    before_index: Int32
    after_index: Int32
    """The index of each edge in the two graphs; -1 if it is missing there."""
    change: Int32
    """A `Change` for each edge."""
    _tensors: tuple[TensorLookup, TensorLookup]

    def get_tensors(self, edge: int) -> tuple[TensorSpec | None, TensorSpec | None]:
        """Return the tensor that an edge carries in each of the two graphs."""
        if self.edges.control[edge]:
            return None, None
        before, after = int(self.before_index[edge]), int(self.after_index[edge])
        tensors_before, tensors_after = self._tensors
        return (
            tensors_before.find_edge_tensor(before) if before >= 0 else None,
            tensors_after.find_edge_tensor(after) if after >= 0 else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two graphs and their union."""

    before: Graph
    after: Graph
    before_index: Int32
    after_index: Int32
    """The index of each node of the union in the two graphs; -1 if it is missing there."""
    change: Int32
    """A `Change` for each node of the union."""
    edges: EdgeComparison
    graph: Graph
    """The union."""

    def list_differences(self, node: int) -> list[Difference]:
        """Return the properties of a node that differ; empty if only one graph has the node."""
        old, new = int(self.before_index[node]), int(self.after_index[node])
        if old < 0 or new < 0:
            return []
        before, after = _list_properties(self.before, old), _list_properties(self.after, new)
        differing = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return [Difference(key, before.get(key, ""), after.get(key, "")) for key in differing]


def compare_graphs(before: Graph, after: Graph) -> Comparison:
    """Compare two graphs; nodes correspond if they have the same name."""
    old, new = _index_nodes(before), _index_nodes(after)
    keys = [*new, *(key for key in old if key not in new)]
    union_index = {key: index for index, key in enumerate(keys)}
    edges = compare_edges(before, after, union_index, (list(old), list(new)))
    before_index = np.array([old.get(key, -1) for key in keys], np.int32)
    after_index = np.array([new.get(key, -1) for key in keys], np.int32)
    pairs = list(zip(before_index.tolist(), after_index.tolist(), strict=True))

    def describe(node: int) -> NodeDetails:
        old_node, new_node = pairs[node]
        return before.describe(old_node) if new_node < 0 else after.describe(new_node)

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
        before, after, before_index, after_index, np.array(change, np.int32), edges, graph
    )


def _index_nodes(graph: Graph) -> dict[NodeKey, int]:
    seen: Counter[str] = Counter()
    nodes = {}
    for node, name in enumerate(graph.names):
        nodes[name, seen[name]] = node
        seen[name] += 1
    return nodes


def _list_inputs(graph: Graph) -> dict[int, list[str]]:
    """Return the inputs of every node, formatted as in a GraphDef."""
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
    is_same = (
        before.ops[was] == after.ops[now]
        and inputs[0].get(was) == inputs[1].get(now)
        and before.describe(was) == after.describe(now)
    )
    return Change.SAME if is_same else Change.CHANGED


def _list_properties(graph: Graph, node: int) -> dict[str, str]:
    details = graph.describe(node)
    return {
        "operation": graph.ops[node],
        "inputs": ", ".join(_list_node_inputs(graph, node)),
        "outputs": ", ".join(map(format_output, details.outputs)),
        "parameters": f"{details.parameters:,}",
        "device": details.device,
        "source": details.source,
        **details.attributes,
    }


def _list_node_inputs(graph: Graph, node: int) -> list[str]:
    edges = graph.edges
    rows = np.flatnonzero(edges.target == node).tolist()
    return [
        graph.names[edges.source[row]] + (f":{edges.output[row]}" if edges.output[row] else "")
        for row in rows
    ]


def compare_edges(
    before: Graph,
    after: Graph,
    union_index: Mapping[NodeKey, int],
    keys: Sequence[Sequence[NodeKey]],
) -> EdgeComparison:
    """Compare the edges of two graphs.

    Args:
        before: The first graph.
        after: The second graph.
        union_index: The index of each node in the union.
        keys: The keys of the nodes of each graph, in order.
    """
    old, new = _index_edges(before, keys[0]), _index_edges(after, keys[1])
    joined = list(dict.fromkeys([*new, *old]))
    before_index = np.array([old.get(key, -1) for key in joined], np.int32)
    after_index = np.array([new.get(key, -1) for key in joined], np.int32)
    tensors = TensorLookup(before), TensorLookup(after)
    return EdgeComparison(
        Edges(
            np.array([union_index[key[0]] for key in joined], np.int32),
            np.array([union_index[key[1]] for key in joined], np.int32),
            _merge_positions(before.edges, after.edges, before_index, after_index),
            [key[2] for key in joined],
            np.array([key[3] for key in joined], bool),
        ),
        before_index,
        after_index,
        _classify_edges(joined, before_index, after_index, tensors),
        tensors,
    )


def _index_edges(graph: Graph, keys: Sequence[NodeKey]) -> dict[_EdgeKey, int]:
    seen: Counter[tuple[NodeKey, NodeKey, str, bool]] = Counter()
    edges: dict[_EdgeKey, int] = {}
    for number, edge in enumerate(_iter_edges(graph, keys)):
        key = (*edge, seen[edge])
        edges[key] = number
        seen[edge] += 1
    return edges


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
    for row in np.flatnonzero(change == Change.SAME).tolist():
        is_control = joined[row][3]
        before, after = (
            tensors[0].find_edge_tensor(old[row]),
            tensors[1].find_edge_tensor(new[row]),
        )
        if not is_control and before != after:
            change[row] = Change.CHANGED
    return change
