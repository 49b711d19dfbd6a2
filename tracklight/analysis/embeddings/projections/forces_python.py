"""Points spread over the nodes of a grid, and what they feel there, without a compiler.

Each point counts for the nodes around it by cubic splines: four along each side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float64, Int32, Int64

#: Along each side a spline reaches so many nodes.
SPLINE_NODES = 4


def spread(layout: Float64, nodes: int, step: float, origin: Float64, field: Float64) -> None:
    """Add all points to the nodes around them."""
    cells, offsets = _find_cells(layout, nodes, step, origin)
    parts = _spline_weights(offsets)
    for place, chosen in _iter_nodes(cells, nodes):
        field += np.bincount(place, _multiply_axes(parts, chosen), len(field))


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
    parts, slopes = _spline_weights(offsets), _spline_slopes(offsets)
    forces[:] = 0
    total = 0.0
    for place, chosen in _iter_nodes(cells, nodes):
        felt = potential[place]
        total += float(felt @ _multiply_axes(parts, chosen))
        for axis in range(layout.shape[1]):
            leaning = [*parts[:axis], slopes[axis], *parts[axis + 1 :]]
            forces[:, axis] += felt * _multiply_axes(leaning, chosen)
    # Down the slope; a slope of 1 / (1 + d²) is twice the force.
    forces /= -2 * step
    return total


def _find_cells(layout: Float64, nodes: int, step: float, origin: Float64) -> tuple[Int64, Float64]:
    """The first of the nodes around each point, and how far it is beyond the second."""
    along = (layout - origin) / step
    cells = np.clip(along.astype(np.int64), 0, nodes - SPLINE_NODES)
    return cells, along - cells


def _iter_nodes(cells: Int64, nodes: int) -> Iterator[tuple[Int64, tuple[int, ...]]]:
    """For every node around points its place in the grid, and which along each axis it is."""
    for chosen in product(range(SPLINE_NODES), repeat=cells.shape[1]):
        place = np.zeros(len(cells), np.int64)
        for axis, beyond in enumerate(chosen):
            place = place * nodes + cells[:, axis] + beyond
        yield place, chosen


def _spline_weights(offsets: Float64) -> list[Float64]:
    """By axis, the share of each of the four nodes."""
    u, v = offsets.T, 1 - offsets.T
    shares = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    return list(np.stack(shares, axis=1) / 6)


def _spline_slopes(offsets: Float64) -> list[Float64]:
    """How these shares change with a step along the axis."""
    u, v = offsets.T, 1 - offsets.T
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return list(np.stack(slopes, axis=1) / 2)


def _multiply_axes(parts: list[Float64], chosen: tuple[int, ...]) -> Float64:
    found: Float64 = parts[0][chosen[0]]
    for part, one in zip(parts[1:], chosen[1:], strict=True):
        found = found * part[one]
    return found


# The steps of UMAP without a compiler: all pairs of an epoch at once, in NumPy.

_MAX_STEP = 4.0


def settle(
    layout: Float64,
    heads: Int32,
    tails: Int32,
    periods: Float64,
    due: Float64,
    epoch: float,
    rate: float,
    a: float,
    b: float,
    strangers: int,
    random: NDArray[np.uint64],
) -> None:
    """Draw the pairs together that are due, and drive each away from some random points."""
    is_due = due <= epoch
    due[is_due] += periods[is_due]
    mine, others = heads[is_due], tails[is_due]
    apart, squares = _compute_differences(layout, mine, others)
    pull = -2 * a * b * squares ** (b - 1) / (1 + a * squares**b)
    steps = _clip_steps(pull[:, None] * apart)
    rng = np.random.default_rng([int(random[0]), int(epoch)])
    mine_again = np.repeat(mine, strangers)
    apart, squares = _compute_differences(
        layout, mine_again, rng.integers(len(layout), size=len(mine_again))
    )
    push = 2 * b / ((0.001 + squares) * (1 + a * squares**b))
    drives = _clip_steps(push[:, None] * apart)
    for axis in range(layout.shape[1]):
        moved = np.bincount(mine, steps[:, axis], len(layout))
        moved -= np.bincount(others, steps[:, axis], len(layout))
        moved += np.bincount(mine_again, drives[:, axis], len(layout))
        layout[:, axis] += rate * moved


def _compute_differences(
    layout: Float64, mine: NDArray[np.integer], others: NDArray[np.integer]
) -> tuple[Float64, Float64]:
    apart = layout[mine] - layout[others]
    # Points at one place are neither drawn nor driven, so any distance will do.
    squares = np.einsum("ij,ij->i", apart, apart)
    return apart, np.where(squares > 0, squares, 1)


def _clip_steps(steps: Float64) -> Float64:
    return np.clip(steps, -_MAX_STEP, _MAX_STEP)
