"""Find skip connections and suspicious shapes in a model."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest

import numpy as np

from tracklight.analysis.graphs import format_shape
from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.errors import Message

#: Operations that parsers and frameworks use for the inputs of a model.
_INPUT_OPS = frozenset(
    ("Placeholder", "PlaceholderV2", "Input", "InputLayer", "IO Node", "_Arg", "Arg")
)

_ELEMENTWISE_OPS = frozenset(
    "add sub subtract mul multiply div divide realdiv truediv maximum minimum pow".split()
)
_PRODUCT_OPS = frozenset(("matmul", "batchmatmul", "mm", "bmm"))
#: Attributes that transpose the first and the second operand of a product.
_TRANSPOSE_ATTRIBUTES = ("transpose_a", "adj_x"), ("transpose_b", "adj_y")
_KnownShape = tuple[int | None, ...]

_SUM_OPS = frozenset(("add", "addn", "iadd", "sum"))
_CONCAT_OPS = frozenset(("concat", "concatenate", "cat"))
#: A skip connection must skip one of these. Otherwise many activations would count, which add an
#: intermediate result to another one that was computed from it.
_LAYER_OP = re.compile(
    r"conv|matmul|dense|linear|einsum|dot|attention|gemm|\bb?mm\b|addmm|lstm|gru|rnn"
)
#: Limits for generated graphs.
_MAX_VISITED = 2000
_MAX_JOINS = 1000
_MAX_INPUTS = 6


class DataFlow:
    """The data inputs of each node, and which nodes depend on the inputs of the model.

    Nodes are given by rank. Control edges are left out.
    """

    def __init__(self, subgraph: Subgraph) -> None:
        count, edges, rank = len(subgraph.graph), subgraph.graph.edges, subgraph.hierarchy.rank
        rows = np.flatnonzero(~edges.control)
        rows = rows[np.lexsort((edges.position[rows], rank[edges.target[rows]]))]
        self._edges: list[int] = rows.tolist()
        self._sources: list[int] = rank[edges.source[rows]].tolist()
        self._starts = np.searchsorted(rank[edges.target[rows]], np.arange(count + 1)).tolist()
        self.depends_on_input = np.zeros(count, bool)
        """False for weights, constants and what is computed from them only."""
        inputs = _iter_model_inputs(subgraph)
        reached, _ = subgraph.adjacency.trace(inputs, inputs=False, control=False)
        self.depends_on_input[reached] = True

    def get_input_edges(self, rank: int) -> list[int]:
        """Return the edges into a node, in the order of its inputs."""
        return self._edges[self._starts[rank] : self._starts[rank + 1]]

    def get_input_ranks(self, rank: int) -> list[int]:
        """Return the nodes that a node reads, in the order of its inputs."""
        return self._sources[self._starts[rank] : self._starts[rank + 1]]


def normalize_op(op: str) -> str:
    """Return a name across frameworks, such as ``add`` for ``aten::add_`` and ``AddV2``."""
    return op.rpartition(":")[2].rpartition(".")[2].lower().removesuffix("v2").rstrip("_")


def _iter_model_inputs(subgraph: Subgraph) -> Iterator[int]:
    for node, op in enumerate(subgraph.graph.ops):
        if op in _INPUT_OPS and not _is_variable(subgraph, node):
            yield int(subgraph.hierarchy.rank[node])


def _is_variable(subgraph: Subgraph, node: int) -> bool:
    """TensorFlow passes the variables that a function reads as arguments."""
    return any(output.dtype == "resource" for output in subgraph.tensors.get_outputs(node))


@dataclass(frozen=True, slots=True)
class ShapeIssue:
    """A node whose input shapes are incompatible or probably unintended."""

    rank: int
    message: Message


def iter_shape_issues(subgraph: Subgraph, data_flow: DataFlow) -> Iterator[ShapeIssue]:
    """Yield elementwise operations and matrix products with suspicious shapes."""
    for rank, node in enumerate(subgraph.hierarchy.node_by_rank.tolist()):
        op = normalize_op(subgraph.graph.ops[node])
        if op not in _ELEMENTWISE_OPS and op not in _PRODUCT_OPS:
            continue
        shapes = _find_operand_shapes(subgraph, data_flow, rank)
        if shapes is None:
            continue
        if op in _PRODUCT_OPS:
            message = _check_product(subgraph, node, *shapes)
        else:
            both_data = all(
                data_flow.depends_on_input[source] for source in data_flow.get_input_ranks(rank)
            )
            message = _check_broadcast(*shapes, both_data)
        if message:
            yield ShapeIssue(rank, message)


def _find_operand_shapes(
    subgraph: Subgraph, data_flow: DataFlow, rank: int
) -> tuple[_KnownShape, _KnownShape] | None:
    """Return the shapes of a node's two operands; None if it has not two or one is unknown."""
    edges = data_flow.get_input_edges(rank)
    if len(edges) != 2:
        return None
    one, other = (subgraph.tensors.find_edge_tensor(edge) for edge in edges)
    if one is None or other is None or one.shape is None or other.shape is None:
        return None
    return _drop_names(one.shape), _drop_names(other.shape)


def _drop_names(shape: tuple[int | str | None, ...]) -> _KnownShape:
    """Return a shape in which symbolic sizes are unknown."""
    return tuple(size if isinstance(size, int) else None for size in shape)


