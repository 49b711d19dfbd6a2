"""In what two graphs differ, edge by edge and as lists; nothing of a graph by itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracklight.dashboards.graphs.answers import ChangedEdge, ChangedNode, ChangesAnswer
from tracklight.dashboards.graphs.asks import ChangesAsk
from tracklight.dashboards.graphs.finding import list_around
from tracklight.errors import UsageError
from tracklight.graphs.atlas import Atlas, Spot
from tracklight.graphs.attributes import format_output
from tracklight.graphs.changes import NAMES, Change, ChangeName, join_changes
from tracklight.graphs.comparing import Comparison
from tracklight.graphs.sheet import Sheet
from tracklight.types import Int32

_DIFFERENT = (Change.ADDED, Change.REMOVED, Change.CHANGED)


def find_bundle_changes(
    atlas: Atlas, sheet: Sheet, edges: Int32, bundle: Int32, count: int
) -> list[ChangeName | None]:
    """What became of bundles of edges; None in a graph by itself."""
    if atlas.comparison is None or sheet is not atlas.root:
        return [None] * count
    order = np.argsort(bundle, kind="stable")
    kinds = atlas.comparison.edges.change[edges[order]]
    starts = np.searchsorted(bundle[order], np.arange(count + 1)).tolist()
    return [join_changes(kinds[starts[at] : starts[at + 1]].tolist()) for at in range(count)]


def tell_edge_change(atlas: Atlas, sheet: Sheet, edge: int) -> tuple[ChangeName | None, str]:
    """What became of an edge, and what flowed along it if that is not what flows now."""
    if atlas.comparison is None or sheet is not atlas.root:
        return None, ""
    change = Change(int(atlas.comparison.edges.change[edge]))
    before, _ = atlas.comparison.edges.find_carried(edge)
    is_told = before is not None and change in (Change.CHANGED, Change.REMOVED)
    return NAMES[change], format_output(before) if before and is_told else ""


def list_changes(atlas: Atlas, ask: ChangesAsk) -> ChangesAnswer:
    both = atlas.comparison
    if both is None:
        raise UsageError("only two graphs that are compared differ in something")
    root = Spot(atlas.root, "", "")
    return ChangesAnswer(
        [_show_node(root, both, place, ask) for place in _iter_changed(both.change, ask.most)],
        [_show_edge(root, both, edge, ask) for edge in _iter_changed(both.edges.change, ask.most)],
    )


def _iter_changed(changes: Int32, most: int) -> Iterator[int]:
    for kind in _DIFFERENT:
        yield from np.flatnonzero(changes == kind)[:most].tolist()


def _show_node(root: Spot, both: Comparison, place: int, ask: ChangesAsk) -> ChangedNode:
    sheet = root.sheet
    return ChangedNode(
        sheet.hierarchy.paths[place],
        sheet.graph.ops[place],
        NAMES[both.change[place]],
        list_around(root, sheet.get_leaf(place), ask.fold),
    )


def _show_edge(root: Spot, both: Comparison, edge: int, ask: ChangesAsk) -> ChangedEdge:
    sheet, edges = root.sheet, both.graph.edges
    source, target = int(edges.source[edge]), int(edges.target[edge])
    before, after = both.edges.find_carried(edge)
    return ChangedEdge(
        sheet.hierarchy.paths[source],
        sheet.hierarchy.paths[target],
        bool(edges.control[edge]),
        NAMES[both.edges.change[edge]],
        "" if before is None else format_output(before),
        "" if after is None else format_output(after),
        list_around(root, sheet.get_leaf(target), ask.fold),
    )
