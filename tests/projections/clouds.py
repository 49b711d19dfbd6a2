"""Vectors for tests: clusters of points in many dimensions."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float32, Int64


def make_clusters(
    count: int, dimensions: int = 10, clusters: int = 4, seed: int = 0
) -> tuple[Float32, Int64]:
    """Points around some centres, and which of them each belongs to."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % clusters
    centres = rng.normal(0, 8, (clusters, dimensions))
    points = centres[labels] + rng.normal(0, 1, (count, dimensions))
    return points.astype(np.float32), labels
