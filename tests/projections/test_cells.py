from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.projections.clouds import make_clusters
from tests.projections.test_neighbours import PICKERS
from tracklight.errors import UsageError
from tracklight.projections import cells, graph, tsne, umap
from tracklight.projections.cells import find_roughly
from tracklight.projections.graph import find_graph
from tracklight.projections.neighbours import Metric, Neighbours, NeighbourSearch
from tracklight.projections.work import Cancelled, Work


def measure_recall(found: Neighbours, wanted: Neighbours) -> float:
    """Which share of the neighbours was found."""
    pairs = zip(found.places, wanted.places, strict=True)
    return sum(len(np.intersect1d(some, true)) for some, true in pairs) / wanted.places.size


@pytest.mark.parametrize("picker", PICKERS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_nearly_all_neighbours_are_found(metric: Metric, picker: ModuleType) -> None:
    vectors, _ = make_clusters(1500, clusters=12)
    found = find_roughly(vectors, metric, 15, Work(), picker=picker)
    wanted = NeighbourSearch(vectors, metric).find_all(15)
    assert measure_recall(found, wanted) > 0.95
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert not (found.places == np.arange(1500)[:, None]).any()


@pytest.mark.parametrize("picker", PICKERS)
def test_those_that_cells_miss_are_found_among_neighbours_of_neighbours(
    picker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.random.default_rng(0).normal(size=(1200, 6)).astype(np.float32)
    wanted = NeighbourSearch(vectors, "euclidean").find_all(12)
    monkeypatch.setattr(cells, "_NEAR_CELLS", 8)
    monkeypatch.setattr(cells, "_LEAST_CANDIDATES", 2)
    shares = []
    for rounds in (0, 1, 2):
        monkeypatch.setattr(cells, "_REFINEMENTS", rounds)
        found = find_roughly(vectors, "euclidean", 12, Work(), picker=picker)
        shares.append(measure_recall(found, wanted))
    assert shares[0] < 0.85 < 0.9 < shares[1] < 0.94 < shares[2]


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
