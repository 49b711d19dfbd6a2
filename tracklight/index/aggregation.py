"""Combine the curves of many runs: each shard reduces its own, and the server merges the results.

A `CurveReduction` computes a small result from the curves of one shard and merges those of several
shards. Means of groups of which all values are kept, and all quantiles, do not depend on how runs
are divided among shards; other means may differ by rounding. There are three: the extents
of all curves, a grid of x values for all of them, and statistics of their values on that grid
(`GroupStatistics`) with exact or approximate quantiles.

Approximate quantiles come from a histogram with buckets of equal relative width, as in DDSketch
(Masson et al., 2019): a bucket has all numbers with the same sign, exponent and first
`SKETCH_BITS` bits of the mantissa, so that a quantile differs by at most `SKETCH_ERROR` of its
value from a value of that rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np

from tracklight.index.downsampling import (
    ResampledView,
    SampleGridView,
    merge_sample_grids,
)
from tracklight.index.series_query import Curve, SeriesQuery, compute_curve, make_baseline
from tracklight.types import Float64, Int32, Int64, Series

PartT = TypeVar("PartT")

SKETCH_BITS = 10
#: Half of a bucket, relative to the lowest number in it.
SKETCH_ERROR = 2.0 ** -(SKETCH_BITS + 1)

_SHIFT = 52 - SKETCH_BITS
_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)
#: More than the number of buckets of one column.
_COLUMN_BITS = 64 - _SHIFT


class CompactCurve(NamedTuple):
    """What reductions need of a curve."""

    x: Float64
    """Of all points, sorted."""
    finite_x: Float64
    """Of the points with a finite value, the last one at each x."""
    value: Float64
    """The smoothed values at ``finite_x``."""

    def count_bytes(self) -> int:
        repeated = 0 if self.finite_x is self.x else self.finite_x.nbytes
        return self.x.nbytes + repeated + self.value.nbytes


def compute_compact_curve(series: Series, query: SeriesQuery) -> CompactCurve:
    """Compute the curve of a series with a query that has neither baseline nor metric."""
    if query.axis == "step" and query.smoothing is None and not series.overwritten.any():
        step, value = series.step, np.ascontiguousarray(series.value, np.float64)
        if (step[1:] > step[:-1]).all() and np.isfinite(value).all():  # nothing else to do
            x = step.astype(np.float64)
            return CompactCurve(x, x, value)
    with np.errstate(all="ignore"):
        return make_compact_curve(compute_curve(series, query))


def make_compact_curve(curve: Curve) -> CompactCurve:
    """Return what reductions need of a curve."""
    base = make_baseline(curve)
    return CompactCurve(curve.x if curve.is_sorted else np.sort(curve.x), base.x, base.smoothed)


class CurveReduction(Protocol[PartT]):
    """Reduces many curves to one result. It is sent to the shards."""

    def reduce(self, indexes: Int64, curves: Sequence[CompactCurve]) -> PartT:
        """Return the result for some curves; ``indexes`` are their positions in the request."""

    def merge(self, parts: Sequence[PartT]) -> PartT:
        """Return the result for the curves of all parts; there may be no part."""


# ---- extents and grid


class CurveExtents(msgspec.Struct, frozen=True):
    """Numbers of points of many curves in a range, and the lowest and highest x of all."""

    points: Int64
    low: float
    high: float


class MeasureCurves(msgspec.Struct, frozen=True):
    """Measure ``count`` curves between ``start`` and ``stop``; None leaves an end open."""

    count: int
    start: float | None = None
    stop: float | None = None

    def reduce(self, indexes: Int64, curves: Sequence[CompactCurve]) -> CurveExtents:
        points = np.zeros(self.count, np.int64)
        low, high = np.inf, -np.inf
        for index, (x, _, _) in zip(indexes.tolist(), curves, strict=True):
            first = 0 if self.start is None else int(x.searchsorted(self.start))
            after = len(x) if self.stop is None else int(x.searchsorted(self.stop, "right"))
            points[index] = after - first
            if after > first:
                low, high = min(low, x[first]), max(high, x[after - 1])
        return CurveExtents(points, float(low), float(high))

    def merge(self, parts: Sequence[CurveExtents]) -> CurveExtents:
        points = np.sum([np.zeros(self.count, np.int64), *(part.points for part in parts)], axis=0)
        low = min((part.low for part in parts), default=np.inf)
        return CurveExtents(points, low, max((part.high for part in parts), default=-np.inf))


class FindSampleGrid(msgspec.Struct, frozen=True):
    """Find at most ``max_points`` values of x for all curves."""

    start: float
    stop: float
    max_points: int

    def reduce(self, indexes: Int64, curves: Sequence[CompactCurve]) -> list[Float64]:
        """Return the distinct grids: most runs log at the same steps."""
        view = SampleGridView(self.start, self.stop, self.max_points)
        distinct_x = {curve.x.tobytes(): curve.x for curve in curves}
        grids = (view.pick(x) for x in distinct_x.values())
        return [*{grid.tobytes(): grid for grid in grids}.values()]

    def merge(self, parts: Sequence[list[Float64]]) -> list[Float64]:
        grids = (grid for part in parts for grid in part)
        return [merge_sample_grids(grids, self.start, self.stop, self.max_points)]


# ---- statistics by group


class QuantileSketch(msgspec.Struct, frozen=True):
    """Numbers of values in buckets: ``keys`` are sorted, with the column before the bucket."""

    keys: Int64
    counts: Int64

    @classmethod
    def make(cls, values: Float64) -> QuantileSketch:
        """Sketch the columns of a table, ignoring NaN."""
        bits = values.view(np.int64)
        ordered = bits ^ ((bits >> 63) & _SIGN)  # integers in the order of the numbers
        columns = np.arange(values.shape[1], dtype=np.int64) << _COLUMN_BITS
        buckets = (ordered >> _SHIFT) + (np.int64(1) << (_COLUMN_BITS - 1)) + columns
        keys, counts = np.unique(buckets[~np.isnan(values)], return_counts=True)
        return cls(keys, counts.astype(np.int64))

    @classmethod
    def merge(cls, sketches: Sequence[QuantileSketch]) -> QuantileSketch:
        keys, inverse = np.unique(
            np.concatenate([sketch.keys for sketch in sketches]), return_inverse=True
        )
        counts = np.concatenate([sketch.counts for sketch in sketches])
        return cls(keys, np.bincount(inverse, counts, len(keys)).astype(np.int64))

    def compute(self, quantile: float, count: Int32) -> Float64:
        """Return the quantile of each column; ``count`` are the numbers of values."""
        if not len(self.keys):
            return np.full(len(count), np.nan)
        ends = np.cumsum(self.counts)
        start = np.cumsum(count) - count
        buckets = (self.keys & ((np.int64(1) << _COLUMN_BITS) - 1)) - (1 << (_COLUMN_BITS - 1))
        ordered = (buckets << _SHIFT) + (np.int64(1) << (_SHIFT - 1))
        centers = (ordered ^ ((ordered >> 63) & _SIGN)).view(np.float64)

        def get_value(rank: Int64) -> Float64:
            at = np.searchsorted(ends, start + rank, "right")
            values: Float64 = centers[np.minimum(at, len(centers) - 1)]
            return values

        return _interpolate(quantile, count, get_value)


def _interpolate(quantile: float, count: Int32, get_value: Callable[[Int64], Float64]) -> Float64:
    """Return quantiles as `numpy.quantile` does, between the values of the two nearest ranks."""
    rank = quantile * np.maximum(count - 1, 0)
    below = np.floor(rank).astype(np.int64)
    low, high = get_value(below), get_value(np.ceil(rank).astype(np.int64))
    return np.where(count > 0, low + (high - low) * (rank - below), np.nan)


class GroupStatistics(msgspec.Struct, frozen=True):
    """Statistics of the curves of one group at each value of the grid."""

    runs: int
    count: Int32
    """How many curves have a value."""
    mean: Float64
    squares: Float64
    """Sums of squared differences from the mean."""
    low: Float64
    high: Float64
    """Extremes, also between the values of the grid if they were requested."""
    values: Float64 | None = None
    """The values of all curves, for exact quantiles, …"""
    indexes: Int64 | None = None
    """… and the positions of the curves in the request, in ascending order."""
    sketch: QuantileSketch | None = None

    def compute_quantile(self, quantile: float) -> Float64:
        """Return a quantile of the values at each value of the grid.

        Raises:
            ValueError: Quantiles were not requested.
        """
        if self.sketch is not None:
            return self.sketch.compute(quantile, self.count)
        if self.values is None:
            raise ValueError("these statistics have no quantiles")
        ordered = np.sort(self.values, axis=0)  # NaN last
        columns = np.arange(ordered.shape[1])
        return _interpolate(quantile, self.count, lambda rank: ordered[rank, columns])


class ComputeStatistics(msgspec.Struct, frozen=True):
    """Resample curves on a grid, and compute statistics of each group.

    Args:
        grid: Values of x, sorted.
        groups: The number of the group of each curve.
        with_extremes: Whether the extremes include points between the values of the grid.
        exact: Groups of which all values are kept, for exact results.
        sketched: Groups with approximate quantiles.
    """

    grid: Float64
    groups: Int32
    with_extremes: bool = False
    exact: frozenset[int] = frozenset()
    sketched: frozenset[int] = frozenset()

    @np.errstate(all="ignore")
    def reduce(self, indexes: Int64, curves: Sequence[CompactCurve]) -> dict[int, GroupStatistics]:
        view = ResampledView(self.grid, self.with_extremes)
        values = np.empty((len(curves), len(self.grid)))
        low, high = (
            (np.empty_like(values) for _ in range(2)) if self.with_extremes else (values,) * 2
        )
        for row, (_, x, value) in enumerate(curves):
            values[row], *extremes = view.resample(x, value)
            if self.with_extremes:
                low[row], high[row] = extremes
        own = self.groups[indexes]
        statistics = {}
        for group in np.unique(own).tolist():
            rows = np.flatnonzero(own == group)
            members = values[rows]
            count, mean, squares = _compute_moments(members)
            statistics[group] = GroupStatistics(
                runs=len(rows),
                count=count,
                mean=mean,
                squares=squares,
                low=np.fmin.reduce(low[rows]),
                high=np.fmax.reduce(high[rows]),
                values=members if group in self.exact else None,
                indexes=indexes[rows] if group in self.exact else None,
                sketch=QuantileSketch.make(members) if group in self.sketched else None,
            )
        return statistics

    def merge(self, parts: Sequence[Mapping[int, GroupStatistics]]) -> dict[int, GroupStatistics]:
        groups = sorted({group for part in parts for group in part})
        return {
            group: _merge_statistics([part[group] for part in parts if group in part])
            for group in groups
        }


def _compute_moments(values: Float64) -> tuple[Int32, Float64, Float64]:
    """Return the number of values of each column, their mean and their squared differences."""
    is_missing = np.isnan(values)
    count = np.asarray(len(values) - np.count_nonzero(is_missing, axis=0), np.int32)
    has_gaps = bool(is_missing.any())
    mean = (np.where(is_missing, 0.0, values) if has_gaps else values).sum(axis=0) / count
    differences = values - mean
    if has_gaps:
        differences[is_missing] = 0.0
    return count, mean, np.einsum("ij,ij->j", differences, differences)


@np.errstate(all="ignore")
def _merge_statistics(parts: Sequence[GroupStatistics]) -> GroupStatistics:
    """Merge means and squares as Chan, Golub and LeVeque do, or compute them from all values."""
    if len(parts) == 1:
        return parts[0]
    low = np.fmin.reduce([part.low for part in parts])
    high = np.fmax.reduce([part.high for part in parts])
    runs = sum(part.runs for part in parts)
    pairs = [(part.indexes, part.values) for part in parts]
    if all(values is not None for _, values in pairs):
        indexes = np.concatenate([own for own, _ in pairs if own is not None])
        order = np.argsort(indexes)
        values = np.concatenate([own for _, own in pairs if own is not None])[order]
        moments = _compute_moments(values)
        return GroupStatistics(runs, *moments, low, high, values, indexes[order])
    counts = np.array([part.count for part in parts], np.int64)
    count = counts.sum(axis=0)
    means = np.array([part.mean for part in parts])
    total = np.where(counts > 0, means * counts, 0.0).sum(axis=0)
    mean = total / count
    between = np.where(counts > 0, counts * (means - mean) ** 2, 0.0).sum(axis=0)
    sketches = [part.sketch for part in parts if part.sketch is not None]
    return GroupStatistics(
        runs=runs,
        count=count.astype(np.int32),
        mean=mean,
        squares=np.sum([part.squares for part in parts], axis=0) + between,
        low=low,
        high=high,
        sketch=QuantileSketch.merge(sketches) if sketches else None,
    )
