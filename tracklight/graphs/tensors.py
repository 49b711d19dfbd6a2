"""What flows along edges: found node by node when it is asked for, and then remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan, prod

import numpy as np

from tracklight.graphs.attributes import format_shape
from tracklight.graphs.model import Graph, Output
from tracklight.types import Float64, Int32

#: So many nodes are described for one picture; what larger bundles carry is told by a fair sample.
_MOST_DESCRIBED = 8000
_MOST_EACH = 256
MOST_NUMBERS = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """What flows in some bundles of edges."""

    size: Float64
    """How many numbers; NaN where it is not known. Of large bundles it is estimated, and a size
    that is only known when the model runs counts as one."""
    label: list[str]
    dtype: list[str]


class Tensors:
    """The outputs of the nodes of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outputs: dict[int, tuple[Output, ...]] = {}

    def outputs(self, place: int) -> tuple[Output, ...]:
        found = self._outputs.get(place)
        if found is None:
            found = self._outputs[place] = self._graph.describe(place).outputs
        return found

    def carried(self, edge: int) -> Output | None:
        """The tensor that flows along an edge, where the graph tells."""
        edges = self._graph.edges
        outputs = self.outputs(int(edges.source[edge]))
        if len(outputs) == 1:
            return outputs[0]
        slot = edges.output[edge].rpartition(":")[2]
        place = int(slot) if slot.isdecimal() else 0
        return outputs[place] if place < len(outputs) else None

    def measure(self, edges: Int32, bundle: Int32, count: int) -> Flow:
        """What flows in ``count`` bundles, given which of them each edge is in."""
        size, label, dtype = np.full(count, nan), [""] * count, [""] * count
        data = ~self._graph.edges.control[edges]
        edges, bundle = edges[data], bundle[data]
        order = np.argsort(bundle, kind="stable")
        starts = np.searchsorted(bundle[order], np.arange(count + 1))
        each = max(1, min(_MOST_EACH, _MOST_DESCRIBED // max(count, 1)))
        for number in np.flatnonzero(np.diff(starts)).tolist():
            inside = edges[order[starts[number] : starts[number + 1]]]
            size[number], label[number], dtype[number] = self._sum_up(inside, each)
        return Flow(size, label, dtype)

    def _sum_up(self, edges: Int32, each: int) -> tuple[float, str, str]:
        seen = edges if len(edges) <= each else edges[:: -(-len(edges) // each)]
        carried = {self._key(edge): self.carried(edge) for edge in seen.tolist()}
        tensors = [tensor for tensor in carried.values() if tensor is not None]
        share = len(edges) / len(seen)
        shape = format_shape(tensors[0].shape) if tensors else ""
        label = shape if len(carried) == 1 else f"{round(len(carried) * share):,} tensors"
        return _add_sizes(tensors) * share, label, _join_types(tensors)

    def _key(self, edge: int) -> tuple[int, str]:
        edges = self._graph.edges
        return int(edges.source[edge]), edges.output[edge]


def _add_sizes(tensors: Iterable[Output]) -> float:
    counts = [count for tensor in tensors if (count := count_known(tensor)) is not None]
    return float(sum(counts)) if counts else nan


def count_known(tensor: Output) -> int | None:
    """How many numbers it holds for each example of a batch whose size is not known; a shape may
    claim more than JSON has numbers for."""
    if tensor.shape is None:
        return None
    return min(prod(1 if size is None else size for size in tensor.shape), MOST_NUMBERS)


def _join_types(tensors: Iterable[Output]) -> str:
    kinds = {tensor.dtype for tensor in tensors}
    return kinds.pop() if len(kinds) == 1 else ""
