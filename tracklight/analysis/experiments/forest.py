"""Regression trees on binned features, in NumPy.

A tree is grown level by level. Features are small integers (bins), so two histograms are enough to
compare all splits of all nodes of a level at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Bool, Float64, Int64

Bins = NDArray[np.int64]
"""Rows by features."""

_MAX_DEPTH = 10
_MIN_LEAF_ROWS = 3
#: Share of the features that each node may split on; random, to decorrelate the trees.
_MAX_FEATURES_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class RegressionTree:
    """Nodes as columns. A row whose bin is at most ``bound`` goes to the left child."""

    feature: Int64
    bound: Int64
    left: Int64
    """Index of the left child, -1 in leaves; the right child follows it."""
    value: Float64

    def predict(self, bins: Bins) -> Float64:
        """Return the prediction of each row."""
        node_of = np.zeros(len(bins), np.int64)
        rows = np.arange(len(bins))
        while len(rows):
            node = node_of[rows]
            is_inner = self.left[node] >= 0
            rows, node = rows[is_inner], node[is_inner]
            is_right = bins[rows, self.feature[node]] > self.bound[node]
            node_of[rows] = self.left[node] + is_right
        return self.value[node_of]


def grow_tree(
    bins: Bins, target: Float64, bin_count: int, rng: np.random.Generator
) -> RegressionTree:
    """Grow a tree until no split of a leaf reduces the squared error."""
    builder = _TreeBuilder(len(target), target)
    for _ in range(_MAX_DEPTH):
        if not builder.level:
            break
        builder.split(bins, target, bin_count, rng)
    return builder.finish()


class _TreeBuilder:
    """A tree under construction."""

    def __init__(self, rows: int, target: Float64) -> None:
        self.feature, self.bound, self.left = [-1], [-1], [-1]
        self.value = [float(target.mean())]
        self.level = [0]
        """Nodes of the current level."""
        self._level_index = np.zeros(rows, np.int64)
        """Index of each row's node in `level`; -1 for rows in a leaf."""

    def split(self, bins: Bins, target: Float64, bin_count: int, rng: np.random.Generator) -> None:
        """Split the nodes of the current level and make their children the next level."""
        rows = np.flatnonzero(self._level_index >= 0)
        counts, sums = _accumulate(
            self._level_index[rows], bins[rows], target[rows], len(self.level), bin_count
        )
        gains = _score_splits(counts, sums)
        gains[~_choose_features(len(self.level), bins.shape[1], rng)] = -np.inf
        flat = gains.reshape(len(self.level), -1)
        best = flat.argmax(axis=1)
        unsplit = sums[:, 0, -1] ** 2 / np.maximum(counts[:, 0, -1], 1)
        improves = flat[np.arange(len(best)), best] > unsplit + 1e-12 * np.abs(unsplit)
        self._add_children(bins, target, rows, best // bin_count, best % bin_count, improves)

    def _add_children(
        self, bins: Bins, target: Float64, rows: Int64, feature: Int64, bound: Int64, improves: Bool
    ) -> None:
        """Split the nodes where that reduces the error, and move their rows to the children."""
        parent = self._level_index[rows]
        is_right = bins[rows, feature[parent]] > bound[parent]
        first_child = np.cumsum(improves) * 2 - 2
        child = np.where(improves[parent], first_child[parent] + is_right, -1)
        self._level_index[rows] = child
        count = 2 * int(improves.sum())
        has_child = child >= 0
        totals = np.bincount(child[has_child], target[rows[has_child]], count)
        sizes = np.bincount(child[has_child], minlength=count)
        for index in np.flatnonzero(improves).tolist():
            node = self.level[index]
            self.feature[node], self.bound[node] = int(feature[index]), int(bound[index])
            self.left[node] = len(self.value) + int(first_child[index])
        self.level = list(range(len(self.value), len(self.value) + count))
        self.value += (totals / np.maximum(sizes, 1)).tolist()
        for column in (self.feature, self.bound, self.left):
            column += [-1] * count

    def finish(self) -> RegressionTree:
        feature, bound, left = np.array([self.feature, self.bound, self.left], np.int64)
        return RegressionTree(feature, bound, left, np.array(self.value))


def _accumulate(
    level_index: Int64, bins: Bins, target: Float64, nodes: int, bin_count: int
) -> tuple[Float64, Float64]:
    """Return the number and the sum of rows up to each bin, by node, feature and bin."""
    features = bins.shape[1]
    cells = ((level_index[:, None] * features + np.arange(features)) * bin_count + bins).ravel()
    shape = (nodes, features, bin_count)
    size = nodes * features * bin_count
    counts = np.bincount(cells, minlength=size).reshape(shape).cumsum(axis=2)
    sums = np.bincount(cells, np.repeat(target, features), size).reshape(shape).cumsum(axis=2)
    return counts.astype(np.float64), sums


def _score_splits(counts: Float64, sums: Float64) -> Float64:
    """Score every split (higher is better); -inf if it leaves too few rows on a side."""
    right_counts, right_sums = counts[..., -1:] - counts, sums[..., -1:] - sums
    allowed = (counts >= _MIN_LEAF_ROWS) & (right_counts >= _MIN_LEAF_ROWS)
    gains = sums**2 / np.maximum(counts, 1) + right_sums**2 / np.maximum(right_counts, 1)
    return np.where(allowed, gains, -np.inf)


def _choose_features(nodes: int, features: int, rng: np.random.Generator) -> Bool:
    count = max(1, round(features * _MAX_FEATURES_SHARE))
    if count == features:
        return np.ones((nodes, features), np.bool_)
    order = rng.random((nodes, features)).argsort(axis=1)
    return np.asarray(order < count)
