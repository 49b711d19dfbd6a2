from __future__ import annotations

from types import ModuleType
from typing import get_args

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections import neighbors, neighbors_python
from tracklight.analysis.embeddings.projections.neighbors import (
    KERNEL,
    DistanceMetric,
    NeighborSearch,
)
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError

METRICS: tuple[DistanceMetric, ...] = get_args(DistanceMetric)
#: That of NumPy and, where it was built, the compiled one.
PICKERS = list(dict.fromkeys([neighbors_python, KERNEL]))


def measure(vectors: np.ndarray, query: np.ndarray, metric: DistanceMetric) -> np.ndarray:
    wide, query = vectors.astype(np.float64), query.astype(np.float64)
    if metric == "euclidean":
        return np.linalg.norm(wide - query, axis=1)
    if metric == "dot":
        return -(wide @ query)
    return 1 - wide @ query / np.linalg.norm(wide, axis=1) / np.linalg.norm(query)


@pytest.mark.parametrize("picker", PICKERS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dimensions", [7, 19])
def test_neighbours_are_those_of_all_pairs(
    picker: ModuleType, metric: DistanceMetric, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbors, "_SCAN_BLOCK_VALUES", 1000)
    vectors, _ = make_clusters(150, dimensions)
    found = NeighborSearch(vectors, metric, picker).query_all(6)
    for row in range(150):
        distances = measure(vectors, vectors[row], metric)
        distances[row] = np.inf
        order = np.lexsort((np.arange(150), distances))[:6]
        assert found.indices[row].tolist() == order.tolist()
        np.testing.assert_allclose(found.distances[row], distances[order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_any_vector_can_be_asked_for(metric: DistanceMetric) -> None:
    vectors, _ = make_clusters(50, 4)
    query = vectors[7:8] * 1.001
    found = NeighborSearch(vectors, metric).query_vectors(query, 3)
    assert found.indices[0].tolist() == np.argsort(measure(vectors, query[0], metric))[:3].tolist()
    with pytest.raises(
        UsageError, match="a vector of 2 numbers has no neighbours among those of 4"
    ):
        NeighborSearch(vectors, metric).query_vectors(query[:, :2], 3)


def test_near_points_far_from_the_middle_are_told_apart() -> None:
    """Where |a|² + |b|² - 2ab, in single precision, would only be noise."""
    vectors = np.full((40, 3), 1000, np.float32)
    vectors[:, 0] += np.arange(40, dtype=np.float32) / 64
    found = NeighborSearch(vectors, "euclidean").query_rows(np.array([0]), 2)
    assert found.distances[0].tolist() == [1 / 64, 2 / 64]


@pytest.mark.parametrize("picker", PICKERS)
def test_what_products_cannot_tell_apart_is_computed_directly(picker: ModuleType) -> None:
    """Two groups so far from each other that within one, single precision sees only noise."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 1e-3, (120, 4)).astype(np.float32)
    vectors[60:] += np.float32(500)
    found = NeighborSearch(vectors, "euclidean", picker).query_all(5)
    for row in range(120):
        distances = measure(vectors, vectors[row], "euclidean")
        distances[row] = np.inf
        np.testing.assert_allclose(found.distances[row], np.sort(distances)[:5], rtol=0.02)


@pytest.mark.skipif(KERNEL is neighbors_python, reason="the kernel is not built")
def test_columns_that_do_not_belong_together_are_refused() -> None:
    vectors, order = np.zeros((9, 3), np.float32), np.zeros((2, 9), np.float32)
    places, far = np.zeros((2, 4), np.int32), np.zeros((2, 4))
    own, farthest = np.array([0, 1]), np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="columns of one length"):
        KERNEL.pick(order, own, vectors, vectors, "dot", 1, places, far, farthest)
    with pytest.raises(ValueError, match="not as many to choose from"):
        KERNEL.pick(order, own, vectors[:5], vectors[:2], "dot", 1, places, far, farthest)
    known, distances = np.zeros((9, 4), np.int32), np.zeros((9, 4), np.float32)
    with pytest.raises(ValueError, match="no such rows"):
        KERNEL.refine(vectors, "dot", known, distances, 2, 0, 10, known.copy(), distances)


def test_numbers_too_large_for_products_are_no_harm() -> None:
    vectors = np.full((30, 4), 1e30, np.float32)
    with np.errstate(all="ignore"):
        found = NeighborSearch(vectors, "euclidean").query_all(5)
    assert found.indices.min() >= 0 and found.indices.max() < 30
    assert not (found.indices == np.arange(30)[:, None]).any()


def test_points_without_length_are_no_harm() -> None:
    vectors = np.zeros((4, 2), np.float32)
    vectors[3] = 1
    found = NeighborSearch(vectors, "cosine").query_all(9)
    assert found.indices.shape == (4, 3)
    assert np.isfinite(found.distances).all()


def test_a_search_can_be_followed_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "_SCAN_BLOCK_VALUES", 500)
    vectors, _ = make_clusters(100, 3)
    steps: list[int] = []
    work = JobProgress(
        report=lambda what, done, total: steps.append(done), is_cancelled=lambda: len(steps) > 2
    )
    with pytest.raises(JobCancelledError):
        NeighborSearch(vectors, "dot").query_all(3, work)
    assert steps == [5, 10, 15]
