"""The part of a graph around a node."""

from __future__ import annotations

from tracklight.analysis.debugger.dump_rows import build_neighborhood

#: The inputs of each node of a chain of 10 nodes.
CHAIN = {node: [node - 1] if node else [] for node in range(10)}


def find(center: int, inputs: dict[int, list[int]], limit: int = 40) -> tuple[list[int], bool]:
    consumers: dict[int, list[int]] = {node: [] for node in inputs}
    for node, sources in inputs.items():
        for source in sources:
            consumers[source].append(node)
    found = build_neighborhood(center, inputs.__getitem__, consumers.__getitem__, limit)
    edges = {(found.nodes[source], found.nodes[target]) for source, target in found.edges}
    assert edges == {(it, node) for node in found.nodes for it in inputs[node] if it in found.nodes}
    return found.nodes, found.is_truncated


def test_more_inputs_than_consumers() -> None:
    assert find(5, CHAIN) == ([5, 4, 3, 2, 6], False)


def test_limit_keeps_the_nearest_nodes() -> None:
    star = {0: list(range(1, 100)), **{node: [] for node in range(1, 100)}}
    nodes, is_truncated = find(0, star, limit=10)
    assert nodes == list(range(10))
    assert is_truncated


def test_loops_end() -> None:
    assert find(0, {0: [2], 1: [0], 2: [1]}) == ([0, 2, 1], False)
