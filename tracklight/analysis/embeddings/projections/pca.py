"""Principal component analysis, initial layouts and the alignment of layouts.

PCA centers the data and uses all rows. It is exact unless both sides of the matrix are very long;
then the components are found by subspace iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.types import Float32, Float64, Int32

Floats = NDArray[np.floating[Any]]

#: Values per block: a few megabytes.
_BLOCK_VALUES = 1 << 20
#: For more values, single precision is enough within a block, as the errors of the many blocks
#: average out, and twice as fast.
_MAX_DOUBLE_PRECISION_VALUES = 1 << 26
#: A square matrix of this side is decomposed within seconds.
_MAX_EXACT_SIDE = 3000
#: Extra directions of the subspace iteration, which speed up its convergence.
_OVERSAMPLING = 20
_POWER_ITERATIONS = 12

#: Relative noise that separates equal points and fills axes beyond the components.
_INITIAL_NOISE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalComponents:
    """Directions in the order of their variance."""

    mean: Float64
    directions: Float64
    """One unit vector per row, whose largest coordinate is positive."""
    explained_ratio: Float64
    """The share of the total variance that each direction explains."""
    is_exact: bool

    def project(self, vectors: Float32) -> Float32:
        """Return the coordinates of vectors along all directions."""
        coordinates = np.empty((len(vectors), len(self.directions)), np.float32)
        for start, block in _iter_centered_blocks(vectors, self.mean):
            projected = block @ self.directions.T.astype(block.dtype)
            coordinates[start : start + len(block)] = projected
        return coordinates


def compute_pca(vectors: Float32, count: int, seed: int = 0) -> PrincipalComponents:
    """Return the first ``count`` principal components, or as many as there are.

    Args:
        vectors: The vectors, [n, dimensions].
        count: The number of components.
        seed: Seed of the subspace iteration.

    Raises:
        UsageError: There are fewer than two vectors, or no component is requested.

    Example:
        >>> components = compute_pca(vectors, 2)
        >>> layout = components.project(vectors)
    """
    rows, columns = vectors.shape
    if rows < 2 or count < 1:
        raise UsageError(
            "projector.too_many_components",
            "cannot compute {count} components of {rows} vectors",
            count=count,
            rows=rows,
        )
    count = min(count, rows - 1, columns)
    mean = _compute_mean(vectors)
    if columns <= _MAX_EXACT_SIDE:
        scatter = _compute_scatter(vectors, mean)
        total = float(scatter.trace())
        squares, directions = _decompose(scatter, count)
    else:
        blocks = _iter_centered_blocks(vectors, mean)
        total = sum(float(np.vdot(block, block)) for _, block in blocks)
        if rows <= _MAX_EXACT_SIDE:
            squares, directions = _decompose_by_rows(vectors - mean, count)
        else:
            squares, directions = _iterate_subspace(vectors, mean, count, seed)
    explained_ratio = np.maximum(squares, 0) / total if total else np.zeros(count)
    is_exact = min(rows, columns) <= _MAX_EXACT_SIDE
    return PrincipalComponents(mean, _fix_signs(directions), explained_ratio, is_exact)


def _compute_mean(vectors: Float32) -> Float64:
    sums = np.zeros(vectors.shape[1])
    dtype = None if vectors.size > _MAX_DOUBLE_PRECISION_VALUES else np.float64
    for block in _iter_blocks(vectors):
        sums += block.sum(axis=0, dtype=dtype)
    mean: Float64 = sums / len(vectors)
    return mean


def _iter_blocks(vectors: Float32) -> Iterator[Float32]:
    size = max(_BLOCK_VALUES // vectors.shape[1], 1)
    return (vectors[start : start + size] for start in range(0, len(vectors), size))


def _iter_centered_blocks(vectors: Float32, mean: Float64) -> Iterator[tuple[int, Floats]]:
    """Yield blocks of centered rows, each with its first row."""
    is_large = vectors.size > _MAX_DOUBLE_PRECISION_VALUES
    center: Floats = mean.astype(np.float32) if is_large else mean
    start = 0
    for block in _iter_blocks(vectors):
        yield start, block - center
        start += len(block)


def _compute_scatter(vectors: Float32, mean: Float64) -> Float64:
    """Return the scatter matrix, the covariance times the number of rows."""
    scatter = np.zeros((vectors.shape[1],) * 2)
    for _, block in _iter_centered_blocks(vectors, mean):
        scatter += block.T @ block
    return scatter


def _decompose(scatter: Float64, count: int) -> tuple[Float64, Float64]:
    """Return the largest eigenvalues and their eigenvectors, one per row."""
    values, vectors = np.linalg.eigh(scatter)
    return values[: -count - 1 : -1], vectors[:, : -count - 1 : -1].T


def _decompose_by_rows(centered: Float64, count: int) -> tuple[Float64, Float64]:
    """Do the same for few rows with many columns, by the products of rows."""
    values, weights = _decompose(centered @ centered.T, count)
    norms = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return values, weights @ centered / norms[:, None]


def _iterate_subspace(
    vectors: Float32, mean: Float64, count: int, seed: int
) -> tuple[Float64, Float64]:
    """Do the same by subspace iteration."""
    rng = np.random.default_rng(seed)
    products = rng.normal(size=(vectors.shape[1], count + _OVERSAMPLING))
    for _ in range(_POWER_ITERATIONS):
        basis, _ = np.linalg.qr(products)
        products = np.zeros_like(products)
        for _, block in _iter_centered_blocks(vectors, mean):
            products += block.T @ (block @ basis.astype(block.dtype))
    values, rotation = _decompose(basis.T @ products, count)
    return values, rotation @ basis.T


def _fix_signs(directions: Float64) -> Float64:
    """Make the largest coordinate of each direction positive, so that results are reproducible."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * np.where(signs, signs, 1)[:, None]


