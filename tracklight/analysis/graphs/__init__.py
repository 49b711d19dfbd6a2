"""Model graphs: parsing, hierarchy, queries and comparison. No HTTP.

This module has the graph model that all parsers produce, whatever framework a graph comes from.
`Graph` holds names, operations and edges as columns. Everything else about a node (shapes,
attributes, device) is decoded on demand by ``Graph.describe``, so that a graph with 100,000 nodes
loads in a fraction of a second. `EdgeBuilder` resolves input names to edges while parsing;
`TensorLookup` finds the tensors that edges carry. `OpDocs` has the names of inputs and a line of
documentation of operators; `find_output_types` returns how the types of the outputs of a TensorFlow
operation follow from its attributes.

Continue with `parsers` (logged graphs and model files; one module per format). `graph_index`
combines the rest for the Graphs dashboard, searches and traces: `hierarchy` arranges nodes in
scopes, `groups` computes what an open group shows, `statistics` and `insights` summarize,
`comparison` compares two graphs.

May import `tracklight.formats`, `tracklight.types`, `tracklight.errors` and `tracklight.util`.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import nan, prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import Message
from tracklight.types import Bool, Float64, Int32, Int64

#: The size of each dimension: a name if it is symbolic, None if it is unknown; None for a tensor of
#: unknown rank.
Shape = tuple[int | str | None, ...] | None

#: Reads the weights of a node by name.
WeightReader = Callable[[], Mapping[str, NDArray[Any]]]

#: The ops of a model's inputs and outputs, for formats that do not represent them as nodes.
INPUT, OUTPUT = "Input", "Output"

#: The ops of a function's arguments and results, as in TensorFlow's function graphs.
ARGUMENT, RESULT = "_Arg", "_Retval"

#: The largest integer that JavaScript represents exactly; larger counts come from damaged files.
MAX_ELEMENTS = 2**53

#: At most this many nodes are described to measure one set of bundles, and this many per bundle.
_MAX_DESCRIBED = 8000
_MAX_DESCRIBED_PER_BUNDLE = 256

_MAX_LISTED_NAMES = 3


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Type and shape of a tensor; ``dtype`` is empty if unknown."""

    dtype: str
    shape: Shape

    def count_elements(self) -> int | None:
        """Return the number of elements; None if it is unknown or implausibly large."""
        if self.shape is None or any(not isinstance(size, int) for size in self.shape):
            return None
        count = prod(size for size in self.shape if isinstance(size, int))
        return count if count <= MAX_ELEMENTS else None


