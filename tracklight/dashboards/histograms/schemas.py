"""Requests and responses of the Histograms dashboard; arrays are sent as columns."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.source import Sentence
from tracklight.formats.values import HistogramStats
from tracklight.plugin import Problem
from tracklight.types import Bool, Float32, Float64, Int32, Int64
from tracklight.util.files import JsonNumber, to_json_number

HistogramAxis = Literal["step", "relative", "wall"]

TableFormat = Literal["csv", "json", "parquet"]


class HistogramChartRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One tag, optionally in a range of the axis and on a grid between two values."""

    id: str
    tag: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of runs with the tag to skip."""
    start: float | None = None
    stop: float | None = None
    low: float | None = None
    high: float | None = None


class HistogramsRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Histograms of some tags; without ``runs``, of all runs that have them.

    A chart has at most ``max_runs`` runs. Of each series at most ``max_points`` histograms are
    returned, chosen evenly along the axis: ``step``, ``relative`` (seconds since the first) or
    ``wall``. With ``bins`` they are returned on a grid with so many bins, with ``percentiles`` as
    nine percentiles each.
    """

    charts: Annotated[list[HistogramChartRequest], msgspec.Meta(max_length=256)]
    runs: list[str] | None = None
    max_runs: Annotated[int, msgspec.Meta(ge=1, le=200)] = 12
    x: HistogramAxis = "step"
    max_points: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 51
    bins: Annotated[int, msgspec.Meta(ge=0, le=512)] = 30
    percentiles: bool = False
    ignore_outliers: bool = False
    """Do not extend the grid for a few outlying values or steps."""


class BucketTableRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All buckets of some tags as a file, optionally in a range of the axis."""

    tags: list[str]
    runs: list[str] | None = None
    x: HistogramAxis = "step"
    start: float | None = None
    stop: float | None = None
    format: TableFormat = "csv"


class HistogramErrorRow(msgspec.Struct):
    """A histogram that could not be read, and why."""

    step: int
    message: Sentence


class HistogramSeriesRow(msgspec.Struct):
    """Histograms of one tag of one run; ``x`` is their position on the axis.

    ``count`` is the number of histograms in the range, of which these are some. ``bins`` has the
    counts on the grid of the chart and ``percentiles`` nine values per histogram, concatenated.
    ``low`` and ``high`` are the outermost edges, ``bucket_sum`` is the sum of the buckets, ``num``
    the number of values according to the writer (NaN if unknown). ``unbounded`` is the count of
    buckets without a finite edge. ``has_nan`` histograms have edges or counts that are NaN, which
    many writers produce if the data contains NaN.
    """

    run: str
    tag: str
    count: int
    index: Int32
    fingerprint: Int32
    step: Int64
    wall_time: Float64
    x: Float64
    low: Float64
    high: Float64
    bucket_sum: Float64
    num: Float64
    nan: Float64
    positive_infinity: Float64
    negative_infinity: Float64
    unbounded: Float64
    has_nan: Bool
    bins: Float32 | Float64 | None
    percentiles: Float64 | None
    errors: list[HistogramErrorRow]


class HistogramChartRow(msgspec.Struct):
    """One chart.

    ``runs`` is the number of runs with the tag, including those that are not in ``series``.
    ``grid`` has the edges of the bins; null if there are no counts. With ``is_clipped`` there are
    values outside of the grid.
    """

    id: str
    error: Problem | None = None
    runs: int = 0
    grid: Float64 | None = None
    is_clipped: bool = False
    series: list[HistogramSeriesRow] = []


class HistogramsResponse(msgspec.Struct):
    """The requested charts, in order."""

    cursor: str
    charts: list[HistogramChartRow]


class HistogramTotals(msgspec.Struct):
    """Statistics of all values; NaN and infinite values are not in any bucket."""

    min: JsonNumber
    max: JsonNumber
    num: JsonNumber
    sum: JsonNumber
    sum_squares: JsonNumber
    nan: int
    positive_infinity: int
    negative_infinity: int


class BucketsResponse(msgspec.Struct):
    """The buckets of one histogram as logged; the last one includes its right edge."""

    step: int
    wall_time: JsonNumber
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
