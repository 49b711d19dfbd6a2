"""Hyperparameter importance: permutation importance on the out-of-bag rows of a random forest.

Hyperparameters are binned into small integers. A forest of regression trees predicts the metric
from them; a tree is grown level by level, and two histograms are enough to compare all splits of
all nodes of a level at once. The importance of a hyperparameter is the increase of the error of
each tree, on sessions that were not in its bootstrap sample, when the values of the hyperparameter
are permuted. The out-of-bag R² tells how far to trust the result.

The forest was compared with Optuna's PED-ANOVA, fANOVA and mean decrease impurity on functions
with known importances, and ranks hyperparameters best; see ``docs/design.md`` and
``tests/analysis/experiments/importance_problems.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.columns import CellState, HParamColumn
from tracklight.types import Bool, Float64, Int64

# ---- the forest

Bins = NDArray[np.int64]
"""Rows by features."""

_MAX_TREE_LEVELS = 10
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
    for _ in range(_MAX_TREE_LEVELS):
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


# ---- features

#: Numbers with more distinct values are binned by quantiles.
MAX_BINS = 24

#: A direction is reported if the slope of ranks is at least this, ...
_MIN_SLOPE = 0.1
#: ... and chance alone gives a direction to any of the features this often at most.
_MAX_FALSE_PROBABILITY = 0.05


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
    min_errors = NormalDist().inv_cdf(1 - _MAX_FALSE_PROBABILITY / 2 / len(ordered))
    for index, slope, error in zip(ordered, slopes.tolist(), errors.tolist(), strict=True):
        if abs(slope) >= _MIN_SLOPE and abs(slope) >= min_errors * error:
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


# ---- importance

#: With fewer sessions, no importance is computed.
MIN_SESSIONS = 8

_TREES = 50
#: Forests of subsets, which estimate the standard errors, their trees, and the share of sessions.
_SUBSETS, _SUBSET_TREES, _SUBSET_SHARE = 8, 20, 2 / 3
#: Larger studies are sampled: more sessions take longer and hardly change the ranks.
_MAX_SESSIONS = 2000
_MAX_FEATURES = 100
#: Interactions are computed between this many of the most important hyperparameters.
_MAX_PAIRED = 4
#: Interactions with a smaller share are not reported.
_MIN_PAIR_SHARE = 0.05


@dataclass(frozen=True)
class HParamImportance:
    """Importance of one hyperparameter; the shares of all add up to one."""

    name: str
    label: str
    share: float
    deviation: float
    """Standard error of the share."""
    direction: int
    """1 if higher values are better, -1 if lower values are, 0 if neither is clear."""


@dataclass(frozen=True)
class ImportanceResult:
    """Result of `compute_importance`; without shares if nothing can be computed."""

    sessions: int
    """Number of sessions that were used."""
    r2: float = 0.0
    """Out-of-bag R² of the forest."""
    shares: list[HParamImportance] = field(default_factory=list)
    """The most important hyperparameter first."""
    pairs: list[tuple[str, str, float]] = field(default_factory=list)
    """Interactions: two hyperparameters and their common share."""


def compute_importance(
    columns: Sequence[HParamColumn], rows: Int64, values: Float64, sign: int, seed: int = 0
) -> ImportanceResult:
    """Compute the importance of hyperparameters for a metric.

    Args:
        columns: The hyperparameters of all sessions.
        rows: The sessions to use.
        values: The metric of these sessions. NaN and infinities count as the worst value.
        sign: 1 if higher values are better, -1 if lower values are.
        seed: Seed of the forest; equal seeds give equal results.
    """
    if len(rows) > _MAX_SESSIONS:
        chosen = np.random.default_rng(seed).choice(len(rows), _MAX_SESSIONS, replace=False)
        rows, values = rows[chosen], values[chosen]
    target = _clip_outliers(values, sign)
    features = build_features(columns, rows)[:_MAX_FEATURES]
    if len(rows) < MIN_SESSIONS or not features or np.ptp(target) == 0:
        return ImportanceResult(len(rows))
    forest = _Forest(features, target, np.random.default_rng(seed))
    deviations = _estimate_deviations(columns, rows, target, features, seed)
    return _make_result(forest, features, target, sign, deviations)


def _estimate_deviations(
    columns: Sequence[HParamColumn],
    rows: Int64,
    target: Float64,
    features: Sequence[Feature],
    seed: int,
) -> Float64:
    """Return the standard error of the share of each feature.

    Forests of random subsets of the sessions show how much the shares depend on which sessions were
    sampled. The shares of random halves deviate from those of all sessions as much as those deviate
    from the truth; subsets of other sizes are scaled. The variance between the trees of a small
    forest is subtracted.
    """
    count = len(rows)
    size = round(_SUBSET_SHARE * count)
    shares, noise = np.zeros((2, _SUBSETS, len(features)))
    index_of = {feature.name: index for index, feature in enumerate(features)}
    used = [column for column in columns if column.name in index_of]
    for number in range(_SUBSETS):
        rng = np.random.default_rng((seed, number))
        chosen = rng.choice(count, size, replace=False)
        own = build_features(used, rows[chosen])
        if not own or np.ptp(target[chosen]) == 0:
            continue
        losses = _Forest(own, target[chosen], rng, _SUBSET_TREES).losses
        means = np.maximum(losses.mean(axis=0), 0)
        total = float(means.sum()) or 1.0
        at = [index_of[feature.name] for feature in own]
        shares[number, at] = means / total
        noise[number, at] = losses.var(axis=0) / len(losses) / total**2
    variance = np.maximum(shares.var(axis=0, ddof=1) - noise.mean(axis=0), 0)
    scale = size / (count - size)
    return np.asarray(np.sqrt(variance * scale + noise.mean(axis=0) * _SUBSET_TREES / _TREES))


def _clip_outliers(values: Float64, sign: int) -> Float64:
    """Clip values that would dominate the squared error, and replace those that are not finite."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values))
    own = values[finite]
    low, high = np.quantile(own, [0.25, 0.75])
    reach = 3 * (high - low) or np.ptp(own)
    clipped = np.clip(values, max(own.min(), low - reach), min(own.max(), high + reach))
    worst = clipped[finite].min() if sign > 0 else clipped[finite].max()
    return np.where(np.isfinite(values), clipped, worst)


