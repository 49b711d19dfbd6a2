"""How points push each other apart, for all pairs at once, by way of a grid.

What pushes a point is the slope of a potential: 1 / (1 + d²), summed over all others. So the
points are spread over the nodes of a regular grid by splines, the potential at all nodes is one
convolution, done by Fourier transforms, and its value and slope at each point are read off the
nodes around it. This takes time in proportion to the points and nodes, where pairs would take the
square of it (Essmann and others, 1995; Linderman and others, 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.projections import splines
from tracklight.projections.splines import REACH
from tracklight.types import Float64

#: The potential bends within 1; nodes that are this far apart follow it, in a plane and in space.
_FARTHEST_STEP = {2: 0.4, 3: 0.5}
#: And a small layout has a finer grid, as there the slopes are small as well.
_FEWEST_STEPS = 20
#: Where more nodes come to a point, as of few that are far apart, a tree takes less time.
_MOST_PER_POINT = 200
_MOST_NODES = 1 << 26
#: Large transforms are done in parts.
_FEWEST_TO_SHARE = 1 << 16
_PARTS = 16

Numbers = NDArray[Any]
#: Does the parts of something, one after the other or at once.
Share = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Grid(NamedTuple):
    """Nodes around all points, the same number along each side."""

    nodes: int
    step: float
    origin: Any

    @property
    def size(self) -> int:
        """Nodes along a side of the transforms: as many are empty, for nothing to come around."""
        return _round_up(2 * self.nodes)


def find_grid(layout: Float64) -> Grid | None:
    """A grid around the points, if one is of use for as many as these are and as far apart."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def fit_grid(origin: Any, span: float, count: int, dimensions: int) -> Grid | None:
    """A grid of sides that long, if it has not too many nodes for that many points."""
    most = min(_MOST_PER_POINT * count, _MOST_NODES) ** (1 / dimensions)
    # Not so, too, where points are nowhere.
    if not 2 * span / _FARTHEST_STEP[dimensions] < most:
        return None
    grid = Grid(*_count_nodes(span, dimensions), origin)
    return grid if grid.size <= most else None


def _count_nodes(span: float, dimensions: int) -> tuple[int, float]:
    """How many nodes a side of that length has, and how far they are apart."""
    span = max(span, 1e-9)
    step = min(span / _FEWEST_STEPS, _FARTHEST_STEP[dimensions])
    return int(span / step) + REACH, step


def repel(
    layout: Float64, grid: Grid, kernel: ModuleType = splines, share: Share = map
) -> tuple[Float64, float]:
    """Forces on points, and the sum by which they are still to be divided."""
    field = np.zeros((grid.nodes,) * layout.shape[1])
    kernel.spread(layout, *grid, field.ravel())
    potential = np.ascontiguousarray(_convolve(field, grid, share)).ravel()
    forces = np.empty_like(layout)
    total = kernel.read(layout, *grid, potential, forces)
    # Each point is among those that it feels, at no distance.
    return forces, total - len(layout)


@lru_cache(maxsize=1)
def find_spectrum(size: int, step: float, dimensions: int) -> Float64:
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


def _convolve(field: Float64, grid: Grid, share: Share) -> Float64:
    """The potential at the nodes; rows of nothing are not transformed."""
    size, last = grid.size, field.ndim - 1
    turn = partial(_transform, size=size, share=share)
    found = turn(np.fft.rfft, field, last)
    for axis in reversed(range(last)):
        found = turn(np.fft.fft, found, axis)
    found *= find_spectrum(size, grid.step, field.ndim)
    for axis in range(last):
        found = turn(np.fft.ifft, found, axis, kept=grid.nodes)
    return turn(np.fft.irfft, found, last, kept=grid.nodes)


def _transform(
    how: Callable[..., Numbers],
    field: Numbers,
    axis: int,
    *,
    size: int,
    share: Share,
    kept: int | None = None,
) -> Numbers:
    """Transform along one axis, some lines at a time, and keep the beginning of each."""
    other = 0 if axis else 1
    parts = np.array_split(field, _PARTS if field.size > _FEWEST_TO_SHARE else 1, axis=other)
    begin = (slice(None),) * axis + (slice(kept),)
    turned = share(lambda part: how(part, size, axis=axis)[begin], parts)
    return np.concatenate(list(turned), axis=other)


def _round_up(size: int) -> int:
    """The next length that a Fourier transform takes apart well."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1
