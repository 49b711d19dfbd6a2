from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings.projections import clustering
from tracklight.analysis.embeddings.projections.clustering import cluster_hdbscan
from tracklight.errors import UsageError
from tracklight.types import Float32


def add_noise(vectors: Float32, count: int) -> Float32:
    rng = np.random.default_rng(1)
    noise = rng.uniform(-60, 60, (count, vectors.shape[1]))
    return np.concatenate([vectors, noise]).astype(np.float32)


def test_finds_dense_clusters_and_noise() -> None:
    vectors, labels = make_clusters(200)
    clusters = cluster_hdbscan(add_noise(vectors, 10), 10)
    assert len(set(zip(clusters[:200].tolist(), labels.tolist(), strict=True))) == 4
    assert set(clusters[200:].tolist()) == {-1}


def test_separates_close_clusters_beside_a_distant_one() -> None:
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [4, 0], [100, 0]])
    points = np.repeat(centers, 40, axis=0) + rng.normal(0, 0.3, (120, 2))
    clusters = cluster_hdbscan(points.astype(np.float32), 10)
    assert [len(set(clusters[start : start + 40].tolist())) for start in (0, 40, 80)] == [1, 1, 1]
    assert len(set(clusters.tolist()) - {-1}) == 3


def test_assigns_points_outside_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_HDBSCAN_SAMPLE_SIZE", 120)
    vectors, labels = make_clusters(400)
    clusters = cluster_hdbscan(vectors, 30)
    assert len(set(zip(clusters.tolist(), labels.tolist(), strict=True))) == 4


def test_clusters_of_equal_points() -> None:
    points = np.repeat(np.eye(4, dtype=np.float32), 20, axis=0)
    clusters = cluster_hdbscan(points, 5)
    assert [len(set(clusters[start : start + 20].tolist())) for start in range(0, 80, 20)] == [
        1
    ] * 4
    assert set(cluster_hdbscan(np.ones((30, 2), np.float32), 5).tolist()) == {0}


def test_rejects_too_few_points() -> None:
    with pytest.raises(UsageError, match="cannot form two clusters"):
        cluster_hdbscan(np.ones((9, 2), np.float32), 5)
