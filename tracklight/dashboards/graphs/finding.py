"""Searches, traces and ways, as paths and ranks that the page can mark in any open group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from tracklight.dashboards.graphs.answers import (
    HitRow,
    PathAnswer,
    PathNode,
    SearchAnswer,
    TraceAnswer,
)
from tracklight.dashboards.graphs.asks import PathAsk, SearchAsk, TraceAsk
from tracklight.errors import UsageError
from tracklight.graphs.atlas import Atlas, Spot
from tracklight.graphs.levels import Level
from tracklight.graphs.searching import Hit, parse_query
from tracklight.graphs.walking import join_ranks

_MOST_ENDS = 20
_MOST_STEPS = 500
#: A word that is in everything is not worth counting to the end.
_MOST_COUNTED = 10_000


def search(atlas: Atlas, ask: SearchAsk) -> SearchAnswer:
    hits = list(islice(_iter_hits(atlas, ask), _MOST_COUNTED))
    shown = [_show_hit(spot, hit, ask.fold) for spot, hit in hits[: ask.most]]
    return SearchAnswer(len(hits), shown)


def trace(atlas: Atlas, ask: TraceAsk) -> TraceAnswer:
    spot = atlas.locate(ask.path)
    level = get_any(spot, True)
    neighbours = spot.sheet.neighbours
    start = range(level.first, level.last)
    ranks, ends = neighbours.trace(start, ask.direction == "inputs", ask.control)
    hierarchy = spot.sheet.hierarchy
    names = [spot.outwards(hierarchy.paths[hierarchy.order[rank]]) for rank in ends[:_MOST_ENDS]]
    return TraceAnswer(len(ranks), *join_ranks(ranks), spot.prefix, names)


def find_path(atlas: Atlas, ask: PathAsk) -> PathAnswer:
    start, end = atlas.locate(ask.start), atlas.locate(ask.end)
    if start.prefix != end.prefix:
        raise UsageError("a way leads between two nodes of the graph, or of one function's body")
    ends = [range(level.first, level.last) for level in (get_any(start, True), get_any(end, True))]
    direction, ranks = start.sheet.neighbours.find_path(*ends)
    spans = join_ranks(np.array(sorted(ranks), np.int32))
    nodes = [_show_node(start, rank, ask) for rank in ranks[:_MOST_STEPS]]
    return PathAnswer(direction, len(ranks), *spans, start.prefix, nodes)


def get_any(spot: Spot, fold: bool) -> Level:
    """What a path leads to: a node or a group."""
    place = spot.sheet.hierarchy.place_of.get(spot.path)
    return spot.sheet.get_level(spot.path, fold) if place is None else spot.sheet.get_leaf(place)


def _iter_hits(atlas: Atlas, ask: SearchAsk) -> Iterator[tuple[Spot, Hit]]:
    """On the graph itself, then in the functions that it calls by itself."""
    words = parse_query(ask.query)
    root = Spot(atlas.root, "", "")
    yield from ((root, hit) for hit in atlas.root.index.find(words, ask.most))
    for spot in atlas.iter_bodies():
        yield from ((spot, hit) for hit in spot.sheet.index.find(words, ask.most))


def _show_hit(spot: Spot, hit: Hit, fold: bool) -> HitRow:
    sheet = spot.sheet
    is_scope = hit.item < 0
    level = sheet.level(~hit.item, fold) if is_scope else sheet.get_leaf(hit.item)
    return HitRow(
        spot.outwards(level.path),
        "scope" if is_scope else level.children[0].kind,
        "" if is_scope else sheet.graph.ops[hit.item],
        hit.where,
        hit.text,
        level.first,
        level.last,
        spot.prefix,
        list_around(spot, level, fold),
    )


def list_around(spot: Spot, level: Level, fold: bool) -> list[str]:
    """The groups to open so that something is seen: those around the call, the body, its scopes."""
    inner = [spot.outwards(path) for path in spot.sheet.groups_around(level, fold)]
    if spot.call is None:
        return inner
    call = spot.call
    leaf = call.sheet.get_leaf(call.sheet.hierarchy.place_of[call.path])
    return [*list_around(call, leaf, fold), spot.prefix, *inner]


def _show_node(spot: Spot, rank: int, ask: PathAsk) -> PathNode:
    hierarchy = spot.sheet.hierarchy
    place = int(hierarchy.order[rank])
    around = list_around(spot, spot.sheet.get_leaf(place), ask.fold)
    return PathNode(
        spot.outwards(hierarchy.paths[place]), spot.sheet.graph.ops[place], rank, around
    )
