"""The gradient of t-SNE: attraction between neighbors and repulsion between all points.

Affinities are the weighted edges between neighbors, along which points attract each other; UMAP
layouts start from them as well.

Repulsion is the gradient of a potential, the sum of 1 / (1 + d²) over all other points. It is
computed on a grid in time proportional to points and nodes: cubic splines spread the points to the
nodes, FFTs convolve them with the potential of one point, and splines interpolate value and
gradient at the points (Essmann et al., 1995; Linderman et al., 2019). For layouts with few points,
or with points too far apart for a grid, there is a compiled Barnes-Hut tree; without a compiler,
all pairs are computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from os import cpu_count
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections import Neighbors, kernels_python
from tracklight.analysis.embeddings.projections.kernels_python import SPLINE_NODES
from tracklight.types import Float32, Float64, Int32, Int64

# ---- affinities

_MAX_BISECTIONS = 60
_ENTROPY_TOLERANCE = 1e-5
#: Values per block, so that a block stays in the processor's cache.
_BLOCK_VALUES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Affinities:
    """A symmetric sparse matrix in CSR form, whose weights add up to 1."""

    indptr: Int64
    indices: Int32
    weights: Float32


class SymmetricEdges(NamedTuple):
    """Edges sorted by row, each in both directions."""

    rows: Int32
    columns: Int32
    sums: Float64
    """The sum of the weights of both directions."""
    products: Float64
    """The product of the weights of both directions; 0 if only one is a neighbor of the other."""


def compute_affinities(
    neighbors: Neighbors,
    perplexity: float,
    labels: NDArray[Any] | None = None,
    target_weight: float = 0.0,
) -> Affinities:
    """Return the affinities of t-SNE.

    Args:
        neighbors: The neighbors of all points.
        perplexity: The effective number of neighbors of each point.
        labels: Integers by which a layout is supervised, negative for unknown.
        target_weight: How much less neighbors with other labels weigh, from 0 to 1.
    """
    weights = _compute_conditional_weights(neighbors.distances, perplexity)
    weights = downweight_other_labels(weights, neighbors.indices, labels, target_weight)
    return _to_csr(neighbors.indices, weights)


def _compute_conditional_weights(distances: Float32, perplexity: float) -> Float64:
    blocks = np.array_split(distances, max(distances.size // _BLOCK_VALUES, 1))
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        weights = pool.map(
            lambda block: _fit_bandwidths(block.astype(np.float64) ** 2, perplexity), blocks
        )
        return np.concatenate(list(weights))


def _fit_bandwidths(squares: Float64, perplexity: float) -> Float64:
    """Return Gaussian weights of squared distances, with the perplexity in every row."""
    squares = squares - squares[:, :1]  # a constant factor, which keeps exponents small
    target = np.log(min(perplexity, squares.shape[1] * 0.99))
    low = np.zeros(len(squares))
    high = np.full(len(squares), np.inf)
    scale = squares.mean(axis=1)
    beta = 1 / np.where(scale > 0, scale, 1)
    for _ in range(_MAX_BISECTIONS):
        weights = np.exp(-squares * beta[:, None])
        sums = weights.sum(axis=1)
        entropy = np.log(sums) + beta * np.einsum("ij,ij->i", squares, weights) / sums
        excess = entropy - target
        if np.abs(excess).max() < _ENTROPY_TOLERANCE:
            break
        low = np.where(excess > 0, beta, low)
        high = np.where(excess > 0, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    normalized: Float64 = weights / sums[:, None]
    return normalized


def _to_csr(indices: Int32, weights: Float64) -> Affinities:
    edges = symmetrize(indices, weights)
    indptr = np.searchsorted(edges.rows, np.arange(len(indices) + 1))
    shares = (edges.sums / edges.sums.sum()).astype(np.float32)
    return Affinities(indptr, edges.columns, shares)


def symmetrize(indices: Int32, weights: Float64) -> SymmetricEdges:
    """Combine the weight of each edge with that of the opposite direction."""
    count, width = indices.shape
    rows = np.repeat(np.arange(count), width)
    columns = indices.ravel().astype(np.int64)
    keys = np.concatenate([rows * count + columns, columns * count + rows])
    order = np.argsort(keys)
    keys, directed = keys[order], np.tile(weights.ravel(), 2)[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    is_mutual = np.diff(firsts, append=len(keys)) == 2
    products = np.where(is_mutual, np.multiply.reduceat(directed, firsts), 0)
    rows, columns = np.divmod(keys[firsts], count)
    sums = np.add.reduceat(directed, firsts)
    return SymmetricEdges(rows.astype(np.int32), columns.astype(np.int32), sums, products)


def downweight_other_labels(
    weights: Float64, indices: Int32, labels: NDArray[Any] | None, target_weight: float
) -> Float64:
    """Reduce the weights of neighbors with another label by the share ``target_weight``.

    Labels are integers, negative for unknown.
    """
    if labels is None or not target_weight:
        return weights
    own, others = labels[:, None], labels[indices]
    is_other = (own != others) & (own >= 0) & (others >= 0)
    reduced = weights * np.where(is_other, 1 - target_weight, 1)
    # A point without any neighbor of its label keeps its weights; otherwise it would have none.
    return np.where(reduced.max(axis=1, keepdims=True) > 0, reduced, weights)


# ---- forces

#: The potential changes on a scale of 1; this distance of nodes follows it in 2 and 3 dimensions.
_MAX_SPACING = {2: 0.4, 3: 0.5}
#: Small layouts get a finer grid, as their forces are small too.
_MIN_INTERVALS = 20
#: With more nodes per point, a tree is faster.
_MAX_NODES_PER_POINT = 200
_MAX_NODES = 1 << 26
#: For fewer points, a grid is not worth its FFTs.
_MIN_GRID_POINTS = 1_000

#: Larger FFTs are computed in parts by several threads.
_MIN_PARALLEL_VALUES = 1 << 16
_PARTS = 16

#: Tree nodes with a smaller ratio of width to distance count as one point.
_BARNES_HUT_THETA = 0.5
_SORT_CELLS_PER_SIDE = 32
_BLOCK_PAIRS = 1 << 22

T = TypeVar("T")
Array = NDArray[Any]
#: `map`, or the same of a thread pool.
ParallelMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


def _load_kernel() -> ModuleType | None:
    try:
        from tracklight.analysis.embeddings.projections import _forces
    except ImportError:
        return None
    return _forces


KERNEL = _load_kernel()


class TsneForces:
    """Computes gradients of layouts with the given affinities. Close it after use."""

    def __init__(self, affinities: Affinities, kernel: ModuleType | None = KERNEL) -> None:
        #: The library of the arrays; PyTorch for `gpu.GpuForces`.
        self.namespace: Any = np
        self._affinities = affinities
        self._kernel = kernel
        self._threads = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._threads)

    def close(self) -> None:
        self._pool.shutdown()

    def to_array(self, layout: Float64) -> Any:
        """Return the array of a layout that `compute_gradient` takes."""
        return layout

    def to_numpy(self, layout: Any) -> Float32:
        return np.asarray(layout, np.float32)

    def compute_gradient(self, layout: Float64, exaggeration: float) -> Float64:
        """Return the gradient of the t-SNE loss, with attraction scaled by the exaggeration."""
        attraction = np.empty_like(layout)
        # The pool computes the attraction while this thread computes the repulsion.
        pending = self._start_attraction(layout, attraction)
        repulsion, total = self._repel(layout)
        list(pending)
        total = max(total, float(np.finfo(np.float64).tiny))
        gradient: Float64 = 4 * (exaggeration * attraction - repulsion / total)
        return gradient

    def _start_attraction(self, layout: Float64, forces: Float64) -> Iterable[None]:
        """Start filling the forces; they are complete when the returned iterable is exhausted."""
        if self._kernel is None:
            forces[:] = _compute_attraction(layout, self._affinities)
            return ()
        affinities = self._affinities
        attract = partial(
            self._kernel.compute_attraction,
            layout,
            affinities.indptr,
            affinities.indices,
            affinities.weights,
        )
        return self._map_ranges(len(layout), lambda begin, end: attract(begin, end, forces))

    def _repel(self, layout: Float64) -> tuple[Float64, float]:
        """Return unnormalized repulsive forces and the sum to divide them by."""
        grid = find_grid(layout) if len(layout) > _MIN_GRID_POINTS else None
        if grid is not None:
            return compute_repulsion(layout, grid, self._kernel or kernels_python, self._pool.map)
        if self._kernel is None:
            return _compute_pairwise_repulsion(layout)
        order = _sort_by_cell(layout)
        tree = self._kernel.BarnesHutTree(layout[order])
        sorted_forces, forces = np.empty_like(layout), np.empty_like(layout)
        repel = partial(tree.compute_repulsion, theta=_BARNES_HUT_THETA, forces=sorted_forces)
        total = sum(self._map_ranges(len(layout), repel))
        forces[order] = sorted_forces
        return forces, total

    def _map_ranges(self, count: int, function: Callable[[int, int], T]) -> Iterator[T]:
        """Call a function for ranges of points in several threads."""
        # More ranges than threads, as dense regions take longer.
        edges = np.linspace(0, count, 4 * self._threads + 1).astype(int).tolist()
        return self._pool.map(function, edges[:-1], edges[1:])


def _sort_by_cell(layout: Float64) -> Int64:
    """Return an order in which close points follow each other, as they visit the same nodes."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    with np.errstate(invalid="ignore"):
        cells = np.floor((layout - low) / max((high - low).max(), 1e-9) * _SORT_CELLS_PER_SIDE)
    return np.lexsort(cells.T)


