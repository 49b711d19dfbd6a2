"""A graph at a glance: only what is known without looking at every node."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracklight.dashboards.graphs.answers import About, Changes, Tally
from tracklight.graphs.atlas import Atlas
from tracklight.graphs.changes import Change
from tracklight.graphs.hierarchy import ROOT
from tracklight.types import Int32

_MOST_OPS = 200
_MOST_FUNCTIONS = 1000
_MOST_OPENED = 20
_MOST_OF_IT = 0.6
_FEW_BOXES = 16


def tell_about(atlas: Atlas) -> About:
    graph, hierarchy, both = atlas.graph, atlas.root.hierarchy, atlas.comparison
    control = int(graph.edges.control.sum())
    functions = list(graph.functions.items())[:_MOST_FUNCTIONS]
    return About(
        nodes=len(graph),
        edges=len(graph.edges) - control,
        control_edges=control,
        depth=int(hierarchy.scopes.depth[hierarchy.scope].max(initial=-1)) + 1,
        functions=[Tally(name, len(body)) for name, body in functions],
        ops=[Tally(*pair) for pair in Counter(graph.ops).most_common(_MOST_OPS)],
        problems=list(graph.problems),
        open=[hierarchy.scopes.paths[scope] for scope in list_opened(atlas)],
        changes=None if both is None else _count(both.change),
        edge_changes=None if both is None else _count(both.edges.change),
    )


def list_opened(atlas: Atlas) -> list[int]:
    """The scopes that are open at first: each holds all that there is, or most of it while there
    is little to see."""
    scope, boxes, opened = ROOT, 0, list[int]()
    while len(opened) < _MOST_OPENED:
        children = atlas.root.level(scope, fold=True).children
        boxes += len(children)
        scopes = [child for child in children if child.kind == "scope"]
        largest = max(scopes, key=lambda child: child.last - child.first, default=None)
        if largest is None or largest.item is None:
            break
        if len(children) > 1 and not _is_worth_opening(atlas, scope, ~largest.item, boxes):
            break
        scope = ~largest.item
        opened.append(scope)
    return opened


def _is_worth_opening(atlas: Atlas, scope: int, inner: int, boxes: int) -> bool:
    """Whether a scope holds most of another and leaves a picture that can be taken in."""
    scopes = atlas.root.hierarchy.scopes
    leaves = scopes.last - scopes.first
    added = len(atlas.root.level(inner, fold=True).children)
    return bool(leaves[inner] >= _MOST_OF_IT * leaves[scope]) and boxes + added <= _FEW_BOXES


def _count(changes: Int32) -> Changes:
    counts = np.bincount(changes, minlength=len(Change)).tolist()
    return Changes(
        *(counts[change] for change in (Change.SAME, Change.ADDED, Change.REMOVED, Change.CHANGED))
    )
