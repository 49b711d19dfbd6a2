from __future__ import annotations

from types import ModuleType
from typing import Literal

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tests.analysis.embeddings.projections.test_neighbors import PICKERS
from tracklight.analysis.embeddings.projections import neighbors
from tracklight.analysis.embeddings.projections.neighbors import (
    DistanceMetric,
    NeighborSearch,
    query_nearest,
)
from tracklight.errors import UsageError


@pytest.mark.parametrize("picker", PICKERS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dimensions", [12, 37])
@pytest.mark.parametrize("order", ["C", "F"])
def test_one_look_finds_what_the_search_finds(
    metric: DistanceMetric,
    picker: ModuleType,
    dimensions: int,
    order: Literal["C", "F"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbors, "_SCAN_BLOCK_VALUES", 3000)
    vectors, _ = make_clusters(500, dimensions)
    vectors = np.asarray(vectors, order=order)
    others = np.delete(np.arange(500, dtype=np.int32), 7)
    query = vectors[7].astype(np.float64)
    rows, distances = query_nearest(vectors, query, 20, metric, others, picker)
    wanted = NeighborSearch(vectors, metric).query_rows(np.array([7]), 20)
    assert rows.tolist() == wanted.indices[0].tolist()
    np.testing.assert_allclose(distances, wanted.distances[0], atol=1e-6)


def test_only_among_those_that_are_asked_for() -> None:
    vectors, _ = make_clusters(50)
    some = np.array([3, 9, 40], np.int32)
    rows, _ = query_nearest(vectors, np.zeros(10), 20, "cosine", some)
    assert sorted(rows.tolist()) == [3, 9, 40]
    with pytest.raises(UsageError, match="have 10 numbers, and not 3"):
        query_nearest(vectors, np.zeros(3), 5, "dot", some)
