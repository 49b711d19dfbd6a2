"""A graph at a glance: only what is known without looking at every node."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracklight.dashboards.graphs.answers import About, Changes, Tally
from tracklight.dashboards.graphs.groups import find_chain
from tracklight.graphs.atlas import Atlas
from tracklight.graphs.comparing import Change
from tracklight.graphs.hierarchy import ROOT

_MOST_OPS = 200
_MOST_FUNCTIONS = 1000


def tell_about(atlas: Atlas) -> About:
    graph, hierarchy = atlas.graph, atlas.root.hierarchy
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
        changes=_count_changes(atlas),
    )


def list_opened(atlas: Atlas) -> list[int]:
    """The scopes that are open at first."""
    return list(find_chain(atlas.root, ROOT, fold=True))


def _count_changes(atlas: Atlas) -> Changes | None:
    if atlas.comparison is None:
        return None
    counts = np.bincount(atlas.comparison.change, minlength=len(Change)).tolist()
    return Changes(
        *(counts[change] for change in (Change.SAME, Change.ADDED, Change.REMOVED, Change.CHANGED))
    )
