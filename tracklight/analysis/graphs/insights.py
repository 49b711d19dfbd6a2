"""What of a graph depends on the model's inputs: not weights, constants and what they make."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest

import numpy as np

from tracklight.analysis.graphs.graph_index import Subgraph
from tracklight.analysis.graphs.model import format_shape

#: What readers and frameworks call the inputs of a model.
_INPUT_OPS = frozenset(
    ("Placeholder", "PlaceholderV2", "Input", "InputLayer", "IO Node", "_Arg", "Arg")
)


class DataFlow:
    """What each node reads, all by rank; control edges carry nothing and are left out."""

    def __init__(self, sheet: Subgraph) -> None:
        count, edges, rank = len(sheet.graph), sheet.graph.edges, sheet.hierarchy.rank
        rows = np.flatnonzero(~edges.control)
        rows = rows[np.lexsort((edges.position[rows], rank[edges.target[rows]]))]
        self._edges: list[int] = rows.tolist()
        self._sources: list[int] = rank[edges.source[rows]].tolist()
        self._starts = np.searchsorted(rank[edges.target[rows]], np.arange(count + 1)).tolist()
        self.depends_on_input = np.zeros(count, bool)
        """Whether a node is an input of the model or computed from one."""
        reached, _ = sheet.adjacency.trace(_iter_inputs(sheet), inputs=False, control=False)
        self.depends_on_input[reached] = True

    def get_input_edges(self, rank: int) -> list[int]:
        """In the order of the inputs."""
        return self._edges[self._starts[rank] : self._starts[rank + 1]]

    def get_input_ranks(self, rank: int) -> list[int]:
        """The nodes that it reads, likewise."""
        return self._sources[self._starts[rank] : self._starts[rank + 1]]


def normalize_op(op: str) -> str:
    """What an operation is called in all frameworks: ``aten::add_`` and ``AddV2`` are ``add``."""
    return op.rpartition(":")[2].rpartition(".")[2].lower().removesuffix("v2").rstrip("_")


def _iter_inputs(sheet: Subgraph) -> Iterator[int]:
    for place, op in enumerate(sheet.graph.ops):
        if op in _INPUT_OPS and not _is_variable(sheet, place):
            yield int(sheet.hierarchy.rank[place])


def _is_variable(sheet: Subgraph, place: int) -> bool:
    """Functions of TensorFlow get the variables that they read as inputs as well."""
    return any(output.dtype == "resource" for output in sheet.tensors.get_outputs(place))


# Shapes that are worth a look: those that cannot be, and those that were hardly meant.

_KnownShape = tuple[int | None, ...]

_PAIRWISE = frozenset(
    "add sub subtract mul multiply div divide realdiv truediv maximum minimum pow".split()
)

_PRODUCTS = frozenset(("matmul", "batchmatmul", "mm", "bmm"))

#: Attributes that turn an operand of a product around.
_TRANSPOSE_ATTRIBUTES = ("transpose_a", "adj_x"), ("transpose_b", "adj_y")


@dataclass(frozen=True, slots=True)
class ShapeIssue:
    """A node by its rank, and a sentence."""

    rank: int
    message: str


def iter_shape_issues(sheet: Subgraph, inflow: DataFlow) -> Iterator[ShapeIssue]:
    for rank, place in enumerate(sheet.hierarchy.node_by_rank.tolist()):
        op = normalize_op(sheet.graph.ops[place])
        if op not in _PAIRWISE and op not in _PRODUCTS:
            continue
        shapes = _find_operand_shapes(sheet, inflow, rank)
        if shapes is None:
            continue
        what = (
            _check_product(sheet, place, *shapes) if op in _PRODUCTS else _check_broadcast(*shapes)
        )
        if what:
            yield ShapeIssue(rank, what)


def _find_operand_shapes(
    sheet: Subgraph, inflow: DataFlow, rank: int
) -> tuple[_KnownShape, _KnownShape, bool] | None:
    """What two operands are shaped like, and whether both come from the model's inputs."""
    edges = inflow.get_input_edges(rank)
    if len(edges) != 2:
        return None
    one, other = (sheet.tensors.find_edge_tensor(edge) for edge in edges)
    if one is None or other is None or one.shape is None or other.shape is None:
        return None
    return (
        one.shape,
        other.shape,
        all(inflow.depends_on_input[source] for source in inflow.get_input_ranks(rank)),
    )


def _check_broadcast(one: _KnownShape, other: _KnownShape, is_flow: bool) -> str:
    """Two columns of one batch that stand across each other give a square, which is the commonest
    of all mistakes with shapes; of numbers that are not fed in it is how grids are made."""
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    names = f"{format_shape(one)} and {format_shape(other)}"
    if any(a is not None and b is not None and a != b and 1 not in (a, b) for a, b in pairs):
        return f"{names} do not fit together"
    grows = any(a == 1 and b != 1 for a, b in pairs) and any(b == 1 and a != 1 for a, b in pairs)
    if not grows or not is_flow:
        return ""
    joined = tuple(b if a == 1 else a for a, b in reversed(pairs))
    return f"{names} are spread to {format_shape(joined)}"


