"""Shapes that are worth a look: those that cannot be, and those that were hardly meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from tracklight.graphs.attributes import format_shape
from tracklight.graphs.flow import Inflow, name_op
from tracklight.graphs.sheet import Sheet

_Known = tuple[int | None, ...]

_PAIRWISE = frozenset(
    "add sub subtract mul multiply div divide realdiv truediv maximum minimum pow".split()
)
_PRODUCTS = frozenset(("matmul", "batchmatmul", "mm", "bmm"))
#: Attributes that turn an operand of a product around.
_TURNED = ("transpose_a", "adj_x"), ("transpose_b", "adj_y")


@dataclass(frozen=True, slots=True)
class Misfit:
    """A node by its rank, and a sentence."""

    rank: int
    what: str


def iter_misfits(sheet: Sheet, inflow: Inflow) -> Iterator[Misfit]:
    for rank, place in enumerate(sheet.hierarchy.order.tolist()):
        op = name_op(sheet.graph.ops[place])
        if op not in _PAIRWISE and op not in _PRODUCTS:
            continue
        shapes = _find_shapes(sheet, inflow, rank)
        if shapes is None:
            continue
        what = _judge_product(sheet, place, *shapes) if op in _PRODUCTS else _judge_pair(*shapes)
        if what:
            yield Misfit(rank, what)


def _find_shapes(sheet: Sheet, inflow: Inflow, rank: int) -> tuple[_Known, _Known, bool] | None:
    """What two operands are shaped like, and whether both come from the model's inputs."""
    edges = inflow.edges(rank)
    if len(edges) != 2:
        return None
    one, other = (sheet.tensors.carried(edge) for edge in edges)
    if one is None or other is None or one.shape is None or other.shape is None:
        return None
    return one.shape, other.shape, all(inflow.flowing[source] for source in inflow.sources(rank))


def _judge_pair(one: _Known, other: _Known, is_flow: bool) -> str:
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


def _judge_product(sheet: Sheet, place: int, one: _Known, other: _Known, is_flow: bool) -> str:
    if len(one) < 2 or len(other) < 2:
        return ""
    attributes = sheet.graph.describe(place).attributes
    first, second = (any(attributes.get(name) == "True" for name in turned) for turned in _TURNED)
    inner = one[-2] if first else one[-1], other[-1] if second else other[-2]
    if None in inner or inner[0] == inner[1]:
        return ""
    return f"{format_shape(one)} times {format_shape(other)}: {inner[0]} is not {inner[1]}"
