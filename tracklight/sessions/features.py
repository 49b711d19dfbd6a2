"""Hyperparameters as a forest takes them: each a few bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.sessions.columns import HParamColumn, State
from tracklight.types import Float64, Int64

#: Numbers with more distinct values are put into so many bins of about as many rows each.
BINS = 24
_RANGES = 5
MISSING = "missing"


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
        names = [("on" if it else "off") if is_bool else f"{it:.4g}" for it in known]
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
    """Where the target is best, in words: a value, or a range of numbers."""
    if feature.is_ordered and np.isfinite(feature.numbers).all() and "" in feature.names[1:]:
        edges = np.unique(np.quantile(feature.numbers, np.linspace(0, 1, _RANGES + 1)))
        places = np.clip(np.searchsorted(edges, feature.numbers, "right") - 1, 0, len(edges) - 2)
        best = _find_highest(places, target * sign)
        return f"{edges[best]:.3g} to {edges[best + 1]:.3g}"
    there = np.array([name != MISSING for name in feature.names])[feature.bins]
    return feature.names[_find_highest(feature.bins[there], target[there] * sign)] or None


def _find_highest(places: Int64, target: Float64) -> int:
    counts = np.bincount(places)
    means = np.bincount(places, target) / np.maximum(counts, 1)
    return int(np.argmax(np.where(counts > 0, means, -np.inf)))
