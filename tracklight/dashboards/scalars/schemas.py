"""What the page asks of the Scalars dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.index.downsampling import Line, NonFinitePoints
from tracklight.index.sampling import CurvePoint
from tracklight.index.series_query import BaselineMode
from tracklight.index.smoothing import Smoothing
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64
from tracklight.util.json_number import to_json_number

BandCenter = Literal["mean", "median"]

BandSpread = Literal["std", "stderr", "ci95", "minmax"]

DownloadFormat = Literal["csv", "json", "parquet"]


class BaselineRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run that others are compared with, tag by tag."""

    run: str
    mode: BaselineMode = "difference"


class SeriesRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How series are looked at: of these ``runs`` or of all, along the axis ``x``.

    ``x`` is ``step``, ``relative_step`` (less the series' first), ``relative`` (seconds since its
    first point), ``wall``, ``index`` or ``metric:<tag>``. Points that were overwritten are
    left out.
    """

    runs: list[str] | None = None
    x: str = "step"
    smoothing: Smoothing | None = None
    baseline: BaselineRun | None = None


class ChartRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One chart: all runs' series of some tags, between two places on the axis."""

    id: str
    tags: Annotated[list[str], msgspec.Meta(max_length=200)]
    start: float | None = None
    stop: float | None = None


class RunGroup(msgspec.Struct, forbid_unknown_fields=True):
    """Runs that are drawn as one band."""

    key: str
    runs: list[str]


class ChartsRequest(SeriesRequest, kw_only=True):
    """Charts ``width`` pixels wide; ``overwritten`` also asks for points that were overwritten.

    Runs in ``groups`` become bands around their ``center``, all others lines.
    """

    charts: Annotated[list[ChartRequest], msgspec.Meta(max_length=512)]
    width: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 400
    overwritten: bool = False
    groups: list[RunGroup] | None = None
    center: BandCenter = "mean"
    band: BandSpread = "std"


class NearestPointsRequest(SeriesRequest, kw_only=True):
    """The point of each series that is nearest to a place on the axis."""

    tags: list[str]
    at: float


class RangeStatsRequest(SeriesRequest, kw_only=True):
    """A range of each series, its ends included; null leaves an end open."""

    tags: list[str]
    start: float | None = None
    stop: float | None = None


class DownloadRequest(SeriesRequest, kw_only=True):
    """All points of the series as a file, on request those that were overwritten as well."""

    tags: list[str]
    format: DownloadFormat = "csv"
    overwritten: bool = False


# What the Scalars dashboard answers; arrays travel as columns.

Number = float | str

Column = Float32 | Float64


class PointRow(msgspec.Struct, gc=False):
    """One point; ``smoothed`` is ``value`` again where nothing is smoothed."""

    step: int
    wall_time: Number
    x: float
    value: Number
    smoothed: Number


class NonFiniteRow(msgspec.Struct, gc=False):
    """A point whose value is not finite."""

    x: float
    step: int
    kind: Literal["nan", "inf", "-inf"]


class OverwrittenPartRow(msgspec.Struct):
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
    odd: list[NonFiniteRow]
    odd_count: int
    faded: list[OverwrittenPartRow]


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


class ChartsResponse(msgspec.Struct):
    """One chart for each that was asked for, in that order."""

    cursor: str
    charts: list[ChartRow]


class NearestPointRow(msgspec.Struct, gc=False):
    """The point of one series that is nearest to a place; ``relative_s`` is since its first."""

    run: str
    tag: str
    step: int
    wall_time: Number
    relative_s: Number
    x: float
    value: Number
    smoothed: Number


class NearestPointsResponse(msgspec.Struct):
    """A row for each series that has points."""

    rows: list[NearestPointRow]


class RangeStatsRow(msgspec.Struct):
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


class RangeStatsResponse(msgspec.Struct):
    """A row for each series that has points in the range."""

    rows: list[RangeStatsRow]


def make_point_row(spot: CurvePoint | None) -> PointRow | None:
    if spot is None:
        return None
    return PointRow(
        spot.step,
        to_json_number(spot.wall_time),
        spot.x,
        to_json_number(spot.value),
        to_json_number(spot.smoothed),
    )


def make_line_row(run: str, tag: str, line: Line) -> LineRow:
    columns = line.columns
    return LineRow(
        run=run,
        tag=tag,
        points=line.points,
        overwritten=line.overwritten,
        x=columns.x,
        y=columns.smoothed,
        raw=columns.value,
        low=columns.low,
        high=columns.high,
        first=make_point_row(line.first),
        last=make_point_row(line.last),
        min=make_point_row(line.lowest),
        max=make_point_row(line.highest),
        odd=_make_nonfinite_rows(line.nonfinite),
        odd_count=line.nonfinite.total,
        faded=[OverwrittenPartRow(piece.x, piece.y) for piece in line.overwritten_parts],
    )


def _make_nonfinite_rows(odd: NonFinitePoints) -> list[NonFiniteRow]:
    columns = odd.x.tolist(), odd.step.tolist(), odd.value.tolist()
    return [
        NonFiniteRow(x, step, _get_nonfinite_kind(value))
        for x, step, value in zip(*columns, strict=True)
    ]


def _get_nonfinite_kind(value: float) -> Literal["nan", "inf", "-inf"]:
    return "nan" if value != value else "inf" if value > 0 else "-inf"
