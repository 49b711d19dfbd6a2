"""All that is known of one node or group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isnan

import numpy as np

from tracklight.dashboards.graphs.answers import (
    Attribute,
    ChangeRow,
    NeighbourRow,
    Node,
    Ran,
    Tally,
    TensorText,
)
from tracklight.dashboards.graphs.asks import NodeAsk
from tracklight.dashboards.graphs.differences import find_bundle_changes, tell_edge_change
from tracklight.dashboards.graphs.finding import get_any, list_around
from tracklight.dashboards.graphs.groups import find_border
from tracklight.graphs.atlas import Atlas, Spot
from tracklight.graphs.attributes import format_shape
from tracklight.graphs.levels import Level
from tracklight.graphs.profile import Execution
from tracklight.graphs.tensors import count_known

Profile = Mapping[str, Execution]

_MOST_OPS = 50


def show_node(atlas: Atlas, ask: NodeAsk, profile: Profile) -> Node:
    spot = atlas.locate(ask.path)
    place = spot.sheet.hierarchy.place_of.get(spot.path)
    level = get_any(spot, ask.fold)
    node = _begin(atlas, spot, level, ask)
    if place is None:
        _tell_group(atlas, spot, level, node, ask)
    else:
        _tell_leaf(atlas, spot, place, node, ask)
    node.ran = _find_ran(spot, level, profile)
    return node


def _begin(atlas: Atlas, spot: Spot, level: Level, ask: NodeAsk) -> Node:
    return Node(
        path=ask.path,
        name=level.path,
        kind="series" if level.is_part else "scope",
        op="",
        device="",
        source="",
        nodes=level.last - level.first,
        parameters=spot.sheet.count_parameters(level.first, level.last),
        attributes=[],
        inputs=[],
        inputs_total=0,
        outputs=[],
        outputs_total=0,
        tensors=[],
        functions=[],
        ops=[],
        inside=list_around(spot, level, ask.fold),
        first=level.first,
        last=level.last,
        body=spot.prefix,
        ran=None,
        change=atlas.find_change(spot.sheet, level.first, level.last),
        changes=[],
    )


def _tell_leaf(atlas: Atlas, spot: Spot, place: int, node: Node, ask: NodeAsk) -> None:
    graph, hierarchy = spot.sheet.graph, spot.sheet.hierarchy
    detail = graph.describe(place)
    node.name, node.op = graph.names[place], graph.ops[place]
    node.kind = spot.sheet.get_leaf(place).children[0].kind
    node.device, node.source = detail.device, detail.source
    node.attributes = [Attribute(key, value) for key, value in detail.attributes.items()]
    node.tensors = [
        TensorText(it.dtype, format_shape(it.shape), count_known(it)) for it in detail.outputs
    ]
    node.functions = atlas.find_functions(spot.sheet, place)
    shown = slice(ask.offset, ask.offset + ask.most)
    incoming = hierarchy.find_incoming(node.first, node.last)
    incoming = incoming[np.argsort(graph.edges.position[incoming], kind="stable")]
    outgoing = hierarchy.find_outgoing(node.first, node.last)
    node.inputs_total, node.outputs_total = len(incoming), len(outgoing)
    sources, targets = graph.edges.source, graph.edges.target
    node.inputs = [
        _show_edge(atlas, spot, edge, int(sources[edge]), ask) for edge in incoming[shown]
    ]
    node.outputs = [
        _show_edge(atlas, spot, edge, int(targets[edge]), ask) for edge in outgoing[shown]
    ]
    if atlas.comparison is not None and spot.sheet is atlas.root:
        found = atlas.comparison.find_differences(place)
        node.changes = [ChangeRow(it.what, it.before, it.after) for it in found]


def _show_edge(atlas: Atlas, spot: Spot, edge: int, other: int, ask: NodeAsk) -> NeighbourRow:
    sheet = spot.sheet
    change, was = tell_edge_change(atlas, sheet, int(edge))
    edges = sheet.graph.edges
    control = bool(edges.control[edge])
    tensor = None if control else sheet.tensors.carried(int(edge))
    return NeighbourRow(
        spot.outwards(sheet.hierarchy.paths[other]),
        sheet.graph.ops[other],
        int(edges.position[edge]),
        edges.output[edge],
        control,
        "" if tensor is None else format_shape(tensor.shape),
        "" if tensor is None else tensor.dtype,
        None if tensor is None else _as_number(count_known(tensor)),
        1,
        list_around(spot, sheet.get_leaf(other), ask.fold),
        change,
        was,
    )


def _tell_group(atlas: Atlas, spot: Spot, level: Level, node: Node, ask: NodeAsk) -> None:
    graph = spot.sheet.graph
    places = spot.sheet.hierarchy.order[level.first : level.last].tolist()
    ops = Counter(graph.ops[place] for place in places)
    node.ops = [Tally(*pair) for pair in ops.most_common(_MOST_OPS)]
    shown = slice(ask.offset, ask.offset + ask.most)
    incoming = list(_iter_partners(atlas, spot, level, ask, incoming=True))
    outgoing = list(_iter_partners(atlas, spot, level, ask, incoming=False))
    node.inputs_total, node.outputs_total = len(incoming), len(outgoing)
    node.inputs, node.outputs = incoming[shown], outgoing[shown]


def _iter_partners(
    atlas: Atlas, spot: Spot, level: Level, ask: NodeAsk, incoming: bool
) -> Iterator[NeighbourRow]:
    """Who is on the other side of a group's border, whichever of its children is joined to them."""
    border = find_border(spot, level, ask.fold, incoming)
    is_body = spot.call is not None and not level.path
    sheet = spot.call.sheet if is_body and spot.call is not None else spot.sheet
    names = list(dict.fromkeys(border.partner))
    numbers = {name: number for number, name in enumerate(names)}
    partner = np.array([numbers[name] for name in border.partner], np.int32)
    bundle = partner[border.bundle] if len(border) else border.bundle
    flow = sheet.tensors.measure(border.edges, bundle, len(names))
    counts = np.bincount(bundle, minlength=len(names))
    changes = find_bundle_changes(atlas, sheet, border.edges, bundle, len(names))
    data = np.bincount(bundle[~sheet.graph.edges.control[border.edges]], minlength=len(names))
    for number in np.argsort(-counts, kind="stable").tolist():
        path = names[number] if is_body else spot.outwards(names[number])
        place = sheet.hierarchy.place_of.get(names[number])
        yield NeighbourRow(
            path,
            "" if place is None else sheet.graph.ops[place],
            -1,
            "",
            not data[number],
            flow.label[number],
            flow.dtype[number],
            _as_number(flow.size[number]),
            int(counts[number]),
            [],
            changes[number],
            "",
        )


def _as_number(size: float | None) -> float | None:
    return None if size is None or isnan(size) else float(size)


def _find_ran(spot: Spot, level: Level, profile: Profile) -> Ran | None:
    hierarchy = spot.sheet.hierarchy
    places = hierarchy.order[level.first : level.last].tolist() if profile else []
    names = (hierarchy.graph.names[place] for place in places)
    ran = [profile[name] for name in names if name in profile]
    if not ran:
        return None
    devices = {one.device for one in ran}
    return Ran(
        time_us=sum(one.time_us for one in ran),
        memory_bytes=float(sum(one.memory_bytes for one in ran)),
        start_us=min(one.start_us for one in ran) - min(one.start_us for one in profile.values()),
        device=devices.pop() if len(devices) == 1 else "",
        outputs=list(ran[0].outputs) if len(ran) == 1 else [],
    )
