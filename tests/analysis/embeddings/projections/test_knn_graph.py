from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tests.analysis.embeddings.projections.test_neighbors import PICKERS
from tracklight.analysis.embeddings.projections import knn_graph, tsne, umap
from tracklight.analysis.embeddings.projections.knn_graph import (
    compute_approximate_knn,
    compute_knn_graph,
)
from tracklight.analysis.embeddings.projections.neighbors import (
    DistanceMetric,
    Neighbors,
    NeighborSearch,
)
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError


def measure_recall(found: Neighbors, wanted: Neighbors) -> float:
    """Which share of the neighbours was found."""
    pairs = zip(found.indices, wanted.indices, strict=True)
    return sum(len(np.intersect1d(some, true)) for some, true in pairs) / wanted.indices.size


@pytest.mark.parametrize("picker", PICKERS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_nearly_all_neighbours_are_found(metric: DistanceMetric, picker: ModuleType) -> None:
    vectors, _ = make_clusters(1500, clusters=12)
    found = compute_approximate_knn(vectors, metric, 15, JobProgress(), kernel=picker)
    wanted = NeighborSearch(vectors, metric).query_all(15)
    assert measure_recall(found, wanted) > 0.95
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert not (found.indices == np.arange(1500)[:, None]).any()


@pytest.mark.parametrize("picker", PICKERS)
def test_those_that_cells_miss_are_found_among_neighbours_of_neighbours(
    picker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.random.default_rng(0).normal(size=(1200, 6)).astype(np.float32)
    wanted = NeighborSearch(vectors, "euclidean").query_all(12)
    monkeypatch.setattr(knn_graph, "_PROBED_CELLS", 8)
    monkeypatch.setattr(knn_graph, "_MIN_CANDIDATES_FACTOR", 2)
    shares = []
    for rounds in (0, 1, 2):
        monkeypatch.setattr(knn_graph, "_MAX_REFINEMENTS", rounds)
        found = compute_approximate_knn(vectors, "euclidean", 12, JobProgress(), kernel=picker)
        shares.append(measure_recall(found, wanted))
    assert shares[0] < 0.85 < 0.9 < shares[1] < 0.94 < shares[2]


def test_vectors_that_are_the_same_are_neighbours() -> None:
    found = compute_approximate_knn(np.ones((50, 3), np.float32), "euclidean", 5, JobProgress())
    assert found.indices.shape == (50, 5) and not found.distances.any()


def test_many_are_compared_by_cells_and_few_or_products_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors, _ = make_clusters(60)
    monkeypatch.setattr(knn_graph, "compute_approximate_knn", lambda *rest: "roughly")
    assert compute_knn_graph(vectors, "euclidean", 5, JobProgress()) != "roughly"
    monkeypatch.setattr(knn_graph, "MAX_EXACT_POINTS", 50)
    assert compute_knn_graph(vectors, "cosine", 5, JobProgress()) == "roughly"
    assert compute_knn_graph(vectors, "dot", 5, JobProgress()) != "roughly"


def test_more_pairs_than_can_be_held_are_refused_before_anything_is_done() -> None:
    for settings in (tsne.TsneSettings(), umap.UmapSettings(neighbours=200)):
        settings.validate(100_000)
        with pytest.raises(UsageError, match="of 1000000 points are too many to be held"):
            settings.validate(1_000_000)
    umap.UmapSettings().validate(1_000_000)


def test_the_search_can_be_stopped() -> None:
    vectors, _ = make_clusters(300)
    with pytest.raises(JobCancelledError):
        compute_approximate_knn(vectors, "euclidean", 5, JobProgress(is_cancelled=lambda: True))
