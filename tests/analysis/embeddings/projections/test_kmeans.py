from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings.projections import clustering
from tracklight.analysis.embeddings.projections.clustering import cluster_kmeans, sort_by_size
from tracklight.errors import UsageError


def test_finds_clusters() -> None:
    vectors, labels = make_clusters(200)
    clusters = cluster_kmeans(vectors, 4)
    assert len(set(zip(clusters.tolist(), labels.tolist(), strict=True))) == 4


def test_assigns_points_outside_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_KMEANS_SAMPLE_SIZE", 40)
    vectors, labels = make_clusters(400)
    clusters = cluster_kmeans(vectors, 4)
    assert len(set(zip(clusters.tolist(), labels.tolist(), strict=True))) == 4


def test_equal_points_form_one_cluster() -> None:
    assert cluster_kmeans(np.ones((9, 3), np.float32), 2).tolist() == [0] * 9


def test_sort_by_size_puts_the_largest_cluster_first() -> None:
    assert sort_by_size(np.array([3, 1, 1, -1, 1, 3, 7])).tolist() == [1, 0, 0, -1, 0, 1, 2]


def test_rejects_more_clusters_than_points() -> None:
    with pytest.raises(UsageError, match="choose fewer clusters"):
        cluster_kmeans(np.ones((3, 2), np.float32), 4)
