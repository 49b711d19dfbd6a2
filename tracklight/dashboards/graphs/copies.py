"""The graphs that a copy of a board takes along: as many of their groups as fit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from tracklight.dashboards.graphs.about import tell_about
from tracklight.dashboards.graphs.answers import (
    About,
    GraphRow,
    GraphsAnswer,
    Group,
    Node,
    Paint,
    Statistics,
)
from tracklight.dashboards.graphs.asks import GraphAsk, GroupAsk, NodeAsk, PaintAsk
from tracklight.dashboards.graphs.groups import show_group
from tracklight.dashboards.graphs.library import Library
from tracklight.dashboards.graphs.listing import iter_graphs
from tracklight.dashboards.graphs.nodes import show_node
from tracklight.dashboards.graphs.painting import paint_group, sum_up
from tracklight.errors import TracklightError
from tracklight.graphs.atlas import Atlas
from tracklight.plugin import Context

#: In all groups of a graph together, and in those of all graphs.
_MOST_CHILDREN, _ALL_CHILDREN = 5000, 30_000
#: So many nodes of a graph are carried with all that is known of them.
_MOST_NODES = 1000


class PaintedGroup(msgspec.Struct):
    group: str
    paints: list[Paint]


class Copy(msgspec.Struct):
    """A graph without a server: groups that are not here cannot be opened."""

    about: About
    statistics: Statistics
    groups: list[Group]
    paints: list[PaintedGroup]
    nodes: list[Node]


def iter_copies(
    context: Context, library: Library, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Graph by graph what is seen of it, and a list of those that could be read."""
    carried, left = [], _ALL_CHILDREN
    for row in iter_graphs(context.log, runs):
        if left <= 0:
            break
        try:
            copy = _copy(library.open(GraphAsk(row.id)), row)
        except TracklightError:
            continue
        yield f"copy/{row.id}", copy
        left -= sum(len(group.children) for group in copy.groups)
        row.steps, row.profiles = row.steps[-1:], []
        carried.append(row)
    if carried:
        yield "graphs", GraphsAnswer(context.cursor(), carried)


def _copy(atlas: Atlas, row: GraphRow) -> Copy:
    groups = list(_iter_groups(atlas, row.id))
    statistics = sum_up(atlas, {})
    names = [scale.by for scale in statistics.scales]
    children = [child.path for group in groups for child in group.children]
    return Copy(
        tell_about(atlas),
        statistics,
        groups,
        [_paint(atlas, row.id, group.path, names) for group in groups],
        [show_node(atlas, NodeAsk(row.id, path=path), {}) for path in children[:_MOST_NODES]],
    )


def _iter_groups(atlas: Atlas, graph: str) -> Iterator[Group]:
    """From the root on, level by level, until there are enough."""
    waiting, left = deque([""]), _MOST_CHILDREN
    while waiting and left > 0:
        group = show_group(atlas, GroupAsk(graph, group=waiting.popleft()))
        left -= len(group.children)
        yield group
        for child in group.children:
            if child.kind in ("scope", "series"):
                waiting.append(child.path)
            waiting.extend(f"{child.path}|{name}|" for name in child.functions)


def _paint(atlas: Atlas, graph: str, group: str, names: Sequence[str]) -> PaintedGroup:
    paints = []
    for by in names:
        try:
            paints.append(paint_group(atlas, PaintAsk(graph, group=group, by=by), {}))
        except TracklightError:
            # A function's body may have nothing of what the graph has.
            continue
    return PaintedGroup(group, paints)
