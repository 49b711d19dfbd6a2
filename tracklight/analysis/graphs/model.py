"""One graph, whichever framework it is of.

Names, operations and edges are there at once, as columns; what only somebody who looks at a node
wants to know of it is found when they do. A hundred thousand nodes are read in a third of
a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan, prod
from typing import Any, NamedTuple

import numpy as np

from tracklight.types import Bool, Float64, Int32, Int64

#: Sizes along each dimension, None for one that is not known; None for a rank that is not known.
Shape = tuple[int | None, ...] | None

#: What a model's own inputs and outputs are called by readers of formats that have no word for it.
INPUT, OUTPUT = "Input", "Output"

_MAX_ELEMENTS = 2**53
"""From here on JavaScript counts in steps of two; a file that says so is hostile or damaged."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor that a node gives; ``dtype`` is empty where the graph does not tell."""

    dtype: str
    shape: Shape

    def count_elements(self) -> int | None:
        """How many numbers it holds; None as well for more than any machine can."""
        if self.shape is None or any(size is None for size in self.shape):
            return None
        count = prod(size for size in self.shape if size is not None)
        return count if count <= _MAX_ELEMENTS else None


@dataclass(frozen=True, slots=True)
class NodeDetails:
    """What is known of one node besides its name, operation and edges."""

    outputs: tuple[TensorSpec, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    parameters: int = 0
    """How many trained numbers it owns."""
    functions: tuple[str, ...] = ()
    """The functions of the graph that it runs."""
    source: str = ""
    """The line of a program that it comes from, as in ``model.py:12 in forward``."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Who reads what, in the order of the readers and of their inputs."""

    source: Int32
    target: Int32
    position: Int32
    """Which input of the target it is; control inputs are counted along."""
    output: Sequence[str]
    """Which output of the source it is: a number, or for functions a name and a number."""
    control: Bool
    """True where nothing flows but the order of the two matters."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes by their places in ``names``; a slash in a name opens a scope."""

    names: Sequence[str]
    ops: Sequence[str]
    edges: Edges
    describe: Callable[[int], NodeDetails]
    functions: Mapping[str, Graph] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Sentences on what does not fit together."""

    def __len__(self) -> int:
        return len(self.names)


# Finds the nodes that others name as their inputs.

_MAX_LISTED_NAMES = 3


class UniqueNames:
    """Gives each node a name that no other has: those that come later get a number."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def make_unique(self, name: str) -> str:
        while count := self._counts.get(name, 0):
            self._counts[name] = count + 1
            name = f"{name}_{count}"
        self._counts[name] = 1
        return name


class InputRef(NamedTuple):
    """An output of a node that another one reads."""

    source: str
    output: str
    is_control: bool


class EdgeBuilder:
    """Collects edges by name; what leads nowhere is remembered for a sentence."""

    def __init__(self, names: Sequence[str]) -> None:
        self._node_by_name: dict[str, int] = {}
        self._duplicates: dict[str, None] = {}
        self._missing: dict[str, None] = {}
        # Columns, as a tuple an edge would be one more thing for the garbage collector to walk.
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._positions: list[int] = []
        self._controls: list[bool] = []
        self._outputs: list[str] = []
        for place, name in enumerate(names):
            if self._node_by_name.setdefault(name, place) != place:
                self._duplicates[name] = None

    def add(self, target: int, position: int, source: str, output: str, control: bool) -> None:
        found = self._node_by_name.get(source)
        if found is None:
            self.add_missing(source)
            return
        self._sources.append(found)
        self._targets.append(target)
        self._positions.append(position)
        self._outputs.append(output)
        self._controls.append(control)

    def add_many(
        self,
        first: int,
        counts: Int64,
        names: Sequence[str],
        split: Callable[[int, str], InputRef | None],
    ) -> None:
        """The inputs of many nodes, by the number that each has, from the node ``first`` on.

        Nearly all are plain names of nodes with one output. The others ``split`` takes apart, with
        None for what need not be there.
        """
        sources = [self._node_by_name.get(name) for name in names]
        targets = np.repeat(np.arange(first, first + len(counts)), counts).tolist()
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        positions = (np.arange(len(names)) - begins).tolist()
        begin = 0
        for at in [at for at, source in enumerate(sources) if source is None]:
            self._extend(sources[begin:at], targets[begin:at], positions[begin:at])
            if found := split(targets[at], names[at]):
                self.add(targets[at], positions[at], *found)
            begin = at + 1
        self._extend(sources[begin:], targets[begin:], positions[begin:])

    def _extend(self, sources: list[Any], targets: list[int], positions: list[int]) -> None:
        self._sources += sources
        self._targets += targets
        self._positions += positions
        self._outputs += ["0"] * len(sources)
        self._controls += [False] * len(sources)

    def add_missing(self, source: str) -> None:
        self._missing[source] = None

    def build(self) -> Edges:
        ends = (self._sources, self._targets, self._positions)
        source, target, position = (np.array(column, np.int32) for column in ends)
        return Edges(source, target, position, self._outputs, np.array(self._controls, bool))

    def list_problems(self) -> tuple[str, ...]:
        said = []
        if self._missing:
            said.append(
                f"{_count_names(self._missing, 'input')} named but not there: {_join_names(self._missing)}"
            )
        if self._duplicates:
            said.append(
                f"{_count_names(self._duplicates, 'name')} given to several nodes: {_join_names(self._duplicates)}"
            )
        return tuple(said)


def _count_names(names: dict[str, None], noun: str) -> str:
    return f"1 {noun} is" if len(names) == 1 else f"{len(names):,} {noun}s are"


def _join_names(names: Iterable[str]) -> str:
    first = list(names)
    more = ", …" if len(first) > _MAX_LISTED_NAMES else ""
    return ", ".join(first[:_MAX_LISTED_NAMES]) + more


# What flows along edges: found node by node when it is asked for, and then remembered.

#: So many nodes are described for one picture; what larger bundles carry is told by a fair sample.
_MAX_DESCRIBED = 8000

_MAX_DESCRIBED_PER_BUNDLE = 256

MAX_ELEMENTS = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class BundleTensors:
    """What flows in some bundles of edges."""

    size: Float64
    """How many numbers; NaN where it is not known. Of large bundles it is estimated, and a size
    that is only known when the model runs counts as one."""
    label: list[str]
    dtype: list[str]


class TensorLookup:
    """The outputs of the nodes of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outputs: dict[int, tuple[TensorSpec, ...]] = {}

    def get_outputs(self, place: int) -> tuple[TensorSpec, ...]:
        found = self._outputs.get(place)
        if found is None:
            found = self._outputs[place] = self._graph.describe(place).outputs
        return found

    def find_edge_tensor(self, edge: int) -> TensorSpec | None:
        """The tensor that flows along an edge, where the graph tells."""
        edges = self._graph.edges
        outputs = self.get_outputs(int(edges.source[edge]))
        if len(outputs) == 1:
            return outputs[0]
        slot = edges.output[edge].rpartition(":")[2]
        place = int(slot) if slot.isdecimal() else 0
        return outputs[place] if place < len(outputs) else None

    def measure_bundles(self, edges: Int32, bundle: Int32, count: int) -> BundleTensors:
        """What flows in ``count`` bundles, given which of them each edge is in."""
        size, label, dtype = np.full(count, nan), [""] * count, [""] * count
        data = ~self._graph.edges.control[edges]
        edges, bundle = edges[data], bundle[data]
        order = np.argsort(bundle, kind="stable")
        starts = np.searchsorted(bundle[order], np.arange(count + 1))
        each = max(1, min(_MAX_DESCRIBED_PER_BUNDLE, _MAX_DESCRIBED // max(count, 1)))
        for number in np.flatnonzero(np.diff(starts)).tolist():
            inside = edges[order[starts[number] : starts[number + 1]]]
            size[number], label[number], dtype[number] = self._summarize(inside, each)
        return BundleTensors(size, label, dtype)

    def _summarize(self, edges: Int32, each: int) -> tuple[float, str, str]:
        seen = edges if len(edges) <= each else edges[:: -(-len(edges) // each)]
        carried = {self._key(edge): self.find_edge_tensor(edge) for edge in seen.tolist()}
        tensors = [tensor for tensor in carried.values() if tensor is not None]
        share = len(edges) / len(seen)
        shape = format_shape(tensors[0].shape) if tensors else ""
        label = shape if len(carried) == 1 else f"{round(len(carried) * share):,} tensors"
        return _add_sizes(tensors) * share, label, _join_types(tensors)

    def _key(self, edge: int) -> tuple[int, str]:
        edges = self._graph.edges
        return int(edges.source[edge]), edges.output[edge]


def _add_sizes(tensors: Iterable[TensorSpec]) -> float:
    counts = [count for tensor in tensors if (count := count_known_elements(tensor)) is not None]
    return float(sum(counts)) if counts else nan


def count_known_elements(tensor: TensorSpec) -> int | None:
    """How many numbers it holds for each example of a batch whose size is not known; a shape may
    claim more than JSON has numbers for."""
    if tensor.shape is None:
        return None
    return min(prod(1 if size is None else size for size in tensor.shape), MAX_ELEMENTS)


def _join_types(tensors: Iterable[TensorSpec]) -> str:
    kinds = {tensor.dtype for tensor in tensors}
    return kinds.pop() if len(kinds) == 1 else ""


_CROSS = "\N{MULTIPLICATION SIGN}"


def format_shape(shape: Shape) -> str:
    """Sizes with a cross between them, or ``scalar``; nothing for one that is not known."""
    if shape is None:
        return ""
    return _CROSS.join("?" if size is None else str(size) for size in shape) or "scalar"


def format_output(output: TensorSpec) -> str:
    """Its type and its shape, as far as they are known."""
    return f"{output.dtype} {format_shape(output.shape)}".strip()
