"""Numbers for tables: of each series the point at a place, or a range in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracklight.dashboards.scalars.answers import (
    AtAnswer,
    AtRow,
    Number,
    RangeAnswer,
    RangeRow,
    point_row,
)
from tracklight.dashboards.scalars.asks import AtAsk, RangeAsk
from tracklight.dashboards.scalars.choice import Choice, Key
from tracklight.errors import UsageError
from tracklight.formats.json_number import json_number
from tracklight.index.points import Nearest, Stretch, SumUp
from tracklight.plugin import Context

_MOST_ROWS = 50_000


def find_points(context: Context, ask: AtAsk) -> AtAnswer:
    choice = Choice(context, ask)
    keys = _bound(choice.keys(ask.tags))
    spots = context.log.query(keys, choice.make_lens(ask.tags), Nearest(ask.at)) if keys else []
    return AtAnswer(
        [
            AtRow(
                run,
                tag,
                spot.step,
                json_number(spot.wall_time),
                json_number(spot.relative_s),
                spot.x,
                json_number(spot.value),
                json_number(spot.smooth),
            )
            for (run, tag), spot in zip(keys, spots, strict=True)
            if spot is not None
        ]
    )


def sum_up(context: Context, ask: RangeAsk) -> RangeAnswer:
    choice = Choice(context, ask)
    keys = _bound(choice.keys(ask.tags))
    view = SumUp(ask.start, ask.stop)
    stretches = context.log.query(keys, choice.make_lens(ask.tags), view) if keys else []
    pairs = zip(keys, stretches, strict=True)
    return RangeAnswer([_range_row(*key, one) for key, one in pairs if one is not None])


def _bound(keys: Sequence[Key]) -> Sequence[Key]:
    if len(keys) > _MOST_ROWS:
        raise UsageError(f"this table has more than {_MOST_ROWS:,} rows: choose fewer runs or tags")
    return keys


def _range_row(run: str, tag: str, stretch: Stretch) -> RangeRow:
    before, after = stretch.first.value, stretch.last.value
    return RangeRow(
        run=run,
        tag=tag,
        start=point_row(stretch.first),
        stop=point_row(stretch.last),
        min=point_row(stretch.lowest),
        max=point_row(stretch.highest),
        mean=None if stretch.mean is None else json_number(stretch.mean),
        count=stretch.points,
        change=_finite(after - before),
        change_ratio=_finite((after - before) / abs(before)) if before else None,
    )


def _finite(value: float) -> Number | None:
    return value if math.isfinite(value) else None
