"""What the plots of a slice need: score histograms, calibration sums and confusion matrices.

Histograms are reduced to some 200 bins, from which ROC, PR and score distributions of every slice
are drawn. All thresholds stay bin edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tracklight.analysis.evaluation.accumulators import ScoreHistogram
from tracklight.analysis.evaluation.curves import CALIBRATION_BUCKETS
from tracklight.analysis.evaluation.evaluator import Evaluator
from tracklight.analysis.evaluation.models import BinaryModel, MulticlassModel
from tracklight.analysis.evaluation.resampling import Resampling
from tracklight.types import Float64, Int64

MAX_PLOT_BINS = 200
MIN_PLOT_BINS = 40

#: Bound on the histogram cells of one result; 8 MB before compression.
MAX_PLOT_CELLS = 1_000_000


def _no_matrix() -> Float64:
    return np.zeros((0, 0, 0))


@dataclass(frozen=True, eq=False)
class EvaluationPlots:
    """Data of the plots of some slices."""

    rows: Int64
    """Positions of these slices in the result; the largest ones if there are many slices."""
    outputs: Sequence[str]
    """Classes of a multi-class model; one empty name for a binary model."""
    edges: Float64
    counts: Float64
    """Weights: (outputs, slices, label, bin)."""
    calibration: Float64
    """See `curves.calibration_curve`: (outputs, slices, 3, 20)."""
    confusion: Float64 = field(default_factory=_no_matrix)
    """Weights by label and predicted class: (slices, classes, classes)."""
    is_exact: bool = False
    """Whether every bin holds a single score, so that curves have no binning error."""

    def find_row(self, slice_at: int) -> int | None:
        """Return the position of a slice of the result among these slices."""
        found = np.flatnonzero(self.rows == slice_at)
        return int(found[0]) if len(found) else None


def collect_plots(evaluator: Evaluator, kept: Int64, counts: Int64) -> EvaluationPlots | None:
    """Return the plots of an evaluation; None for regression models.

    Args:
        evaluator: The evaluation.
        kept: Numbers of the slices of the result in the evaluator.
        counts: Number of rows of these slices.
    """
    model = evaluator.model
    if isinstance(model, BinaryModel):
        models, outputs = [model], [""]
    elif isinstance(model, MulticlassModel):
        models, outputs = model.models, list(model.class_names or [])
    else:
        return None
    limit = max(1, MAX_PLOT_CELLS // (2 * len(models) * MIN_PLOT_BINS))
    rows = np.sort(np.argsort(-counts, kind="stable")[:limit])
    chosen = kept[rows]
    bins = MAX_PLOT_CELLS // (2 * len(models) * max(len(rows), 1))
    first = models[0].histogram
    total = np.sum([_sum_replicates(part.histogram, len(evaluator.encoder)) for part in models], 0)
    edges = _choose_edges(first, total, min(max(bins, MIN_PLOT_BINS), MAX_PLOT_BINS))
    histograms = [
        _reduce(_sum_replicates(part.histogram, len(evaluator.encoder))[chosen], first, edges)
        for part in models
    ]
    calibration = [
        part.calibration.get(len(evaluator.encoder))[chosen, 0].reshape(-1, 3, CALIBRATION_BUCKETS)
        for part in models
    ]
    confusion = _no_matrix()
    if isinstance(model, MulticlassModel):
        classes = len(models)
        stored = _full_data(model.confusion.get(len(evaluator.encoder)), model.resampling)
        confusion = stored[chosen].reshape(-1, classes, classes)
    return EvaluationPlots(
        rows=rows,
        outputs=outputs,
        edges=edges,
        counts=np.stack(histograms),
        calibration=np.stack(calibration),
        confusion=confusion,
        is_exact=first.is_exact and len(edges) == len(_edges(first)),
    )


def _edges(histogram: ScoreHistogram) -> Float64:
    assert histogram.edges is not None
    return histogram.edges


def _full_data(stored: Float64, resampling: Resampling) -> Float64:
    """Return sums over the full data from stored replicates: (slices, replicates, ...)."""
    full: Float64 = stored.sum(axis=1) if resampling.method == "jackknife" else stored[:, 0]
    return full


def _sum_replicates(histogram: ScoreHistogram, slices: int) -> Float64:
    return _full_data(histogram.get(slices), histogram.resampling)


def _choose_edges(histogram: ScoreHistogram, total: Float64, bins: int) -> Float64:
    """Return at most ``bins`` of the edges: thresholds, an even grid, and quantiles of the rows."""
    edges = _edges(histogram)
    if len(edges) <= bins:
        return edges
    forced = edges[histogram.threshold_bins]
    grid = np.linspace(edges[0], edges[-1], 21)
    even = np.clip(np.searchsorted(edges, grid), 0, len(edges) - 1)
    weight = np.cumsum(total.sum(axis=(0, 1)))[:-1]
    remaining = max(bins - len(forced) - len(even), 2)
    targets = np.linspace(0, weight[-1], remaining)
    quantiles = np.clip(np.searchsorted(weight, targets), 0, len(edges) - 1)
    return np.unique(np.concatenate([forced, edges[even], edges[quantiles], edges[-1:]]))


def _reduce(counts: Float64, histogram: ScoreHistogram, edges: Float64) -> Float64:
    """Merge bins so that the given edges remain."""
    kept = np.searchsorted(_edges(histogram), edges)
    starts = np.concatenate([[0], kept + 1])
    return np.asarray(np.add.reduceat(counts, starts, axis=-1))
