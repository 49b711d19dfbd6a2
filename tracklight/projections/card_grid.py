"""How very many points push each other apart, by way of a grid on a graphics card.

It is `repulsion` and `splines` step by step, where the reasons are told, in the words of PyTorch.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import mul
from typing import Any

from tracklight.projections.repulsion import Grid, find_spectrum, fit_grid
from tracklight.projections.splines import REACH


def find_grid(layout: Any) -> Grid | None:
    """A grid around the points, if one is of use for as many as these are and as far apart."""
    low, high = layout.amin(dim=0), layout.amax(dim=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def repel(torch: Any, layout: Any, grid: Grid) -> tuple[Any, float]:
    """Forces on points, and the sum by which they are still to be divided."""
    dimensions = layout.shape[1]
    along = (layout - grid.origin) / grid.step
    cells = along.long().clamp(max=grid.nodes - REACH)
    places = _find_places(torch, cells, grid.nodes)
    shares, slopes = _lay_splines(torch, along - cells)
    parts = _multiply(torch, shares)
    field = torch.bincount(places.ravel(), parts.ravel(), grid.nodes**dimensions)
    felt = _convolve(torch, field.reshape((grid.nodes,) * dimensions), grid).ravel()[places]
    forces = torch.empty_like(layout)
    for axis in range(dimensions):
        leaning = _multiply(torch, [*shares[:axis], slopes[axis], *shares[axis + 1 :]])
        forces[:, axis] = (felt * leaning).sum(dim=0) / (-2 * grid.step)
    return forces.float(), float((felt * parts).sum()) - len(layout)


def _find_places(torch: Any, cells: Any, nodes: int) -> Any:
    """A row for each of the nodes around points: their places in the grid."""
    rows = []
    for chosen in product(range(REACH), repeat=cells.shape[1]):
        place = torch.zeros_like(cells[:, 0])
        for axis, beyond in enumerate(chosen):
            place = place * nodes + cells[:, axis] + beyond
        rows.append(place)
    return torch.stack(rows)


def _lay_splines(torch: Any, offsets: Any) -> tuple[list[Any], list[Any]]:
    """By axis, the share of each of the four nodes, and how it changes."""
    u, v = offsets.T, 1 - offsets.T
    shares = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return list(torch.stack(shares, dim=1) / 6), list(torch.stack(slopes, dim=1) / 2)


def _multiply(torch: Any, parts: list[Any]) -> Any:
    """A row for each of the nodes around points: what belongs to it along all axes."""
    nodes = product(range(REACH), repeat=len(parts))
    return torch.stack(
        [reduce(mul, (part[one] for part, one in zip(parts, node, strict=True))) for node in nodes]
    )


def _convolve(torch: Any, field: Any, grid: Grid) -> Any:
    sides = (grid.size,) * field.ndim
    spectrum = torch.from_numpy(find_spectrum(grid.size, grid.step, field.ndim)).to(field.device)
    felt = torch.fft.irfftn(torch.fft.rfftn(field, sides) * spectrum, sides)
    return felt[(slice(grid.nodes),) * field.ndim]
