from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections import clustering
from tracklight.analysis.embeddings.projections.clustering import cluster_hdbscan
from tracklight.errors import UsageError
from tracklight.types import Float32


def add_noise(vectors: Float32, count: int) -> Float32:
    rng = np.random.default_rng(1)
    noise = rng.uniform(-60, 60, (count, vectors.shape[1]))
    return np.concatenate([vectors, noise]).astype(np.float32)


def test_dense_groups_are_found_and_what_is_between_is_in_none() -> None:
    vectors, labels = make_clusters(200)
    groups = cluster_hdbscan(add_noise(vectors, 10), 10)
    assert len(set(zip(groups[:200].tolist(), labels.tolist(), strict=True))) == 4
    assert set(groups[200:].tolist()) == {-1}


def test_groups_that_lie_close_are_told_from_what_is_far() -> None:
    rng = np.random.default_rng(0)
    middles = np.array([[0, 0], [4, 0], [100, 0]])
    points = np.repeat(middles, 40, axis=0) + rng.normal(0, 0.3, (120, 2))
    groups = cluster_hdbscan(points.astype(np.float32), 10)
    assert [len(set(groups[start : start + 40].tolist())) for start in (0, 40, 80)] == [1, 1, 1]
    assert len(set(groups.tolist()) - {-1}) == 3


def test_those_beyond_a_sample_go_with_their_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_HDBSCAN_SAMPLE_SIZE", 120)
    vectors, labels = make_clusters(400)
    groups = cluster_hdbscan(vectors, 30)
    assert len(set(zip(groups.tolist(), labels.tolist(), strict=True))) == 4


def test_points_that_are_the_same_and_groups_of_nothing_else() -> None:
    points = np.repeat(np.eye(4, dtype=np.float32), 20, axis=0)
    groups = cluster_hdbscan(points, 5)
    assert [len(set(groups[start : start + 20].tolist())) for start in range(0, 80, 20)] == [1] * 4
    assert set(cluster_hdbscan(np.ones((30, 2), np.float32), 5).tolist()) == {0}


def test_too_few_points_are_refused() -> None:
    with pytest.raises(UsageError, match="do not make two groups"):
        cluster_hdbscan(np.ones((9, 2), np.float32), 5)