def _check_product(
    sheet: Subgraph, place: int, one: _KnownShape, other: _KnownShape, is_flow: bool
) -> str:
    if len(one) < 2 or len(other) < 2:
        return ""
    attributes = sheet.graph.describe(place).attributes
    first, second = (
        any(attributes.get(name) == "True" for name in turned) for turned in _TRANSPOSE_ATTRIBUTES
    )
    inner = one[-2] if first else one[-1], other[-1] if second else other[-2]
    if None in inner or inner[0] == inner[1]:
        return ""
    return f"{format_shape(one)} times {format_shape(other)}: {inner[0]} is not {inner[1]}"


# Skip connections: where what went through layers is joined to what it was before them.

_SUMS = frozenset(("add", "addn", "iadd", "sum"))

_JOINS = frozenset(("concat", "concatenate", "cat"))

#: What is worth skipping. Without it, many activations would count, which add a number to what was
#: made of it.
_LAYER = re.compile(
    r"conv|matmul|dense|linear|einsum|dot|attention|gemm|\bb?mm\b|addmm|lstm|gru|rnn"
)

#: Bounds on what is looked at, for graphs that nobody drew by hand.
_MAX_VISITED = 2000

_MAX_JOINS = 1000

_MAX_INPUTS = 6


@dataclass(frozen=True, slots=True)
class SkipConnection:
    """By rank: where the ways part and where they meet; ``passed`` nodes are on the longer one."""

    source: int
    target: int
    passed: int


@dataclass(frozen=True, slots=True)
class _Step:
    """The next node on the shortest way to where a search began, and how far that is."""

    after: int
    away: int


def iter_skip_connections(sheet: Subgraph, inflow: DataFlow) -> Iterator[SkipConnection]:
    """In the order of where they end."""
    for rank in islice(_iter_joins(sheet, inflow), _MAX_JOINS):
        found = _find_skip(sheet, inflow, rank)
        if found is not None:
            yield found


def _iter_joins(sheet: Subgraph, inflow: DataFlow) -> Iterator[int]:
    for rank, place in enumerate(sheet.hierarchy.node_by_rank.tolist()):
        op = normalize_op(sheet.graph.ops[place])
        if inflow.depends_on_input[rank] and (
            op in _JOINS or (op in _SUMS and _has_equal_shapes(sheet, inflow, rank))
        ):
            yield rank


def _has_equal_shapes(sheet: Subgraph, inflow: DataFlow, rank: int) -> bool:
    """Whether all summands have one shape: a sum with a row of numbers only shifts or masks."""
    carried = [
        sheet.tensors.find_edge_tensor(edge) for edge in inflow.get_input_edges(rank)[:_MAX_INPUTS]
    ]
    shapes = {tensor.shape for tensor in carried if tensor is not None and tensor.shape is not None}
    return len(shapes) <= 1


def _find_skip(sheet: Subgraph, inflow: DataFlow, target: int) -> SkipConnection | None:
    inputs = [
        rank
        for rank in dict.fromkeys(inflow.get_input_ranks(target))
        if inflow.depends_on_input[rank]
    ]
    searched = [_walk_back(inflow, rank) for rank in inputs[:_MAX_INPUTS] if rank != target]
    for one, other in combinations(searched, 2):
        shared = [rank for rank in one if rank in other]
        if not shared:
            continue
        source = min(shared, key=lambda rank: one[rank].away + other[rank].away)
        short, long = sorted((one, other), key=lambda way: way[source].away)
        passed = _list_path(long, source)[1:]
        if short[source].away < long[source].away and _has_layer(sheet, passed):
            return SkipConnection(source, target, len(passed))
    return None


def _walk_back(inflow: DataFlow, start: int) -> dict[int, _Step]:
    """All nodes that lead to one, the nearest first."""
    steps = {start: _Step(-1, 0)}
    waiting = deque([start])
    while waiting and len(steps) < _MAX_VISITED:
        rank = waiting.popleft()
        for other in inflow.get_input_ranks(rank):
            if inflow.depends_on_input[other] and other not in steps:
                steps[other] = _Step(rank, steps[rank].away + 1)
                waiting.append(other)
    return steps


def _list_path(steps: dict[int, _Step], rank: int) -> list[int]:
    """The way from a node on, itself included."""
    way = []
    while rank >= 0:
        way.append(rank)
        rank = steps[rank].after
    return way


def _has_layer(sheet: Subgraph, ranks: Sequence[int]) -> bool:
    ops = sheet.graph.ops
    places = sheet.hierarchy.node_by_rank[np.array(ranks, np.int64)].tolist()
    return any(_LAYER.search(ops[place].lower()) for place in places)