class _Forest:
    """A random forest that keeps its out-of-bag rows to permute features on them."""

    def __init__(
        self,
        features: Sequence[Feature],
        target: Float64,
        rng: np.random.Generator,
        trees: int = _TREES,
    ) -> None:
        self._bins = np.stack([feature.bins for feature in features], axis=1)
        self._unordered = [n for n, feature in enumerate(features) if not feature.is_ordered]
        self._missing = {
            n: feature.is_missing for n, feature in enumerate(features) if feature.is_missing.any()
        }
        self._target = target
        self._rng = rng
        self._sums, self._prediction_counts = np.zeros(len(target)), np.zeros(len(target))
        singles = [[n] for n in range(len(features))]
        self._trees = [self._grow() for _ in range(trees)]
        self.losses = np.array([self._permute(*tree, singles) for tree in self._trees])
        """Increase of the error when a feature is permuted, by tree and feature."""

    @property
    def r2(self) -> float:
        """Out-of-bag R²: predictions come only from trees that have not seen the session."""
        known = self._prediction_counts > 0
        target = self._target[known]
        error = np.mean((target - self._sums[known] / self._prediction_counts[known]) ** 2)
        return float(1 - error / np.var(target)) if np.var(target) else 0.0

    def permute_together(self, sets: list[list[int]]) -> Float64:
        """Return the mean increase of the error when the features of each set are permuted."""
        return np.asarray(np.mean([self._permute(*tree, sets) for tree in self._trees], axis=0))

    def _grow(self) -> tuple[RegressionTree, Bins, Int64]:
        count = len(self._target)
        sample = self._rng.integers(0, count, count)
        out_of_bag = np.setdiff1d(np.arange(count), sample)
        bins = self._bins.copy()
        self._impute(bins)
        self._order_categories(bins, sample)
        tree = grow_tree(bins[sample], self._target[sample], MAX_BINS + 2, self._rng)
        self._sums[out_of_bag] += tree.predict(bins[out_of_bag])
        self._prediction_counts[out_of_bag] += 1
        return tree, bins, out_of_bag

    def _impute(self, bins: Bins) -> None:
        """Replace missing values by random values of other rows.

        Whether a value is missing must not tell anything. It would reveal the value of a feature
        that decides about it, such as the optimizer about the momentum, or which of two searches a
        session belongs to.
        """
        for n, missing in self._missing.items():
            bins[missing, n] = self._rng.choice(bins[~missing, n], int(missing.sum()))

    def _order_categories(self, bins: Bins, sample: Int64) -> None:
        """Sort categories by their mean in the sample, so that one bound gives the best split."""
        for n in self._unordered:
            counts = np.bincount(bins[sample, n], minlength=MAX_BINS + 2)
            sums = np.bincount(bins[sample, n], self._target[sample], MAX_BINS + 2)
            means = np.where(counts > 0, sums / np.maximum(counts, 1), self._target.mean())
            bins[:, n] = means.argsort(kind="stable").argsort()[bins[:, n]]

    def _permute(
        self, tree: RegressionTree, bins: Bins, rows: Int64, sets: list[list[int]]
    ) -> Float64:
        own, target = bins[rows], self._target[rows]
        if not len(own):
            return np.zeros(len(sets))
        copies = np.repeat(own[None], len(sets) + 1, axis=0)
        for copy, permuted in zip(copies[1:], sets, strict=True):
            for n in permuted:
                copy[:, n] = self._rng.permutation(copy[:, n])
        predicted = tree.predict(copies.reshape(-1, own.shape[1])).reshape(len(copies), -1)
        errors = np.mean((predicted - target) ** 2, axis=1)
        return np.asarray(errors[1:] - errors[0])


def _make_result(
    forest: _Forest,
    features: Sequence[Feature],
    target: Float64,
    sign: int,
    deviations: Float64,
) -> ImportanceResult:
    means = np.maximum(forest.losses.mean(axis=0), 0)
    total = float(means.sum()) or 1.0
    order = np.argsort(-means, kind="stable").tolist()
    directions = estimate_directions(features, target)
    shares = [
        HParamImportance(
            features[n].name,
            features[n].label,
            float(means[n]) / total,
            float(deviations[n]),
            directions[n] * sign,
        )
        for n in order
    ]
    pairs = _list_interactions(forest, features, means, order[:_MAX_PAIRED])
    return ImportanceResult(len(target), forest.r2, shares, pairs)


def _list_interactions(
    forest: _Forest, features: Sequence[Feature], means: Float64, order: list[int]
) -> list[tuple[str, str, float]]:
    """Return the pairs of features that interact, the strongest first.

    Without an interaction, permuting two features increases the error by the sum of the increases
    of both.
    """
    sets = [list(pair) for pair in combinations(order, 2)]
    total = float(means.sum())
    if not sets or not total:
        return []
    shared = [
        sum(means[pair]) - loss
        for pair, loss in zip(sets, forest.permute_together(sets), strict=True)
    ]
    interactions = [
        (features[first].name, features[second].name, float(common / total))
        for (first, second), common in zip(sets, shared, strict=True)
        if common / total >= _MIN_PAIR_SHARE
    ]
    return sorted(interactions, key=lambda interaction: -interaction[2])
