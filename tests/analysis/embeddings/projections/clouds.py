"""Vectors for tests: clusters of points in many dimensions."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32, Float64, Int64


def make_clusters(
    count: int, dimensions: int = 10, clusters: int = 4, seed: int = 0
) -> tuple[Float32, Int64]:
    """Points around some centres, and which of them each belongs to."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % clusters
    centres = rng.normal(0, 8, (clusters, dimensions))
    points = centres[labels] + rng.normal(0, 1, (count, dimensions))
    return points.astype(np.float32), labels


def find_nearest_centres(layout: Float32, labels: Int64) -> Int64:
    """For each point the label whose points it is nearest to, by their middle."""
    centres = np.array([layout[labels == label].mean(axis=0) for label in np.unique(labels)])
    nearest: Int64 = np.linalg.norm(layout[:, None] - centres[None], axis=2).argmin(axis=1)
    return nearest


def measure_gaps(layout: Float32) -> tuple[Float64, Int64]:
    """How far each point's nearest neighbour is, and which it is."""
    apart = np.linalg.norm(layout[:, None] - layout[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return apart.min(axis=1), apart.argmin(axis=1)


def measure_mixing(layout: Float32, labels: Int64) -> float:
    """The share of points whose nearest neighbour has another label."""
    return float((labels[measure_gaps(layout)[1]] != labels).mean())