def _compute_attraction(layout: Float64, affinities: Affinities) -> Float64:
    forces = np.zeros_like(layout)
    indptr = affinities.indptr
    block_rows = max(_BLOCK_PAIRS * len(layout) // max(len(affinities.indices), 1), 1)
    for begin in range(0, len(layout), block_rows):
        end = min(begin + block_rows, len(layout))
        edges = slice(indptr[begin], indptr[end])
        rows = np.repeat(np.arange(begin, end), np.diff(indptr[begin : end + 1]))
        differences = layout[rows] - layout[affinities.indices[edges]]
        squares = np.einsum("ij,ij->i", differences, differences)
        weights = affinities.weights[edges] / (1 + squares)
        for axis in range(layout.shape[1]):
            forces[:, axis] += np.bincount(rows, weights * differences[:, axis], len(layout))
    return forces


def _compute_pairwise_repulsion(layout: Float64) -> tuple[Float64, float]:
    """Compute the repulsion of every pair of points, in blocks of rows."""
    forces = np.empty_like(layout)
    total = 0.0
    block_rows = max(_BLOCK_PAIRS // len(layout), 1)
    for begin in range(0, len(layout), block_rows):
        differences = layout[begin : begin + block_rows, None] - layout[None]
        potential = 1 / (1 + np.einsum("ijk,ijk->ij", differences, differences))
        total += float(potential.sum())
        forces[begin : begin + block_rows] = np.einsum("ij,ijk->ik", potential**2, differences)
    return forces, total - len(layout)


# ---- repulsion on a grid


class Grid(NamedTuple):
    """A regular grid around all points, with the same number of nodes along each axis."""

    nodes: int
    spacing: float
    origin: Any

    @property
    def fft_size(self) -> int:
        """Size of the FFT along each axis; zero padding prevents circular convolution."""
        return _next_fast_length(2 * self.nodes)


def find_grid(layout: Float64) -> Grid | None:
    """Return a grid around the points; None if it would have too many nodes."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def fit_grid(origin: Any, span: float, count: int, dimensions: int) -> Grid | None:
    """Return a grid with sides of length ``span``; None if it has too many nodes for the points."""
    max_size = min(_MAX_NODES_PER_POINT * count, _MAX_NODES) ** (1 / dimensions)
    # Written so that it also rejects a span of NaN.
    if not 2 * span / _MAX_SPACING[dimensions] < max_size:
        return None
    span = max(span, 1e-9)
    spacing = min(span / _MIN_INTERVALS, _MAX_SPACING[dimensions])
    grid = Grid(int(span / spacing) + SPLINE_NODES, spacing, origin)
    return grid if grid.fft_size <= max_size else None


def compute_repulsion(
    layout: Float64,
    grid: Grid,
    kernel: ModuleType = kernels_python,
    parallel_map: ParallelMap = map,
) -> tuple[Float64, float]:
    """Return unnormalized repulsive forces and the sum to divide them by.

    Args:
        layout: The positions.
        grid: A grid around them; see `find_grid`.
        kernel: The compiled functions or their NumPy equivalents.
        parallel_map: Maps the parts of the FFTs.
    """
    field = np.zeros((grid.nodes,) * layout.shape[1])
    kernel.spread_points(layout, *grid, field.ravel())
    potential = np.ascontiguousarray(_convolve(field, grid, parallel_map)).ravel()
    forces = np.empty_like(layout)
    total = kernel.interpolate_forces(layout, *grid, potential, forces)
    # The potential at each point includes the point itself, at distance 0.
    return forces, total - len(layout)


@lru_cache(maxsize=1)
def compute_spectrum(size: int, spacing: float, dimensions: int) -> Float64:
    """Return the Fourier transform of the potential of one point, corrected for the splines."""
    nodes = np.arange(size)
    squares = (np.minimum(nodes, size - nodes) * spacing) ** 2
    axes = np.meshgrid(*[squares] * dimensions, indexing="ij", sparse=True)
    spectrum: Float64 = np.fft.rfftn(1 / (1 + sum(axes)), axes=range(dimensions)).real
    # Spreading and interpolating both smooth with a B-spline; divide by its transform twice.
    sharpening = (3 / (2 + np.cos(2 * np.pi * nodes / size))) ** 2
    for axis in range(dimensions):
        shape = [1] * dimensions
        shape[axis] = -1
        spectrum *= sharpening[: spectrum.shape[axis]].reshape(shape)
    return spectrum


def _convolve(field: Float64, grid: Grid, parallel_map: ParallelMap) -> Float64:
    """Return the potential at the nodes. Axis by axis, so that padding is not transformed."""
    size, last = grid.fft_size, field.ndim - 1
    transform = partial(_transform, size=size, parallel_map=parallel_map)
    values = transform(np.fft.rfft, field, last)
    for axis in reversed(range(last)):
        values = transform(np.fft.fft, values, axis)
    values *= compute_spectrum(size, grid.spacing, field.ndim)
    for axis in range(last):
        values = transform(np.fft.ifft, values, axis, keep=grid.nodes)
    return transform(np.fft.irfft, values, last, keep=grid.nodes)


def _transform(
    fft: Callable[..., Array],
    values: Array,
    axis: int,
    *,
    size: int,
    parallel_map: ParallelMap,
    keep: int | None = None,
) -> Array:
    """Transform along one axis in parts, and keep the first values of each line."""
    split_axis = 0 if axis else 1
    part_count = _PARTS if values.size > _MIN_PARALLEL_VALUES else 1
    parts = np.array_split(values, part_count, axis=split_axis)
    kept = (slice(None),) * axis + (slice(keep),)
    transformed = parallel_map(lambda part: fft(part, size, axis=axis)[kept], parts)
    return np.concatenate(list(transformed), axis=split_axis)


def _next_fast_length(size: int) -> int:
    """Return the next product of 2, 3 and 5, for which FFTs are fast."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1
