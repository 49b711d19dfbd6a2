"""Where points are before they are moved."""

from __future__ import annotations

import numpy as np

from tracklight.projections.pca import find_components
from tracklight.types import Float32, Float64

#: A little noise sets points apart that are the same, and fills axes that no component is for.
_NOISE = 1e-3


def find_start(
    vectors: Float32, dimensions: int, reach: float, seed: int, near: Float32 | None = None
) -> Float64:
    """A layout that is there already, else the principal components of vectors.

    The farthest of its points are ``reach`` from the middle.
    """
    rng = np.random.default_rng(seed)
    layout = rng.normal(0, reach * _NOISE, (len(vectors), dimensions))
    if near is None:
        near = find_components(vectors, dimensions, seed).project(vectors)
    places = (near - near.mean(axis=0)).astype(np.float64)
    farthest = np.abs(places).max()
    if farthest > 0:
        layout[:, : places.shape[1]] += places * (reach / farthest)
    return layout
