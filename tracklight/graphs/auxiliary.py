"""Which nodes only clutter a picture: they are drawn aside until somebody puts them back.

Aside are no-ops, constants, summaries, handles of resources such as variables, and hubs, which
far more edges lead to than to others. What a picture is about is never aside: calls of functions,
and scopes that hold a good part of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import numpy as np

from tracklight.graphs.bundles import Border, Bundles
from tracklight.graphs.graphdef import ARGUMENT
from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.levels import Child, Level
from tracklight.graphs.model import Graph
from tracklight.types import Bool, Int32

Role = Literal["", "noop", "constant", "summary", "resource", "hub", "lonely"]

_SUMMARY = re.compile(r"[A-Za-z]+Summary(V2)?")
#: Among fewer boxes nobody stands out.
_FEWEST = 15
_USUAL = 4
#: A scope that holds at least this share of all nodes is no hub.
_MIN_SHARE = 0.1
#: What gives a graph or a function a tensor from outside.
_INPUTS = frozenset({"Placeholder", ARGUMENT})


def find_roles(
    hierarchy: Hierarchy,
    level: Level,
    bundles: Bundles,
    ins: Border,
    outs: Border,
    is_call: Callable[[int], bool],
) -> list[Role]:
    """Return for each child why it is drawn aside; empty for most.

    Args:
        is_call: Whether the node at a place runs a function that can be opened.
    """
    crowded = _find_hubs(hierarchy, level, bundles)
    joined = np.zeros(len(level.children), bool)
    for ends in (bundles.source, bundles.target, ins.child, outs.child):
        joined[ends] = True
    alone = ~joined if joined.any() else np.zeros_like(joined)
    return [
        _find_role(hierarchy, child, bool(crowded[at]), bool(alone[at]), is_call)
        for at, child in enumerate(level.children)
    ]


def _find_role(
    hierarchy: Hierarchy, child: Child, crowded: bool, alone: bool, is_call: Callable[[int], bool]
) -> Role:
    graph = hierarchy.graph
    place = child.item if child.item is not None and child.item >= 0 else None
    op = "" if place is None else graph.ops[place]
    if op == "NoOp":
        return "noop"
    if op.endswith("Const") or op in ("Constant", "prim::Constant", "onnx::Constant"):
        return "constant"
    if _SUMMARY.fullmatch(op):
        return "summary"
    if place is not None and op in _INPUTS and _is_resource(graph, place):
        return "resource"
    if not crowded and not alone:
        return ""
    if place is not None and is_call(place):
        return ""
    if child.kind == "scope" and child.last - child.first >= _MIN_SHARE * len(graph):
        return "lonely" if alone else ""
    return "hub" if crowded else "lonely"


def _is_resource(graph: Graph, place: int) -> bool:
    outputs = graph.describe(place).outputs
    return len(outputs) > 0 and outputs[0].dtype == "resource"


def _find_hubs(hierarchy: Hierarchy, level: Level, bundles: Bundles) -> Bool:
    """Boxes that far more others lead to, or come from, than is usual here.

    Counted are bundles in which something flows; of who has none, those that only say an order.
    """
    control = hierarchy.graph.edges.control[bundles.edges]
    flows = np.zeros(len(bundles), bool)
    flows[bundles.bundle[~control]] = True
    count = len(level.children)
    if count < _FEWEST:
        return np.zeros(count, bool)
    degrees = [_count_ends(ends, flows, count) for ends in (bundles.target, bundles.source)]
    into = degrees[0] > _find_limit(degrees[0], 1)
    return into | (degrees[1] > _find_limit(degrees[1], 4))


def _count_ends(ends: Int32, flows: Bool, count: int) -> Int32:
    data = np.bincount(ends[flows], minlength=count)
    order = np.bincount(ends[~flows], minlength=count)
    return np.where(data > 0, data, order).astype(np.int32)


def _find_limit(degrees: Int32, width: int) -> float:
    low, high = np.percentile(degrees, [25, 75])
    return max(float(high + width * (high - low)), _USUAL)
