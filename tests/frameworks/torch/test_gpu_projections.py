"""Layouts with PyTorch, tested on its CPU device."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters, measure_mixing
from tracklight.analysis.embeddings.projections import (
    DistanceMetric,
    NeighborSearch,
    compute_trustworthiness,
    forces,
    gpu,
)
from tracklight.analysis.embeddings.projections.forces import TsneForces, compute_affinities
from tracklight.analysis.embeddings.projections.gpu import Gpu, find_gpu
from tracklight.analysis.embeddings.projections.manifold import (
    TsneSettings,
    UmapSettings,
    compute_tsne,
    compute_umap,
)
from tracklight.analysis.jobs import JobProgress

torch = pytest.importorskip("torch")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    monkeypatch.setattr(gpu, "_BLOCK_VALUES", 5000)  # several blocks
    return Gpu(torch, "cpu")


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_neighbors_agree_with_the_exact_search(device: Gpu, metric: DistanceMetric) -> None:
    vectors, _ = make_clusters(200)
    found = device.compute_neighbors(vectors, metric, 12, JobProgress())
    expected = NeighborSearch(vectors, metric).query_all(12)
    assert np.mean(found.indices == expected.indices) > 0.99
    np.testing.assert_allclose(found.distances, expected.distances, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_forces_agree_with_all_pairs(device: Gpu, dimensions: int) -> None:
    vectors, _ = make_clusters(150)
    affinities = compute_affinities(NeighborSearch(vectors, "euclidean").query_all(30), 10)
    layout = np.random.default_rng(0).normal(0, 3, (150, dimensions))
    on_cpu = TsneForces(affinities, kernel=None)
    expected = on_cpu.compute_gradient(layout, 4.0)
    on_cpu.close()
    on_device = device.make_forces(affinities)
    found = on_device.compute_gradient(on_device.to_array(layout), 4.0)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(("dimensions", "spread"), [(2, 10), (2, 0.1), (3, 1)])
def test_device_grid_agrees_with_numpy(dimensions: int, spread: float) -> None:
    layout = np.random.default_rng(0).normal(0, spread, (3000, dimensions))
    grid = forces.find_grid(layout)
    assert grid is not None
    expected, expected_total = forces.compute_repulsion(layout, grid)
    points = torch.from_numpy(layout)
    device_grid = gpu.find_device_grid(points)
    assert device_grid is not None and device_grid[:2] == grid[:2]
    found, total = gpu.compute_device_repulsion(torch, points, device_grid)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert float(total) == pytest.approx(expected_total, rel=1e-9)


def test_grid_is_used_for_many_points_unless_they_are_too_far_apart(
    device: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, _ = make_clusters(300)
    affinities = compute_affinities(NeighborSearch(vectors, "euclidean").query_all(30), 10)
    layout = np.random.default_rng(0).normal(0, 4, (300, 2)).astype(np.float32)
    far = layout + np.float32(1e5) * (np.arange(300) == 7)[:, None].astype(np.float32)
    monkeypatch.setattr(gpu, "_MAX_PAIRWISE_POINTS", 100)
    grids: list[object] = []
    repel = gpu.compute_device_repulsion
    monkeypatch.setattr(
        gpu, "compute_device_repulsion", lambda *args: grids.append(args) or repel(*args)
    )
    gpu_forces = device.make_forces(affinities)
    for positions, count in ((layout, 1), (far, 1)):
        found = gpu_forces.compute_gradient(gpu_forces.to_array(positions.astype(float)), 1.0)
        assert found.isfinite().all() and len(grids) == count


def test_layout_separates_clusters(device: Gpu) -> None:
    vectors, labels = make_clusters(200)
    layout = compute_tsne(vectors, TsneSettings(iterations=300, perplexity=10), gpu=device)
    assert measure_mixing(layout, labels) < 0.02


@pytest.mark.parametrize("dimensions", [2, 3])
def test_umap_is_as_trustworthy_as_on_the_cpu(device: Gpu, dimensions: int) -> None:
    vectors, labels = make_clusters(600)
    settings = UmapSettings(epochs=200, dimensions=dimensions)
    layout = compute_umap(vectors, settings, gpu=device)
    expected = compute_umap(vectors, settings)
    assert layout.shape == expected.shape and np.isfinite(layout).all()
    assert measure_mixing(layout, labels) < 0.02
    trust = compute_trustworthiness(vectors, layout)
    assert trust > compute_trustworthiness(vectors, expected) - 0.01
    np.testing.assert_allclose(layout.std(axis=0), expected.std(axis=0), rtol=0.3)


@pytest.mark.parametrize(("size", "rounded"), [(8, 8), (9, 12), (13, 16), (576, 768), (769, 1024)])
def test_rounds_fft_sizes(size: int, rounded: int) -> None:
    assert gpu._round_fft_size(size) == rounded


def test_find_gpu_returns_none_without_a_gpu() -> None:
    assert find_gpu("cpu") is None
    assert (find_gpu("cuda") is None) == (not torch.cuda.is_available())
