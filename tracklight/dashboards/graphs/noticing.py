"""What somebody would look for in a model: its skip connections, and shapes that are wrong."""

from __future__ import annotations

from itertools import islice

from tracklight.dashboards.graphs.answers import MisfitRow, SkipRow
from tracklight.graphs.flow import Inflow
from tracklight.graphs.misfits import Misfit, iter_misfits
from tracklight.graphs.sheet import Sheet
from tracklight.graphs.skips import Skip, iter_skips

#: In larger graphs nobody waits for it.
_MOST_NODES = 50_000
_MOST_TOLD = 200


def notice(sheet: Sheet) -> tuple[list[SkipRow], list[MisfitRow]]:
    if len(sheet.graph) > _MOST_NODES:
        return [], []
    inflow = Inflow(sheet)
    skips = islice(iter_skips(sheet, inflow), _MOST_TOLD)
    misfits = islice(iter_misfits(sheet, inflow), _MOST_TOLD)
    return [_show_skip(sheet, it) for it in skips], [_show_misfit(sheet, it) for it in misfits]


def _show_skip(sheet: Sheet, skip: Skip) -> SkipRow:
    path, op = _name(sheet, skip.target)
    source, _ = _name(sheet, skip.source)
    return SkipRow(path, op, source, skip.passed, sheet.groups_around_leaf(skip.target))


def _show_misfit(sheet: Sheet, misfit: Misfit) -> MisfitRow:
    path, op = _name(sheet, misfit.rank)
    return MisfitRow(path, op, misfit.what, sheet.groups_around_leaf(misfit.rank))


def _name(sheet: Sheet, rank: int) -> tuple[str, str]:
    place = int(sheet.hierarchy.order[rank])
    return sheet.hierarchy.paths[place], sheet.graph.ops[place]
