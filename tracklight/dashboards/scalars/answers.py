"""What the Scalars dashboard answers; arrays travel as columns."""

from __future__ import annotations

from typing import Literal

import msgspec

from tracklight.formats.json_number import json_number
from tracklight.index.drawing import Line, Odd
from tracklight.index.points import Spot
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64

Number = float | str
Column = Float32 | Float64


class PointRow(msgspec.Struct, gc=False):
    """One point; ``smoothed`` is ``value`` again where nothing is smoothed."""

    step: int
    wall_time: Number
    x: float
    value: Number
    smoothed: Number


class OddRow(msgspec.Struct, gc=False):
    """A point whose value is not finite."""

    x: float
    step: int
    kind: Literal["nan", "inf", "-inf"]


class FadedRow(msgspec.Struct):
    """A stretch of points that were overwritten."""

    x: Float64
    y: Float64


class LineRow(msgspec.Struct):
    """One series. ``x`` is null where the line stands on the chart's ``grid``.

    ``y`` is smoothed if that was asked for, and ``raw`` is then the same before it. On the grid
    these are the last finite values of each column of pixels, NaN where it has none, and ``low``
    and ``high`` its extremes before smoothing. Points and counts are those of the whole series.
    """

    run: str
    tag: str
    points: int
    overwritten: int
    x: Float64 | None
    y: Column
    raw: Column | None
    low: Column | None
    high: Column | None
    first: PointRow | None
    last: PointRow | None
    min: PointRow | None
    max: PointRow | None
    odd: list[OddRow]
    odd_count: int
    faded: list[FadedRow]


class BandRow(msgspec.Struct):
    """Several runs' series of one tag as one band."""

    group: str
    tag: str
    runs: int
    x: Float64
    center: Float64
    low: Float64
    high: Float64


class ChartRow(msgspec.Struct):
    """``runs`` and ``points`` count what is behind the chart; ``grid`` has centres of columns."""

    id: str
    error: Problem | None = None
    runs: int = 0
    points: int = 0
    reduced: bool = False
    grid: Float64 | None = None
    lines: list[LineRow] = []
    bands: list[BandRow] = []


class QueryAnswer(msgspec.Struct):
    """One chart for each that was asked for, in that order."""

    cursor: str
    charts: list[ChartRow]


class AtRow(msgspec.Struct, gc=False):
    """The point of one series that is nearest to a place; ``relative_s`` is since its first."""

    run: str
    tag: str
    step: int
    wall_time: Number
    relative_s: Number
    x: float
    value: Number
    smoothed: Number


class AtAnswer(msgspec.Struct):
    """A row for each series that has points."""

    rows: list[AtRow]


class RangeRow(msgspec.Struct):
    """One series between two places: its ends, and the extremes and mean of its finite values.

    All are values as logged, before smoothing. ``change_ratio`` is the change as a part of the
    first value's size; null where that is zero.
    """

    run: str
    tag: str
    start: PointRow | None
    stop: PointRow | None
    min: PointRow | None
    max: PointRow | None
    mean: Number | None
    count: int
    change: Number | None
    change_ratio: Number | None


class RangeAnswer(msgspec.Struct):
    """A row for each series that has points in the range."""

    rows: list[RangeRow]


def point_row(spot: Spot | None) -> PointRow | None:
    if spot is None:
        return None
    return PointRow(
        spot.step,
        json_number(spot.wall_time),
        spot.x,
        json_number(spot.value),
        json_number(spot.smooth),
    )


def line_row(run: str, tag: str, line: Line) -> LineRow:
    columns = line.columns
    return LineRow(
        run=run,
        tag=tag,
        points=line.points,
        overwritten=line.overwritten,
        x=columns.x,
        y=columns.smooth,
        raw=columns.value,
        low=columns.low,
        high=columns.high,
        first=point_row(line.first),
        last=point_row(line.last),
        min=point_row(line.lowest),
        max=point_row(line.highest),
        odd=_odd_rows(line.odd),
        odd_count=line.odd.total,
        faded=[FadedRow(piece.x, piece.y) for piece in line.faded],
    )


def _odd_rows(odd: Odd) -> list[OddRow]:
    columns = odd.x.tolist(), odd.step.tolist(), odd.value.tolist()
    return [OddRow(x, step, _kind(value)) for x, step, value in zip(*columns, strict=True)]


def _kind(value: float) -> Literal["nan", "inf", "-inf"]:
    return "nan" if value != value else "inf" if value > 0 else "-inf"
