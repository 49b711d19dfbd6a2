"""Principal components: the directions along which vectors differ most.

The data are centred, all rows are used and none are projected at random first. Only where both
sides of the matrix are very long are the components found by iteration instead of at once.
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

#: Numbers that are looked at together: some megabytes.
_BLOCK_VALUES = 1 << 20

#: With more numbers than that, single precision is enough for each of the many blocks, as their
#: errors cancel out, and takes half of the time.
_MAX_DOUBLE_PRECISION_VALUES = 1 << 26

#: A matrix of that side is taken apart in some seconds.
_MAX_EXACT_SIDE = 3000

_OVERSAMPLING = 20

_POWER_ITERATIONS = 12


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalComponents:
    """Directions, the most telling first, and what share of all variance each explains."""

    mean: Float64
    directions: Float64
    """One a row, each of length 1, its largest part positive."""
    explained_ratio: Float64
    is_exact: bool

    def project(self, vectors: Float32) -> Float32:
        """The coordinates of vectors along all directions."""
        out = np.empty((len(vectors), len(self.directions)), np.float32)
        for start, block in _iter_centered_blocks(vectors, self.mean):
            out[start : start + len(block)] = block @ self.directions.T.astype(block.dtype)
        return out


def compute_pca(vectors: Float32, count: int, seed: int = 0) -> PrincipalComponents:
    """The first ``count`` principal components, or as many as there can be."""
    rows, columns = vectors.shape
    if rows < 2 or count < 1:
        raise UsageError(f"{count} components cannot be found of {rows} vectors")
    count = min(count, rows - 1, columns)
    mean = _compute_mean(vectors)
    if columns <= _MAX_EXACT_SIDE:
        products = _compute_scatter(vectors, mean)
        total = float(products.trace())
        squares, directions = _decompose(products, count)
    else:
        total = sum(
            float(np.vdot(block, block)) for _, block in _iter_centered_blocks(vectors, mean)
        )
        if rows <= _MAX_EXACT_SIDE:
            squares, directions = _decompose_by_rows(vectors - mean, count)
        else:
            squares, directions = _iterate_subspace(vectors, mean, count, seed)
    explained = np.maximum(squares, 0) / total if total else np.zeros(count)
    is_exact = min(rows, columns) <= _MAX_EXACT_SIDE
    return PrincipalComponents(mean, _fix_signs(directions), explained, is_exact)


def _compute_mean(vectors: Float32) -> Float64:
    sums = np.zeros(vectors.shape[1])
    for block in _iter_blocks(vectors):
        sums += block.sum(
            axis=0, dtype=None if vectors.size > _MAX_DOUBLE_PRECISION_VALUES else np.float64
        )
    mean: Float64 = sums / len(vectors)
    return mean


def _iter_blocks(vectors: Float32) -> Iterator[Float32]:
    size = max(_BLOCK_VALUES // vectors.shape[1], 1)
    return (vectors[start : start + size] for start in range(0, len(vectors), size))


def _iter_centered_blocks(vectors: Float32, mean: Float64) -> Iterator[tuple[int, Floats]]:
    """Some rows at a time around their mean, and where they begin."""
    middle: Floats = (
        mean.astype(np.float32) if vectors.size > _MAX_DOUBLE_PRECISION_VALUES else mean
    )
    start = 0
    for block in _iter_blocks(vectors):
        yield start, block - middle
        start += len(block)


def _compute_scatter(vectors: Float32, mean: Float64) -> Float64:
    """The products of all columns with each other."""
    products = np.zeros((vectors.shape[1],) * 2)
    for _, block in _iter_centered_blocks(vectors, mean):
        products += block.T @ block
    return products


def _decompose(products: Float64, count: int) -> tuple[Float64, Float64]:
    values, directions = np.linalg.eigh(products)
    return values[: -count - 1 : -1], directions[:, : -count - 1 : -1].T


def _decompose_by_rows(centred: Float64, count: int) -> tuple[Float64, Float64]:
    """The same for few rows of many columns, by the products of rows."""
    values, weights = _decompose(centred @ centred.T, count)
    lengths = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return values, weights @ centred / lengths[:, None]


def _iterate_subspace(
    vectors: Float32, mean: Float64, count: int, seed: int
) -> tuple[Float64, Float64]:
    """Directions that are turned towards the largest ones, sweep by sweep."""
    rng = np.random.default_rng(seed)
    guesses = rng.normal(size=(vectors.shape[1], count + _OVERSAMPLING))
    for _ in range(_POWER_ITERATIONS):
        basis, _ = np.linalg.qr(guesses)
        guesses = np.zeros_like(guesses)
        for _, block in _iter_centered_blocks(vectors, mean):
            guesses += block.T @ (block @ basis.astype(block.dtype))
    values, turns = _decompose(basis.T @ guesses, count)
    return values, turns @ basis.T


def _fix_signs(directions: Float64) -> Float64:
    """Of a direction and its opposite, always the same is given."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * np.where(signs, signs, 1)[:, None]


# Where points are before they are moved.

#: A little noise sets points apart that are the same, and fills axes that no component is for.
_INITIAL_NOISE = 1e-3


def compute_initial_layout(
    vectors: Float32, dimensions: int, radius: float, seed: int, initial: Float32 | None = None
) -> Float64:
    """A layout that is there already, else the principal components of vectors.

    The farthest of its points are ``reach`` from the middle.
    """
    rng = np.random.default_rng(seed)
    layout = rng.normal(0, radius * _INITIAL_NOISE, (len(vectors), dimensions))
    if initial is None:
        initial = compute_pca(vectors, dimensions, seed).project(vectors)
    places = (initial - initial.mean(axis=0)).astype(np.float64)
    farthest = np.abs(places).max()
    if farthest > 0:
        layout[:, : places.shape[1]] += places * (radius / farthest)
    return layout


# Turning one layout onto another, so that what moved between the two is seen.


def align_procrustes(layout: Float32, rows: Int32, target: Float32) -> Float32:
    """A layout turned, mirrored, moved and scaled so that its rows ``mine`` come near ``others``.

    Distances keep their proportions (Schönemann, 1966).
    """
    if not len(rows):
        return layout
    chosen = layout[rows].astype(np.float64)
    goal = _match_dimensions(target.astype(np.float64), layout.shape[1])
    middle, towards = chosen.mean(axis=0), goal.mean(axis=0)
    left, strengths, right = np.linalg.svd((chosen - middle).T @ (goal - towards))
    spread = float(np.square(chosen - middle).sum())
    scale = float(strengths.sum()) / spread if spread else 1.0
    turned: Float64 = (layout - middle) @ (left @ right) * scale + towards
    return turned.astype(np.float32)


def _match_dimensions(places: Float64, dimensions: int) -> Float64:
    """As many axes as are wanted; those that are missing are flat."""
    missing = max(dimensions - places.shape[1], 0)
    return np.pad(places[:, :dimensions], ((0, 0), (0, missing)))
