"""Colours for the children of a group, and the legends that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from tracklight.dashboards.graphs.answers import (
    Paint,
    RankedRow,
    ScaleRow,
    Statistics,
    Tally,
    TensorRow,
)
from tracklight.dashboards.graphs.asks import PaintAsk
from tracklight.dashboards.graphs.default_view import list_default_groups
from tracklight.dashboards.graphs.noticing import notice
from tracklight.errors import UsageError
from tracklight.graphs.atlas import Atlas
from tracklight.graphs.attributes import format_shape
from tracklight.graphs.levels import Child
from tracklight.graphs.naming import BODY
from tracklight.graphs.profile import Execution
from tracklight.graphs.scales import Category, Number, Scale, list_scales
from tracklight.graphs.sheet import Sheet
from tracklight.graphs.tensors import count_known
from tracklight.types import Float64, Int64

Profile = Mapping[str, Execution]

_MOST_CATEGORIES = 200
_MOST_RANKED = 20


def paint_group(atlas: Atlas, ask: PaintAsk, profile: Profile) -> Paint:
    spot = atlas.locate(ask.group)
    level = spot.sheet.get_level(spot.path, ask.fold)
    scales = _find_scales(atlas, spot.sheet, profile)
    scale = next((scale for scale in scales if scale.by == ask.by), None)
    if scale is None:
        raise UsageError(f'this graph cannot be coloured by "{ask.by}"')
    return paint(scale, level.children[ask.offset : ask.offset + ask.most])


def paint(scale: Scale, children: Sequence[Child]) -> Paint:
    if isinstance(scale, Number):
        value = np.array([scale.total(child.first, child.last) for child in children])
        return Paint(scale.by, "number", [], [], value)
    share = [scale.count(child.first, child.last) for child in children]
    return Paint(scale.by, "category", list(scale.names), share, None)


def sum_up(atlas: Atlas, profile: Profile) -> Statistics:
    sheet = atlas.root
    scales = _find_scales(atlas, sheet, profile)
    numbers = {scale.by: scale.value for scale in scales if isinstance(scale, Number)}
    census = sheet.census
    # Two graphs laid over each other have shapes side by side that never met.
    skips, misfits = notice(sheet) if atlas.comparison is None else ([], [])
    return Statistics(
        scales=[_describe(atlas, scale) for scale in scales],
        parameters=int(census.parameters.sum()),
        largest=[_show_tensor(sheet, rank) for rank in _rank(census.elements)],
        owners=_list_ranked(sheet, numbers.get("parameters")),
        slowest=_list_ranked(sheet, numbers.get("time")),
        hungriest=_list_ranked(sheet, numbers.get("memory")),
        skips=skips,
        misfits=misfits,
    )


def _find_scales(atlas: Atlas, sheet: Sheet, profile: Profile) -> list[Scale]:
    comparison = atlas.comparison if sheet is atlas.root else None
    return list_scales(sheet.hierarchy, sheet.census, profile, comparison)


def _describe(atlas: Atlas, scale: Scale) -> ScaleRow:
    if isinstance(scale, Category):
        counts = scale.count(0, len(scale.code))[:_MOST_CATEGORIES]
        tallies = [Tally(scale.names[place], count) for place, count in counts]
        return ScaleRow(scale.by, scale.title, "category", "", 0.0, 0.0, tallies)
    # The range is that of the innermost open group of the graph itself, not of a function.
    outer = [group for group in list_default_groups(atlas) if BODY not in group]
    children = atlas.root.get_level(outer[-1] if outer else "", True).children
    totals = [scale.total(it.first, it.last) for it in children]
    high = max((total for total in totals if not isnan(total)), default=0.0)
    return ScaleRow(scale.by, scale.title, "number", scale.unit, 0.0, high, [])


def _rank(column: Int64 | Float64) -> list[int]:
    """The ranks of the highest values above zero, the highest first."""
    known = np.flatnonzero(column > 0)
    order = np.argsort(-column[known], kind="stable")[:_MOST_RANKED]
    return [int(rank) for rank in known[order]]


def _list_ranked(sheet: Sheet, column: Float64 | None) -> list[RankedRow]:
    if column is None:
        return []
    return [
        RankedRow(*_name(sheet, rank), float(column[rank]), sheet.groups_around_leaf(rank))
        for rank in _rank(column)
    ]


def _show_tensor(sheet: Sheet, rank: int) -> TensorRow:
    outputs = sheet.tensors.outputs(int(sheet.hierarchy.order[rank]))
    largest = max(outputs, key=lambda output: count_known(output) or 0)
    return TensorRow(
        *_name(sheet, rank),
        largest.dtype,
        format_shape(largest.shape),
        count_known(largest) or 0,
        float(sheet.census.bytes[rank]),
        sheet.groups_around_leaf(rank),
    )


def _name(sheet: Sheet, rank: int) -> tuple[str, str]:
    place = int(sheet.hierarchy.order[rank])
    return sheet.hierarchy.paths[place], sheet.graph.ops[place]
