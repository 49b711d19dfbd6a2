from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tests.analysis.embeddings.projections.test_neighbors import KERNELS
from tracklight.analysis.embeddings.projections import (
    DistanceMetric,
    Neighbors,
    NeighborSearch,
    manifold,
)
from tracklight.analysis.embeddings.projections.manifold import (
    compute_approximate_knn,
    compute_knn_graph,
)
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError


def measure_recall(found: Neighbors, expected: Neighbors) -> float:
    """Return the share of the expected neighbors that were found."""
    rows = zip(found.indices, expected.indices, strict=True)
    return sum(len(np.intersect1d(*row)) for row in rows) / expected.indices.size


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_approximate_search_finds_nearly_all_neighbors(
    metric: DistanceMetric, kernel: ModuleType
) -> None:
    vectors, _ = make_clusters(1500, clusters=12)
    found = compute_approximate_knn(vectors, metric, 15, JobProgress(), kernel=kernel)
    expected = NeighborSearch(vectors, metric).query_all(15)
    assert measure_recall(found, expected) > 0.95
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert not (found.indices == np.arange(1500)[:, None]).any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_refinement_improves_recall(kernel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).normal(size=(1200, 6)).astype(np.float32)
    expected = NeighborSearch(vectors, "euclidean").query_all(12)
    monkeypatch.setattr(manifold, "_PROBED_CELLS", 8)
    monkeypatch.setattr(manifold, "_MIN_CANDIDATES_FACTOR", 2)
    recalls = []
    for refinements in (0, 1, 2):
        monkeypatch.setattr(manifold, "_MAX_REFINEMENTS", refinements)
        found = compute_approximate_knn(vectors, "euclidean", 12, JobProgress(), kernel=kernel)
        recalls.append(measure_recall(found, expected))
    assert recalls[0] < 0.85 < 0.9 < recalls[1] < 0.94 < recalls[2]


def test_equal_vectors_are_neighbors() -> None:
    found = compute_approximate_knn(np.ones((50, 3), np.float32), "euclidean", 5, JobProgress())
    assert found.indices.shape == (50, 5) and not found.distances.any()


def test_approximate_search_is_used_for_many_vectors_except_for_dot_products(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors, _ = make_clusters(60)
    monkeypatch.setattr(manifold, "compute_approximate_knn", lambda *args: "approximate")
    assert compute_knn_graph(vectors, "euclidean", 5, JobProgress()) != "approximate"
    monkeypatch.setattr(manifold, "MAX_EXACT_POINTS", 50)
    assert compute_knn_graph(vectors, "cosine", 5, JobProgress()) == "approximate"
    assert compute_knn_graph(vectors, "dot", 5, JobProgress()) != "approximate"


def test_settings_with_too_many_edges_are_rejected() -> None:
    for settings in (manifold.TsneSettings(), manifold.UmapSettings(n_neighbors=200)):
        settings.validate(100_000)
        with pytest.raises(UsageError, match="of 1000000 points do not fit into memory"):
            settings.validate(1_000_000)
    manifold.UmapSettings().validate(1_000_000)


def test_approximate_search_can_be_cancelled() -> None:
    vectors, _ = make_clusters(300)
    with pytest.raises(JobCancelledError):
        compute_approximate_knn(vectors, "euclidean", 5, JobProgress(is_cancelled=lambda: True))
