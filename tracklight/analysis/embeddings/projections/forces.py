"""How points push each other apart, for all pairs at once, by way of a grid.

What pushes a point is the slope of a potential: 1 / (1 + d²), summed over all others. So the
points are spread over the nodes of a regular grid by splines, the potential at all nodes is one
convolution, done by Fourier transforms, and its value and slope at each point are read off the
nodes around it. This takes time in proportion to the points and nodes, where pairs would take the
square of it (Essmann and others, 1995; Linderman and others, 2019).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.projections import forces_python
from tracklight.analysis.embeddings.projections.affinities import Affinities
from tracklight.analysis.embeddings.projections.forces_python import SPLINE_NODES
from tracklight.types import Float64, Int64

#: The potential bends within 1; nodes that are this far apart follow it, in a plane and in space.
_MAX_SPACING = {2: 0.4, 3: 0.5}

#: And a small layout has a finer grid, as there the slopes are small as well.
_MIN_INTERVALS = 20

#: Where more nodes come to a point, as of few that are far apart, a tree takes less time.
_MAX_NODES_PER_POINT = 200

_MAX_NODES = 1 << 26

#: Large transforms are done in parts.
_MIN_PARALLEL_VALUES = 1 << 16

_PARTS = 16

Array = NDArray[Any]

#: Does the parts of something, one after the other or at once.
ParallelMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Grid(NamedTuple):
    """Nodes around all points, the same number along each side."""

    nodes: int
    spacing: float
    origin: Any

    @property
    def fft_size(self) -> int:
        """Nodes along a side of the transforms: as many are empty, for nothing to come around."""
        return _next_fast_length(2 * self.nodes)


def find_grid(layout: Float64) -> Grid | None:
    """A grid around the points, if one is of use for as many as these are and as far apart."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def fit_grid(origin: Any, span: float, count: int, dimensions: int) -> Grid | None:
    """A grid of sides that long, if it has not too many nodes for that many points."""
    most = min(_MAX_NODES_PER_POINT * count, _MAX_NODES) ** (1 / dimensions)
    # Not so, too, where points are nowhere.
    if not 2 * span / _MAX_SPACING[dimensions] < most:
        return None
    grid = Grid(*_count_nodes(span, dimensions), origin)
    return grid if grid.fft_size <= most else None


def _count_nodes(span: float, dimensions: int) -> tuple[int, float]:
    """How many nodes a side of that length has, and how far they are apart."""
    span = max(span, 1e-9)
    step = min(span / _MIN_INTERVALS, _MAX_SPACING[dimensions])
    return int(span / step) + SPLINE_NODES, step


def compute_repulsion(
    layout: Float64, grid: Grid, kernel: ModuleType = forces_python, parallel_map: ParallelMap = map
) -> tuple[Float64, float]:
    """Forces on points, and the sum by which they are still to be divided."""
    field = np.zeros((grid.nodes,) * layout.shape[1])
    kernel.spread(layout, *grid, field.ravel())
    potential = np.ascontiguousarray(_convolve(field, grid, parallel_map)).ravel()
    forces = np.empty_like(layout)
    total = kernel.read(layout, *grid, potential, forces)
    # Each point is among those that it feels, at no distance.
    return forces, total - len(layout)


@lru_cache(maxsize=1)
def compute_spectrum(size: int, step: float, dimensions: int) -> Float64:
    """What the transform of a field is multiplied by to get that of the potential."""
    places = np.arange(size)
    squares = (np.minimum(places, size - places) * step) ** 2
    along = np.meshgrid(*[squares] * dimensions, indexing="ij", sparse=True)
    spectrum: Float64 = np.fft.rfftn(1 / (1 + sum(along)), axes=range(dimensions)).real
    # Splines blur what they spread, and what is read off them again.
    sharper = (3 / (2 + np.cos(2 * np.pi * places / size))) ** 2
    for axis in range(dimensions):
        sides = [1] * dimensions
        sides[axis] = -1
        spectrum *= sharper[: spectrum.shape[axis]].reshape(sides)
    return spectrum


def _convolve(field: Float64, grid: Grid, share: ParallelMap) -> Float64:
    """The potential at the nodes; rows of nothing are not transformed."""
    size, last = grid.fft_size, field.ndim - 1
    turn = partial(_transform, size=size, share=share)
    found = turn(np.fft.rfft, field, last)
    for axis in reversed(range(last)):
        found = turn(np.fft.fft, found, axis)
    found *= compute_spectrum(size, grid.spacing, field.ndim)
    for axis in range(last):
        found = turn(np.fft.ifft, found, axis, kept=grid.nodes)
    return turn(np.fft.irfft, found, last, kept=grid.nodes)


def _transform(
    how: Callable[..., Array],
    field: Array,
    axis: int,
    *,
    size: int,
    share: ParallelMap,
    kept: int | None = None,
) -> Array:
    """Transform along one axis, some lines at a time, and keep the beginning of each."""
    other = 0 if axis else 1
    parts = np.array_split(field, _PARTS if field.size > _MIN_PARALLEL_VALUES else 1, axis=other)
    begin = (slice(None),) * axis + (slice(kept),)
    turned = share(lambda part: how(part, size, axis=axis)[begin], parts)
    return np.concatenate(list(turned), axis=other)


