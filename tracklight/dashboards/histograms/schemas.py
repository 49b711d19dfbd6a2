"""What the page asks of the Histograms dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.formats.values import HistogramStats
from tracklight.plugin import Problem
from tracklight.types import Bool, Float32, Float64, Int32, Int64
from tracklight.util.json_number import to_json_number

HistogramAxis = Literal["step", "relative", "wall"]

TableFormat = Literal["csv", "json", "parquet"]


class HistogramChartRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One tag between two places on the axis, and on a grid between two values."""

    id: str
    tag: str
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    """So many of the runs that have the tag are passed over."""
    start: float | None = None
    stop: float | None = None
    low: float | None = None
    high: float | None = None


class HistogramsRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Histograms of some tags of these ``runs``, or of all that have them.

    A chart has at most ``most_runs`` of them. Of each series at most ``most`` are answered, chosen
    evenly along the axis: ``step``, ``relative`` (seconds since its first) or ``wall``. With
    ``bins`` they come on a grid of so many, with ``percentiles`` as the nine values of each.
    """

    charts: Annotated[list[HistogramChartRequest], msgspec.Meta(max_length=256)]
    runs: list[str] | None = None
    most_runs: Annotated[int, msgspec.Meta(ge=1, le=200)] = 12
    x: HistogramAxis = "step"
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 51
    bins: Annotated[int, msgspec.Meta(ge=0, le=512)] = 30
    percentiles: bool = False
    ignore_outliers: bool = False
    """Whether a few far numbers, or steps, do not decide how far the grid reaches."""


class BucketTableRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All buckets of some tags as a file, those of steps between two places on the axis."""

    tags: list[str]
    runs: list[str] | None = None
    x: HistogramAxis = "step"
    start: float | None = None
    stop: float | None = None
    format: TableFormat = "csv"


# What the Histograms dashboard answers; arrays travel as columns.

Number = float | str


class HistogramErrorRow(msgspec.Struct):
    """A histogram that could not be read, and why."""

    step: int
    what: str


class HistogramSeriesRow(msgspec.Struct):
    """Histograms of one tag of one run, by their place ``x`` on the axis.

    ``count`` says how many there are in the range, of which these are some. ``bins`` holds their
    counts on the chart's grid and ``percentiles`` their nine values, one histogram after the
    other. ``low`` and ``high`` are the outermost edges of each, ``counted`` is the sum of its
    buckets and ``num`` what its writer says that it counted, NaN where it says nothing.
    ``unplaced`` counts what lies in buckets without an end. A ``spoiled`` one has edges or counts
    that are no numbers, which is what many writers make of data with a NaN in it.
    """

    run: str
    tag: str
    count: int
    index: Int32
    mark: Int32
    step: Int64
    wall_time: Float64
    x: Float64
    low: Float64
    high: Float64
    counted: Float64
    num: Float64
    nan: Float64
    positive_infinity: Float64
    negative_infinity: Float64
    unplaced: Float64
    spoiled: Bool
    bins: Float32 | Float64 | None
    percentiles: Float64 | None
    flaws: list[HistogramErrorRow]


class HistogramChartRow(msgspec.Struct):
    """``runs`` counts those that have the tag, also where not all are here.

    ``grid`` has the edges of the bins; null where nothing was counted. With ``cut`` there are
    numbers beyond it.
    """

    id: str
    error: Problem | None = None
    runs: int = 0
    grid: Float64 | None = None
    cut: bool = False
    series: list[HistogramSeriesRow] = []


class HistogramsResponse(msgspec.Struct):
    """One chart for each that was asked for, in that order."""

    cursor: str
    charts: list[HistogramChartRow]


class HistogramTotals(msgspec.Struct):
    """What the writer knew of all the numbers; those that were none are in no bucket."""

    min: Number
    max: Number
    num: Number
    sum: Number
    sum_squares: Number
    nan: int
    positive_infinity: int
    negative_infinity: int


class BucketsResponse(msgspec.Struct):
    """The buckets of one histogram as logged; the last one holds its right edge, too."""

    step: int
    wall_time: Number
    left: Float64
    right: Float64
    counts: Float64
    totals: HistogramTotals | None


def make_totals_row(totals: HistogramStats | None) -> HistogramTotals | None:
    if totals is None:
        return None
    return HistogramTotals(
        to_json_number(totals.min),
        to_json_number(totals.max),
        to_json_number(totals.num),
        to_json_number(totals.sum),
        to_json_number(totals.sum_squares),
        totals.nan,
        totals.positive_infinity,
        totals.negative_infinity,
    )
