"""What layouts can be computed on: the processor, and a graphics card by way of PyTorch."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
from functools import reduce
from itertools import product
from operator import mul
from typing import Any, Literal

import numpy as np

from tracklight.analysis.embeddings.projections.affinities import Affinities
from tracklight.analysis.embeddings.projections.forces import Grid, compute_spectrum, fit_grid
from tracklight.analysis.embeddings.projections.forces_python import SPLINE_NODES
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric, Neighbors
from tracklight.analysis.jobs import JobProgress
from tracklight.types import Float32, Float64

Device = Literal["cpu", "cuda", "mps"]


def list_devices() -> list[Device]:
    """The processor, and a card that seems to be there; PyTorch is not loaded to find out."""
    if importlib.util.find_spec("torch") is None:
        return ["cpu"]
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return ["cpu", "mps"]
    has_driver = os.path.exists("/proc/driver/nvidia/version") or os.name == "nt"
    return ["cpu", "cuda"] if has_driver else ["cpu"]


# How very many points push each other apart, by way of a grid on a graphics card.
#
# It is `repulsion` and `splines` step by step, where the reasons are told, in the words of PyTorch.


def find_device_grid(layout: Any) -> Grid | None:
    """A grid around the points, if one is of use for as many as these are and as far apart."""
    low, high = layout.amin(dim=0), layout.amax(dim=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def compute_device_repulsion(torch: Any, layout: Any, grid: Grid) -> tuple[Any, float]:
    """Forces on points, and the sum by which they are still to be divided."""
    dimensions = layout.shape[1]
    along = (layout - grid.origin) / grid.spacing
    cells = along.long().clamp(max=grid.nodes - SPLINE_NODES)
    places = _compute_node_indices(torch, cells, grid.nodes)
    shares, slopes = _compute_splines(torch, along - cells)
    parts = _multiply_axes(torch, shares)
    field = torch.bincount(places.ravel(), parts.ravel(), grid.nodes**dimensions)
    felt = _convolve_on_device(torch, field.reshape((grid.nodes,) * dimensions), grid).ravel()[
        places
    ]
    forces = torch.empty_like(layout)
    for axis in range(dimensions):
        leaning = _multiply_axes(torch, [*shares[:axis], slopes[axis], *shares[axis + 1 :]])
        forces[:, axis] = (felt * leaning).sum(dim=0) / (-2 * grid.spacing)
    return forces.float(), float((felt * parts).sum()) - len(layout)


def _compute_node_indices(torch: Any, cells: Any, nodes: int) -> Any:
    """A row for each of the nodes around points: their places in the grid."""
    rows = []
    for chosen in product(range(SPLINE_NODES), repeat=cells.shape[1]):
        place = torch.zeros_like(cells[:, 0])
        for axis, beyond in enumerate(chosen):
            place = place * nodes + cells[:, axis] + beyond
        rows.append(place)
    return torch.stack(rows)


def _compute_splines(torch: Any, offsets: Any) -> tuple[list[Any], list[Any]]:
    """By axis, the share of each of the four nodes, and how it changes."""
    u, v = offsets.T, 1 - offsets.T
    shares = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return list(torch.stack(shares, dim=1) / 6), list(torch.stack(slopes, dim=1) / 2)


def _multiply_axes(torch: Any, parts: list[Any]) -> Any:
    """A row for each of the nodes around points: what belongs to it along all axes."""
    nodes = product(range(SPLINE_NODES), repeat=len(parts))
    return torch.stack(
        [reduce(mul, (part[one] for part, one in zip(parts, node, strict=True))) for node in nodes]
    )


def _convolve_on_device(torch: Any, field: Any, grid: Grid) -> Any:
    sides = (grid.fft_size,) * field.ndim
    spectrum = torch.from_numpy(compute_spectrum(grid.fft_size, grid.spacing, field.ndim)).to(
        field.device
    )
    felt = torch.fft.irfftn(torch.fft.rfftn(field, sides) * spectrum, sides)
    return felt[(slice(grid.nodes),) * field.ndim]


# Neighbours and forces on a graphics card, by way of PyTorch where that is installed.

#: Numbers of a block: some hundred megabytes of the card's memory.
_BLOCK_VALUES = 1 << 26

#: Of more points of a plane a grid takes less time than all pairs.
_MAX_PAIRWISE_POINTS = 20_000


class Gpu:
    """A device of PyTorch."""

    def __init__(self, torch: Any, device: str) -> None:
        self._torch = torch
        self._device = device

    def compute_neighbors(
        self, vectors: Float32, metric: DistanceMetric, count: int, progress: JobProgress
    ) -> Neighbors:
        """The neighbours of every vector; exact but for rounding in single precision."""
        torch = self._torch
        points = self.to_device(vectors)
        if metric == "euclidean":
            points = points - points.mean(dim=0)
        elif metric == "cosine":
            points = torch.nn.functional.normalize(points, dim=1)
        total = len(points)
        count = min(count, total - 1)
        found = Neighbors(np.empty((total, count), np.int32), np.empty((total, count), np.float32))
        size = max(_BLOCK_VALUES // total, 1)
        for start in range(0, total, size):
            progress.step("looking for neighbours", start, total)
            end = min(start + size, total)
            near, places = self._query_block(points, start, end, metric, count)
            found.indices[start:end] = places.cpu().numpy()
            found.distances[start:end] = near.cpu().numpy()
        return found

    def _query_block(
        self, points: Any, start: int, end: int, metric: DistanceMetric, count: int
    ) -> tuple[Any, Any]:
        torch = self._torch
        block = points[start:end]
        order = -(block @ points.T)
        if metric == "euclidean":
            order += points.square().sum(dim=1) / 2
        own = torch.arange(end - start, device=self._device)
        order[own, own + start] = torch.inf
        places = order.topk(count, dim=1, largest=False).indices
        chosen = points[places]
        if metric == "euclidean":
            near = (chosen - block[:, None]).square().sum(dim=2).sqrt()
        else:
            near = -(chosen * block[:, None]).sum(dim=2)
            near = (1 + near).clamp(min=0) if metric == "cosine" else near
        ranks = near.argsort(dim=1, stable=True)
        return near.gather(1, ranks), places.gather(1, ranks)

    def make_forces(self, affinities: Affinities) -> GpuForces:
        return GpuForces(self, self._torch, affinities)

    def to_device(self, array: Any) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


class GpuForces:
    """What acts on points, as `forces.Forces` tells it."""

    def __init__(self, gpu: Gpu, torch: Any, affinities: Affinities) -> None:
        self._gpu = gpu
        self._torch = torch
        counts = np.diff(affinities.indptr)
        self._rows = gpu.to_device(np.repeat(np.arange(len(counts)), counts))
        self._columns = gpu.to_device(affinities.indices.astype(np.int64))
        self._weights = gpu.to_device(affinities.weights)

    def close(self) -> None:
        """What is on the card goes with this."""

    def compute_gradient(self, layout: Float64, exaggeration: float) -> Float64:
        """Where points would not go: the slope of what t-SNE makes small."""
        places = self._gpu.to_device(layout.astype(np.float32))
        drawn = self._attract(places)
        driven, total = self._repel(places)
        least = float(np.finfo(np.float32).tiny)
        gradient = 4 * (exaggeration * drawn - driven / max(total, least))
        slopes: Float64 = gradient.cpu().numpy().astype(np.float64)
        return slopes

    def _attract(self, layout: Any) -> Any:
        apart = layout[self._rows] - layout[self._columns]
        near = self._weights / (1 + apart.square().sum(dim=1))
        return self._torch.zeros_like(layout).index_add_(0, self._rows, near[:, None] * apart)

    def _repel(self, layout: Any) -> tuple[Any, float]:
        # A grid wants numbers of double precision, which Apple's cards do not have.
        is_large = len(layout) > _MAX_PAIRWISE_POINTS and layout.shape[1] == 2
        if is_large and layout.device.type != "mps":
            wide = layout.double()
            grid = find_device_grid(wide)
            if grid is not None:
                return compute_device_repulsion(self._torch, wide, grid)
        return self._repel_pairs(layout)

    def _repel_pairs(self, layout: Any) -> tuple[Any, float]:
        """Every pair, some rows at a time: products of matrices do most of it."""
        squares = layout.square().sum(dim=1)
        forces = self._torch.empty_like(layout)
        totals = []
        size = max(_BLOCK_VALUES // len(layout), 1)
        for start in range(0, len(layout), size):
            rows = slice(start, start + size)
            near = self._torch.addmm(
                squares[rows, None] + squares, layout[rows], layout.T, alpha=-2
            )
            near.clamp_(min=0).add_(1).reciprocal_()
            totals.append(near.sum(dtype=self._torch.float32))
            near.square_()
            forces[rows] = layout[rows] * near.sum(dim=1, keepdim=True) - near @ layout
        return forces, float(sum(totals)) - len(layout)


def find_gpu(device: Device) -> Gpu | None:
    """The card, if PyTorch can be loaded and sees it."""
    if device == "cpu":
        return None
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):  # an installation that is broken does not keep us from working
        return None
    backend = torch.cuda if device == "cuda" else torch.backends.mps
    return Gpu(torch, device) if backend.is_available() else None
