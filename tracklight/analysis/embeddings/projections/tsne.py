"""t-SNE: a layout in which neighbours stay neighbours (van der Maaten and Hinton, 2008)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections.affinities import compute_affinities
from tracklight.analysis.embeddings.projections.forces import TsneForces
from tracklight.analysis.embeddings.projections.gpu import Gpu, GpuForces
from tracklight.analysis.embeddings.projections.knn_graph import check_edge_count, compute_knn_graph
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric
from tracklight.analysis.embeddings.projections.pca import compute_initial_layout
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Float32, Float64

#: Clusters first form while neighbours pull this much harder.
_EARLY_ITERATIONS = 250
_INITIAL_RADIUS = 3e-4
_MIN_GAIN = 0.01
_PUBLISH_EVERY = 10


@dataclass(frozen=True, slots=True)
class TsneSettings:
    """How a layout is made; the same settings and vectors always make the same one."""

    dimensions: int = 2
    perplexity: float = 30.0
    """About how many neighbours a point cares for."""
    iterations: int = 750
    early_exaggeration: float = 12.0
    learning_rate: float | None = None
    """By default as fits the number of points."""
    metric: DistanceMetric = "euclidean"
    pull: float = 0.0
    """How much unlike labels count against neighbours, from 0 to 1."""
    seed: int = 0

    def validate(self, count: int) -> None:
        """Raise UsageError where nothing can be made of these for so many points."""
        if self.dimensions not in (2, 3):
            raise UsageError(f"a layout has 2 or 3 dimensions, not {self.dimensions}")
        if not 1 < self.perplexity <= 500:
            raise UsageError(f"a perplexity is more than 1 and at most 500, not {self.perplexity}")
        if not 1 <= self.iterations <= 100_000:
            raise UsageError(f"{self.iterations} iterations are not from 1 to 100000")
        if self.early_exaggeration < 1 or (self.learning_rate or 1) <= 0:
            raise UsageError("an exaggeration is at least 1, and a learning rate more than 0")
        if not 0 <= self.pull <= 1:
            raise UsageError(f"labels pull from 0 to 1, not {self.pull}")
        if count < 3:
            raise UsageError(f"{count} points have no neighbours to choose from")
        check_edge_count(count, int(3 * min(self.perplexity, count / 3)))


def compute_tsne(
    vectors: Float32,
    settings: TsneSettings | None = None,
    labels: NDArray[Any] | None = None,
    progress: JobProgress | None = None,
    initial: Float32 | None = None,
    gpu: Gpu | None = None,
) -> Float32:
    """Places in the plane, or in space, for all vectors, from ``near`` on if that is given."""
    settings = settings or TsneSettings()
    progress = progress or JobProgress()
    settings.validate(len(vectors))
    # More neighbours than a perplexity allows are of no weight; with fewer, it cannot be reached.
    perplexity = min(settings.perplexity, (len(vectors) - 1) / 3)
    count = max(int(3 * perplexity), 2)
    neighbours = compute_knn_graph(vectors, settings.metric, count, progress, gpu)
    affinities = compute_affinities(neighbours, max(perplexity, 1.01), labels, settings.pull)
    start = compute_initial_layout(
        vectors, settings.dimensions, _INITIAL_RADIUS, settings.seed, initial
    )
    forces = TsneForces(affinities) if gpu is None else gpu.make_forces(affinities)
    with closing(forces):
        return _descend(start, forces, settings, progress)


def _descend(
    layout: Float64, forces: TsneForces | GpuForces, settings: TsneSettings, work: JobProgress
) -> Float32:
    speed, gains = np.zeros_like(layout), np.ones_like(layout)
    early = min(_EARLY_ITERATIONS, settings.iterations // 2)
    for iteration in range(settings.iterations):
        is_early = iteration < early
        exaggeration = settings.early_exaggeration if is_early else 1.0
        # Descends by as much as the usual n / 12, written for a gradient without its 4.
        rate = settings.learning_rate or max(len(layout) / exaggeration / 4, 50.0)
        gradient = forces.compute_gradient(layout, exaggeration)
        is_turned = (gradient > 0) == (speed > 0)
        gains = np.maximum(np.where(is_turned, gains * 0.8, gains + 0.2), _MIN_GAIN)
        speed = (0.5 if is_early else 0.8) * speed - rate * gains * gradient
        layout += speed
        layout -= layout.mean(axis=0)
        work.step("moving points", iteration + 1, settings.iterations)
        if iteration % _PUBLISH_EVERY == 0:
            work.show(layout.astype(np.float32))
    return layout.astype(np.float32)
