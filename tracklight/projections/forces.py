"""The gradient of t-SNE: how each point of a layout is drawn and driven.

They are drawn pair by pair and driven by way of a grid (`repulsion`), in threads and compiled
where that could be. Where points are too few for a grid, or too far apart, there is a compiled
tree of them, and without a compiler all pairs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType
from typing import TypeVar

import numpy as np

from tracklight.projections import splines
from tracklight.projections.affinity import Affinities
from tracklight.projections.repulsion import find_grid, repel
from tracklight.types import Float64, Int64


def _find_kernel() -> ModuleType | None:
    try:
        from tracklight.projections import _forces
    except ImportError:
        return None
    return _forces


KERNEL = _find_kernel()

#: Nodes that seem smaller than this, width over distance, count as one point.
_ANGLE = 0.5
#: Fewer points than that are not worth the transforms of a grid.
_FEWEST_ON_GRID = 1_000
_CELLS_OF_A_SIDE = 32
_PAIRS_AT_ONCE = 1 << 22

T = TypeVar("T")


class Forces:
    """What acts on the points whose affinities are given; to be closed after use."""

    def __init__(self, affinities: Affinities, kernel: ModuleType | None = KERNEL) -> None:
        self._affinities = affinities
        self._kernel = kernel
        self._threads = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._threads)

    def close(self) -> None:
        self._pool.shutdown()

    def find_gradient(self, layout: Float64, exaggeration: float) -> Float64:
        """Where points would not go: the slope of what t-SNE makes small."""
        drawn = np.empty_like(layout)
        # Other threads draw while this one drives.
        is_drawn = self._start_to_attract(layout, drawn)
        driven, total = self._repel(layout)
        list(is_drawn)
        least = float(np.finfo(np.float64).tiny)
        gradient: Float64 = 4 * (exaggeration * drawn - driven / max(total, least))
        return gradient

    def _start_to_attract(self, layout: Float64, forces: Float64) -> Iterable[None]:
        """Fill forces by the time that all that is given has come."""
        if self._kernel is None:
            forces[:] = _attract_plainly(layout, self._affinities)
            return ()
        starts, others, weights = (
            self._affinities.starts,
            self._affinities.others,
            self._affinities.weights,
        )
        attract = partial(self._kernel.attract, layout, starts, others, weights)
        return self._share(len(layout), lambda begin, end: attract(begin, end, forces))

    def _repel(self, layout: Float64) -> tuple[Float64, float]:
        grid = find_grid(layout) if len(layout) > _FEWEST_ON_GRID else None
        if grid is not None:
            return repel(layout, grid, self._kernel or splines, self._pool.map)
        if self._kernel is None:
            return _repel_plainly(layout)
        order = _sort_by_place(layout)
        tree = self._kernel.Tree(layout[order])
        sorted_forces, forces = np.empty_like(layout), np.empty_like(layout)
        push = partial(tree.repel, angle=_ANGLE, forces=sorted_forces)
        total = sum(self._share(len(layout), push))
        forces[order] = sorted_forces
        return forces, total

    def _share(self, count: int, work: Callable[[int, int], T]) -> Iterator[T]:
        """Do some of the points in each thread."""
        # More parts than threads, as some places are more crowded than others.
        edges = np.linspace(0, count, 4 * self._threads + 1).astype(int).tolist()
        return self._pool.map(work, edges[:-1], edges[1:])


def _sort_by_place(layout: Float64) -> Int64:
    """An order in which those near each other follow, as they need the same nodes of a tree."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    with np.errstate(invalid="ignore"):
        cells = np.floor((layout - low) / max((high - low).max(), 1e-9) * _CELLS_OF_A_SIDE)
    return np.lexsort(cells.T)


def _attract_plainly(layout: Float64, affinities: Affinities) -> Float64:
    forces = np.zeros_like(layout)
    starts = affinities.starts
    rows = max(_PAIRS_AT_ONCE * len(layout) // max(len(affinities.others), 1), 1)
    for begin in range(0, len(layout), rows):
        end = min(begin + rows, len(layout))
        pairs = slice(starts[begin], starts[end])
        mine = np.repeat(np.arange(begin, end), np.diff(starts[begin : end + 1]))
        apart = layout[mine] - layout[affinities.others[pairs]]
        near = affinities.weights[pairs] / (1 + np.einsum("ij,ij->i", apart, apart))
        for axis in range(layout.shape[1]):
            forces[:, axis] += np.bincount(mine, near * apart[:, axis], len(layout))
    return forces


def _repel_plainly(layout: Float64) -> tuple[Float64, float]:
    """Every pair, some rows at a time."""
    forces = np.empty_like(layout)
    total = 0.0
    rows = max(_PAIRS_AT_ONCE // len(layout), 1)
    for begin in range(0, len(layout), rows):
        apart = layout[begin : begin + rows, None] - layout[None]
        near = 1 / (1 + np.einsum("ijk,ijk->ij", apart, apart))
        total += float(near.sum())
        forces[begin : begin + rows] = np.einsum("ij,ijk->ik", near**2, apart)
    return forces, total - len(layout)
