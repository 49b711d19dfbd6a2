"""Compute bands: the runs of a group as one mean or median with a spread around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.scalars.schemas import BandRow, BandSpread, BandsRequest, RunGroup
from tracklight.index.aggregation import ComputeStatistics, FindSampleGrid, GroupStatistics
from tracklight.index.series_query import SeriesQuery
from tracklight.index.shard import SeriesKey
from tracklight.plugin import Source
from tracklight.types import Float64, Int32, Int64

#: Values of all runs of one chart from which bands are computed.
_MAX_BAND_CELLS = 4_000_000
_MIN_BAND_POINTS = 100
#: Statistics of larger groups are computed by the shards, and their quantiles are approximate. See
#: `tracklight.index.aggregation`.
MAX_EXACT_RUNS = 2000
#: The center of a band of quantiles, its edges, and those of its inner part.
_QUANTILES = (0.5, 0.05, 0.95, 0.25, 0.75)

#: The 97.5 % quantiles of Student's t-distribution with 1, 2, … degrees of freedom.
_T_QUANTILES = np.array([
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
    2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
    2.093024, 2.085963,
])  # fmt: skip

_NORMAL_QUANTILE = 1.959963985


@dataclass(frozen=True)
class BandBuilder:
    """Build the bands of one chart or download."""

    log: Source
    request: BandsRequest
    query: SeriesQuery

    def build(
        self, keys: Sequence[SeriesKey], start: float, stop: float, max_points: int
    ) -> list[BandRow]:
        """Return a band for each group and tag that some of the series belong to.

        Args:
            keys: The series.
            start: The lowest x.
            stop: The highest x.
            max_points: A band has at most this many values of x, and fewer with many series.
        """
        max_points = max(_MIN_BAND_POINTS, min(max_points, _MAX_BAND_CELLS // len(keys)))
        find_grid = FindSampleGrid(start, stop, max_points)
        (grid,) = self.log.reduce(keys, self.query, find_grid)
        if not len(grid):
            return []
        members = list(_iter_members(self.request.groups or (), keys))
        statistics = self._compute_statistics(grid, [own for _, _, own in members])
        return [
            self._make_band(group.key, tag, grid, statistics[number])
            for number, (group, tag, _) in enumerate(members)
            if number in statistics
        ]

    def _compute_statistics(
        self, grid: Float64, members: Sequence[Sequence[SeriesKey]]
    ) -> dict[int, GroupStatistics]:
        has_quantiles = self.request.center == "median" or self.request.band == "quantiles"
        sizes = [len(own) for own in members]
        small = frozenset(n for n, size in enumerate(sizes) if size <= MAX_EXACT_RUNS)
        compute = ComputeStatistics(
            grid,
            np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            with_extremes=self.request.band == "minmax",
            exact=small,
            sketched=frozenset(range(len(sizes))) - small if has_quantiles else frozenset(),
        )
        return self.log.reduce([key for own in members for key in own], self.query, compute)

    @np.errstate(all="ignore")
    def _make_band(
        self, group: str, tag: str, grid: Float64, statistics: GroupStatistics
    ) -> BandRow:
        covered = _select_covered(statistics.count, self.request.min_runs)
        count = statistics.count[covered]
        columns = [column[covered] for column in self._compute_columns(statistics)]
        for column in columns:
            column[count < self.request.min_runs] = np.nan
        return BandRow(group, tag, statistics.runs, grid[covered], count, *columns)

    def _compute_columns(self, statistics: GroupStatistics) -> list[Float64]:
        """Return the center and both edges of a band, and those of its inner part if it has one."""
        spread = self.request.band
        if spread == "quantiles":
            return [statistics.compute_quantile(quantile) for quantile in _QUANTILES]
        center = (
            statistics.mean.copy()
            if self.request.center == "mean"
            else statistics.compute_quantile(0.5)
        )
        if spread == "minmax":
            return [center, statistics.low, statistics.high]
        half_width = compute_half_width(statistics, spread)
        return [center, center - half_width, center + half_width]


def _select_covered(count: Int32, min_runs: int) -> Int64:
    """Return the rows of a band: where runs have values, between the first and last enough have.

    Rows in between with too few runs are kept, so that the band has a gap there.
    """
    enough = np.flatnonzero(count >= min_runs)
    if not len(enough):
        return enough
    rows: Int64 = np.arange(enough[0], enough[-1] + 1)
    covered: Int64 = rows[count[rows] > 0]
    return covered


def compute_half_width(statistics: GroupStatistics, spread: BandSpread) -> Float64:
    """Return the distance of a band's edges from its center; zero for a single run."""
    degrees = np.maximum(statistics.count - 1, 1)
    deviation: Float64 = np.sqrt(statistics.squares / degrees)
    if spread == "std":
        return deviation
    error: Float64 = deviation / np.sqrt(statistics.count)
    return error if spread == "stderr" else error * compute_t_quantiles(degrees)


def compute_t_quantiles(degrees: NDArray[np.integer]) -> Float64:
    """Return the half-width of a 95 % confidence interval, in standard errors.

    Args:
        degrees: Degrees of freedom, at least one.
    """
    exact = _T_QUANTILES[np.minimum(degrees, len(_T_QUANTILES)) - 1]
    approximate = _approximate_t_quantiles(degrees.astype(np.float64))
    return np.where(degrees <= len(_T_QUANTILES), exact, approximate)


def _approximate_t_quantiles(degrees: Float64) -> Float64:
    """Fisher's expansion around the normal distribution, accurate for many degrees of freedom."""
    z = _NORMAL_QUANTILE
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def _iter_members(
    groups: Sequence[RunGroup], keys: Sequence[SeriesKey]
) -> Iterator[tuple[RunGroup, str, list[SeriesKey]]]:
    """Yield each group and tag with its series, if it has any."""
    tags = dict.fromkeys(tag for _, tag in keys)
    existing = frozenset(keys)
    for tag in tags:
        for group in groups:
            members = [(run, tag) for run in group.runs if (run, tag) in existing]
            if members:
                yield group, tag, members
