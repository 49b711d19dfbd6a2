"""Requests and responses of the Scalars dashboard.

Arrays are sent as columns. Non-finite numbers outside of arrays are strings, as JSON has no NaN.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.source import GroupQuery
from tracklight.index.downsampling import CurvePoint, Line, NonFinitePoints
from tracklight.index.series_query import BaselineMode, Smoothing
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64, Int32
from tracklight.util.files import JsonNumber, to_json_number

BandCenter = Literal["mean", "median"]
BandSpread = Literal["std", "stderr", "ci95", "minmax", "quantiles"]
DownloadFormat = Literal["csv", "json", "parquet"]
Column = Float32 | Float64

# ---- requests


class BaselineRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run that others are compared with, tag by tag."""

    run: str
    mode: BaselineMode = "difference"


class SeriesRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Selects ``runs`` (all if null), the axis ``x``, smoothing and a baseline.

    ``x`` is ``step``, ``relative_step`` (since the first step of the series), ``relative`` (seconds
    since its first point), ``wall``, ``index`` or ``metric:<tag>``. Overwritten points are not
    included.
    """

    runs: list[str] | None = None
    x: str = "step"
    smoothing: Smoothing | None = None
    baseline: BaselineRun | None = None


class ChartRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One chart: the series of some tags with ``start <= x <= stop``.

    ``base`` is the ``revision`` of a previous response to the same request, of which the client
    still has the lines.
    """

    id: str
    tags: Annotated[list[str], msgspec.Meta(max_length=200)]
    start: float | None = None
    stop: float | None = None
    base: str | None = None


class RunGroup(msgspec.Struct, forbid_unknown_fields=True):
    """Runs that are drawn as one band: those that are named, and those that a query describes."""

    key: str
    runs: list[str]
    query: GroupQuery | None = None


class BandsRequest(SeriesRequest, kw_only=True):
    """Runs in ``groups`` become bands around their ``center``.

    With the band ``quantiles``, the center is the median, and edges are quantiles: 5 and 95 %, and
    25 and 75 % of the inner band. Quantiles of groups with more than 2,000 runs may differ by up to
    0.05 % of their value.
    A band has values where at least ``min_runs`` runs of the group have points.
    """

    groups: list[RunGroup] | None = None
    center: BandCenter = "mean"
    band: BandSpread = "std"
    min_runs: Annotated[int, msgspec.Meta(ge=1)] = 1


class ChartsRequest(BandsRequest, kw_only=True):
    """Charts of ``width`` pixels, with overwritten points if ``overwritten`` is true.

    Runs that are in no group become lines.
    """

    charts: Annotated[list[ChartRequest], msgspec.Meta(max_length=512)]
    width: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 400
    overwritten: bool = False


class NearestPointsRequest(SeriesRequest, kw_only=True):
    """Requests the point of each series that is nearest to ``x_value`` on the axis."""

    tags: list[str]
    x_value: float


class RangeStatsRequest(SeriesRequest, kw_only=True):
    """Requests statistics of the points with ``start <= x <= stop``; null leaves an end open."""

    tags: list[str]
    start: float | None = None
    stop: float | None = None


class DownloadRequest(BandsRequest, kw_only=True):
    """Requests a file with all points of the series, with or without overwritten ones.

    With ``groups``, the file has their bands instead.
    """

    tags: list[str]
    format: DownloadFormat = "csv"
    overwritten: bool = False


# ---- responses


class PointRow(msgspec.Struct, gc=False):
    """One point; ``smoothed`` equals ``value`` if there is no smoothing."""

    step: int
    wall_time: JsonNumber
    x: float
    value: JsonNumber
    smoothed: JsonNumber


class NonFiniteRow(msgspec.Struct, gc=False):
    """A point with a NaN or infinite value."""

    x: float
    step: int
    kind: Literal["nan", "inf", "-inf"]


