"""The gradient of t-SNE: how each point of a layout is drawn and driven.

A compiled tree of points is used where it was built, in threads; otherwise, and for very many
points of a plane, a grid (`repulsion`) that needs only NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType

import numpy as np

from tracklight.projections import repulsion
from tracklight.projections.affinity import Affinities
from tracklight.types import Float64


def _find_kernel() -> ModuleType | None:
    try:
        from tracklight.projections import _forces
    except ImportError:
        return None
    return _forces


KERNEL = _find_kernel()

#: Nodes that seem smaller than this, width over distance, count as one point.
_ANGLE = 0.5
#: Beyond that the grid is faster than the tree, or where there is none than all pairs.
_MOST_IN_TREE = 100_000
_MOST_IN_PAIRS = 1_000
_PAIRS_AT_ONCE = 1 << 22


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
        drawn = self._attract(layout)
        driven, total = self._repel(layout)
        least = float(np.finfo(np.float64).tiny)
        gradient: Float64 = 4 * (exaggeration * drawn - driven / max(total, least))
        return gradient

    def _attract(self, layout: Float64) -> Float64:
        if self._kernel is None:
            return _attract_plainly(layout, self._affinities)
        forces = np.empty_like(layout)
        starts, others, weights = (
            self._affinities.starts,
            self._affinities.others,
            self._affinities.weights,
        )
        attract = partial(self._kernel.attract, layout, starts, others, weights)
        self._share(len(layout), lambda begin, end: attract(begin, end, forces))
        return forces

    def _repel(self, layout: Float64) -> tuple[Float64, float]:
        is_plane = layout.shape[1] == 2
        if is_plane and len(layout) > (_MOST_IN_PAIRS if self._kernel is None else _MOST_IN_TREE):
            return repulsion.repel(layout)
        if self._kernel is None:
            return _repel_plainly(layout)
        tree = self._kernel.Tree(layout)
        forces = np.empty_like(layout)
        parts = self._share(
            len(layout), lambda begin, end: float(tree.repel(begin, end, _ANGLE, forces))
        )
        return forces, sum(parts)

    def _share(self, count: int, work: Callable[[int, int], float]) -> list[float]:
        """Do some of the points in each thread."""
        # More parts than threads, as some places are more crowded than others.
        edges = np.linspace(0, count, 4 * self._threads + 1).astype(int).tolist()
        return list(self._pool.map(work, edges[:-1], edges[1:]))


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
