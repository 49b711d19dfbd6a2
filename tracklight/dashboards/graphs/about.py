"""A graph at a glance: only what is known without looking at every node."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracklight.dashboards.graphs.answers import About, Changes, Tally
from tracklight.dashboards.graphs.default_view import list_default_groups
from tracklight.graphs.atlas import Atlas
from tracklight.graphs.changes import Change
from tracklight.types import Int32

_MOST_OPS = 200
_MOST_FUNCTIONS = 1000


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
        open=list_default_groups(atlas),
        changes=None if both is None else _count(both.change),
        edge_changes=None if both is None else _count(both.edges.change),
    )


def _count(changes: Int32) -> Changes:
    counts = np.bincount(changes, minlength=len(Change)).tolist()
    return Changes(
        *(counts[change] for change in (Change.SAME, Change.ADDED, Change.REMOVED, Change.CHANGED))
    )