class OverwrittenPartRow(msgspec.Struct):
    """Consecutive overwritten points."""

    x: Float64
    y: Float64


class LineRow(msgspec.Struct):
    """One series. ``x`` is null if the line has one value per column of the chart's ``grid``.

    ``y`` is smoothed if requested; ``raw`` then has the values before smoothing. On the grid, these
    are the last finite values of each pixel column (NaN if it has none), and ``low`` and ``high``
    are its extremes before smoothing; columns behind the last point of the line may be left out.
    Points and counts refer to the whole series.
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
    nonfinite: list[NonFiniteRow]
    nonfinite_count: int
    overwritten_parts: list[OverwrittenPartRow]


class BandRow(msgspec.Struct):
    """The series of one tag in several runs as one band; NaN where too few runs have points.

    ``count`` is the number of runs with a value at each x. ``inner_low`` and ``inner_high`` are
    null unless the band is one of quantiles.
    """

    group: str
    tag: str
    runs: int
    x: Float64
    count: Int32
    center: Float64
    low: Float64
    high: Float64
    inner_low: Float64 | None = None
    inner_high: Float64 | None = None


class ChartRow(msgspec.Struct):
    """A chart of ``points`` of ``runs``; ``grid`` has the centers of the pixel columns.

    If ``base`` is that of the request, ``lines`` are only those that have changed since; all others
    are those of that response, in the same order. ``revision`` is the next base; it is
    empty for bands and comparisons with a baseline, which are always sent completely.
    """

    id: str
    error: Problem | None = None
    runs: int = 0
    points: int = 0
    reduced: bool = False
    grid: Float64 | None = None
    lines: list[LineRow] = []
    bands: list[BandRow] = []
    revision: str = ""
    base: str | None = None


class ChartsResponse(msgspec.Struct):
    """The charts in the order of the request."""

    cursor: str
    charts: list[ChartRow]


class NearestPointRow(msgspec.Struct, gc=False):
    """The nearest point of one series; ``relative_s`` is the time since its first point."""

    run: str
    tag: str
    step: int
    wall_time: JsonNumber
    relative_s: JsonNumber
    x: float
    value: JsonNumber
    smoothed: JsonNumber


class NearestPointsResponse(msgspec.Struct):
    """A row for each series that has points."""

    rows: list[NearestPointRow]


class RangeStatsRow(msgspec.Struct):
    """Statistics of one series in a range: its ends, and extremes and mean of its finite values.

    All values are those before smoothing. ``change_ratio`` is the change divided by the magnitude
    of the first value; null if that is zero.
    """

    run: str
    tag: str
    start: PointRow | None
    stop: PointRow | None
    min: PointRow | None
    max: PointRow | None
    mean: JsonNumber | None
    count: int
    change: JsonNumber | None
    change_ratio: JsonNumber | None


class RangeStatsResponse(msgspec.Struct):
    """A row for each series that has points in the range."""

    rows: list[RangeStatsRow]


def make_point_row(point: CurvePoint | None) -> PointRow | None:
    if point is None:
        return None
    return PointRow(
        point.step,
        to_json_number(point.wall_time),
        point.x,
        to_json_number(point.value),
        to_json_number(point.smoothed),
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
        nonfinite=_make_nonfinite_rows(line.nonfinite),
        nonfinite_count=line.nonfinite.total,
        overwritten_parts=[
            OverwrittenPartRow(piece.x, piece.y) for piece in line.overwritten_parts
        ],
    )


def _make_nonfinite_rows(points: NonFinitePoints) -> list[NonFiniteRow]:
    columns = points.x.tolist(), points.step.tolist(), points.value.tolist()
    return [
        NonFiniteRow(x, step, _get_nonfinite_kind(value))
        for x, step, value in zip(*columns, strict=True)
    ]


def _get_nonfinite_kind(value: float) -> Literal["nan", "inf", "-inf"]:
    return "nan" if value != value else "inf" if value > 0 else "-inf"
