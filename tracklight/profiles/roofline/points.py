"""Where ops stand below the roof of their device: what they compute and move, in which time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracklight.profiles.ops.book import Naming, Side
from tracklight.profiles.ops.naming import name_places
from tracklight.profiles.ops.opname import Op
from tracklight.profiles.ops.sums import Ops
from tracklight.profiles.program.cost import Cost, cost_of
from tracklight.profiles.program.program import Placement
from tracklight.profiles.roofline.torch_cost import find_torch_cost
from tracklight.profiles.trace import Trace


class Point(NamedTuple):
    """An op: what all its calls together computed, moved and took."""

    op: Op
    side: Side
    calls: int
    self_ps: int
    flops: float
    bytes: float
    longest: int


def find_points(trace: Trace, naming: Naming, ops: Ops, placement: Placement) -> list[Point]:
    """The ops of which it is known what they cost, those that took longest first.

    Where a device ran, only what ran there: its host waits for it in the meantime.
    """
    costs = dict(_iter_program_costs(placement)) | dict(_iter_torch_costs(trace, naming))
    side = Side.DEVICE if (ops.sides == Side.DEVICE).any() else Side.HOST
    columns = (ops.sides, ops.counts, ops.self_ps, ops.longest)
    rows = zip(ops.ops, *(column.tolist() for column in columns), strict=True)
    return [
        Point(op, side, count, own, count * cost.flops, count * cost.bytes, longest)
        for op, its, count, own, longest in rows
        if its == side and own > 0 and (cost := costs.get(op)) and (cost.flops or cost.bytes)
    ]


def _iter_program_costs(placement: Placement) -> Iterator[tuple[Op, Cost]]:
    for op, placed in zip(name_places(placement), placement.places, strict=True):
        yield op, cost_of(*placed)


def _iter_torch_costs(trace: Trace, naming: Naming) -> Iterator[tuple[Op, Cost]]:
    """Ops of PyTorch are named by the shapes they were given, so one event tells of all."""
    events, texts = trace.find_texts("input_dims")
    types = dict(zip(*_listed(trace, "input_types"), strict=True))
    for event, text in zip(events.tolist(), texts, strict=True):
        number = naming.op[event]
        if number >= 0 and event in types:
            op = naming.ops[number]
            cost = find_torch_cost(op.type, text, types[event])
            if cost is not None:
                yield op, cost


def _listed(trace: Trace, key: str) -> tuple[list[int], list[str]]:
    events, texts = trace.find_texts(key)
    return events.tolist(), texts
