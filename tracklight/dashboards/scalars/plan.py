"""How the lines of a chart are drawn: on how many columns, and which of them whole."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.dashboards.scalars.asks import QueryAsk
from tracklight.index.drawing import Draw
from tracklight.index.measuring import Extent
from tracklight.index.reduction import make_edges

#: A chart with more lines has no room for what surrounds each of them.
_MANY_LINES = 100
#: Cells of all lines of one chart: with more lines there are fewer columns, but never too few.
_MOST_CELLS = 380_000
_FEWEST_COLUMNS = 100
#: Points of all lines of one chart that may be sent whole.
_MOST_WHOLE = 300_000
#: A chart with fewer points in all is not worth reducing.
_FEW_POINTS = 2000


def plan_lines(ask: QueryAsk, extents: Sequence[Extent], start: float, stop: float) -> Draw:
    """The view that sees every line of a chart as it is going to be drawn."""
    smoothed, plain = ask.smoothing is not None, len(extents) > _MANY_LINES
    tables = 3 if not smoothed else 1 if plain else 4
    columns = _count_columns(len(extents) * tables, ask.width)
    most_whole = max(2 * columns, _FEW_POINTS // len(extents))
    if sum(min(extent.points, most_whole) for extent in extents) > _MOST_WHOLE:
        most_whole = 0
    edges = make_edges(start, stop, columns)
    return Draw(edges, most_whole, smoothed, plain, ask.overwritten)


def _count_columns(rows: int, width: int) -> int:
    return min(width, max(_MOST_CELLS // rows, _FEWEST_COLUMNS))
