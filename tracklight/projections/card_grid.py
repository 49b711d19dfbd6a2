"""How very many points of a plane push each other apart, by way of a grid on a graphics card.

It is `repulsion` step by step, where the reasons are told, in the words of PyTorch.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from tracklight.projections.repulsion import NODES, Grid, count_nodes, round_up


def repel(torch: Any, layout: Any) -> tuple[Any, float]:
    """Forces on the points of a plane, and the sum by which they are still to be divided."""
    layout = layout.double()
    low, high = layout.amin(dim=0), layout.amax(dim=0)
    nodes, step = count_nodes(float((high - low).max()))
    grid = Grid(nodes, step, low)
    places, shares = _share_out(torch, layout, grid)
    squares = layout.square().sum(dim=1)
    charges = torch.stack([torch.ones_like(squares), layout[:, 0], layout[:, 1], squares])
    field = torch.stack(
        [
            torch.bincount(places.ravel(), (shares * charge).ravel(), nodes * nodes)
            for charge in charges
        ]
    )
    felt = _convolve(torch, field.reshape(-1, nodes, nodes), grid)
    felt = (felt[:, places] * shares).sum(dim=1)
    forces = layout * felt[0][:, None] - felt[1:3].T
    each = (1 + squares) * felt[0] + felt[3] - 2 * (layout * felt[1:3].T).sum(dim=1)
    return forces.float(), float(each.sum()) - len(layout)


def _share_out(torch: Any, layout: Any, grid: Grid) -> tuple[Any, Any]:
    """A row for each of the nodes around points: their places in the grid, and shares of them."""
    along = (layout - grid.origin) / grid.step
    cells = (along // NODES).clamp(max=grid.nodes // NODES - 1).long()
    offset = along - cells * NODES - 1.5
    parts = torch.stack([offset * (offset - 1) / 2, 1 - offset**2, offset * (offset + 1) / 2])
    nodes = list(product(range(NODES), repeat=2))
    places = [
        (cells[:, 0] * NODES + right) * grid.nodes + cells[:, 1] * NODES + down
        for right, down in nodes
    ]
    shares = [parts[right, :, 0] * parts[down, :, 1] for right, down in nodes]
    return torch.stack(places), torch.stack(shares)


def _convolve(torch: Any, field: Any, grid: Grid) -> Any:
    size = round_up(2 * grid.nodes)
    line = torch.arange(size, device=field.device, dtype=field.dtype)
    apart = torch.minimum(line, size - line) * grid.step
    kernel = 1 / (1 + apart[:, None] ** 2 + apart[None, :] ** 2) ** 2
    spectrum = torch.fft.rfft2(field, (size, size)) * torch.fft.rfft2(kernel)
    felt = torch.fft.irfft2(spectrum, (size, size))[:, : grid.nodes, : grid.nodes]
    return felt.reshape(len(field), -1)
