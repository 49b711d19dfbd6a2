"""t-SNE: a layout in which neighbors stay neighbors (van der Maaten and Hinton, 2008)."""

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
from tracklight.analysis.embeddings.projections.stages import OPTIMIZING_LAYOUT
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Float32, Float64

#: Number of iterations with early exaggeration, in which clusters form.
_EARLY_ITERATIONS = 250
_INITIAL_RADIUS = 3e-4
_MIN_GAIN = 0.01
_PUBLISH_EVERY = 10


@dataclass(frozen=True, slots=True)
class TsneSettings:
    """Settings of a layout. Equal settings and vectors give equal layouts."""

    dimensions: int = 2
    perplexity: float = 30.0
    """The effective number of neighbors of a point."""
    iterations: int = 750
    early_exaggeration: float = 12.0
    learning_rate: float | None = None
    """Chosen by the number of points if None."""
    metric: DistanceMetric = "euclidean"
    target_weight: float = 0.0
    """How much less neighbors with other labels weigh, from 0 to 1."""
    seed: int = 0

    def validate(self, count: int) -> None:
        """Check the settings for a number of points.

        Raises:
            UsageError: A setting is out of range, or there are too few or too many points.
        """
        if self.dimensions not in (2, 3):
            raise UsageError(
                "projector.invalid_dimensions",
                "a layout must have 2 or 3 dimensions, not {dimensions}",
                dimensions=self.dimensions,
            )
        if not 1 < self.perplexity <= 500:
            raise UsageError(
                "projector.invalid_perplexity",
                "perplexity must be more than 1 and at most 500, not {perplexity}",
                perplexity=self.perplexity,
            )
        if not 1 <= self.iterations <= 100_000:
            raise UsageError(
                "projector.invalid_iterations",
                "iterations must be from 1 to 100000, not {iterations}",
                iterations=self.iterations,
            )
        if self.early_exaggeration < 1 or (self.learning_rate or 1) <= 0:
            raise UsageError(
                "projector.invalid_optimizer",
                "early exaggeration must be at least 1, the learning rate positive",
            )
        if not 0 <= self.target_weight <= 1:
            raise UsageError(
                "projector.invalid_label_weight",
                "the label weight must be from 0 to 1, not {target_weight}",
                target_weight=self.target_weight,
            )
        if count < 3:
            raise UsageError(
                "projector.tsne_too_few", "t-SNE needs at least 3 points, not {count}", count=count
            )
        check_edge_count(count, int(3 * min(self.perplexity, count / 3)))


def compute_tsne(
    vectors: Float32,
    settings: TsneSettings | None = None,
    labels: NDArray[Any] | None = None,
    progress: JobProgress | None = None,
    initial: Float32 | None = None,
    gpu: Gpu | None = None,
) -> Float32:
    """Return a layout of the vectors, [n, dimensions].

    Args:
        vectors: The vectors, [n, original dimensions].
        settings: The settings; the defaults if None.
        labels: Integers by which the layout is supervised, negative for unknown.
        progress: Receives the progress and intermediate layouts.
        initial: A layout to start from; the principal components if None.
        gpu: Where to compute; the CPU if None.

    Raises:
        UsageError: The settings are invalid for these vectors.
        JobCancelledError: The job was cancelled.
    """
    settings = settings or TsneSettings()
    progress = progress or JobProgress()
    settings.validate(len(vectors))
    # Three times the perplexity are the neighbors that have a noticeable weight.
    perplexity = min(settings.perplexity, (len(vectors) - 1) / 3)
    count = max(int(3 * perplexity), 2)
    neighbors = compute_knn_graph(vectors, settings.metric, count, progress, gpu)
    affinities = compute_affinities(
        neighbors, max(perplexity, 1.01), labels, settings.target_weight
    )
    layout = compute_initial_layout(
        vectors, settings.dimensions, _INITIAL_RADIUS, settings.seed, initial
    )
    forces = TsneForces(affinities) if gpu is None else gpu.make_forces(affinities)
    with closing(forces):
        return _descend(layout, forces, settings, progress)


def _descend(
    layout: Float64, forces: TsneForces | GpuForces, settings: TsneSettings, progress: JobProgress
) -> Float32:
    """Minimize the loss by gradient descent with momentum and adaptive gains."""
    velocity, gains = np.zeros_like(layout), np.ones_like(layout)
    early_iterations = min(_EARLY_ITERATIONS, settings.iterations // 2)
    for iteration in range(settings.iterations):
        is_early = iteration < early_iterations
        exaggeration = settings.early_exaggeration if is_early else 1.0
        # The usual n / exaggeration, for a gradient that includes the factor 4.
        rate = settings.learning_rate or max(len(layout) / exaggeration / 4, 50.0)
        gradient = forces.compute_gradient(layout, exaggeration)
        has_same_sign = (gradient > 0) == (velocity > 0)
        gains = np.maximum(np.where(has_same_sign, gains * 0.8, gains + 0.2), _MIN_GAIN)
        velocity = (0.5 if is_early else 0.8) * velocity - rate * gains * gradient
        layout += velocity
        layout -= layout.mean(axis=0)
        progress.step(OPTIMIZING_LAYOUT, iteration + 1, settings.iterations)
        if iteration % _PUBLISH_EVERY == 0:
            progress.show(layout.astype(np.float32))
    return layout.astype(np.float32)
