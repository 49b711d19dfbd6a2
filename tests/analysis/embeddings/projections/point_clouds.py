"""Point clouds for tests: clusters in many dimensions, and measures of their layouts."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32, Float64, Int64


def make_clusters(
    count: int, dimensions: int = 10, clusters: int = 4, seed: int = 0
) -> tuple[Float32, Int64]:
    """Return Gaussian clusters and the cluster of each point."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % clusters
    centers = rng.normal(0, 8, (clusters, dimensions))
    points = centers[labels] + rng.normal(0, 1, (count, dimensions))
    return points.astype(np.float32), labels


def get_nearest_centers(layout: Float32, labels: Int64) -> Int64:
    """Return for each point the label with the nearest mean."""
    centers = np.array([layout[labels == label].mean(axis=0) for label in np.unique(labels)])
    nearest: Int64 = np.linalg.norm(layout[:, None] - centers[None], axis=2).argmin(axis=1)
    return nearest


def measure_nearest_distances(layout: Float32) -> tuple[Float64, Int64]:
    """Return the distance of each point's nearest neighbor, and the neighbor."""
    distances = np.linalg.norm(layout[:, None] - layout[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances.min(axis=1), distances.argmin(axis=1)


def measure_mixing(layout: Float32, labels: Int64) -> float:
    """Return the share of points whose nearest neighbor has another label."""
    return float((labels[measure_nearest_distances(layout)[1]] != labels).mean())
