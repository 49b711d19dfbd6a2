"""The curve that says how close points of a UMAP layout like to be: 1 / (1 + a·x²ᵇ)."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections.affinities import (
    SymmetricEdges,
    downweight_other_labels,
    symmetrize,
)
from tracklight.analysis.embeddings.projections.forces import KERNEL
from tracklight.analysis.embeddings.projections.forces_python import settle
from tracklight.analysis.embeddings.projections.gpu import Gpu
from tracklight.analysis.embeddings.projections.knn_graph import check_edge_count, compute_knn_graph
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric, Neighbors
from tracklight.analysis.embeddings.projections.pca import compute_initial_layout
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Float32, Float64

_SPREAD = 1.0

_FIT_ITERATIONS = 100


def fit_ab_params(min_dist: float) -> tuple[float, float]:
    """The ``a`` and ``b`` for which the curve is nearest to 1 up to there, and then falls off."""
    x = np.linspace(0, 3 * _SPREAD, 300)[1:]
    wanted = np.where(x < min_dist, 1, np.exp(-(x - min_dist) / _SPREAD))
    guess = np.array([0.0, 0.0])  # the logarithms of both, which may take any value
    damping, error = 1e-3, np.inf
    best = guess
    for _ in range(_FIT_ITERATIONS):
        a, b = np.exp(guess)
        power = a * x ** (2 * b)
        curve = 1 / (1 + power)
        apart = curve - wanted
        if apart @ apart < error:
            best, error, damping = guess, apart @ apart, damping / 3
            steepness = -(curve**2) * power
            slopes = np.stack([steepness, steepness * 2 * b * np.log(x)], 1)
            normal, towards = slopes.T @ slopes, slopes.T @ apart
        else:
            damping *= 4
        guess = best - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), towards)
    a, b = np.exp(best)
    return float(a), float(b)


# UMAP: a layout of the graph of neighbours (McInnes, Healy and Melville, 2018).

_BANDWIDTH_BISECTIONS = 64

_INITIAL_RADIUS = 10.0

_NEGATIVE_SAMPLES = 5

_PUBLISH_EVERY = 5

_MAX_POINTS_FOR_500_EPOCHS = 10_000


@dataclass(frozen=True, slots=True)
class UmapSettings:
    """How a layout is made; the same settings and vectors always make the same one."""

    dimensions: int = 2
    neighbours: int = 15
    """Few show what is near, many what is large."""
    min_dist: float = 0.1
    """How close points may come to each other."""
    metric: DistanceMetric = "euclidean"
    epochs: int | None = None
    pull: float = 0.0
    """How much unlike labels count against neighbours, from 0 to 1."""
    seed: int = 0

    def validate(self, count: int) -> None:
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
        check_edge_count(count, self.neighbours)


class _FuzzyGraph(NamedTuple):
    """Pairs that care for each other, and how strongly."""

    pairs: SymmetricEdges
    strengths: Float64


def compute_umap(
    vectors: Float32,
    settings: UmapSettings | None = None,
    labels: NDArray[Any] | None = None,
    progress: JobProgress | None = None,
    kernel: ModuleType | None = KERNEL,
    initial: Float32 | None = None,
    gpu: Gpu | None = None,
) -> Float32:
    """Places in the plane, or in space, for all vectors, from ``near`` on if that is given."""
    settings = settings or UmapSettings()
    progress = progress or JobProgress()
    settings.validate(len(vectors))
    count = min(settings.neighbours, len(vectors)) - 1
    found = compute_knn_graph(vectors, settings.metric, count, progress, gpu)
    graph = _build_fuzzy_graph(found, labels, settings.pull)
    start = compute_initial_layout(
        vectors, settings.dimensions, _INITIAL_RADIUS, settings.seed, initial
    )
    return _optimize(start, graph, settings, progress, kernel)


def _build_fuzzy_graph(
    neighbours: Neighbors, labels: NDArray[Any] | None, pull: float
) -> _FuzzyGraph:
    weights = downweight_other_labels(
        _compute_memberships(neighbours.distances), neighbours.indices, labels, pull
    )
    pairs = symmetrize(neighbours.indices, weights)
    # Either of the two has to care: the probability that not both do not.
    return _FuzzyGraph(pairs, pairs.sums - pairs.products)


def _compute_memberships(distances: Float32) -> Float64:
    """For every row, 1 for the nearest and less for others, so that all have about as much."""
    target = np.log2(distances.shape[1] + 1)
    beyond = np.maximum(distances.astype(np.float64) - distances[:, :1], 0)
    low, high = np.zeros(len(beyond)), np.full(len(beyond), np.inf)
    scale = np.ones(len(beyond))
    for _ in range(_BANDWIDTH_BISECTIONS):
        is_much = np.exp(-beyond / scale[:, None]).sum(axis=1) > target
        low, high = np.where(is_much, low, scale), np.where(is_much, scale, high)
        scale = np.where(np.isinf(high), scale * 2, (low + high) / 2)
    # Where all are equally far no scale is right, and a tiny one would divide by nothing.
    scale = np.maximum(scale, 1e-3 * max(float(distances.mean()), 1e-12))
    weights: Float64 = np.exp(-beyond / scale[:, None])
    return weights


def _optimize(
    layout: Float64,
    graph: _FuzzyGraph,
    settings: UmapSettings,
    work: JobProgress,
    kernel: ModuleType | None,
) -> Float32:
    epochs = settings.epochs or (500 if len(layout) <= _MAX_POINTS_FOR_500_EPOCHS else 200)
    a, b = fit_ab_params(settings.min_dist)
    # Weak pairs come up seldom; those that never would are left out.
    periods = graph.strengths.max() / np.maximum(graph.strengths, 1e-12)
    chosen = periods <= epochs
    heads, tails = graph.pairs.rows[chosen], graph.pairs.columns[chosen]
    periods = periods[chosen]
    due = periods.copy()
    step = settle if kernel is None else kernel.settle
    random = np.array([settings.seed * 2 + 1], np.uint64)
    for epoch in range(1, epochs + 1):
        rate = 1 - (epoch - 1) / epochs
        step(
            layout, heads, tails, periods, due, float(epoch), rate, a, b, _NEGATIVE_SAMPLES, random
        )
        work.step("moving points", epoch, epochs)
        if epoch % _PUBLISH_EVERY == 0:
            work.show(layout.astype(np.float32))
    return layout.astype(np.float32)
