"""Hyperparameters as a forest takes them: each a few bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.sessions.columns import HParamColumn, State
from tracklight.types import Float64, Int64

#: Numbers with more distinct values are put into so many bins of about as many rows each.
BINS = 24
MISSING = "missing"

#: The best rows are so large a part of all, at least so many, and never a larger part than that.
_TOP_SHARE, _FEWEST, _LARGEST_SHARE = 0.1, 8, 0.25


@dataclass(frozen=True, eq=False)
class Feature:
    """A hyperparameter that is not the same everywhere; ``names`` say what each bin stands for."""

    name: str
    label: str
    bins: Int64
    names: list[str]
    is_ordered: bool
    """Whether bins are in the order of numbers."""
    numbers: Float64
    """NaN where a row has none."""


def find_features(columns: Sequence[HParamColumn], rows: Int64) -> list[Feature]:
    """Those of which some rows have another value than others."""
    made = (_make(column, rows) for column in columns)
    return [it for it in made if _differs(it) and not _is_name(it)]


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
    """Missing and NaN are a bin of their own, below all others."""
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
    """The most frequent ones, and all others as one."""
    words, counts = np.unique(texts, return_counts=True)
    names = words[np.argsort(-counts, kind="stable")][: BINS - 1].tolist()
    places = {name: place for place, name in enumerate(names)}
    other = len(names)
    bins = np.array([places.get(text, other) for text in texts], np.int64)
    return bins, [*names, "another"]


def _differs(feature: Feature) -> bool:
    """That some rows have it and others do not says which experiment they are of, and no more."""
    return len({feature.names[place] or place for place in feature.bins.tolist()} - {MISSING}) > 1


def _is_name(feature: Feature) -> bool:
    """A text that is another one nearly everywhere names rows and does not explain them."""
    if feature.is_ordered or len(feature.names) < BINS:
        return False
    return bool(np.mean(feature.bins == BINS - 1) > 0.5)


def find_best(feature: Feature, target: Float64, sign: int) -> str | None:
    """What the best rows have, in words: numbers between which half of them are, or a word."""
    top = np.argsort(-target * sign, kind="stable")[: _count_top(len(target))]
    numbers = np.sort(feature.numbers[top][np.isfinite(feature.numbers[top])])
    if feature.is_ordered and not {"true", "false"} & {*feature.names}:
        low, high = (_pick(numbers, part) for part in (0.25, 0.75))
        return None if low is None else low if low == high else f"{low} to {high}"
    return _find_word(feature, top)


def _count_top(rows: int) -> int:
    """The best tenth; of few rows a larger part."""
    return min(max(round(rows * _TOP_SHARE), _FEWEST), max(1, int(rows * _LARGEST_SHARE)))


def _pick(ordered: Float64, part: float) -> str | None:
    return f"{ordered[int(part * (len(ordered) - 1) + 0.5)]:.4g}" if len(ordered) else None


def _find_word(feature: Feature, top: Int64) -> str | None:
    """The one that the best have more often than others have it."""
    size = len(feature.names)
    expected = np.bincount(feature.bins, minlength=size) / len(feature.bins)
    shares = np.bincount(feature.bins[top], minlength=size) / max(1, len(top))
    spread = np.sqrt(np.maximum(expected * (1 - expected), 1e-9))
    strength = (shares - expected) / spread
    strength[[name == MISSING for name in feature.names]] = -np.inf
    best = int(np.argmax(strength))
    return feature.names[best] if strength[best] > 0 else None
