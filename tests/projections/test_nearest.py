from __future__ import annotations

from types import ModuleType
from typing import Literal

import numpy as np
import pytest

from tests.projections.clouds import make_clusters
from tests.projections.test_neighbours import PICKERS
from tracklight.errors import UsageError
from tracklight.projections import nearest
from tracklight.projections.nearest import find_nearest
from tracklight.projections.neighbours import Metric, NeighbourSearch


@pytest.mark.parametrize("picker", PICKERS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dimensions", [12, 37])
@pytest.mark.parametrize("order", ["C", "F"])
def test_one_look_finds_what_the_search_finds(
    metric: Metric,
    picker: ModuleType,
    dimensions: int,
    order: Literal["C", "F"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nearest, "_BLOCK_NUMBERS", 3000)
    vectors, _ = make_clusters(500, dimensions)
    vectors = np.asarray(vectors, order=order)
    others = np.delete(np.arange(500, dtype=np.int32), 7)
    query = vectors[7].astype(np.float64)
    rows, distances = find_nearest(vectors, query, 20, metric, others, picker)
    wanted = NeighbourSearch(vectors, metric).find_of_rows(np.array([7]), 20)
    assert rows.tolist() == wanted.places[0].tolist()
    np.testing.assert_allclose(distances, wanted.distances[0], atol=1e-6)


def test_only_among_those_that_are_asked_for() -> None:
    vectors, _ = make_clusters(50)
    some = np.array([3, 9, 40], np.int32)
    rows, _ = find_nearest(vectors, np.zeros(10), 20, "cosine", some)
    assert sorted(rows.tolist()) == [3, 9, 40]
    with pytest.raises(UsageError, match="have 10 numbers, and not 3"):
        find_nearest(vectors, np.zeros(3), 5, "dot", some)
