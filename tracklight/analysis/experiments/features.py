"""Hyperparameters as binned features, and simple statistics of them.

The features are the input of the random forest in `importance`, which also reports the direction
of their effect (`estimate_directions`) and what the best sessions have in common
(`find_best_range`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.analysis.experiments.hparam_columns import CellState, HParamColumn
from tracklight.types import Bool, Float64, Int64

#: Numbers with more distinct values are binned by quantiles.
MAX_BINS = 24
#: Name of the bin of missing values.
MISSING = "missing"

#: A feature with fewer rows per value could determine by chance whether another one is missing.
_MIN_ROWS_PER_VALUE = 5

#: The best rows are this share of all, at least this many rows, and at most that share.
_TOP_SHARE, _MIN_TOP_ROWS, _MAX_TOP_SHARE = 0.1, 8, 0.25

#: A direction is reported if the slope of ranks is at least this, ...
_MIN_SLOPE = 0.1
#: ... and this many times its standard error.
_MIN_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class Feature:
    """A hyperparameter that varies between sessions."""

    name: str
    label: str
    bins: Int64
    """The bin of each row."""
    bin_names: list[str]
    """The label of each bin; empty for bins of quantiles."""
    is_ordered: bool
    """Whether bins are numbers in ascending order; otherwise they are categories."""
    numbers: Float64
    """The value of each row, NaN if it has none."""

    @property
    def is_missing(self) -> Bool:
        """A mask of the rows without a value."""
        if MISSING not in self.bin_names:
            return np.zeros(len(self.bins), np.bool_)
        return np.equal(self.bins, self.bin_names.index(MISSING))


def build_features(columns: Sequence[HParamColumn], rows: Int64) -> list[Feature]:
    """Return the hyperparameters that vary between the rows and are not just names of runs."""
    features = (_make_feature(column, rows) for column in columns)
    return [feature for feature in features if _differs(feature) and not _is_identifier(feature)]


def list_conditional(features: Sequence[Feature]) -> list[int]:
    """Return the indices of features that exist only for some values of another one.

    An example is `momentum`, where only sessions with the optimizer SGD have it.
    """
    parents = [
        feature.bins
        for feature in features
        if not feature.is_missing.any()
        and len(np.unique(feature.bins)) * _MIN_ROWS_PER_VALUE <= len(feature.bins)
    ]
    return [
        index
        for index, feature in enumerate(features)
        if feature.is_missing.any()
        and any(_is_function(feature.is_missing, parent) for parent in parents)
    ]


def _is_function(outcome: Bool, bins: Int64) -> bool:
    """Return whether rows in the same bin always have the same outcome."""
    counts, positive = np.bincount(bins), np.bincount(bins, outcome)
    return bool(np.all((positive == 0) | (positive == counts)))


def _make_feature(column: HParamColumn, rows: Int64) -> Feature:
    values = column.values[rows]
    states = np.zeros(len(rows), np.uint8) if column.states is None else column.states[rows]
    if set(np.unique(states).tolist()) <= {CellState.NUMBER, CellState.MISSING, CellState.BOOL}:
        numbers = np.where(states == CellState.MISSING, np.nan, values)
        is_bool = bool((states == CellState.BOOL).any())
        bins, names = _bin_numbers(numbers, is_bool)
        return Feature(column.name, column.label, bins, names, True, numbers)
    cells = (column.get_value(row) for row in rows)
    texts = [MISSING if cell is None else str(cell) for cell in cells]
    bins, names = _bin_texts(texts)
    return Feature(column.name, column.label, bins, names, False, np.full(len(rows), np.nan))


def _bin_numbers(numbers: Float64, is_bool: bool) -> tuple[Int64, list[str]]:
    """Bin numbers; missing values and NaN get the first bin."""
    known = np.unique(numbers[~np.isnan(numbers)])
    if len(known) >= MAX_BINS:
        finite = np.quantile(numbers[np.isfinite(numbers)], np.linspace(0, 1, MAX_BINS))
        edges = np.unique(finite)[1:-1]
        bins = np.searchsorted(edges, numbers, side="right")
        names = ["" for _ in range(len(edges) + 1)]
    else:
        bins = np.searchsorted(known, numbers)
        names = [("true" if value else "false") if is_bool else f"{value:.4g}" for value in known]
    return np.where(np.isnan(numbers), 0, bins + 1), [MISSING, *names]


def _bin_texts(texts: list[str]) -> tuple[Int64, list[str]]:
    """Give the most frequent texts a bin each, and all others a common one."""
    distinct, counts = np.unique(texts, return_counts=True)
    names = distinct[np.argsort(-counts, kind="stable")][: MAX_BINS - 1].tolist()
    bin_of = {name: index for index, name in enumerate(names)}
    other = len(names)
    bins = np.array([bin_of.get(text, other) for text in texts], np.int64)
    return bins, [*names, "other"]


def _differs(feature: Feature) -> bool:
    """Return whether there are several values, not counting missing ones."""
    used = {feature.bin_names[index] or index for index in feature.bins.tolist()}
    return len(used - {MISSING}) > 1


def _is_identifier(feature: Feature) -> bool:
    """Return whether it is a text that is unique in most rows, such as an id."""
    if feature.is_ordered or len(feature.bin_names) < MAX_BINS:
        return False
    return bool(np.mean(feature.bins == MAX_BINS - 1) > 0.5)


def find_best_range(feature: Feature, target: Float64, sign: int) -> str | None:
    """Return what the best rows have in common: their interquartile range, or a category."""
    top = np.argsort(-target * sign, kind="stable")[: _count_top(len(target))]
    numbers = np.sort(feature.numbers[top][np.isfinite(feature.numbers[top])])
    if feature.is_ordered and not {"true", "false"} & {*feature.bin_names}:
        low, high = (_format_quantile(numbers, quantile) for quantile in (0.25, 0.75))
        return None if low is None else low if low == high else f"{low} \N{EN DASH} {high}"
    return _find_typical_category(feature, top)


def _count_top(rows: int) -> int:
    """Return the number of best rows: a tenth, or more if there are few rows."""
    return min(max(round(rows * _TOP_SHARE), _MIN_TOP_ROWS), max(1, int(rows * _MAX_TOP_SHARE)))


def _format_quantile(ordered: Float64, quantile: float) -> str | None:
    return f"{ordered[int(quantile * (len(ordered) - 1) + 0.5)]:.4g}" if len(ordered) else None


def _find_typical_category(feature: Feature, top: Int64) -> str | None:
    """Return the category that is most overrepresented in the best rows."""
    size = len(feature.bin_names)
    expected = np.bincount(feature.bins, minlength=size) / len(feature.bins)
    shares = np.bincount(feature.bins[top], minlength=size) / max(1, len(top))
    spread = np.sqrt(np.maximum(expected * (1 - expected), 1e-9))
    strength = (shares - expected) / spread
    strength[[name == MISSING for name in feature.bin_names]] = -np.inf
    best = int(np.argmax(strength))
    return feature.bin_names[best] if strength[best] > 0 else None


def estimate_directions(features: Sequence[Feature], target: Float64) -> list[int]:
    """Return, for each feature, whether the target rises (1) or falls (-1) with it; 0 if unclear.

    This is the sign of its coefficient in a linear regression of ranks on all features at once.
    One by one, a strong feature would hide the effect of a weak one.
    """
    ordered = [index for index, feature in enumerate(features) if feature.is_ordered]
    directions = [0] * len(features)
    if not ordered or len(target) < len(ordered) + 4:
        return directions
    ranks = np.stack([_standardize(_rank(features[n].numbers)) for n in ordered], axis=1)
    target_ranks = _standardize(_rank(target))
    inverse = np.linalg.pinv(ranks.T @ ranks)
    slopes = inverse @ (ranks.T @ target_ranks)
    residuals = target_ranks - ranks @ slopes
    variance = np.sum(residuals**2) / (len(target) - len(ordered) - 1)
    errors = np.sqrt(np.maximum(variance * np.diag(inverse), 1e-12))
    for index, slope, error in zip(ordered, slopes.tolist(), errors.tolist(), strict=True):
        if abs(slope) >= _MIN_SLOPE and abs(slope) >= _MIN_STANDARD_ERRORS * error:
            directions[index] = 1 if slope > 0 else -1
    return directions


def _rank(values: Float64) -> Float64:
    """Return ranks, averaged over ties; missing values get the middle rank."""
    known = ~np.isnan(values)
    _, inverse, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), (known.sum() + 1) / 2)
    ranks[known] = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _standardize(ranks: Float64) -> Float64:
    deviation = ranks.std()
    return np.asarray((ranks - ranks.mean()) / (deviation or 1.0))
