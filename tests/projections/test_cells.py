from __future__ import annotations

import numpy as np
import pytest

from tests.projections.clouds import make_clusters
from tracklight.errors import UsageError
from tracklight.projections import graph, tsne, umap
from tracklight.projections.cells import find_roughly
from tracklight.projections.graph import find_graph
from tracklight.projections.neighbours import Metric, NeighbourSearch
from tracklight.projections.work import Cancelled, Work


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_nearly_all_neighbours_are_found(metric: Metric) -> None:
    vectors, _ = make_clusters(1500, clusters=12)
    found = find_roughly(vectors, metric, 15, Work())
    wanted = NeighbourSearch(vectors, metric).find_all(15)
    rights = [
        len(np.intersect1d(some, true))
        for some, true in zip(found.places, wanted.places, strict=True)
    ]
    assert np.mean(rights) / 15 > 0.95
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert not (found.places == np.arange(1500)[:, None]).any()


def test_vectors_that_are_the_same_are_neighbours() -> None:
    found = find_roughly(np.ones((50, 3), np.float32), "euclidean", 5, Work())
    assert found.places.shape == (50, 5) and not found.distances.any()


def test_many_are_compared_by_cells_and_few_or_products_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors, _ = make_clusters(60)
    monkeypatch.setattr(graph, "find_roughly", lambda *rest: "roughly")
    assert find_graph(vectors, "euclidean", 5, Work()) != "roughly"
    monkeypatch.setattr(graph, "MOST_EXACT", 50)
    assert find_graph(vectors, "cosine", 5, Work()) == "roughly"
    assert find_graph(vectors, "dot", 5, Work()) != "roughly"


def test_more_pairs_than_can_be_held_are_refused_before_anything_is_done() -> None:
    for settings in (tsne.Settings(), umap.Settings(neighbours=200)):
        settings.check(100_000)
        with pytest.raises(UsageError, match="of 1000000 points are too many to be held"):
            settings.check(1_000_000)
    umap.Settings().check(1_000_000)


def test_the_search_can_be_stopped() -> None:
    vectors, _ = make_clusters(300)
    with pytest.raises(Cancelled):
        find_roughly(vectors, "euclidean", 5, Work(is_cancelled=lambda: True))
