"""Neighbors and t-SNE forces on a GPU, with PyTorch if it is installed.

The grid repulsion follows `forces` and `forces_python` step by step, which explain it.
"""

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
from tracklight.analysis.embeddings.projections.stages import COMPUTING_NEIGHBORS
from tracklight.analysis.jobs import JobProgress
from tracklight.types import Float32, Float64

Device = Literal["cpu", "cuda", "mps"]

#: Values per block: some hundred megabytes of GPU memory.
_BLOCK_VALUES = 1 << 26
#: With more points in two dimensions, a grid is faster than all pairs.
_MAX_PAIRWISE_POINTS = 20_000


def list_devices() -> list[Device]:
    """Return the devices that are probably available, the fastest last; does not load PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return ["cpu"]
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return ["cpu", "mps"]
    has_driver = os.path.exists("/proc/driver/nvidia/version") or os.name == "nt"
    return ["cpu", "cuda"] if has_driver else ["cpu"]


def find_gpu(device: Device) -> Gpu | None:
    """Return the GPU, if PyTorch can be loaded and sees it."""
    if device == "cpu":
        return None
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):  # a broken installation
        return None
    backend = torch.cuda if device == "cuda" else torch.backends.mps
    return Gpu(torch, device) if backend.is_available() else None


class Gpu:
    """A PyTorch device."""

    def __init__(self, torch: Any, device: str) -> None:
        self._torch = torch
        self._device = device

    def compute_neighbors(
        self, vectors: Float32, metric: DistanceMetric, count: int, progress: JobProgress
    ) -> Neighbors:
        """Return the neighbors of every vector, exact except for rounding to single precision."""
        torch = self._torch
        points = self.to_device(vectors)
        if metric == "euclidean":
            points = points - points.mean(dim=0)
        elif metric == "cosine":
            points = torch.nn.functional.normalize(points, dim=1)
        total = len(points)
        count = min(count, total - 1)
        result = Neighbors(np.empty((total, count), np.int32), np.empty((total, count), np.float32))
        size = max(_BLOCK_VALUES // total, 1)
        for start in range(0, total, size):
            progress.step(COMPUTING_NEIGHBORS, start, total)
            end = min(start + size, total)
            distances, indices = self._query_block(points, start, end, metric, count)
            result.indices[start:end] = indices.cpu().numpy()
            result.distances[start:end] = distances.cpu().numpy()
        return result

    def _query_block(
        self, points: Any, start: int, end: int, metric: DistanceMetric, count: int
    ) -> tuple[Any, Any]:
        torch = self._torch
        block = points[start:end]
        scores = -(block @ points.T)
        if metric == "euclidean":
            scores += points.square().sum(dim=1) / 2
        rows = torch.arange(end - start, device=self._device)
        scores[rows, rows + start] = torch.inf
        indices = scores.topk(count, dim=1, largest=False).indices
        chosen = points[indices]
        if metric == "euclidean":
            distances = (chosen - block[:, None]).square().sum(dim=2).sqrt()
        else:
            distances = -(chosen * block[:, None]).sum(dim=2)
            distances = (1 + distances).clamp(min=0) if metric == "cosine" else distances
        order = distances.argsort(dim=1, stable=True)
        return distances.gather(1, order), indices.gather(1, order)

    def make_forces(self, affinities: Affinities) -> GpuForces:
        return GpuForces(self, self._torch, affinities)

    def to_device(self, array: Any) -> Any:
        """Copy a NumPy array to the GPU."""
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


class GpuForces:
    """Computes the gradients of `forces.TsneForces` on a GPU."""

    def __init__(self, gpu: Gpu, torch: Any, affinities: Affinities) -> None:
        self._gpu = gpu
        self._torch = torch
        counts = np.diff(affinities.indptr)
        self._rows = gpu.to_device(np.repeat(np.arange(len(counts)), counts))
        self._columns = gpu.to_device(affinities.indices.astype(np.int64))
        self._weights = gpu.to_device(affinities.weights)

    def close(self) -> None:
        """Do nothing; the GPU memory is freed with this object."""

    def compute_gradient(self, layout: Float64, exaggeration: float) -> Float64:
        """Return the gradient of the t-SNE loss, with attraction scaled by the exaggeration."""
        positions = self._gpu.to_device(layout.astype(np.float32))
        attraction = self._attract(positions)
        repulsion, total = self._repel(positions)
        total = max(total, float(np.finfo(np.float32).tiny))
        gradient = 4 * (exaggeration * attraction - repulsion / total)
        result: Float64 = gradient.cpu().numpy().astype(np.float64)
        return result

    def _attract(self, layout: Any) -> Any:
        differences = layout[self._rows] - layout[self._columns]
        weights = self._weights / (1 + differences.square().sum(dim=1))
        return self._torch.zeros_like(layout).index_add_(
            0, self._rows, weights[:, None] * differences
        )

    def _repel(self, layout: Any) -> tuple[Any, float]:
        # The grid needs double precision, which MPS does not have.
        is_large = len(layout) > _MAX_PAIRWISE_POINTS and layout.shape[1] == 2
        if is_large and layout.device.type != "mps":
            double_layout = layout.double()
            grid = find_device_grid(double_layout)
            if grid is not None:
                return compute_device_repulsion(self._torch, double_layout, grid)
        return self._repel_pairs(layout)

    def _repel_pairs(self, layout: Any) -> tuple[Any, float]:
        """Compute the repulsion of every pair in blocks of rows, mostly by matrix products."""
        squares = layout.square().sum(dim=1)
        forces = self._torch.empty_like(layout)
        totals = []
        size = max(_BLOCK_VALUES // len(layout), 1)
        for start in range(0, len(layout), size):
            rows = slice(start, start + size)
            potential = self._torch.addmm(
                squares[rows, None] + squares, layout[rows], layout.T, alpha=-2
            )
            potential.clamp_(min=0).add_(1).reciprocal_()
            totals.append(potential.sum(dtype=self._torch.float32))
            potential.square_()
            forces[rows] = layout[rows] * potential.sum(dim=1, keepdim=True) - potential @ layout
        return forces, float(sum(totals)) - len(layout)


def find_device_grid(layout: Any) -> Grid | None:
    """Return a grid around the points; None if it would have too many nodes."""
    low, high = layout.amin(dim=0), layout.amax(dim=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def compute_device_repulsion(torch: Any, layout: Any, grid: Grid) -> tuple[Any, float]:
    """Return unnormalized repulsive forces and the sum to divide them by."""
    dimensions = layout.shape[1]
    positions = (layout - grid.origin) / grid.spacing
    cells = positions.long().clamp(max=grid.nodes - SPLINE_NODES)
    nodes = _compute_node_indices(torch, cells, grid.nodes)
    weights, slopes = _compute_splines(torch, positions - cells)
    node_weights = _multiply_axes(torch, weights)
    field = torch.bincount(nodes.ravel(), node_weights.ravel(), grid.nodes**dimensions)
    potential = _convolve_on_device(torch, field.reshape((grid.nodes,) * dimensions), grid)
    values = potential.ravel()[nodes]
    forces = torch.empty_like(layout)
    for axis in range(dimensions):
        factors = _multiply_axes(torch, [*weights[:axis], slopes[axis], *weights[axis + 1 :]])
        forces[:, axis] = (values * factors).sum(dim=0) / (-2 * grid.spacing)
    return forces.float(), float((values * node_weights).sum()) - len(layout)


def _compute_node_indices(torch: Any, cells: Any, nodes: int) -> Any:
    """Return the nodes around each point, one row per corner of the spline's support."""
    rows = []
    for corner in product(range(SPLINE_NODES), repeat=cells.shape[1]):
        node = torch.zeros_like(cells[:, 0])
        for axis, shift in enumerate(corner):
            node = node * nodes + cells[:, axis] + shift
        rows.append(node)
    return torch.stack(rows)


def _compute_splines(torch: Any, offsets: Any) -> tuple[list[Any], list[Any]]:
    """Return, by axis, the weights of the four nodes and their derivatives."""
    u, v = offsets.T, 1 - offsets.T
    weights = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return list(torch.stack(weights, dim=1) / 6), list(torch.stack(slopes, dim=1) / 2)


def _multiply_axes(torch: Any, factors: list[Any]) -> Any:
    """Return the products over all axes, one row per corner of the spline's support."""
    corners = product(range(SPLINE_NODES), repeat=len(factors))
    return torch.stack(
        [
            reduce(mul, (factor[shift] for factor, shift in zip(factors, corner, strict=True)))
            for corner in corners
        ]
    )


def _convolve_on_device(torch: Any, field: Any, grid: Grid) -> Any:
    shape = (grid.fft_size,) * field.ndim
    spectrum = torch.from_numpy(compute_spectrum(grid.fft_size, grid.spacing, field.ndim))
    potential = torch.fft.irfftn(torch.fft.rfftn(field, shape) * spectrum.to(field.device), shape)
    return potential[(slice(grid.nodes),) * field.ndim]
