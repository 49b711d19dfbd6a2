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
from tracklight.types import Float32, Float64

Floats = NDArray[np.floating[Any]]

#: Numbers that are looked at together: some megabytes.
_BLOCK_NUMBERS = 1 << 20
#: With more numbers than that, single precision is enough for each of the many blocks, as their
#: errors cancel out, and takes half of the time.
_MANY_NUMBERS = 1 << 26
#: A matrix of that side is taken apart in some seconds.
_LONGEST_EXACT = 3000
_EXTRA_DIRECTIONS = 20
_SWEEPS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Directions, the most telling first, and what share of all variance each explains."""

    mean: Float64
    directions: Float64
    """One a row, each of length 1, its largest part positive."""
    explained: Float64
    is_exact: bool

    def project(self, vectors: Float32) -> Float32:
        """The coordinates of vectors along all directions."""
        out = np.empty((len(vectors), len(self.directions)), np.float32)
        for start, block in _iter_centred(vectors, self.mean):
            out[start : start + len(block)] = block @ self.directions.T.astype(block.dtype)
        return out


def find_components(vectors: Float32, count: int, seed: int = 0) -> Components:
    """The first ``count`` principal components, or as many as there can be."""
    rows, columns = vectors.shape
    if rows < 2 or count < 1:
        raise UsageError(f"{count} components cannot be found of {rows} vectors")
    count = min(count, rows - 1, columns)
    mean = _find_mean(vectors)
    if columns <= _LONGEST_EXACT:
        products = _multiply(vectors, mean)
        total = float(products.trace())
        squares, directions = _take_apart(products, count)
    else:
        total = sum(float(np.vdot(block, block)) for _, block in _iter_centred(vectors, mean))
        if rows <= _LONGEST_EXACT:
            squares, directions = _take_apart_rows(vectors - mean, count)
        else:
            squares, directions = _iterate(vectors, mean, count, seed)
    explained = np.maximum(squares, 0) / total if total else np.zeros(count)
    is_exact = min(rows, columns) <= _LONGEST_EXACT
    return Components(mean, _settle_signs(directions), explained, is_exact)


def _find_mean(vectors: Float32) -> Float64:
    sums = np.zeros(vectors.shape[1])
    for block in _iter_blocks(vectors):
        sums += block.sum(axis=0, dtype=None if vectors.size > _MANY_NUMBERS else np.float64)
    mean: Float64 = sums / len(vectors)
    return mean


def _iter_blocks(vectors: Float32) -> Iterator[Float32]:
    size = max(_BLOCK_NUMBERS // vectors.shape[1], 1)
    return (vectors[start : start + size] for start in range(0, len(vectors), size))


def _iter_centred(vectors: Float32, mean: Float64) -> Iterator[tuple[int, Floats]]:
    """Some rows at a time around their mean, and where they begin."""
    middle: Floats = mean.astype(np.float32) if vectors.size > _MANY_NUMBERS else mean
    start = 0
    for block in _iter_blocks(vectors):
        yield start, block - middle
        start += len(block)


def _multiply(vectors: Float32, mean: Float64) -> Float64:
    """The products of all columns with each other."""
    products = np.zeros((vectors.shape[1],) * 2)
    for _, block in _iter_centred(vectors, mean):
        products += block.T @ block
    return products


def _take_apart(products: Float64, count: int) -> tuple[Float64, Float64]:
    values, directions = np.linalg.eigh(products)
    return values[: -count - 1 : -1], directions[:, : -count - 1 : -1].T


def _take_apart_rows(centred: Float64, count: int) -> tuple[Float64, Float64]:
    """The same for few rows of many columns, by the products of rows."""
    values, weights = _take_apart(centred @ centred.T, count)
    lengths = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return values, weights @ centred / lengths[:, None]


def _iterate(vectors: Float32, mean: Float64, count: int, seed: int) -> tuple[Float64, Float64]:
    """Directions that are turned towards the largest ones, sweep by sweep."""
    rng = np.random.default_rng(seed)
    guesses = rng.normal(size=(vectors.shape[1], count + _EXTRA_DIRECTIONS))
    for _ in range(_SWEEPS):
        basis, _ = np.linalg.qr(guesses)
        guesses = np.zeros_like(guesses)
        for _, block in _iter_centred(vectors, mean):
            guesses += block.T @ (block @ basis.astype(block.dtype))
    values, turns = _take_apart(basis.T @ guesses, count)
    return values, turns @ basis.T


def _settle_signs(directions: Float64) -> Float64:
    """Of a direction and its opposite, always the same is given."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * np.where(signs, signs, 1)[:, None]
