"""Hyperparameter importance: permutation importance on the out-of-bag rows of a random forest.

A forest predicts the metric from the hyperparameters. The importance of a hyperparameter is the
increase of the error of each tree, on sessions that were not in its bootstrap sample, when the
values of the hyperparameter are permuted. The out-of-bag R² tells how far to trust the result.

The forest was compared with Optuna's PED-ANOVA, fANOVA and mean decrease impurity on functions
with known importances, and ranks hyperparameters best; see ARCHITECTURE.md and
``tests/analysis/experiments/importance_problems.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tracklight.analysis.experiments.features import (
    MAX_BINS,
    Feature,
    build_features,
    estimate_directions,
)
from tracklight.analysis.experiments.forest import Bins, RegressionTree, grow_tree
from tracklight.analysis.experiments.hparam_columns import HParamColumn
from tracklight.types import Float64, Int64

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
