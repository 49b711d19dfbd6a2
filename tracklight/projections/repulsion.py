"""How points push each other apart, for all pairs at once, by way of a grid.

The force between two points depends only on how they are apart. So the points are spread over
the nodes of a regular grid, the sums over all nodes are one convolution, done by Fourier
transforms, and what each point feels is read off the nodes around it. This takes time in
proportion to the points, where pairs would take the square of it (Linderman and others, 2019).
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tracklight.types import Float64, Int64

#: Each side of a cell has as many nodes, through which a parabola is laid.
NODES = 3
_FEWEST_CELLS = 50
_MOST_CELLS = 250


class Grid(NamedTuple):
    """Nodes around all points, the same number along each side."""

    nodes: int
    step: float
    origin: Any


def repel(layout: Float64) -> tuple[Float64, float]:
    """Forces on the points of a plane, and the sum by which they are still to be divided."""
    grid = _lay_grid(layout)
    places, shares = _share_out(layout, grid)
    squares = np.einsum("ij,ij->i", layout, layout)
    charges = np.stack([np.ones(len(layout)), layout[:, 0], layout[:, 1], squares])
    felt = _read_off(_convolve(_put_on(charges, places, shares, grid.nodes), grid), places, shares)
    forces = layout * felt[0][:, None] - felt[1:3].T
    # 1 + |a - b|² times the kernel, which is that of the sum, taken apart into what was felt.
    each = (1 + squares) * felt[0] + felt[3] - 2 * np.einsum("ij,ji->i", layout, felt[1:3])
    return forces, float(each.sum()) - len(layout)


def _lay_grid(layout: Float64) -> Grid:
    low, high = layout.min(axis=0), layout.max(axis=0)
    return Grid(*count_nodes(float((high - low).max())), low)


def count_nodes(span: float) -> tuple[int, float]:
    """How many nodes a side of that length has, and how far they are apart."""
    span = max(span, 1e-9)
    cells = int(np.clip(np.ceil(span), _FEWEST_CELLS, _MOST_CELLS))
    return cells * NODES, span / (cells * NODES)


def _share_out(layout: Float64, grid: Grid) -> tuple[list[Int64], list[Float64]]:
    """For each node around a point its place in the grid, and the point's share of it."""
    along = (layout - grid.origin) / grid.step
    cells = np.minimum(along // NODES, grid.nodes // NODES - 1).astype(np.int64)
    # Nodes are in the middle of the thirds of a cell; a point is so far from the second of them.
    offset = along - cells * NODES - 1.5
    parts = np.stack([offset * (offset - 1) / 2, 1 - offset**2, offset * (offset + 1) / 2])
    places, shares = [], []
    for right, down in product(range(NODES), repeat=2):
        first, second = cells[:, 0] * NODES + right, cells[:, 1] * NODES + down
        places.append(first * grid.nodes + second)
        shares.append(parts[right, :, 0] * parts[down, :, 1])
    return places, shares


def _put_on(charges: Float64, places: list[Int64], shares: list[Float64], nodes: int) -> Float64:
    out = np.zeros((len(charges), nodes * nodes))
    for place, share in zip(places, shares, strict=True):
        for row, charge in zip(out, charges, strict=True):
            row += np.bincount(place, share * charge, nodes * nodes)
    return out.reshape(-1, nodes, nodes)


def _convolve(field: Float64, grid: Grid) -> Float64:
    size = round_up(2 * grid.nodes)
    apart = np.minimum(np.arange(size), size - np.arange(size)) * grid.step
    kernel = 1 / (1 + apart[:, None] ** 2 + apart[None, :] ** 2) ** 2
    spectrum = np.fft.rfft2(field, (size, size)) * np.fft.rfft2(kernel)
    felt: Float64 = np.fft.irfft2(spectrum, (size, size))[:, : grid.nodes, : grid.nodes]
    return felt.reshape(len(field), -1)


def _read_off(felt: Float64, places: list[Int64], shares: list[Float64]) -> Float64:
    out = np.zeros((len(felt), len(places[0])))
    for place, share in zip(places, shares, strict=True):
        out += felt[:, place] * share
    return out


def round_up(size: int) -> int:
    """The next length that a Fourier transform takes apart well."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1
