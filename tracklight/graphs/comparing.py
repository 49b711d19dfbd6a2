"""Two graphs as one that has all nodes and edges of both, with what became of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tracklight.graphs.attributes import format_output
from tracklight.graphs.changes import Change
from tracklight.graphs.edge_changes import EdgePairs, NodeKey, pair_edges
from tracklight.graphs.model import Detail, Graph
from tracklight.types import Int32


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same about a node; nothing for what was not there."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Where the nodes of the graph of both stand in each of the two; -1 for who is not there."""

    before: Graph
    after: Graph
    place_before: Int32
    place_after: Int32
    change: Int32
    edges: EdgePairs
    graph: Graph

    def find_differences(self, place: int) -> list[Difference]:
        """In what the graphs differ about a node; nothing where only one of them has it."""
        old, new = int(self.place_before[place]), int(self.place_after[place])
        if old < 0 or new < 0:
            return []
        one, other = _say(self.before, old), _say(self.after, new)
        differing = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        return [Difference(key, one.get(key, ""), other.get(key, "")) for key in differing]


def compare_graphs(before: Graph, after: Graph) -> Comparison:
    old, new = _index(before), _index(after)
    keys = [*new, *(key for key in old if key not in new)]
    places = {key: place for place, key in enumerate(keys)}
    edges = pair_edges(before, after, places, (list(old), list(new)))
    place_before = np.array([old.get(key, -1) for key in keys], np.int32)
    place_after = np.array([new.get(key, -1) for key in keys], np.int32)
    pairs = list(zip(place_before.tolist(), place_after.tolist(), strict=True))

    def describe(place: int) -> Detail:
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
    change = [_find_change(before, after, was, now, inputs) for was, now in pairs]
    return Comparison(
        before, after, place_before, place_after, np.array(change, np.int32), edges, graph
    )


def _index(graph: Graph) -> dict[NodeKey, int]:
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


def _find_change(
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


def _say(graph: Graph, place: int) -> dict[str, str]:
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