@dataclass(frozen=True, slots=True)
class NodeDetails:
    """What is known about a node besides its name, operation and edges."""

    outputs: tuple[TensorSpec, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    parameters: int = 0
    """Number of trainable values that the node owns."""
    functions: tuple[str, ...] = ()
    """The functions of the graph that it calls."""
    source: str = ""
    """The source line that created it, such as ``model.py:12 in forward``."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges as columns, ordered by target and input position."""

    source: Int32
    """Node index."""
    target: Int32
    """Node index."""
    position: Int32
    """Which input of the target it is; control inputs count as well."""
    output: Sequence[str]
    """Which output of the source it is: a number, or in functions a name and a number."""
    control: Bool
    """True for control dependencies, which carry no tensor."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes by index; slashes in names separate scopes."""

    names: Sequence[str]
    ops: Sequence[str]
    edges: Edges
    describe: Callable[[int], NodeDetails]
    """Decodes the details of the node with an index."""
    functions: Mapping[str, Graph] = field(default_factory=dict)
    """The bodies of functions that nodes call, by name."""
    problems: tuple[Message, ...] = ()
    """Inconsistencies for the user, such as inputs that do not exist."""
    weights: Mapping[int, WeightReader] = field(default_factory=dict)
    """Readers of the weights, by the index of the node that owns them."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What the header of a model file says: format, producer, versions."""

    def __len__(self) -> int:
        return len(self.names)


class UniqueNames:
    """Make names unique by appending a number to repeated ones."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def make_unique(self, name: str) -> str:
        while count := self._counts.get(name, 0):
            self._counts[name] = count + 1
            name = f"{name}_{count}"
        self._counts[name] = 1
        return name


class InputRef(NamedTuple):
    """A reference to an output of another node."""

    source: str
    output: str
    is_control: bool


class EdgeBuilder:
    """Build edges from references by name, and collect references that do not resolve.

    Args:
        names: The names of all nodes. If a name is repeated, references mean the first one.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._node_by_name: dict[str, int] = {}
        self._duplicates: dict[str, None] = {}
        self._missing: dict[str, None] = {}
        # Columns instead of one tuple per edge: fewer objects for the garbage collector.
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._positions: list[int] = []
        self._controls: list[bool] = []
        self._outputs: list[str] = []
        for node, name in enumerate(names):
            if self._node_by_name.setdefault(name, node) != node:
                self._duplicates[name] = None

    def add(self, target: int, position: int, source: str, output: str, control: bool) -> None:
        """Add an edge from the node named ``source`` to the node with index ``target``."""
        node = self._node_by_name.get(source)
        if node is None:
            self.add_missing(source)
            return
        self._sources.append(node)
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
        """Add the inputs of consecutive nodes in one go.

        Args:
            first: Index of the first node.
            counts: Number of inputs of each node.
            names: The inputs of all nodes, concatenated. Nearly all are plain node names.
            split: Called with the target and the text of an input that is not a node name;
                returns None for inputs that may be missing.
        """
        sources = [self._node_by_name.get(name) for name in names]
        targets = np.repeat(np.arange(first, first + len(counts)), counts).tolist()
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        positions = (np.arange(len(names)) - starts).tolist()
        begin = 0
        for row in [row for row, source in enumerate(sources) if source is None]:
            self._extend(sources[begin:row], targets[begin:row], positions[begin:row])
            if reference := split(targets[row], names[row]):
                self.add(targets[row], positions[row], *reference)
            begin = row + 1
        self._extend(sources[begin:], targets[begin:], positions[begin:])

    def _extend(self, sources: list[Any], targets: list[int], positions: list[int]) -> None:
        self._sources += sources
        self._targets += targets
        self._positions += positions
        self._outputs += ["0"] * len(sources)
        self._controls += [False] * len(sources)

    def add_missing(self, source: str) -> None:
        """Record a reference to a node that does not exist."""
        self._missing[source] = None

    def build(self) -> Edges:
        ends = (self._sources, self._targets, self._positions)
        source, target, position = (np.array(column, np.int32) for column in ends)
        return Edges(source, target, position, self._outputs, np.array(self._controls, bool))

    def list_problems(self) -> tuple[Message, ...]:
        """Return messages about missing inputs and duplicate names."""
        problems = []
        if self._missing:
            problems.append(
                Message.format(
                    "graphs.missing_inputs",
                    "missing inputs ({count:,}): {names}",
                    count=len(self._missing),
                    names=_join_names(self._missing),
                )
            )
        if self._duplicates:
            problems.append(
                Message.format(
                    "graphs.duplicate_names",
                    "duplicate names ({count:,}): {names}",
                    count=len(self._duplicates),
                    names=_join_names(self._duplicates),
                )
            )
        return tuple(problems)


def locate_problem(scope: str, problem: Message) -> Message:
    """Return a message about a part of a larger graph."""
    return Message.format("graphs.problem_in", "{scope}: {problem}", scope=scope, problem=problem)


def _join_names(names: Iterable[str]) -> str:
    listed = list(names)
    more = ", …" if len(listed) > _MAX_LISTED_NAMES else ""
    return ", ".join(listed[:_MAX_LISTED_NAMES]) + more


@dataclass(frozen=True, slots=True, eq=False)
class BundleTensors:
    """The tensors that bundles of edges carry, one row per bundle."""

    size: Float64
    """Number of elements; NaN if unknown. Estimated for large bundles; unknown dimensions count
    as 1."""
    label: list[str]
    """The shape, or the number of tensors if there are several."""
    dtype: list[str]


class TensorLookup:
    """Find the tensors that nodes output and edges carry, with a cache per node."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outputs: dict[int, tuple[TensorSpec, ...]] = {}

    def get_outputs(self, node: int) -> tuple[TensorSpec, ...]:
        outputs = self._outputs.get(node)
        if outputs is None:
            outputs = self._outputs[node] = self._graph.describe(node).outputs
        return outputs

    def find_edge_tensor(self, edge: int) -> TensorSpec | None:
        """Return the tensor that an edge carries; None if the graph does not say."""
        edges = self._graph.edges
        outputs = self.get_outputs(int(edges.source[edge]))
        if len(outputs) == 1:
            return outputs[0]
        slot = edges.output[edge].rpartition(":")[2]
        index = int(slot) if slot.isdecimal() else 0
        return outputs[index] if index < len(outputs) else None

    def measure_bundles(self, edges: Int32, bundle: Int32, count: int) -> BundleTensors:
        """Summarize the tensors of ``count`` bundles, given the bundle that each edge is in."""
        size, label, dtype = np.full(count, nan), [""] * count, [""] * count
        is_data = ~self._graph.edges.control[edges]
        edges, bundle = edges[is_data], bundle[is_data]
        order = np.argsort(bundle, kind="stable")
        starts = np.searchsorted(bundle[order], np.arange(count + 1))
        sample_size = max(1, min(_MAX_DESCRIBED_PER_BUNDLE, _MAX_DESCRIBED // max(count, 1)))
        for number in np.flatnonzero(np.diff(starts)).tolist():
            inside = edges[order[starts[number] : starts[number + 1]]]
            size[number], label[number], dtype[number] = self._summarize(inside, sample_size)
        return BundleTensors(size, label, dtype)

    def _summarize(self, edges: Int32, sample_size: int) -> tuple[float, str, str]:
        """Return size, label and dtype of the tensors on some edges, from an even sample."""
        sample = edges if len(edges) <= sample_size else edges[:: -(-len(edges) // sample_size)]
        by_output = {self._get_output_key(edge): edge for edge in sample.tolist()}
        specs = [self.find_edge_tensor(edge) for edge in by_output.values()]
        tensors = [spec for spec in specs if spec is not None]
        scale = len(edges) / len(sample)
        shape = format_shape(tensors[0].shape) if tensors else ""
        label = shape if len(specs) == 1 else f"{round(len(specs) * scale):,} tensors"
        return _sum_elements(tensors) * scale, label, _get_common_dtype(tensors)

    def _get_output_key(self, edge: int) -> tuple[int, str]:
        edges = self._graph.edges
        return int(edges.source[edge]), edges.output[edge]


def count_known_elements(tensor: TensorSpec) -> int | None:
    """Return the number of elements with unknown dimensions counted as 1; None without a rank.

    For a tensor with an unknown batch dimension this is the number of elements per example.
    """
    if tensor.shape is None:
        return None
    return min(prod(size if isinstance(size, int) else 1 for size in tensor.shape), MAX_ELEMENTS)


def _sum_elements(tensors: Iterable[TensorSpec]) -> float:
    counts = [count for tensor in tensors if (count := count_known_elements(tensor)) is not None]
    return float(sum(counts)) if counts else nan


def _get_common_dtype(tensors: Iterable[TensorSpec]) -> str:
    dtypes = {tensor.dtype for tensor in tensors}
    return dtypes.pop() if len(dtypes) == 1 else ""


def format_shape(shape: Shape) -> str:
    """Format a shape with a cross between sizes; ``scalar`` for rank 0, empty for unknown rank."""
    if shape is None:
        return ""
    return (
        "\N{MULTIPLICATION SIGN}".join("?" if size is None else str(size) for size in shape)
        or "scalar"
    )


def format_output(output: TensorSpec) -> str:
    """Format type and shape, as far as they are known."""
    return f"{output.dtype} {format_shape(output.shape)}".strip()


# ---- operators
#
# What is known about the operators of ONNX, TensorFlow and PyTorch without these packages. The
# table ``op_docs.tsv`` is generated by ``tools/write_op_docs.py`` from the packages.

TABLE_PATH = Path(str(files(__package__).joinpath("op_docs.tsv")))


class OpDoc(NamedTuple):
    """What is known about an operator.

    The names of inputs end with ``*`` if they can be repeated, with ``?`` for tensors that can be
    omitted, with ``-`` for arguments that are no tensors, and with ``~`` for those that have other
    names in other signatures of the operator. The outputs of operations of
    TensorFlow are types: ``=bool``, an attribute with a type or a list of types, that attribute
    with its default, ``out_type=int32``, or ``T*N`` for as many of the type in ``T`` as ``N`` says.
    """

    inputs: tuple[str, ...]
    summary: str
    outputs: tuple[str, ...] = ()

    def list_input_names(self, count: int) -> list[str]:
        """Return the names of ``count`` inputs; empty where the table does not determine them.

        Some graphs have an input for every argument, others only for tensors. Inputs that can be
        omitted make names ambiguous, and an ambiguous input has no name.
        """
        tensors = [name for name in self.inputs if not name.endswith(("-", "~"))]
        required = [name for name in tensors if not name.endswith("?")]
        has_variadic = any(name.endswith("*") for name in self.inputs)
        # One more tensor of several and one more argument look alike.
        every = tensors if has_variadic else self.inputs
        for names in (every, tensors, required):
            expanded = _expand(names, count)
            if len(expanded) == count:
                return ["" if name.endswith("~") else name.rstrip("-?*") for name in expanded]
        certain = list(itertools.takewhile(lambda name: not name.endswith(("?", "*")), tensors))
        return (certain + [""] * count)[:count]

    def find_argument_name(self, position: int) -> str | None:
        """Return the name of an argument that is no tensor, if all signatures agree on it."""
        name = self.inputs[position] if position < len(self.inputs) else ""
        is_certain = name != "" and not name.endswith(("~", "*"))
        return name.rstrip("-?") if is_certain else None


def _expand(names: Sequence[str], count: int) -> list[str]:
    """Repeat the variadic input until there are ``count``."""
    variadic = [name for name in names if name.endswith("*")]
    if len(variadic) != 1 or count < len(names) - 1:
        return list(names)
    at = names.index(variadic[0])
    return [*names[:at], *variadic * (count - len(names) + 1), *names[at + 1 :]]


#: Layers that most models of Keras have, and that are no operators of any framework. Other layers
#: have the name of an operator that has other inputs, such as ``Add`` and ``BatchNormalization``.
_KERAS_LAYERS = frozenset({"InputLayer", "Dense", "Activation", "Embedding", "Functional"})


class OpDocs:
    """The operators of the framework that a graph comes from."""

    def __init__(self, ops: Iterable[str]) -> None:
        """Choose the framework that knows most of the operators.

        Args:
            ops: The operators of a graph; `Add` is an operator of several frameworks.
        """
        counts: Counter[str] = Counter()
        names = set(ops)
        for framework, table in _read_tables().items():
            counts[framework] = sum(_normalize(framework, op) in table for op in names)
        framework, count = counts.most_common(1)[0]
        self._framework = framework if count and not names & _KERAS_LAYERS else ""

    def find(self, op: str) -> OpDoc | None:
        """Return the documentation of an operator."""
        if not self._framework:
            return None
        return _read_tables()[self._framework].get(_normalize(self._framework, op))


#: Nodes of PyTorch's graphs that are no operators.
_TORCH_NODES = frozenset({"IO Node", "Parameter", "Buffer"})


def _normalize(framework: str, op: str) -> str:
    """Return the name of an operator in the table: ``relu`` for ``aten::relu``."""
    if framework != "torch":
        return op
    if op.startswith("aten::"):
        return op.removeprefix("aten::")
    if op.startswith(("prim::", "quantized::")) or op in _TORCH_NODES:
        return op
    namespace, _, rest = op.partition(".")
    # The overload follows the name: aten.conv2d.default.
    name = rest.partition(".")[0]
    if namespace == "quantized":
        return f"quantized::{name}"
    return name if namespace == "aten" else f"{namespace}.{name}" if name else ""


@functools.cache
def _read_tables() -> Mapping[str, Mapping[str, OpDoc]]:
    tables: dict[str, dict[str, OpDoc]] = {}
    for line in TABLE_PATH.read_text(encoding="utf-8").splitlines():
        framework, op, inputs, summary, outputs = line.split("\t")
        doc = OpDoc(_split(inputs), summary, _split(outputs))
        tables.setdefault(framework, {})[op] = doc
    return tables


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split(",")) if names else ()


def find_torch_operator(op: str) -> OpDoc | None:
    """Return the documentation of an operator of PyTorch, such as ``aten::relu``."""
    return _read_tables()["torch"].get(_normalize("torch", op))


def find_output_types(op: str) -> tuple[str, ...] | None:
    """Return the output types of a TensorFlow operation, see `OpDoc`; None if it is unknown."""
    doc = _read_tables()["tensorflow"].get(op)
    return None if doc is None else doc.outputs
