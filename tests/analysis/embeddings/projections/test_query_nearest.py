from __future__ import annotations

from types import ModuleType
from typing import Literal

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tests.analysis.embeddings.projections.test_neighbors import KERNELS
from tracklight.analysis.embeddings import projections
from tracklight.analysis.embeddings.projections import (
    DistanceMetric,
    NeighborSearch,
    query_nearest,
)
from tracklight.errors import UsageError


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dimensions", [12, 37])
@pytest.mark.parametrize("order", ["C", "F"])
def test_query_nearest_agrees_with_search(
    metric: DistanceMetric,
    kernel: ModuleType,
    dimensions: int,
    order: Literal["C", "F"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(projections, "_SCAN_BLOCK_VALUES", 3000)
    vectors, _ = make_clusters(500, dimensions)
    vectors = np.asarray(vectors, order=order)
    others = np.delete(np.arange(500, dtype=np.int32), 7)
    query = vectors[7].astype(np.float64)
    rows, distances = query_nearest(vectors, query, 20, metric, others, kernel)
    expected = NeighborSearch(vectors, metric).query_rows(np.array([7]), 20)
    assert rows.tolist() == expected.indices[0].tolist()
    np.testing.assert_allclose(distances, expected.distances[0], atol=1e-6)


def test_returns_only_the_given_rows() -> None:
    vectors, _ = make_clusters(50)
    candidates = np.array([3, 9, 40], np.int32)
    rows, _ = query_nearest(vectors, np.zeros(10), 20, "cosine", candidates)
    assert sorted(rows.tolist()) == [3, 9, 40]
    with pytest.raises(UsageError, match="query has 3 dimensions, the vectors have 10"):
        query_nearest(vectors, np.zeros(3), 5, "dot", candidates)
