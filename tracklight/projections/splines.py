"""Points spread over the nodes of a grid, and what they feel there, without a compiler.

Each point counts for the nodes around it by cubic splines: four along each side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tracklight.types import Float64, Int64

#: Along each side a spline reaches so many nodes.
REACH = 4


def spread(layout: Float64, nodes: int, step: float, origin: Float64, field: Float64) -> None:
    """Add all points to the nodes around them."""
    cells, offsets = _find_cells(layout, nodes, step, origin)
    parts = _lay(offsets)
    for place, chosen in _iter_nodes(cells, nodes):
        field += np.bincount(place, _multiply(parts, chosen), len(field))


def read(
    layout: Float64,
    nodes: int,
    step: float,
    origin: Float64,
    potential: Float64,
    forces: Float64,
) -> float:
    """Fill the forces on all points, and give the sum of what they feel."""
    cells, offsets = _find_cells(layout, nodes, step, origin)
    parts, slopes = _lay(offsets), _lean(offsets)
    forces[:] = 0
    total = 0.0
    for place, chosen in _iter_nodes(cells, nodes):
        felt = potential[place]
        total += float(felt @ _multiply(parts, chosen))
        for axis in range(layout.shape[1]):
            leaning = [*parts[:axis], slopes[axis], *parts[axis + 1 :]]
            forces[:, axis] += felt * _multiply(leaning, chosen)
    # Down the slope; a slope of 1 / (1 + d²) is twice the force.
    forces /= -2 * step
    return total


def _find_cells(layout: Float64, nodes: int, step: float, origin: Float64) -> tuple[Int64, Float64]:
    """The first of the nodes around each point, and how far it is beyond the second."""
    along = (layout - origin) / step
    cells = np.clip(along.astype(np.int64), 0, nodes - REACH)
    return cells, along - cells


def _iter_nodes(cells: Int64, nodes: int) -> Iterator[tuple[Int64, tuple[int, ...]]]:
    """For every node around points its place in the grid, and which along each axis it is."""
    for chosen in product(range(REACH), repeat=cells.shape[1]):
        place = np.zeros(len(cells), np.int64)
        for axis, beyond in enumerate(chosen):
            place = place * nodes + cells[:, axis] + beyond
        yield place, chosen


def _lay(offsets: Float64) -> list[Float64]:
    """By axis, the share of each of the four nodes."""
    u, v = offsets.T, 1 - offsets.T
    shares = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    return list(np.stack(shares, axis=1) / 6)


def _lean(offsets: Float64) -> list[Float64]:
    """How these shares change with a step along the axis."""
    u, v = offsets.T, 1 - offsets.T
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return list(np.stack(slopes, axis=1) / 2)


def _multiply(parts: list[Float64], chosen: tuple[int, ...]) -> Float64:
    found: Float64 = parts[0][chosen[0]]
    for part, one in zip(parts[1:], chosen[1:], strict=True):
        found = found * part[one]
    return found
