"""Hyperparameters as binned features, and simple statistics of them.

The features are the input of the random forest in `importance`, which also reports the direction
of their effect (`estimate_directions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.analysis.experiments.hparam_columns import CellState, HParamColumn
from tracklight.types import Bool, Float64, Int64

#: Numbers with more distinct values are binned by quantiles.
MAX_BINS = 24

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
    """The bin of each row; that of a missing value is meaningless."""
    is_missing: Bool
    """A mask of the rows without a value."""
    is_ordered: bool
    """Whether bins are numbers in ascending order; otherwise they are categories."""
    numbers: Float64
    """The value of each row, NaN if it has none."""


def build_features(columns: Sequence[HParamColumn], rows: Int64) -> list[Feature]:
    """Return the hyperparameters that vary between the rows and are not just names of runs."""
    features = (_make_feature(column, rows) for column in columns)
    return [feature for feature in features if _differs(feature) and not _is_identifier(feature)]


def _make_feature(column: HParamColumn, rows: Int64) -> Feature:
    values = column.values[rows]
    states = np.zeros(len(rows), np.uint8) if column.states is None else column.states[rows]
    if column.is_mostly_numbers:
        states = np.where(states == CellState.NUMBER, states, np.uint8(CellState.MISSING))
    missing = states == CellState.MISSING
    if set(np.unique(states).tolist()) <= {CellState.NUMBER, CellState.MISSING, CellState.BOOL}:
        numbers = np.where(missing, np.nan, values)
        return Feature(
            column.name, column.label, _bin_numbers(numbers), np.isnan(numbers), True, numbers
        )
    texts = [str(column.get_value(row)) for row in rows]
    bins = _bin_texts(texts, missing)
    return Feature(column.name, column.label, bins, missing, False, np.full(len(rows), np.nan))


def _bin_numbers(numbers: Float64) -> Int64:
    """Bin numbers: each distinct one, or quantiles if there are many."""
    edges = np.unique(numbers[~np.isnan(numbers)])
    if len(edges) >= MAX_BINS:
        finite = np.quantile(numbers[np.isfinite(numbers)], np.linspace(0, 1, MAX_BINS))
        edges = np.unique(finite)[1:-1]
        bins = np.searchsorted(edges, numbers, side="right")
    else:
        bins = np.searchsorted(edges, numbers)
    return np.where(np.isnan(numbers), 0, bins)


def _bin_texts(texts: list[str], missing: Bool) -> Int64:
    """Give the most frequent texts a bin each, and all others a common one."""
    known = Counter(text for text, is_missing in zip(texts, missing, strict=True) if not is_missing)
    bin_of = {text: index for index, (text, _) in enumerate(known.most_common(MAX_BINS - 1))}
    other = len(bin_of)
    bins = np.array([bin_of.get(text, other) for text in texts], np.int64)
    return np.where(missing, 0, bins)


def _differs(feature: Feature) -> bool:
    """Return whether there are several values, not counting missing ones."""
    return len(np.unique(feature.bins[~feature.is_missing])) > 1


def _is_identifier(feature: Feature) -> bool:
    """Return whether it is a text that is unique in most rows, such as an id."""
    if feature.is_ordered:
        return False
    known = feature.bins[~feature.is_missing]
    counts = np.bincount(known)
    rare = np.count_nonzero(counts[: MAX_BINS - 1] == 1) + counts[MAX_BINS - 1 :].sum()
    return bool(rare > 0.5 * len(known))


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