def _next_fast_length(size: int) -> int:
    """The next length that a Fourier transform takes apart well."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


# The gradient of t-SNE: how each point of a layout is drawn and driven.
#
# They are drawn pair by pair and driven by way of a grid (`repulsion`), in threads and compiled
# where that could be. Where points are too few for a grid, or too far apart, there is a compiled
# tree of them, and without a compiler all pairs.


def _load_kernel() -> ModuleType | None:
    try:
        from tracklight.analysis.embeddings.projections import _forces
    except ImportError:
        return None
    return _forces


KERNEL = _load_kernel()

#: Nodes that seem smaller than this, width over distance, count as one point.
_BARNES_HUT_THETA = 0.5

#: Fewer points than that are not worth the transforms of a grid.
_MIN_GRID_POINTS = 1_000

_SORT_CELLS_PER_SIDE = 32

_BLOCK_PAIRS = 1 << 22

T = TypeVar("T")


class TsneForces:
    """What acts on the points whose affinities are given; to be closed after use."""

    def __init__(self, affinities: Affinities, kernel: ModuleType | None = KERNEL) -> None:
        self._affinities = affinities
        self._kernel = kernel
        self._threads = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._threads)

    def close(self) -> None:
        self._pool.shutdown()

    def compute_gradient(self, layout: Float64, exaggeration: float) -> Float64:
        """Where points would not go: the slope of what t-SNE makes small."""
        drawn = np.empty_like(layout)
        # Other threads draw while this one drives.
        is_drawn = self._start_attraction(layout, drawn)
        driven, total = self._repel(layout)
        list(is_drawn)
        least = float(np.finfo(np.float64).tiny)
        gradient: Float64 = 4 * (exaggeration * drawn - driven / max(total, least))
        return gradient

    def _start_attraction(self, layout: Float64, forces: Float64) -> Iterable[None]:
        """Fill forces by the time that all that is given has come."""
        if self._kernel is None:
            forces[:] = _compute_attraction(layout, self._affinities)
            return ()
        starts, others, weights = (
            self._affinities.indptr,
            self._affinities.indices,
            self._affinities.weights,
        )
        attract = partial(self._kernel.attract, layout, starts, others, weights)
        return self._map_ranges(len(layout), lambda begin, end: attract(begin, end, forces))

    def _repel(self, layout: Float64) -> tuple[Float64, float]:
        grid = find_grid(layout) if len(layout) > _MIN_GRID_POINTS else None
        if grid is not None:
            return compute_repulsion(layout, grid, self._kernel or forces_python, self._pool.map)
        if self._kernel is None:
            return _compute_pairwise_repulsion(layout)
        order = _sort_by_cell(layout)
        tree = self._kernel.Tree(layout[order])
        sorted_forces, forces = np.empty_like(layout), np.empty_like(layout)
        push = partial(tree.repel, angle=_BARNES_HUT_THETA, forces=sorted_forces)
        total = sum(self._map_ranges(len(layout), push))
        forces[order] = sorted_forces
        return forces, total

    def _map_ranges(self, count: int, work: Callable[[int, int], T]) -> Iterator[T]:
        """Do some of the points in each thread."""
        # More parts than threads, as some places are more crowded than others.
        edges = np.linspace(0, count, 4 * self._threads + 1).astype(int).tolist()
        return self._pool.map(work, edges[:-1], edges[1:])


def _sort_by_cell(layout: Float64) -> Int64:
    """An order in which those near each other follow, as they need the same nodes of a tree."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    with np.errstate(invalid="ignore"):
        cells = np.floor((layout - low) / max((high - low).max(), 1e-9) * _SORT_CELLS_PER_SIDE)
    return np.lexsort(cells.T)


def _compute_attraction(layout: Float64, affinities: Affinities) -> Float64:
    forces = np.zeros_like(layout)
    starts = affinities.indptr
    rows = max(_BLOCK_PAIRS * len(layout) // max(len(affinities.indices), 1), 1)
    for begin in range(0, len(layout), rows):
        end = min(begin + rows, len(layout))
        pairs = slice(starts[begin], starts[end])
        mine = np.repeat(np.arange(begin, end), np.diff(starts[begin : end + 1]))
        apart = layout[mine] - layout[affinities.indices[pairs]]
        near = affinities.weights[pairs] / (1 + np.einsum("ij,ij->i", apart, apart))
        for axis in range(layout.shape[1]):
            forces[:, axis] += np.bincount(mine, near * apart[:, axis], len(layout))
    return forces


def _compute_pairwise_repulsion(layout: Float64) -> tuple[Float64, float]:
    """Every pair, some rows at a time."""
    forces = np.empty_like(layout)
    total = 0.0
    rows = max(_BLOCK_PAIRS // len(layout), 1)
    for begin in range(0, len(layout), rows):
        apart = layout[begin : begin + rows, None] - layout[None]
        near = 1 / (1 + np.einsum("ijk,ijk->ij", apart, apart))
        total += float(near.sum())
        forces[begin : begin + rows] = np.einsum("ij,ijk->ik", near**2, apart)
    return forces, total - len(layout)
