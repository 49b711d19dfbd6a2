"""What every node of a graph is, as columns: found by looking at each of them once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.model import Detail, Output
from tracklight.graphs.tensors import MOST_NUMBERS, count_known
from tracklight.types import Float64, Int32, Int64

_CLUSTER = "_XlaCluster"
_BITS = re.compile(r"[a-z]+(\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A word for each node; 0 is the empty one, for nodes of which nothing is known."""

    names: Sequence[str]
    code: Int32


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """Columns by rank."""

    op: Labels
    device: Labels
    cluster: Labels
    parameters: Int64
    elements: Int64
    """How many numbers the largest output holds, a size that is not known counting as one."""
    bytes: Float64
    """How many bytes that takes."""


def take_census(hierarchy: Hierarchy) -> Census:
    graph, places = hierarchy.graph, hierarchy.order.tolist()
    # Of each node only this is kept: all details of a huge graph would fill the memory.
    rows = [_sum_up(graph.describe(place)) for place in places]
    device, cluster, parameters, elements, size = zip(*rows, strict=True) if rows else ((),) * 5
    return Census(
        _label(graph.ops[place] for place in places),
        _label(device),
        _label(cluster),
        np.array(parameters, np.int64),
        np.array(elements, np.int64),
        np.array(size, np.float64),
    )


def _sum_up(detail: Detail) -> tuple[str, str, int, int, float]:
    elements, size_bytes = max(map(_measure, detail.outputs), default=(0, 0.0))
    cluster = detail.attributes.get(_CLUSTER, "")
    return detail.device, cluster, min(detail.parameters, MOST_NUMBERS), elements, size_bytes


def find_item_bytes(dtype: str) -> float:
    """How many bytes one number takes; 0 for what is no number."""
    if dtype == "bool":
        return 1.0
    found = _BITS.match(dtype)
    return int(found[1]) / 8 if found else 0.0


def _measure(output: Output) -> tuple[int, float]:
    count = count_known(output) or 0
    return count, count * find_item_bytes(output.dtype)


def _label(words: Iterable[str]) -> Labels:
    codes = {"": 0}
    column = [codes.setdefault(word, len(codes)) for word in words]
    return Labels(list(codes), np.array(column, np.int32))
