"""UMAP: a layout of the graph of neighbours (McInnes, Healy and Melville, 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.projections.affinity import Pairs, join_directions, weaken_unlike
from tracklight.projections.cards import Card
from tracklight.projections.curve import fit_curve
from tracklight.projections.forces import KERNEL
from tracklight.projections.graph import check_pairs, find_graph
from tracklight.projections.neighbours import Metric, Neighbours
from tracklight.projections.settling import settle
from tracklight.projections.start import find_start
from tracklight.projections.work import Work
from tracklight.types import Float32, Float64

_BISECTIONS = 64
_START_SPREAD = 10.0
_STRANGERS = 5
_SHOW_EVERY = 5
_FEW_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How a layout is made; the same settings and vectors always make the same one."""

    dimensions: int = 2
    neighbours: int = 15
    """Few show what is near, many what is large."""
    min_dist: float = 0.1
    """How close points may come to each other."""
    metric: Metric = "euclidean"
    epochs: int | None = None
    pull: float = 0.0
    """How much unlike labels count against neighbours, from 0 to 1."""
    seed: int = 0

    def check(self, count: int) -> None:
        """Raise UsageError where nothing can be made of these for so many points."""
        if self.dimensions not in (2, 3):
            raise UsageError(f"a layout has 2 or 3 dimensions, not {self.dimensions}")
        if not 2 <= self.neighbours <= 500:
            raise UsageError(f"there are 2 to 500 neighbours, not {self.neighbours}")
        if not 0 <= self.min_dist < 1:
            raise UsageError(f"a least distance is from 0 to less than 1, not {self.min_dist}")
        if self.epochs is not None and not 1 <= self.epochs <= 100_000:
            raise UsageError(f"{self.epochs} epochs are not from 1 to 100000")
        if not 0 <= self.pull <= 1:
            raise UsageError(f"labels pull from 0 to 1, not {self.pull}")
        if count < 3:
            raise UsageError(f"{count} points have no neighbours to choose from")
        check_pairs(count, self.neighbours)


class _Graph(NamedTuple):
    """Pairs that care for each other, and how strongly."""

    pairs: Pairs
    strengths: Float64


def make_layout(
    vectors: Float32,
    settings: Settings | None = None,
    labels: NDArray[Any] | None = None,
    work: Work | None = None,
    kernel: ModuleType | None = KERNEL,
    near: Float32 | None = None,
    card: Card | None = None,
) -> Float32:
    """Places in the plane, or in space, for all vectors, from ``near`` on if that is given."""
    settings = settings or Settings()
    work = work or Work()
    settings.check(len(vectors))
    count = min(settings.neighbours, len(vectors)) - 1
    found = find_graph(vectors, settings.metric, count, work, card)
    graph = _join(found, labels, settings.pull)
    start = find_start(vectors, settings.dimensions, _START_SPREAD, settings.seed, near)
    return _settle(start, graph, settings, work, kernel)


def _join(neighbours: Neighbours, labels: NDArray[Any] | None, pull: float) -> _Graph:
    weights = weaken_unlike(_weigh(neighbours.distances), neighbours.places, labels, pull)
    pairs = join_directions(neighbours.places, weights)
    # Either of the two has to care: the probability that not both do not.
    return _Graph(pairs, pairs.sums - pairs.products)


def _weigh(distances: Float32) -> Float64:
    """For every row, 1 for the nearest and less for others, so that all have about as much."""
    target = np.log2(distances.shape[1] + 1)
    beyond = np.maximum(distances.astype(np.float64) - distances[:, :1], 0)
    low, high = np.zeros(len(beyond)), np.full(len(beyond), np.inf)
    scale = np.ones(len(beyond))
    for _ in range(_BISECTIONS):
        is_much = np.exp(-beyond / scale[:, None]).sum(axis=1) > target
        low, high = np.where(is_much, low, scale), np.where(is_much, scale, high)
        scale = np.where(np.isinf(high), scale * 2, (low + high) / 2)
    # Where all are equally far no scale is right, and a tiny one would divide by nothing.
    scale = np.maximum(scale, 1e-3 * max(float(distances.mean()), 1e-12))
    weights: Float64 = np.exp(-beyond / scale[:, None])
    return weights


def _settle(
    layout: Float64, graph: _Graph, settings: Settings, work: Work, kernel: ModuleType | None
) -> Float32:
    epochs = settings.epochs or (500 if len(layout) <= _FEW_POINTS else 200)
    a, b = fit_curve(settings.min_dist)
    # Weak pairs come up seldom; those that never would are left out.
    periods = graph.strengths.max() / np.maximum(graph.strengths, 1e-12)
    chosen = periods <= epochs
    heads, tails = graph.pairs.rows[chosen], graph.pairs.others[chosen]
    periods = periods[chosen]
    due = periods.copy()
    step = settle if kernel is None else kernel.settle
    random = np.array([settings.seed * 2 + 1], np.uint64)
    for epoch in range(1, epochs + 1):
        rate = 1 - (epoch - 1) / epochs
        step(layout, heads, tails, periods, due, float(epoch), rate, a, b, _STRANGERS, random)
        work.step("moving points", epoch, epochs)
        if epoch % _SHOW_EVERY == 0:
            work.show(layout.astype(np.float32))
    return layout.astype(np.float32)
