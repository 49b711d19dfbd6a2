from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections import clustering
from tracklight.analysis.embeddings.projections.clustering import cluster_kmeans, sort_by_size
from tracklight.errors import UsageError


def test_clusters_are_found() -> None:
    vectors, labels = make_clusters(200)
    groups = cluster_kmeans(vectors, 4)
    assert len(set(zip(groups.tolist(), labels.tolist(), strict=True))) == 4


def test_those_beyond_a_sample_go_to_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_HDBSCAN_SAMPLE_SIZE", 40)
    vectors, labels = make_clusters(400)
    groups = cluster_kmeans(vectors, 4)
    assert len(set(zip(groups.tolist(), labels.tolist(), strict=True))) == 4


def test_points_that_are_all_the_same_make_one_group() -> None:
    assert cluster_kmeans(np.ones((9, 3), np.float32), 2).tolist() == [0] * 9


def test_the_largest_group_is_the_first() -> None:
    assert sort_by_size(np.array([3, 1, 1, -1, 1, 3, 7])).tolist() == [1, 0, 0, -1, 0, 1, 2]


def test_more_groups_than_points_are_refused() -> None:
    with pytest.raises(UsageError, match="ask for fewer"):
        cluster_kmeans(np.ones((3, 2), np.float32), 4)
