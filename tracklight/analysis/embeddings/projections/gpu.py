"""Neighbors, t-SNE forces and epochs of UMAP on a GPU, with PyTorch if it is installed.

The grid repulsion follows `forces` and `kernels_python` step by step, which explain it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
from typing import Any, Literal, NamedTuple

import numpy as np

from tracklight.analysis.embeddings.projections import (
    COMPUTING_NEIGHBORS,
    DistanceMetric,
    Neighbors,
)
from tracklight.analysis.embeddings.projections.forces import (
    Affinities,
    Grid,
    fit_grid,
)
from tracklight.analysis.embeddings.projections.kernels_python import SPLINE_NODES
from tracklight.analysis.jobs import JobProgress
from tracklight.types import Float32, Float64, Int32

Device = Literal["cpu", "cuda", "mps"]

#: Values per block: some hundred megabytes of GPU memory.
_BLOCK_VALUES = 1 << 26
#: Batches of an epoch of UMAP.
_UMAP_BATCHES = 4
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
        self.has_float64 = device != "mps"

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

    def make_umap_epochs(
        self, layout: Float64, edges: UmapEdges, curve: tuple[float, float], seed: int
    ) -> GpuUmapEpochs:
        return GpuUmapEpochs(self, self._torch, layout, edges, curve, seed)

    def to_device(self, array: Any) -> Any:
        """Copy a NumPy array to the GPU."""
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


class UmapEdges(NamedTuple):
    """The edges that UMAP samples, each every ``periods`` epochs."""

    heads: Int32
    tails: Int32
    periods: Float64


class GpuForces:
    """Computes the gradients of `forces.TsneForces` on a GPU."""

    def __init__(self, gpu: Gpu, torch: Any, affinities: Affinities) -> None:
        #: What NumPy is to `TsneForces`.
        self.namespace = torch
        self._gpu = gpu
        self._torch = torch
        counts = np.diff(affinities.indptr)
        self._rows = gpu.to_device(np.repeat(np.arange(len(counts)), counts))
        self._columns = gpu.to_device(affinities.indices.astype(np.int64))
        self._weights = gpu.to_device(affinities.weights)

    def close(self) -> None:
        """Do nothing; the GPU memory is freed with this object."""

    def to_array(self, layout: Float64) -> Any:
        """Copy a layout to the GPU, in double precision where it has that."""
        return self._gpu.to_device(layout if self._gpu.has_float64 else layout.astype(np.float32))

    def to_numpy(self, layout: Any) -> Float32:
        numbers: Float32 = layout.float().cpu().numpy()
        return numbers

    def compute_gradient(self, layout: Any, exaggeration: float) -> Any:
        """Return the gradient of the t-SNE loss, with attraction scaled by the exaggeration."""
        attraction = self._attract(layout.float())
        repulsion, total = self._repel(layout)
        total = total.clamp(min=float(np.finfo(np.float32).tiny))
        return 4 * (exaggeration * attraction - repulsion / total)

    def _attract(self, layout: Any) -> Any:
        differences = layout[self._rows] - layout[self._columns]
        weights = self._weights / (1 + differences.square().sum(dim=1))
        return self._torch.zeros_like(layout).index_add_(
            0, self._rows, weights[:, None] * differences
        )

    def _repel(self, layout: Any) -> tuple[Any, Any]:
        # The grid needs double precision.
        is_large = len(layout) > _MAX_PAIRWISE_POINTS and layout.shape[1] == 2
        if is_large and self._gpu.has_float64:
            grid = find_device_grid(layout)
            if grid is not None:
                return compute_device_repulsion(self._torch, layout, grid)
        return self._repel_pairs(layout.float())

    def _repel_pairs(self, layout: Any) -> tuple[Any, Any]:
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
        return forces, sum(totals) - len(layout)


def find_device_grid(layout: Any) -> Grid | None:
    """Return a grid around the points; None if it would have too many nodes."""
    low, high = layout.amin(dim=0), layout.amax(dim=0)
    return fit_grid(low, float((high - low).max()), *layout.shape)


def compute_device_repulsion(torch: Any, layout: Any, grid: Grid) -> tuple[Any, Any]:
    """Return unnormalized repulsive forces and the sum to divide them by."""
    dimensions = layout.shape[1]
    positions = ((layout - grid.origin) / grid.spacing).T.contiguous()
    cells = positions.long().clamp(max=grid.nodes - SPLINE_NODES)
    nodes = _compute_node_indices(torch, cells, grid.nodes)
    weights, slopes = _compute_splines(torch, positions - cells)
    node_weights = _multiply_axes(list(weights))
    field = torch.bincount(nodes.ravel(), node_weights.ravel(), grid.nodes**dimensions)
    potential = _convolve_on_device(torch, field.reshape((grid.nodes,) * dimensions), grid)
    values = potential.ravel()[nodes]
    forces = torch.empty_like(layout)
    for axis in range(dimensions):
        factors = _multiply_axes([*weights[:axis], slopes[axis], *weights[axis + 1 :]])
        forces[:, axis] = (values * factors).sum(dim=0) / (-2 * grid.spacing)
    return forces, (values * node_weights).sum() - len(layout)


def _compute_node_indices(torch: Any, cells: Any, nodes: int) -> Any:
    """Return the nodes around each point, one row per corner of the spline's support."""
    shifts = torch.arange(SPLINE_NODES, device=cells.device)[:, None]
    rows = torch.zeros_like(cells[:1])
    for axis in cells:
        rows = (rows[:, None] * nodes + (axis + shifts)).reshape(-1, len(axis))
    return rows