def compute_initial_layout(
    vectors: Float32, dimensions: int, radius: float, seed: int, initial: Float32 | None = None
) -> Float64:
    """Return the layout from which an iterative projection starts.

    Args:
        vectors: The vectors; their principal components are the default layout.
        dimensions: Number of dimensions of the layout.
        radius: The largest coordinate of the result.
        seed: Seed of the noise.
        initial: A layout to start from instead; it may have fewer dimensions.
    """
    rng = np.random.default_rng(seed)
    layout = rng.normal(0, radius * _INITIAL_NOISE, (len(vectors), dimensions))
    if initial is None:
        initial = compute_pca(vectors, dimensions, seed).project(vectors)
    centered = (initial - initial.mean(axis=0)).astype(np.float64)
    largest = np.abs(centered).max()
    if largest > 0:
        layout[:, : centered.shape[1]] += centered * (radius / largest)
    return layout


def align_procrustes(layout: Float32, rows: Int32, target: Float32) -> Float32:
    """Rotate, mirror, move and scale a layout so that some rows come close to a target.

    The proportions of distances do not change (Schönemann, 1966).

    Args:
        layout: The layout to align.
        rows: The rows that have a target.
        target: The target of each of these rows, of any number of dimensions.
    """
    if not len(rows):
        return layout
    source = layout[rows].astype(np.float64)
    goal = _match_dimensions(target.astype(np.float64), layout.shape[1])
    source_mean, goal_mean = source.mean(axis=0), goal.mean(axis=0)
    left, singular_values, right = np.linalg.svd((source - source_mean).T @ (goal - goal_mean))
    variance = float(np.square(source - source_mean).sum())
    scale = float(singular_values.sum()) / variance if variance else 1.0
    aligned: Float64 = (layout - source_mean) @ (left @ right) * scale + goal_mean
    return aligned.astype(np.float32)


def _match_dimensions(layout: Float64, dimensions: int) -> Float64:
    """Drop surplus axes, and fill missing ones with zeros."""
    missing = max(dimensions - layout.shape[1], 0)
    return np.pad(layout[:, :dimensions], ((0, 0), (0, missing)))
