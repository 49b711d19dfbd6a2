"""Hyperparameters as binned features, the input of the random forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.sessions.columns import HParamColumn, State
from tracklight.types import Bool, Float64, Int64

#: Numbers with more distinct values are binned by quantiles.
BINS = 24
MISSING = "missing"
#: A feature with fewer rows per value could decide by chance whether another one is missing.
_MIN_ROWS_PER_VALUE = 5

#: The best rows are this share of all, but at least so many, and never more than that share.
_TOP_SHARE, _MIN_TOP_ROWS, _MAX_TOP_SHARE = 0.1, 8, 0.25


@dataclass(frozen=True, eq=False)
class Feature:
    """A hyperparameter that varies; ``names`` are the labels of its bins."""

    name: str
    label: str
    bins: Int64
    names: list[str]
    is_ordered: bool
    """Whether bins are numbers in ascending order; otherwise they are categories."""
    numbers: Float64
    """The value of each row, NaN if it has none."""

    @property
    def is_missing(self) -> Bool:
        if MISSING not in self.names:
            return np.zeros(len(self.bins), np.bool_)
        return np.equal(self.bins, self.names.index(MISSING))


def find_features(columns: Sequence[HParamColumn], rows: Int64) -> list[Feature]:
    """Return the hyperparameters that vary between the rows and are not just names of runs."""
    made = (_make(column, rows) for column in columns)
    return [it for it in made if _differs(it) and not _is_name(it)]


def find_conditional(features: Sequence[Feature]) -> list[int]:
    """Return the features that exist only for some values of another one, by their index.

    An example is `momentum`, where only sessions with the optimizer SGD have it.
    """
    parents = [
        feature.bins
        for feature in features
        if not feature.is_missing.any()
        and len(np.unique(feature.bins)) * _MIN_ROWS_PER_VALUE <= len(feature.bins)
    ]
    return [
        n
        for n, feature in enumerate(features)
        if feature.is_missing.any()
        and any(_is_function(feature.is_missing, parent) for parent in parents)
    ]


def _is_function(outcome: Bool, bins: Int64) -> bool:
    """Return whether rows in the same bin always have the same outcome."""
    counts, positive = np.bincount(bins), np.bincount(bins, outcome)
    return bool(np.all((positive == 0) | (positive == counts)))


def _make(column: HParamColumn, rows: Int64) -> Feature:
    values = column.values[rows]
    states = np.zeros(len(rows), np.uint8) if column.states is None else column.states[rows]
    if set(np.unique(states).tolist()) <= {State.NUMBER, State.MISSING, State.BOOL}:
        numbers = np.where(states == State.MISSING, np.nan, values)
        is_bool = bool((states == State.BOOL).any())
        bins, names = _bin_numbers(numbers, is_bool)
        return Feature(column.name, column.label, bins, names, True, numbers)
    texts = [MISSING if (it := column.get_value(row)) is None else str(it) for row in rows]
    bins, names = _bin_texts(texts)
    return Feature(column.name, column.label, bins, names, False, np.full(len(rows), np.nan))


def _bin_numbers(numbers: Float64, is_bool: bool) -> tuple[Int64, list[str]]:
    """Bin numbers; missing values and NaN get the first bin."""
    known = np.unique(numbers[~np.isnan(numbers)])
    if len(known) >= BINS:
        finite = np.quantile(numbers[np.isfinite(numbers)], np.linspace(0, 1, BINS))
        edges = np.unique(finite)[1:-1]
        bins = np.searchsorted(edges, numbers, side="right")
        names = ["" for _ in range(len(edges) + 1)]
    else:
        bins = np.searchsorted(known, numbers)
        names = [("true" if it else "false") if is_bool else f"{it:.4g}" for it in known]
    return np.where(np.isnan(numbers), 0, bins + 1), [MISSING, *names]


def _bin_texts(texts: list[str]) -> tuple[Int64, list[str]]:
    """Give the most frequent texts a bin each, and all others a common one."""
    words, counts = np.unique(texts, return_counts=True)
    names = words[np.argsort(-counts, kind="stable")][: BINS - 1].tolist()
    places = {name: place for place, name in enumerate(names)}
    other = len(names)
    bins = np.array([places.get(text, other) for text in texts], np.int64)
    return bins, [*names, "another"]


def _differs(feature: Feature) -> bool:
    """Return whether there are several values, not counting that it is missing in some rows."""
    return len({feature.names[place] or place for place in feature.bins.tolist()} - {MISSING}) > 1


def _is_name(feature: Feature) -> bool:
    """Return whether it is a text that is unique in most rows, such as an id."""
    if feature.is_ordered or len(feature.names) < BINS:
        return False
    return bool(np.mean(feature.bins == BINS - 1) > 0.5)


def find_best(feature: Feature, target: Float64, sign: int) -> str | None:
    """Return what the best rows have in common: their interquartile range, or a category."""
    top = np.argsort(-target * sign, kind="stable")[: _count_top(len(target))]
    numbers = np.sort(feature.numbers[top][np.isfinite(feature.numbers[top])])
    if feature.is_ordered and not {"true", "false"} & {*feature.names}:
        low, high = (_pick(numbers, part) for part in (0.25, 0.75))
        return None if low is None else low if low == high else f"{low} to {high}"
    return _find_word(feature, top)


def _count_top(rows: int) -> int:
    """Return the size of the best group: a tenth, or more if there are few rows."""
    return min(max(round(rows * _TOP_SHARE), _MIN_TOP_ROWS), max(1, int(rows * _MAX_TOP_SHARE)))


def _pick(ordered: Float64, part: float) -> str | None:
    return f"{ordered[int(part * (len(ordered) - 1) + 0.5)]:.4g}" if len(ordered) else None


def _find_word(feature: Feature, top: Int64) -> str | None:
    """Return the category that is most overrepresented in the best rows."""
    size = len(feature.names)
    expected = np.bincount(feature.bins, minlength=size) / len(feature.bins)
    shares = np.bincount(feature.bins[top], minlength=size) / max(1, len(top))
    spread = np.sqrt(np.maximum(expected * (1 - expected), 1e-9))
    strength = (shares - expected) / spread
    strength[[name == MISSING for name in feature.names]] = -np.inf
    best = int(np.argmax(strength))
    return feature.names[best] if strength[best] > 0 else None
