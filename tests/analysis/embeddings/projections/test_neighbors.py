from __future__ import annotations

from types import ModuleType
from typing import get_args

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings import projections
from tracklight.analysis.embeddings.projections import (
    KERNEL,
    DistanceMetric,
    NeighborSearch,
    kernels_python,
)
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError

METRICS: tuple[DistanceMetric, ...] = get_args(DistanceMetric)
#: NumPy and, if it was built, the compiled kernel.
KERNELS = list(dict.fromkeys([kernels_python, KERNEL]))


def compute_expected_distances(
    vectors: np.ndarray, query: np.ndarray, metric: DistanceMetric
) -> np.ndarray:
    vectors, query = vectors.astype(np.float64), query.astype(np.float64)
    if metric == "euclidean":
        return np.linalg.norm(vectors - query, axis=1)
    if metric == "dot":
        return -(vectors @ query)
    return 1 - vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dimensions", [7, 19])
def test_neighbors_agree_with_all_pairs(
    kernel: ModuleType, metric: DistanceMetric, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projections, "_BLOCK_VALUES", 1000)
    vectors, _ = make_clusters(150, dimensions)
    found = NeighborSearch(vectors, metric, kernel).query_all(6)
    for row in range(150):
        distances = compute_expected_distances(vectors, vectors[row], metric)
        distances[row] = np.inf
        order = np.lexsort((np.arange(150), distances))[:6]
        assert found.indices[row].tolist() == order.tolist()
        np.testing.assert_allclose(found.distances[row], distances[order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_neighbors_of_other_vectors(metric: DistanceMetric) -> None:
    vectors, _ = make_clusters(50, 4)
    query = vectors[7:8] * 1.001
    found = NeighborSearch(vectors, metric).query_vectors(query, 3)
    expected = np.argsort(compute_expected_distances(vectors, query[0], metric))
    assert found.indices[0].tolist() == expected[:3].tolist()
    with pytest.raises(UsageError, match="query has 2 dimensions, the vectors have 4"):
        NeighborSearch(vectors, metric).query_vectors(query[:, :2], 3)


def test_close_points_far_from_the_origin() -> None:
    """In single precision, |a|² + |b|² - 2ab would be only noise."""
    vectors = np.full((40, 3), 1000, np.float32)
    vectors[:, 0] += np.arange(40, dtype=np.float32) / 64
    found = NeighborSearch(vectors, "euclidean").query_rows(np.array([0]), 2)
    assert found.distances[0].tolist() == [1 / 64, 2 / 64]


@pytest.mark.parametrize("kernel", KERNELS)
def test_uncertain_results_are_computed_in_double_precision(kernel: ModuleType) -> None:
    """Two groups are so far apart that single precision sees only noise within each."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 1e-3, (120, 4)).astype(np.float32)
    vectors[60:] += np.float32(500)
    found = NeighborSearch(vectors, "euclidean", kernel).query_all(5)
    for row in range(120):
        distances = compute_expected_distances(vectors, vectors[row], "euclidean")
        distances[row] = np.inf
        np.testing.assert_allclose(found.distances[row], np.sort(distances)[:5], rtol=0.02)


@pytest.mark.skipif(KERNEL is kernels_python, reason="the kernel is not built")
def test_kernel_rejects_arrays_that_do_not_fit() -> None:
    vectors, scores = np.zeros((9, 3), np.float32), np.zeros((2, 9), np.float32)
    indices, distances = np.zeros((2, 4), np.int32), np.zeros((2, 4))
    excluded, farthest = np.array([0, 1]), np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="same length"):
        KERNEL.select_nearest(
            scores, excluded, vectors, vectors, "dot", 1, indices, distances, farthest
        )
    with pytest.raises(ValueError, match="not enough vectors"):
        KERNEL.select_nearest(
            scores, excluded, vectors[:5], vectors[:2], "dot", 1, indices, distances, farthest
        )
    known, known_distances = np.zeros((9, 4), np.int32), np.zeros((9, 4), np.float32)
    with pytest.raises(ValueError, match="outside of the vectors"):
        KERNEL.refine_neighbors(
            vectors, "dot", known, known_distances, 2, 0, 10, known.copy(), known_distances
        )


def test_overflowing_products_give_valid_indices() -> None:
    vectors = np.full((30, 4), 1e30, np.float32)
    with np.errstate(all="ignore"):
        found = NeighborSearch(vectors, "euclidean").query_all(5)
    assert found.indices.min() >= 0 and found.indices.max() < 30
    assert not (found.indices == np.arange(30)[:, None]).any()


def test_cosine_of_zero_vectors_is_finite() -> None:
    vectors = np.zeros((4, 2), np.float32)
    vectors[3] = 1
    found = NeighborSearch(vectors, "cosine").query_all(9)
    assert found.indices.shape == (4, 3)
    assert np.isfinite(found.distances).all()


def test_query_all_reports_progress_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projections, "_BLOCK_VALUES", 500)
    vectors, _ = make_clusters(100, 3)
    steps: list[int] = []
    progress = JobProgress(
        report=lambda stage, done, total: steps.append(done), is_cancelled=lambda: len(steps) > 2
    )
    with pytest.raises(JobCancelledError):
        NeighborSearch(vectors, "dot").query_all(3, progress)
    assert steps == [5, 10, 15]