def _check_broadcast(one: _KnownShape, other: _KnownShape, both_data: bool) -> Message | None:
    """Check the operands of an elementwise operation; return what is wrong with them.

    A common mistake is to combine a column and a row of the same batch, which gives a square
    matrix. With constants it is intended: that is how grids are made.
    """
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    shapes = {"one": format_shape(one), "other": format_shape(other)}
    if any(a is not None and b is not None and a != b and 1 not in (a, b) for a, b in pairs):
        return Message.format(
            "graphs.no_broadcast", "{one} and {other} cannot be broadcast", **shapes
        )
    grows = any(a == 1 and b != 1 for a, b in pairs) and any(b == 1 and a != 1 for a, b in pairs)
    if not grows or not both_data:
        return None
    result = tuple(b if a == 1 else a for a, b in reversed(pairs))
    return Message.format(
        "graphs.broadcast_to",
        "{one} and {other} are broadcast to {result}",
        **shapes,
        result=format_shape(result),
    )


def _check_product(
    subgraph: Subgraph, node: int, one: _KnownShape, other: _KnownShape
) -> Message | None:
    """Check the operands of a matrix product; return what is wrong with them."""
    if len(one) < 2 or len(other) < 2:
        return None
    attributes = subgraph.graph.describe(node).attributes
    transpose_one, transpose_other = (
        any(attributes.get(name) == "True" for name in names) for names in _TRANSPOSE_ATTRIBUTES
    )
    columns = one[-2] if transpose_one else one[-1]
    rows = other[-1] if transpose_other else other[-2]
    if columns is None or rows is None or columns == rows:
        return None
    return Message.format(
        "graphs.product_mismatch",
        "{one} times {other}: {columns} is not {rows}",
        one=format_shape(one),
        other=format_shape(other),
        columns=str(columns),
        rows=str(rows),
    )


@dataclass(frozen=True, slots=True)
class SkipConnection:
    """Two paths from ``source`` to ``target`` (by rank), one of them shorter."""

    source: int
    target: int
    passed: int
    """Number of nodes on the longer path."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The next node on the shortest path to the start of a search, and the distance to it."""

    next: int
    distance: int


def iter_skip_connections(subgraph: Subgraph, data_flow: DataFlow) -> Iterator[SkipConnection]:
    """Yield skip connections ordered by their target."""
    for rank in islice(_iter_joins(subgraph, data_flow), _MAX_JOINS):
        skip = _find_skip(subgraph, data_flow, rank)
        if skip is not None:
            yield skip


def _iter_joins(subgraph: Subgraph, data_flow: DataFlow) -> Iterator[int]:
    for rank, node in enumerate(subgraph.hierarchy.node_by_rank.tolist()):
        op = normalize_op(subgraph.graph.ops[node])
        if data_flow.depends_on_input[rank] and (
            op in _CONCAT_OPS or (op in _SUM_OPS and _has_equal_shapes(subgraph, data_flow, rank))
        ):
            yield rank


def _has_equal_shapes(subgraph: Subgraph, data_flow: DataFlow, rank: int) -> bool:
    """Return whether all summands have the same shape; adding a bias or mask does not count."""
    edges = data_flow.get_input_edges(rank)[:_MAX_INPUTS]
    tensors = [subgraph.tensors.find_edge_tensor(edge) for edge in edges]
    shapes = {tensor.shape for tensor in tensors if tensor is not None and tensor.shape is not None}
    return len(shapes) <= 1


def _find_skip(subgraph: Subgraph, data_flow: DataFlow, target: int) -> SkipConnection | None:
    sources = dict.fromkeys(data_flow.get_input_ranks(target))
    inputs = [rank for rank in sources if data_flow.depends_on_input[rank]][:_MAX_INPUTS]
    searches = [_search_back(data_flow, rank) for rank in inputs if rank != target]
    for one, other in combinations(searches, 2):
        shared = [rank for rank in one if rank in other]
        if not shared:
            continue
        source = min(shared, key=lambda rank: one[rank].distance + other[rank].distance)
        short, long = sorted((one, other), key=lambda steps: steps[source].distance)
        passed = _list_path(long, source)[1:]
        if short[source].distance < long[source].distance and _has_layer(subgraph, passed):
            return SkipConnection(source, target, len(passed))
    return None


def _search_back(data_flow: DataFlow, start: int) -> dict[int, _Step]:
    """Return the nodes that lead to one, nearest first."""
    steps = {start: _Step(-1, 0)}
    queue = deque([start])
    while queue and len(steps) < _MAX_VISITED:
        rank = queue.popleft()
        for source in data_flow.get_input_ranks(rank):
            if data_flow.depends_on_input[source] and source not in steps:
                steps[source] = _Step(rank, steps[rank].distance + 1)
                queue.append(source)
    return steps


def _list_path(steps: dict[int, _Step], rank: int) -> list[int]:
    """Return the path from a node to the start of the search, including both."""
    path = []
    while rank >= 0:
        path.append(rank)
        rank = steps[rank].next
    return path


def _has_layer(subgraph: Subgraph, ranks: Sequence[int]) -> bool:
    ops = subgraph.graph.ops
    nodes = subgraph.hierarchy.node_by_rank[np.array(ranks, np.int64)].tolist()
    return any(_LAYER_OP.search(ops[node].lower()) for node in nodes)
