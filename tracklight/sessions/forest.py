"""A random forest that explains one number by some others, small and in NumPy alone.

Values come as bins, small whole numbers, so that all splits of all nodes of a level of a tree are
weighed at once with two histograms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Bool, Float64, Int64

Bins = NDArray[np.int64]
"""Rows by features."""

_MOST_DEPTH = 10
_LEAST_ROWS = 3
#: The part of the features that each node may split on, so that trees are not all alike.
_TRIED_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes as columns; rows go to ``below`` if their bin is at most ``bound``, else beside it."""

    feature: Int64
    bound: Int64
    below: Int64
    """The first of two children; -1 in leaves."""
    value: Float64

    def predict(self, bins: Bins) -> Float64:
        at = np.zeros(len(bins), np.int64)
        rows = np.arange(len(bins))
        while len(rows):
            node = at[rows]
            inner = self.below[node] >= 0
            rows, node = rows[inner], node[inner]
            beyond = bins[rows, self.feature[node]] > self.bound[node]
            at[rows] = self.below[node] + beyond
        return self.value[at]


def grow(bins: Bins, target: Float64, bin_count: int, rng: np.random.Generator) -> Tree:
    """A tree that splits rows until those of a leaf are few or alike."""
    growth = _Growth(len(target), target)
    for _ in range(_MOST_DEPTH):
        if not growth.open:
            break
        growth.split(bins, target, bin_count, rng)
    return growth.finish()


class _Growth:
    """A tree that is being grown, level by level."""

    def __init__(self, rows: int, target: Float64) -> None:
        self.feature, self.bound, self.below = [-1], [-1], [-1]
        self.value = [float(target.mean())]
        self.open = [0]
        """The nodes of this level that may be split."""
        self._at = np.zeros(rows, np.int64)
        """For each row its place among the open nodes; -1 once it is in a leaf."""

    def split(self, bins: Bins, target: Float64, bin_count: int, rng: np.random.Generator) -> None:
        rows = np.flatnonzero(self._at >= 0)
        counts, sums = _sum_up(self._at[rows], bins[rows], target[rows], len(self.open), bin_count)
        gains = _weigh(counts, sums)
        gains[~_choose_tried(len(self.open), bins.shape[1], rng)] = -np.inf
        flat = gains.reshape(len(self.open), -1)
        best = flat.argmax(axis=1)
        spread = sums[:, 0, -1] ** 2 / np.maximum(counts[:, 0, -1], 1)
        worth = flat[np.arange(len(best)), best] > spread + 1e-12 * np.abs(spread)
        self._open_next(bins, target, rows, best // bin_count, best % bin_count, worth)

    def _open_next(
        self, bins: Bins, target: Float64, rows: Int64, feature: Int64, bound: Int64, worth: Bool
    ) -> None:
        """Give the nodes that are worth it two children each, and send rows there."""
        place = self._at[rows]
        side = bins[rows, feature[place]] > bound[place]
        first = np.cumsum(worth) * 2 - 2
        child = np.where(worth[place], first[place] + side, -1)
        self._at[rows] = child
        count = 2 * int(worth.sum())
        there = child >= 0
        totals = np.bincount(child[there], target[rows[there]], count)
        sizes = np.bincount(child[there], minlength=count)
        for number in np.flatnonzero(worth).tolist():
            node = self.open[number]
            self.feature[node], self.bound[node] = int(feature[number]), int(bound[number])
            self.below[node] = len(self.value) + int(first[number])
        self.open = list(range(len(self.value), len(self.value) + count))
        self.value += (totals / np.maximum(sizes, 1)).tolist()
        for column in (self.feature, self.bound, self.below):
            column += [-1] * count

    def finish(self) -> Tree:
        feature, bound, below = np.array([self.feature, self.bound, self.below], np.int64)
        return Tree(feature, bound, below, np.array(self.value))


def _sum_up(
    at: Int64, bins: Bins, target: Float64, nodes: int, bin_count: int
) -> tuple[Float64, Float64]:
    """For each node, feature and bin: how many rows are there or below, and their sum."""
    features = bins.shape[1]
    cells = ((at[:, None] * features + np.arange(features)) * bin_count + bins).ravel()
    shape = (nodes, features, bin_count)
    size = nodes * features * bin_count
    counts = np.bincount(cells, minlength=size).reshape(shape).cumsum(axis=2)
    sums = np.bincount(cells, np.repeat(target, features), size).reshape(shape).cumsum(axis=2)
    return counts.astype(np.float64), sums


def _weigh(counts: Float64, sums: Float64) -> Float64:
    """How well each split explains the target; no split may leave few rows on a side."""
    beyond, rest = counts[..., -1:] - counts, sums[..., -1:] - sums
    allowed = (counts >= _LEAST_ROWS) & (beyond >= _LEAST_ROWS)
    gains = sums**2 / np.maximum(counts, 1) + rest**2 / np.maximum(beyond, 1)
    return np.where(allowed, gains, -np.inf)


def _choose_tried(nodes: int, features: int, rng: np.random.Generator) -> Bool:
    tried = max(1, round(features * _TRIED_SHARE))
    if tried == features:
        return np.ones((nodes, features), np.bool_)
    order = rng.random((nodes, features)).argsort(axis=1)
    return np.asarray(order < tried)
