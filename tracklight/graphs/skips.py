"""Skip connections: where what went through layers is joined to what it was before them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from tracklight.graphs.flow import Inflow, name_op
from tracklight.graphs.sheet import Sheet

_SUMS = frozenset(("add", "addn", "iadd", "sum"))
_JOINS = frozenset(("concat", "concatenate", "cat"))
#: What is worth skipping. Without it, many activations would count, which add a number to what was
#: made of it.
_LAYER = re.compile(
    r"conv|matmul|dense|linear|einsum|dot|attention|gemm|\bb?mm\b|addmm|lstm|gru|rnn"
)
#: Bounds on what is looked at, for graphs that nobody drew by hand.
_MOST_VISITED = 2000
_MOST_JOINS = 1000
_MOST_INPUTS = 6


@dataclass(frozen=True, slots=True)
class Skip:
    """By rank: where the ways part and where they meet; ``passed`` nodes are on the longer one."""

    source: int
    target: int
    passed: int


@dataclass(frozen=True, slots=True)
class _Step:
    """The next node on the shortest way to where a search began, and how far that is."""

    after: int
    away: int


def iter_skips(sheet: Sheet, inflow: Inflow) -> Iterator[Skip]:
    """In the order of where they end."""
    for rank in islice(_iter_joins(sheet, inflow), _MOST_JOINS):
        found = _find_skip(sheet, inflow, rank)
        if found is not None:
            yield found


def _iter_joins(sheet: Sheet, inflow: Inflow) -> Iterator[int]:
    for rank, place in enumerate(sheet.hierarchy.order.tolist()):
        op = name_op(sheet.graph.ops[place])
        if inflow.flowing[rank] and (
            op in _JOINS or (op in _SUMS and _is_level(sheet, inflow, rank))
        ):
            yield rank


def _is_level(sheet: Sheet, inflow: Inflow, rank: int) -> bool:
    """Whether all summands have one shape: a sum with a row of numbers only shifts or masks."""
    carried = [sheet.tensors.carried(edge) for edge in inflow.edges(rank)[:_MOST_INPUTS]]
    shapes = {tensor.shape for tensor in carried if tensor is not None and tensor.shape is not None}
    return len(shapes) <= 1


def _find_skip(sheet: Sheet, inflow: Inflow, target: int) -> Skip | None:
    inputs = [rank for rank in dict.fromkeys(inflow.sources(target)) if inflow.flowing[rank]]
    searched = [_walk_back(inflow, rank) for rank in inputs[:_MOST_INPUTS] if rank != target]
    for one, other in combinations(searched, 2):
        shared = [rank for rank in one if rank in other]
        if not shared:
            continue
        source = min(shared, key=lambda rank: one[rank].away + other[rank].away)
        short, long = sorted((one, other), key=lambda way: way[source].away)
        passed = _unwind(long, source)[1:]
        if short[source].away < long[source].away and _has_layer(sheet, passed):
            return Skip(source, target, len(passed))
    return None


def _walk_back(inflow: Inflow, start: int) -> dict[int, _Step]:
    """All nodes that lead to one, the nearest first."""
    steps = {start: _Step(-1, 0)}
    waiting = deque([start])
    while waiting and len(steps) < _MOST_VISITED:
        rank = waiting.popleft()
        for other in inflow.sources(rank):
            if inflow.flowing[other] and other not in steps:
                steps[other] = _Step(rank, steps[rank].away + 1)
                waiting.append(other)
    return steps


def _unwind(steps: dict[int, _Step], rank: int) -> list[int]:
    """The way from a node on, itself included."""
    way = []
    while rank >= 0:
        way.append(rank)
        rank = steps[rank].after
    return way


def _has_layer(sheet: Sheet, ranks: Sequence[int]) -> bool:
    ops = sheet.graph.ops
    places = sheet.hierarchy.order[np.array(ranks, np.int64)].tolist()
    return any(_LAYER.search(ops[place].lower()) for place in places)