def _compute_splines(torch: Any, u: Any) -> tuple[Any, Any]:
    """Return the weights of the four nodes and their derivatives, by axis and node."""
    v = 1 - u
    weights = [v**3, 3 * u**3 - 6 * u**2 + 4, 3 * v**3 - 6 * v**2 + 4, u**3]
    slopes = [-(v**2), 3 * u**2 - 4 * u, 4 * v - 3 * v**2, u**2]
    return torch.stack(weights, dim=1) / 6, torch.stack(slopes, dim=1) / 2


def _multiply_axes(factors: list[Any]) -> Any:
    """Return the products over all axes, one row per corner of the spline's support."""
    products = factors[0]
    for factor in factors[1:]:
        products = (products[:, None] * factor).reshape(-1, factor.shape[1])
    return products


def _convolve_on_device(torch: Any, field: Any, grid: Grid) -> Any:
    size = _round_fft_size(grid.fft_size)
    shape = (size,) * field.ndim
    spectrum = _compute_device_spectrum(torch, size, grid.spacing, field)
    potential = torch.fft.irfftn(torch.fft.rfftn(field, shape) * spectrum, shape)
    return potential[(slice(grid.nodes),) * field.ndim]


def _round_fft_size(size: int) -> int:
    """Return a power of two, or 1.5 times one: the plan of each size takes 0.2 s to make."""
    power = 1 << (size - 1).bit_length()
    return power * 3 // 4 if size <= power * 3 // 4 else power


def _compute_device_spectrum(torch: Any, size: int, spacing: float, field: Any) -> Any:
    """Return what `forces.compute_spectrum` returns."""
    nodes = torch.arange(size, device=field.device, dtype=field.dtype)
    squares = (torch.minimum(nodes, size - nodes) * spacing) ** 2
    sharpening = (3 / (2 + torch.cos(2 * torch.pi * nodes / size))) ** 2
    axes = [[-1 if item == axis else 1 for item in range(field.ndim)] for axis in range(field.ndim)]
    spectrum = torch.fft.rfftn(1 / (1 + sum(squares.reshape(shape) for shape in axes))).real
    for axis, shape in enumerate(axes):
        spectrum = spectrum * sharpening[: spectrum.shape[axis]].reshape(shape)
    return spectrum


class GpuUmapEpochs:
    """The epochs of UMAP's stochastic gradient descent on a GPU.

    Edges are processed in batches, within which all forces are those at the same positions. Sums
    are in an arbitrary order, so that layouts differ slightly from run to run.
    """

    def __init__(
        self,
        gpu: Gpu,
        torch: Any,
        layout: Float64,
        edges: UmapEdges,
        curve: tuple[float, float],
        seed: int,
    ) -> None:
        self._torch = torch
        self._layout = gpu.to_device(layout.astype(np.float32))
        # Edges of one point follow each other; in a random order they are in different batches.
        order = np.random.default_rng(seed).permutation(len(edges.heads))
        self._heads = gpu.to_device(edges.heads[order].astype(np.int64))
        self._tails = gpu.to_device(edges.tails[order].astype(np.int64))
        self._periods = gpu.to_device(edges.periods[order].astype(np.float32))
        self._next_epochs = self._periods.clone()
        self._a, self._b = curve
        self._random = torch.Generator(self._layout.device).manual_seed(seed)

    def run(self, epoch: int, rate: float, negative_samples: int) -> None:
        """Run one epoch: attract the edges that are due, and repel random negative samples."""
        due = (self._next_epochs <= epoch).nonzero()[:, 0]
        self._next_epochs[due] += self._periods[due]
        batch = min(max(len(due) // _UMAP_BATCHES, 1), _BLOCK_VALUES // (4 * negative_samples))
        for edges in due.split(batch):
            heads, tails = self._heads[edges], self._tails[edges]
            steps = rate * self._attract(heads, tails)
            self._layout.index_add_(0, heads, steps).index_add_(0, tails, -steps)
            self._layout.index_add_(0, heads, rate * self._repel(heads, negative_samples))

    def get_layout(self) -> Float32:
        layout: Float32 = self._layout.cpu().numpy()
        return layout

    def _attract(self, heads: Any, tails: Any) -> Any:
        differences = self._layout[heads] - self._layout[tails]
        squares = differences.square().sum(dim=1, keepdim=True)
        powers = self._a * squares**self._b
        forces = -2 * self._b * powers / (squares * (1 + powers))
        return (self._torch.where(squares > 0, forces, 0) * differences).clamp(-4, 4)

    def _repel(self, heads: Any, negative_samples: int) -> Any:
        tails = self._torch.randint(
            len(self._layout),
            (len(heads), negative_samples),
            device=self._layout.device,
            generator=self._random,
        )
        differences = self._layout[heads][:, None] - self._layout[tails]
        squares = differences.square().sum(dim=2, keepdim=True)
        forces = 2 * self._b / ((0.001 + squares) * (1 + self._a * squares**self._b))
        return (forces * differences).clamp(-4, 4).sum(dim=1)
