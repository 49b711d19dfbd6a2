"""Which nodes only clutter a picture: they are drawn aside until somebody puts them back."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from tracklight.graphs.bundles import Border, Bundles
from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.levels import Child, Level
from tracklight.types import Bool, Int32

Role = Literal["", "noop", "constant", "summary", "hub", "lonely"]

_SUMMARY = re.compile(r"[A-Za-z]+Summary(V2)?")
#: Among fewer boxes nobody stands out.
_FEWEST = 15
_USUAL = 4


def find_roles(
    hierarchy: Hierarchy, level: Level, bundles: Bundles, ins: Border, outs: Border
) -> list[Role]:
    """Why each child would better stand aside; empty for most."""
    crowded = _find_hubs(hierarchy, level, bundles)
    joined = np.zeros(len(level.children), bool)
    for ends in (bundles.source, bundles.target, ins.child, outs.child):
        joined[ends] = True
    alone = ~joined if joined.any() else np.zeros_like(joined)
    return [
        _find_role(hierarchy, child, bool(crowded[at]), bool(alone[at]))
        for at, child in enumerate(level.children)
    ]


def _find_role(hierarchy: Hierarchy, child: Child, crowded: bool, alone: bool) -> Role:
    op = hierarchy.graph.ops[child.item] if child.kind == "op" and child.item is not None else ""
    if op == "NoOp":
        return "noop"
    if op.endswith("Const") or op in ("Constant", "prim::Constant", "onnx::Constant"):
        return "constant"
    if _SUMMARY.fullmatch(op):
        return "summary"
    return "hub" if crowded else "lonely" if alone else ""


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
