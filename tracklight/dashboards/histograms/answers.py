"""What the Histograms dashboard answers; arrays travel as columns."""

from __future__ import annotations

import msgspec

from tracklight.formats.json_number import json_number
from tracklight.formats.values import Totals
from tracklight.plugin import Problem
from tracklight.types import Bool, Float32, Float64, Int32, Int64

Number = float | str


class HistogramFlaw(msgspec.Struct):
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
    flaws: list[HistogramFlaw]


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


class HistogramsAnswer(msgspec.Struct):
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


class BucketsAnswer(msgspec.Struct):
    """The buckets of one histogram as logged; the last one holds its right edge, too."""

    step: int
    wall_time: Number
    left: Float64
    right: Float64
    counts: Float64
    totals: HistogramTotals | None


def totals_row(totals: Totals | None) -> HistogramTotals | None:
    if totals is None:
        return None
    return HistogramTotals(
        json_number(totals.min),
        json_number(totals.max),
        json_number(totals.num),
        json_number(totals.sum),
        json_number(totals.sum_squares),
        totals.nan,
        totals.positive_infinity,
        totals.negative_infinity,
    )
