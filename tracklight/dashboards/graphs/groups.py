"""What is seen of an open group: its children, and the edges between and around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.dashboards.graphs.answers import BorderColumns, ChildRow, EdgeColumns, Group
from tracklight.dashboards.graphs.asks import GroupAsk
from tracklight.dashboards.graphs.differences import find_bundle_changes
from tracklight.graphs.atlas import Atlas, Spot
from tracklight.graphs.attributes import format_shape
from tracklight.graphs.auxiliary import Role, find_roles
from tracklight.graphs.body import join_call
from tracklight.graphs.bundles import Border, Bundles, join_border, join_children
from tracklight.graphs.changes import ChangeName
from tracklight.graphs.levels import Child, Level
from tracklight.graphs.sheet import Sheet
from tracklight.graphs.structure import UNIQUE
from tracklight.types import Bool, Float64, Int32

#: Scopes that hold nothing but one other are opened together, but not without end.
_LONGEST_CHAIN = 20
#: Counting parameters takes a look at every node.
_MOST_COUNTED = 20_000


def show_group(atlas: Atlas, ask: GroupAsk) -> Group:
    spot = atlas.locate(ask.group)
    level = spot.sheet.get_level(spot.path, ask.fold)
    scene = _Scene(
        atlas,
        spot,
        level,
        join_children(spot.sheet.hierarchy, level),
        find_border(spot, level, ask.fold, incoming=True),
        find_border(spot, level, ask.fold, incoming=False),
    )
    window = slice(ask.offset, ask.offset + ask.most)
    return Group(
        path=ask.group,
        kind=_find_kind(spot, level),
        total=len(level.children),
        offset=ask.offset,
        children=list(_iter_children(scene, ask.fold, window)),
        edges=_show_edges(scene, window),
        ins=_show_border(scene, window, incoming=True),
        outs=_show_border(scene, window, incoming=False),
    )


def find_border(spot: Spot, level: Level, fold: bool, incoming: bool) -> Border:
    """What crosses the border of a level; for the body of a function what its call is joined to."""
    sheet = spot.sheet
    if level.path or spot.call is None:
        around = sheet.levels_around(level, fold)
        return join_border(sheet.hierarchy, level, around, incoming)
    return join_call(spot, level, fold, incoming)


def find_chain(sheet: Sheet, scope: int, fold: bool) -> Iterator[int]:
    """The scopes inside of one that are all that there is to see, one inside of the other."""
    for _ in range(_LONGEST_CHAIN):
        children = sheet.level(scope, fold).children
        if len(children) != 1 or children[0].kind != "scope" or children[0].item is None:
            return
        scope = ~children[0].item
        yield scope


@dataclass(frozen=True, slots=True)
class _Scene:
    atlas: Atlas
    spot: Spot
    level: Level
    bundles: Bundles
    ins: Border
    outs: Border

    @property
    def outside(self) -> Sheet:
        """The sheet of the edges over the border."""
        call = self.spot.call
        return self.spot.sheet if self.level.path or call is None else call.sheet

    def count_inputs(self) -> Int32:
        return self._count(self.bundles.target, self.ins)

    def count_outputs(self) -> Int32:
        return self._count(self.bundles.source, self.outs)

    def _count(self, ends: Int32, border: Border) -> Int32:
        size = len(self.level.children)
        inside = np.bincount(ends[self.bundles.bundle], minlength=size)
        across = np.bincount(border.child[border.bundle], minlength=size)
        return (inside + across).astype(np.int32)


def _find_kind(spot: Spot, level: Level) -> Literal["scope", "series", "function"]:
    if level.is_part:
        return "series"
    return "function" if spot.call is not None and not level.path else "scope"


def _iter_children(scene: _Scene, fold: bool, window: slice) -> Iterator[ChildRow]:
    spot, level = scene.spot, scene.level
    roles = find_roles(
        spot.sheet.hierarchy,
        level,
        scene.bundles,
        scene.ins,
        scene.outs,
        lambda place: bool(scene.atlas.find_functions(spot.sheet, place)),
    )
    degrees = zip(scene.count_inputs()[window], scene.count_outputs()[window], strict=True)
    for child, role, (inputs, outputs) in zip(
        level.children[window], roles[window], degrees, strict=True
    ):
        row = _describe_child(scene.atlas, spot, child, role, fold)
        row.inputs, row.outputs = int(inputs), int(outputs)
        yield row


def _describe_child(atlas: Atlas, spot: Spot, child: Child, role: Role, fold: bool) -> ChildRow:
    sheet, item = spot.sheet, child.item
    row = ChildRow(
        path=spot.outwards(child.path),
        label=child.label,
        kind=child.kind,
        op="",
        nodes=child.last - child.first,
        first=child.first,
        last=child.last,
        shape="",
        dtype="",
        functions=[],
        aux=role,
        inputs=0,
        outputs=0,
        structure=UNIQUE,
        parameters=_count_parameters(atlas, sheet, child),
        change=atlas.find_change(sheet, child.first, child.last),
        chain=[],
    )
    if item is None:
        row.op = _find_common_op(sheet, child)
    elif item < 0:
        paths = sheet.hierarchy.scopes.paths
        row.structure = int(sheet.structures[~item])
        row.chain = [spot.outwards(paths[scope]) for scope in find_chain(sheet, ~item, fold)]
    else:
        outputs = sheet.tensors.outputs(item)
        row.op = sheet.graph.ops[item]
        row.shape = format_shape(outputs[0].shape) if outputs else ""
        row.dtype = outputs[0].dtype if outputs else ""
        row.functions = atlas.find_functions(sheet, item)
    return row


def _count_parameters(atlas: Atlas, sheet: Sheet, child: Child) -> int:
    if len(sheet.graph) > _MOST_COUNTED:
        return -1
    return int(sheet.census.parameters[child.first : child.last].sum())


def _find_common_op(sheet: Sheet, series: Child) -> str:
    """The operation of a series of nodes; of scopes there is none."""
    places = sheet.hierarchy.order[series.first : series.last].tolist()
    ops = {sheet.graph.ops[place] for place in places}
    return ops.pop() if len(ops) == 1 else ""


def _show_edges(scene: _Scene, window: slice) -> EdgeColumns:
    bundles = scene.bundles
    bundles = bundles.keep(_is_in(bundles.source, window) & _is_in(bundles.target, window))
    sheet = scene.spot.sheet
    return EdgeColumns(
        bundles.source - np.int32(window.start),
        bundles.target - np.int32(window.start),
        *_measure(scene, sheet, bundles.edges, bundles.bundle, len(bundles)),
    )


def _show_border(scene: _Scene, window: slice, incoming: bool) -> BorderColumns:
    border = scene.ins if incoming else scene.outs
    border = border.keep(_is_in(border.child, window))
    across = _measure(scene, scene.outside, border.edges, border.bundle, len(border))
    prefix = scene.spot.prefix if scene.outside is scene.spot.sheet else ""
    partner = [prefix + path for path in border.partner]
    beside, names, columns = _show_beside(scene, window, incoming)
    counts, controls, sizes = (
        np.concatenate([one, other]) for one, other in zip(across[:3], columns[:3], strict=True)
    )
    return BorderColumns(
        np.concatenate([border.child, beside]) - np.int32(window.start),
        [*partner, *names],
        counts,
        controls,
        sizes,
        [*across[3], *columns[3]],
        [*across[4], *columns[4]],
        [*across[5], *columns[5]],
    )


_Columns = tuple[Int32, Int32, Float64, list[str], list[str], list[ChangeName | None]]


def _show_beside(scene: _Scene, window: slice, incoming: bool) -> tuple[Int32, list[str], _Columns]:
    """The bundles that join a child to one which is not in the answer."""
    bundles = scene.bundles
    near, far = (bundles.target, bundles.source) if incoming else (bundles.source, bundles.target)
    kept = _is_in(near, window) & ~_is_in(far, window)
    chosen = bundles.keep(kept)
    children, outwards = scene.level.children, scene.spot.outwards
    names = [outwards(children[place].path) for place in far[kept].tolist()]
    columns = _measure(scene, scene.spot.sheet, chosen.edges, chosen.bundle, len(chosen))
    return near[kept], names, columns


def _measure(scene: _Scene, sheet: Sheet, edges: Int32, bundle: Int32, count: int) -> _Columns:
    flow = sheet.tensors.measure(edges, bundle, count)
    control = sheet.graph.edges.control[edges]
    return (
        np.bincount(bundle, minlength=count).astype(np.int32),
        np.bincount(bundle[control], minlength=count).astype(np.int32),
        flow.size,
        flow.label,
        flow.dtype,
        find_bundle_changes(scene.atlas, sheet, edges, bundle, count),
    )


def _is_in(places: Int32, window: slice) -> Bool:
    inside: Bool = (places >= window.start) & (places < window.stop)
    return inside
