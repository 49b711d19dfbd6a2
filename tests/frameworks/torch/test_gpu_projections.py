"""Projections with PyTorch, run on the CPU because a GPU may not be available."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters, measure_mixing
from tracklight.analysis.embeddings.projections import forces as repulsion
from tracklight.analysis.embeddings.projections import gpu
from tracklight.analysis.embeddings.projections.affinities import compute_affinities
from tracklight.analysis.embeddings.projections.forces import TsneForces
from tracklight.analysis.embeddings.projections.gpu import Gpu, find_gpu
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric, NeighborSearch
from tracklight.analysis.embeddings.projections.tsne import TsneSettings, compute_tsne
from tracklight.analysis.jobs import JobProgress

torch = pytest.importorskip("torch")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    monkeypatch.setattr(gpu, "_BLOCK_VALUES", 5000)  # several blocks even for few points
    return Gpu(torch, "cpu")


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_neighbors_agree_with_the_exact_search(device: Gpu, metric: DistanceMetric) -> None:
    vectors, _ = make_clusters(200)
    actual = device.compute_neighbors(vectors, metric, 12, JobProgress())
    expected = NeighborSearch(vectors, metric).query_all(12)
    assert np.mean(actual.indices == expected.indices) > 0.99
    np.testing.assert_allclose(actual.distances, expected.distances, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_forces_agree_with_the_exact_computation(device: Gpu, dimensions: int) -> None:
    vectors, _ = make_clusters(150)
    affinities = compute_affinities(NeighborSearch(vectors, "euclidean").query_all(30), 10)
    layout = np.random.default_rng(0).normal(0, 3, (150, dimensions))
    plain = TsneForces(affinities, kernel=None)
    expected = plain.compute_gradient(layout, 4.0)
    plain.close()
    actual = device.make_forces(affinities).compute_gradient(layout, 4.0)
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(("dimensions", "spread"), [(2, 10), (2, 0.1), (3, 1)])
def test_grid_agrees_with_numpy(dimensions: int, spread: float) -> None:
    layout = np.random.default_rng(0).normal(0, spread, (3000, dimensions))
    grid = repulsion.find_grid(layout)
    assert grid is not None
    expected, total = repulsion.compute_repulsion(layout, grid)
    points = torch.from_numpy(layout)
    on_card = gpu.find_device_grid(points)
    assert on_card is not None and on_card[:2] == grid[:2]
    forces, sum_of_all = gpu.compute_device_repulsion(torch, points, on_card)
    np.testing.assert_allclose(forces.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert sum_of_all == pytest.approx(total, rel=1e-9)


def test_uses_a_grid_for_many_points_in_two_dimensions(
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
        gpu,
        "compute_device_repulsion",
        lambda *arguments: grids.append(arguments) or repel(*arguments),
    )
    forces = device.make_forces(affinities)
    for points, count in ((layout, 1), (far, 1)):
        actual = forces.compute_gradient(points.astype(np.float64), 1.0)
        assert np.isfinite(actual).all() and len(grids) == count


def test_tsne_separates_clusters(device: Gpu) -> None:
    vectors, labels = make_clusters(200)
    layout = compute_tsne(vectors, TsneSettings(iterations=300, perplexity=10), gpu=device)
    assert measure_mixing(layout, labels) < 0.02


def test_find_gpu_returns_none_without_a_gpu() -> None:
    assert find_gpu("cpu") is None
    assert (find_gpu("cuda") is None) == (not torch.cuda.is_available())
