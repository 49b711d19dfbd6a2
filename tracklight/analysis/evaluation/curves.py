"""Score histograms, and the curves computed from them: ROC, precision-recall and calibration.

Sums are kept by slice and replicate and updated chunk by chunk: `GroupedSums` is a growing array of
sums, and `ScoreHistogram` counts scores by label and score bin. A histogram has shape (label, bin),
with bin ``i`` in ``(edges[i - 1], edges[i]]``. All thresholds are bin edges, so metrics at
thresholds are exact whatever the number of bins. `histogram_of` builds a histogram from arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.metrics import divide
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64

# ---- sums

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


# ---- curves

#: Buckets for which sums are kept; curves with fewer buckets are sums of these.
CALIBRATION_BUCKETS = 20


@dataclass(frozen=True, eq=False)
class RocCurve:
    """False and true positive rate at descending thresholds, starting with "none positive"."""

    threshold: Float64
    false_positive_rate: Float64
    true_positive_rate: Float64


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall at descending thresholds, without those that predict no positive."""

    threshold: Float64
    precision: Float64
    recall: Float64


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Mean score and share of positives by score bucket; NaN in empty buckets."""

    edges: Float64
    mean_score: Float64
    positive_share: Float64
    weight: Float64


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """Weight of negative and positive rows by score bucket."""

    edges: Float64
    negative: Float64
    positive: Float64


def histogram_of(
    labels: NDArray[Any],
    scores: NDArray[Any],
    weights: NDArray[Any] | None = None,
    thresholds: Sequence[float] = (),
    max_bins: int = EXACT_BINS,
) -> ScoreHistogram:
    """Return the histogram of one slice; get its counts with ``histogram.get(1)[0, 0]``."""
    histogram = ScoreHistogram(thresholds, Resampling("none"), max_bins)
    histogram.choose_edges(np.asarray(scores))
    histogram.reserve(1)
    rows = len(scores)
    amounts = np.ones(rows) if weights is None else np.asarray(weights, np.float64)
    chunk = WeightedRows([np.zeros(rows, np.int64)], 0, amounts, Resampling("none"))
    histogram.add(chunk, np.asarray(labels), np.asarray(scores))
    return histogram


def roc_curve(counts: Float64, edges: Float64) -> RocCurve:
    """Return the ROC curve; NaN rates when a label does not occur."""
    totals = counts.sum(axis=-1)
    above = _count_above(counts)
    used = _changes(above)
    return RocCurve(
        threshold=_descending_thresholds(edges)[used],
        false_positive_rate=divide(above[0], totals[0])[used],
        true_positive_rate=divide(above[1], totals[1])[used],
    )


def precision_recall_curve(counts: Float64, edges: Float64) -> PrecisionRecallCurve:
    """Return the precision-recall curve."""
    above = _count_above(counts)
    used = _changes(above) & (above.sum(axis=0) > 0)
    return PrecisionRecallCurve(
        threshold=_descending_thresholds(edges)[used],
        precision=divide(above[1], above.sum(axis=0))[used],
        recall=divide(above[1], counts[1].sum())[used],
    )


def calibration_sums(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the bucket of each row, and the factors whose sums `calibration_curve` needs."""
    bounds = np.linspace(0, 1, CALIBRATION_BUCKETS + 1)[1:-1]
    return np.searchsorted(bounds, scores, side="left"), scores, labels


def calibration_curve(sums: Float64, buckets: int = 10) -> CalibrationCurve:
    """Return the calibration curve over buckets ``(a, b]`` of equal width from 0 to 1.

    Args:
        sums: Sums of weight, weight times score and weight times label: (3, 20).
        buckets: Number of buckets; must divide 20.
    """
    if CALIBRATION_BUCKETS % buckets:
        raise UsageError(f"the number of calibration buckets must divide {CALIBRATION_BUCKETS}")
    weight, scores, labels = sums.reshape(3, buckets, -1).sum(axis=-1)
    return CalibrationCurve(
        edges=np.linspace(0, 1, buckets + 1),
        mean_score=divide(scores, weight),
        positive_share=divide(labels, weight),
        weight=weight,
    )


def score_distribution(counts: Float64, edges: Float64, buckets: int = 50) -> ScoreDistribution:
    """Return the distribution of scores by label, over buckets of equal width.

    The buckets span 0 to 1, or the range of the scores if some are outside.
    """
    low, high = min(0.0, float(edges[0])), max(1.0, float(edges[-1]))
    bounds = np.linspace(low, high, buckets + 1)
    at = _find_buckets(np.append(edges, high), bounds)
    negative, positive = (
        np.bincount(at, values, minlength=buckets)[:buckets] for values in (counts[0], counts[1])
    )
    return ScoreDistribution(bounds, np.asarray(negative, "f8"), np.asarray(positive, "f8"))


def _count_above(counts: Float64) -> Float64:
    """Return weights above each edge, from the highest to the lowest: (label, edge)."""
    above = np.cumsum(counts[:, ::-1], axis=-1)
    return np.concatenate([np.zeros((2, 1)), above], axis=-1)


def _changes(above: Float64) -> NDArray[np.bool_]:
    """Return which points to keep: the first, and each that differs from its predecessor."""
    moved = (np.diff(above, axis=-1) != 0).any(axis=0)
    return np.concatenate([[True], moved])


def _descending_thresholds(edges: Float64) -> Float64:
    """Return the threshold of each point: scores greater than it are positive."""
    return np.concatenate([[np.inf], edges[::-1], [-np.inf]])


def _find_buckets(values: Float64, bounds: Float64) -> NDArray[Any]:
    """Return the bucket ``(a, b]`` of each value; the first one includes its lower bound."""
    at = np.searchsorted(bounds, values, side="left") - 1
    return np.clip(at, 0, len(bounds) - 2)
