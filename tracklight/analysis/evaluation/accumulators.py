"""Sums by slice and replicate, updated chunk by chunk.

`GroupedSums` is a growing array of sums. `ScoreHistogram` counts scores by label and score bin; all
thresholds are bin edges, so metrics at thresholds are exact whatever the number of bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.types import Float64, Int64

#: Bound on the cells of one histogram: 160 MB. Above it, neighboring score bins are merged.
MAX_CELLS = 20_000_000

#: Bins of a histogram over data of unknown size.
DEFAULT_BINS = 1024

#: Bins of a histogram over data in memory; with no more distinct scores, curves are exact.
EXACT_BINS = 1 << 16


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of a chunk after slicing: slices per specification, row numbers and weights."""

    slices: Sequence[Int64]
    """Slice of each row for each specification; -1 for none."""
    start: int
    weights: Float64
    resampling: Resampling

    def iter_replicates(self) -> Iterator[tuple[int | NDArray[np.uint8], Float64]]:
        """Yield stored replicates (one, or one for each row) with the weights of the rows."""
        rows = len(self.weights)
        if self.resampling.method != "bootstrap":
            yield self.resampling.draw_groups(self.start, rows), self.weights
            return
        yield 0, self.weights
        for number, repeats in enumerate(self.resampling.draw_repeats(self.start, rows), 1):
            yield number, self.weights * repeats


class GroupedSums:
    """Sums of weights by slice, stored replicate and column."""

    def __init__(self, replicates: int, width: int) -> None:
        self.replicates = replicates
        self.width = width
        self._values: Float64 = np.zeros((0, replicates, width))

    @property
    def capacity(self) -> int:
        return len(self._values)

    def reserve(self, slices: int) -> None:
        """Allocate memory for slices; existing sums are kept."""
        capacity = self.capacity
        if slices > capacity:
            grown = np.zeros((max(slices, capacity * 5 // 4, 4), self.replicates, self.width))
            grown[:capacity] = self._values
            self._values = grown

    def get(self, slices: int) -> Float64:
        """Return the sums of the first slices: (slices, replicates, columns)."""
        self.reserve(slices)
        return self._values[:slices]

    def replace(self, values: Float64) -> None:
        """Replace all sums, with another number of columns."""
        self._values = values
        self.width = values.shape[-1]

    def add(
        self, rows: WeightedRows, columns: int | NDArray[Any], factor: Float64 | None = None
    ) -> None:
        """Add the weight of each row, times a factor, to a column of all slices of the row."""
        flat = self._values.reshape(-1)
        stride = self.replicates * self.width
        for replicate, weights in rows.iter_replicates():
            offsets = np.asarray(replicate, np.int64) * self.width + columns
            amounts = weights if factor is None else weights * factor
            for codes in rows.slices:
                inside = codes >= 0
                if inside.all():
                    np.add.at(flat, codes * stride + offsets, amounts)
                    continue
                at = np.broadcast_to(offsets, codes.shape)[inside]
                np.add.at(flat, codes[inside] * stride + at, amounts[inside])


class ScoreHistogram:
    """Weighted counts of rows by slice, replicate, label (0 or 1) and score bin.

    Bin ``i`` holds scores in ``(edges[i - 1], edges[i]]``. The edges are all distinct scores of the
    sample if these are few enough, otherwise quantiles; in both cases with all thresholds.

    Args:
        thresholds: Decision thresholds.
        resampling: Method of the confidence intervals.
        max_bins: Maximum number of bins.
        max_cells: Maximum size of the histogram; above it, neighboring bins are merged.
    """

    def __init__(
        self,
        thresholds: Sequence[float],
        resampling: Resampling,
        max_bins: int = DEFAULT_BINS,
        max_cells: int = MAX_CELLS,
    ) -> None:
        self.thresholds = np.asarray(thresholds, np.float64)
        self.resampling = resampling
        self.max_bins = max_bins
        self.max_cells = max_cells
        self.edges: Float64 | None = None
        self.is_exact = True
        """Whether every bin holds a single score, so that curves have no binning error."""
        self._sums = GroupedSums(resampling.stored, 0)
        self._threshold_edges = self.thresholds

    def choose_edges(self, sample: NDArray[Any]) -> None:
        """Choose the bin edges from a sample of scores; done once."""
        if sample.dtype == np.float32:
            # A float32 score of 0.3 is not greater than the threshold 0.3.
            self._threshold_edges = self.thresholds.astype(np.float32).astype(np.float64)
        values = np.unique(sample.astype(np.float64))
        if len(values) > self.max_bins:
            at = np.linspace(0, len(values) - 1, self.max_bins // 2).astype(np.int64)
            grid = np.linspace(0, 1, self.max_bins // 2 + 1)
            values = np.concatenate([values[at], grid[(grid > values[0]) & (grid < values[-1])]])
            self.is_exact = False
        self.edges = np.unique(np.concatenate([values, self._threshold_edges]))
        self._sums = GroupedSums(self._sums.replicates, 2 * (len(self.edges) + 1))

    @property
    def bins(self) -> int:
        return self._sums.width // 2

    @property
    def threshold_bins(self) -> Int64:
        """The last bin that is negative at each threshold."""
        assert self.edges is not None
        return np.searchsorted(self.edges, self._threshold_edges)

    def reserve(self, slices: int) -> None:
        """Allocate memory for slices, merging bins if the histogram becomes too large."""
        while (
            slices * self._sums.replicates * self._sums.width > self.max_cells
            and self.bins > 2 * len(self.thresholds) + 16
        ):
            self._merge_bins()
        self._sums.reserve(slices)

    def _merge_bins(self) -> None:
        assert self.edges is not None
        keep = np.isin(self.edges, self._threshold_edges)
        keep[1::2] = True
        kept = np.flatnonzero(keep)
        values = self._sums.get(self._sums.capacity)
        starts = np.concatenate([[0], kept + 1])
        shape = (*values.shape[:2], 2, self.bins)
        merged = np.add.reduceat(values.reshape(shape), starts, axis=-1)
        self.edges = self.edges[kept]
        self._sums.replace(merged.reshape(*values.shape[:2], 2 * len(starts)))
        self.is_exact = False

    def find_bins(self, scores: NDArray[Any]) -> Int64:
        """Return the bin of each score."""
        assert self.edges is not None
        bins = np.searchsorted(self.edges, scores.astype(np.float64, copy=False), side="left")
        if self.is_exact and len(scores):
            known = np.append(self.edges, np.nan)[bins]
            self.is_exact = bool(np.all(known == scores))
        return bins

    def add(self, rows: WeightedRows, labels: NDArray[Any], scores: NDArray[Any]) -> None:
        """Count rows; `reserve` must have been called with the number of slices."""
        self._sums.add(rows, labels.astype(np.int64) * self.bins + self.find_bins(scores))

    def get(self, slices: int) -> Float64:
        """Return the counts of the first slices: (slices, replicates, label, bin)."""
        values = self._sums.get(slices)
        return values.reshape(slices, self._sums.replicates, 2, self.bins)
