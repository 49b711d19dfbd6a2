"""What of a graph depends on the model's inputs: not weights, constants and what they make."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracklight.graphs.sheet import Sheet

#: What readers and frameworks call the inputs of a model.
_INPUTS = frozenset(
    ("Placeholder", "PlaceholderV2", "Input", "InputLayer", "IO Node", "_Arg", "Arg")
)


class Inflow:
    """What each node reads, all by rank; control edges carry nothing and are left out."""

    def __init__(self, sheet: Sheet) -> None:
        count, edges, rank = len(sheet.graph), sheet.graph.edges, sheet.hierarchy.rank
        rows = np.flatnonzero(~edges.control)
        rows = rows[np.lexsort((edges.position[rows], rank[edges.target[rows]]))]
        self._edges: list[int] = rows.tolist()
        self._sources: list[int] = rank[edges.source[rows]].tolist()
        self._starts = np.searchsorted(rank[edges.target[rows]], np.arange(count + 1)).tolist()
        self.flowing = np.zeros(count, bool)
        """Whether a node is an input of the model or computed from one."""
        reached, _ = sheet.neighbours.trace(_iter_inputs(sheet), inputs=False, control=False)
        self.flowing[reached] = True

    def edges(self, rank: int) -> list[int]:
        """In the order of the inputs."""
        return self._edges[self._starts[rank] : self._starts[rank + 1]]

    def sources(self, rank: int) -> list[int]:
        """The nodes that it reads, likewise."""
        return self._sources[self._starts[rank] : self._starts[rank + 1]]


def name_op(op: str) -> str:
    """What an operation is called in all frameworks: ``aten::add_`` and ``AddV2`` are ``add``."""
    return op.rpartition(":")[2].rpartition(".")[2].lower().removesuffix("v2").rstrip("_")


def _iter_inputs(sheet: Sheet) -> Iterator[int]:
    for place, op in enumerate(sheet.graph.ops):
        if op in _INPUTS and not _is_variable(sheet, place):
            yield int(sheet.hierarchy.rank[place])


def _is_variable(sheet: Sheet, place: int) -> bool:
    """Functions of TensorFlow get the variables that they read as inputs as well."""
    return any(output.dtype == "resource" for output in sheet.tensors.outputs(place))
