"""Which hyperparameters made the difference, and how far to believe it.

A forest learns to tell the metric from the hyperparameters. Each tree is then asked about sessions
that it has not seen, once as they are and once with one hyperparameter shuffled: the more worse it
gets, the more this one matters. How well it does without shuffling says how far to trust it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tracklight.sessions.columns import HParamColumn
from tracklight.sessions.directions import find_directions
from tracklight.sessions.features import BINS, Feature, find_best, find_features
from tracklight.sessions.forest import Bins, Tree, grow
from tracklight.types import Float64, Int64

#: With fewer sessions nothing can be told.
LEAST_SESSIONS = 8

_TREES = 50
#: More sessions make it slower, not surer.
_MOST_SESSIONS = 2000
_MOST_FEATURES = 100
_PAIRED = 4
#: The lowest share of the whole at which a pair is worth to be told.
_LEAST_PAIR = 0.05


@dataclass(frozen=True)
class Share:
    """One hyperparameter: its part of the difference, all parts being one."""

    name: str
    label: str
    share: float
    deviation: float
    direction: int
    """1 if higher values are better, -1 if lower ones are, 0 where that is not clear."""
    best: str | None


@dataclass(frozen=True)
class Importance:
    """``r2`` is the part of the differences between unseen sessions that the forest explains."""

    sessions: int
    r2: float = 0.0
    shares: list[Share] = field(default_factory=list)
    pairs: list[tuple[str, str, float]] = field(default_factory=list)


def measure(
    columns: Sequence[HParamColumn], rows: Int64, values: Float64, sign: int, seed: int = 0
) -> Importance:
    """What explains the values of some rows; ``sign`` is 1 where more of them is better.

    Values that are not finite count as the worst there is.
    """
    if len(rows) > _MOST_SESSIONS:
        chosen = np.random.default_rng(seed).choice(len(rows), _MOST_SESSIONS, replace=False)
        rows, values = rows[chosen], values[chosen]
    target = _tame(values, sign)
    features = find_features(columns, rows)[:_MOST_FEATURES]
    if len(rows) < LEAST_SESSIONS or not features or np.ptp(target) == 0:
        return Importance(len(rows))
    forest = _Forest(features, target, np.random.default_rng(seed))
    return _describe(forest, features, target, sign)


def _tame(values: Float64, sign: int) -> Float64:
    """Without infinities, and without values so far off that nothing else would count."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values))
    own = values[finite]
    low, high = np.quantile(own, [0.25, 0.75])
    reach = 3 * (high - low) or np.ptp(own)
    tamed = np.clip(values, max(own.min(), low - reach), min(own.max(), high + reach))
    worst = tamed[finite].min() if sign > 0 else tamed[finite].max()
    return np.where(np.isfinite(values), tamed, worst)


class _Forest:
    """Trees, each with the rows that it has not seen, and what shuffling does to its errors."""

    def __init__(self, features: Sequence[Feature], target: Float64, rng: np.random.Generator):
        self._bins = np.stack([feature.bins for feature in features], axis=1)
        self._unordered = [n for n, feature in enumerate(features) if not feature.is_ordered]
        self._target = target
        self._rng = rng
        self._sums, self._seen = np.zeros(len(target)), np.zeros(len(target))
        singles = [[n] for n in range(len(features))]
        grown = [self._grow() for _ in range(_TREES)]
        self.losses = np.array([self._shuffle(*one, singles) for one in grown])
        """By tree and feature, how much greater its error is where that feature is shuffled."""
        self._grown = grown

    @property
    def r2(self) -> float:
        seen = self._seen > 0
        target = self._target[seen]
        left = np.mean((target - self._sums[seen] / self._seen[seen]) ** 2)
        return float(1 - left / np.var(target)) if np.var(target) else 0.0

    def weigh_together(self, sets: list[list[int]]) -> Float64:
        """The losses where several features are shuffled at once, mean over the trees."""
        return np.asarray(np.mean([self._shuffle(*one, sets) for one in self._grown], axis=0))

    def _grow(self) -> tuple[Tree, Bins, Int64]:
        count = len(self._target)
        sample = self._rng.integers(0, count, count)
        unseen = np.setdiff1d(np.arange(count), sample)
        bins = self._put_in_order(sample)
        tree = grow(bins[sample], self._target[sample], BINS + 2, self._rng)
        self._sums[unseen] += tree.predict(bins[unseen])
        self._seen[unseen] += 1
        return tree, bins, unseen

    def _put_in_order(self, sample: Int64) -> Bins:
        """Words have no order, so they get the one of their means; only a tree's own rows count."""
        bins: Bins = self._bins.copy()
        for n in self._unordered:
            counts = np.bincount(bins[sample, n], minlength=BINS + 2)
            sums = np.bincount(bins[sample, n], self._target[sample], BINS + 2)
            means = np.where(counts > 0, sums / np.maximum(counts, 1), self._target.mean())
            bins[:, n] = means.argsort(kind="stable").argsort()[bins[:, n]]
        return bins

    def _shuffle(self, tree: Tree, bins: Bins, unseen: Int64, sets: list[list[int]]) -> Float64:
        own, target = bins[unseen], self._target[unseen]
        if not len(own):
            return np.zeros(len(sets))
        copies = np.repeat(own[None], len(sets) + 1, axis=0)
        for copy, shuffled in zip(copies[1:], sets, strict=True):
            for n in shuffled:
                copy[:, n] = self._rng.permutation(copy[:, n])
        told = tree.predict(copies.reshape(-1, own.shape[1])).reshape(len(copies), -1)
        errors = np.mean((told - target) ** 2, axis=1)
        return np.asarray(errors[1:] - errors[0])


def _describe(
    forest: _Forest, features: Sequence[Feature], target: Float64, sign: int
) -> Importance:
    means = np.maximum(forest.losses.mean(axis=0), 0)
    whole = float(means.sum()) or 1.0
    errors = forest.losses.std(axis=0) / np.sqrt(len(forest.losses))
    order = np.argsort(-means, kind="stable").tolist()
    directions = find_directions(features, target)
    shares = [
        Share(
            features[n].name,
            features[n].label,
            float(means[n]) / whole,
            float(errors[n]) / whole,
            directions[n] * sign,
            find_best(features[n], target, sign),
        )
        for n in order
    ]
    pairs = _find_pairs(forest, features, means, order[:_PAIRED])
    return Importance(len(target), forest.r2, shares, pairs)


def _find_pairs(
    forest: _Forest, features: Sequence[Feature], means: Float64, order: list[int]
) -> list[tuple[str, str, float]]:
    """Shuffling two that do not depend on each other costs as much as shuffling each of them."""
    sets = [list(pair) for pair in combinations(order, 2)]
    whole = float(means.sum())
    if not sets or not whole:
        return []
    shared = [
        sum(means[pair]) - loss
        for pair, loss in zip(sets, forest.weigh_together(sets), strict=True)
    ]
    found = [
        (features[a].name, features[b].name, float(both / whole))
        for (a, b), both in zip(sets, shared, strict=True)
        if both / whole >= _LEAST_PAIR
    ]
    return sorted(found, key=lambda pair: -pair[2])
