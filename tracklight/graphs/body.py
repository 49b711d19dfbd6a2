"""Leads what goes into a call to the inputs of its function, and out again."""

from __future__ import annotations

import numpy as np

from tracklight.graphs.atlas import Spot
from tracklight.graphs.bundles import Border, join_border, join_pairs
from tracklight.graphs.graphdef import ARGUMENT, RESULT
from tracklight.graphs.levels import Level
from tracklight.types import Int32

#: The first input of these chooses the function and is not given to it.
_CHOOSING = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_LOOPING = frozenset({"While", "StatelessWhile"})


def join_call(spot: Spot, body: Level, fold: bool, incoming: bool) -> Border:
    """The edges of a call by the ends of its function's body.

    They are edges of the sheet that the call is on, and partners have their whole paths.
    """
    call = spot.call
    assert call is not None
    sheet = call.sheet
    place = sheet.hierarchy.place_of[call.path]
    leaf = sheet.get_leaf(place)
    outer = join_border(sheet.hierarchy, leaf, sheet.levels_around(leaf, fold), incoming)
    if not incoming and _only_decides(spot, call):
        outer = outer.keep(np.zeros(len(outer), bool))
    ends = _find_ends(spot, body, ARGUMENT if incoming else RESULT)
    slots = _find_slots(call, outer.edges, incoming)
    fits = (slots >= 0) & (slots < len(ends))
    numbers = outer.bundle[fits]
    child, partner, bundle = join_pairs(ends[slots[fits]], numbers)
    names = [call.outwards(outer.partner[number]) for number in partner.tolist()]
    return Border(child, names, outer.edges[fits], bundle)


def _only_decides(spot: Spot, call: Spot) -> bool:
    """Whether a function says if a loop goes on: what it gives is not what the loop gives, and
    unlike the body it gives less than it takes."""
    op = call.sheet.graph.ops[call.sheet.hierarchy.place_of[call.path]]
    ops = spot.sheet.graph.ops
    return op in _LOOPING and ops.count(RESULT) != ops.count(ARGUMENT)


def _find_ends(spot: Spot, body: Level, op: str) -> Int32:
    """For each input or output of a function the child of its body that it is, or is in."""
    graph, rank = spot.sheet.graph, spot.sheet.hierarchy.rank
    places = [place for place, own in enumerate(graph.ops) if own == op]
    return body.find_child(rank[np.array(places, np.int32)])


def _find_slots(call: Spot, edges: Int32, incoming: bool) -> Int32:
    graph = call.sheet.graph
    control = graph.edges.control[edges]
    if incoming:
        op = graph.ops[call.sheet.hierarchy.place_of[call.path]]
        slots = graph.edges.position[edges] - (op in _CHOOSING)
    else:
        texts = [graph.edges.output[edge].rpartition(":")[2] for edge in edges.tolist()]
        slots = np.array([int(text) if text.isdecimal() else 0 for text in texts], np.int32)
    return np.where(control, -1, slots).astype(np.int32)
