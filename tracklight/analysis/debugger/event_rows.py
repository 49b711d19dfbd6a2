"""The events of a dump as a table that can be filtered, and the graph around one of its nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.debug_events import Health
from tracklight.types import Float64, Int64

#: Selections that are kept, since scrolling asks for the same one again and again.
_MAX_SELECTIONS = 4


class EventName(NamedTuple):
    """What rows with the same name have in common. ``op_name`` of an execution is empty."""

    op_type: str
    op_name: str = ""
    slot: int = 0
    graph: str = ""


class EventRows:
    """Rows of a dump. Millions of rows share few names, so text is only compared with the names.

    Args:
        names: The distinct names.
        ids: The name of each row.
        wall_time: The time of each row.
        health: The worst health of the tensors of each row.
    """

    def __init__(
        self,
        names: Sequence[EventName],
        ids: NDArray[Any],
        wall_time: Float64,
        health: NDArray[np.uint8],
    ) -> None:
        self.names, self.ids = names, ids
        self.wall_time, self.health = wall_time, health
        self._selections: dict[tuple[str, str, str, bool], Int64] = {}

    def select(
        self, query: str = "", graph: str = "", op_name: str = "", only_non_finite: bool = False
    ) -> Int64 | None:
        """Return the rows that match all filters, in order; None for all rows.

        Args:
            query: Part of the type or name of the operation.
            graph: Id of the graph, together with ``op_name``.
            op_name: Name of the operation.
            only_non_finite: Only rows with NaN or Inf.
        """
        key = query.lower(), graph, op_name, only_non_finite
        if not (query or op_name or only_non_finite):
            return None
        rows = self._selections.pop(key, None)
        if rows is None:
            rows = self._select(*key)
        self._selections[key] = rows
        while len(self._selections) > _MAX_SELECTIONS:
            del self._selections[next(iter(self._selections))]
        return rows

    def _select(self, query: str, graph: str, op_name: str, only_non_finite: bool) -> Int64:
        matches = [
            query in f"{name.op_type} {name.op_name}".lower()
            and (not op_name or (name.op_name == op_name and graph in ("", name.graph)))
            for name in self.names
        ]
        # Rows without a name have the number -1 or the number of names.
        is_shown = np.array([*matches, False], bool)[self.ids]
        if only_non_finite:
            is_shown &= self.health == Health.NON_FINITE
        return np.flatnonzero(is_shown).astype(np.int64)


# ---- the graph around a node

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
