"""The part of a graph around a node: what it is computed from, and what uses it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

NodeT = TypeVar("NodeT", bound=Hashable)

#: A problem comes from the inputs, so more of them are shown than of what uses the node.
_INPUT_LEVELS = 3
_CONSUMER_LEVELS = 1


@dataclass(frozen=True)
class Neighborhood(Generic[NodeT]):
    """Nodes, the one in the center first, and edges between their indexes."""

    nodes: list[NodeT]
    edges: list[tuple[int, int]]
    is_truncated: bool
    """Whether nodes were left out to stay below the limit."""


def find_neighborhood(
    center: NodeT,
    get_inputs: Callable[[NodeT], Iterable[NodeT]],
    get_consumers: Callable[[NodeT], Iterable[NodeT]],
    limit: int,
) -> Neighborhood[NodeT]:
    """Return the nodes within a few edges of a node, the nearest first.

    Args:
        center: The node in the center.
        get_inputs: Returns the nodes that a node is computed from.
        get_consumers: Returns the nodes that use a node.
        limit: Largest number of nodes.
    """
    found = {center: 0}
    is_truncated = False
    for get_neighbors, levels in ((get_inputs, _INPUT_LEVELS), (get_consumers, _CONSUMER_LEVELS)):
        queue = deque([(center, 0)])
        while queue:
            node, level = queue.popleft()
            if level == levels:
                continue
            for neighbor in get_neighbors(node):
                if neighbor in found:
                    continue
                if len(found) >= limit:
                    is_truncated = True
                    break
                found[neighbor] = len(found)
                queue.append((neighbor, level + 1))
    edges = {
        (found[source], target)
        for node, target in found.items()
        for source in get_inputs(node)
        if source in found and source != node
    }
    return Neighborhood(list(found), sorted(edges), is_truncated)
