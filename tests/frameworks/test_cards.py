"""Layouts by way of PyTorch, on its processor, as no card can be counted on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.projections.clouds import make_clusters, measure_mixing
from tracklight.projections import cards, repulsion
from tracklight.projections.affinity import find_affinities
from tracklight.projections.cards import Card, find_card
from tracklight.projections.forces import Forces
from tracklight.projections.neighbours import Metric, NeighbourSearch
from tracklight.projections.tsne import Settings, make_layout
from tracklight.projections.work import Work

torch = pytest.importorskip("torch")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    monkeypatch.setattr(cards, "_BLOCK_NUMBERS", 5000)  # several blocks also of few points
    return Card(torch, "cpu")


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_neighbours_are_those_of_the_exact_search(card: Card, metric: Metric) -> None:
    vectors, _ = make_clusters(200)
    found = card.find_neighbours(vectors, metric, 12, Work())
    wanted = NeighbourSearch(vectors, metric).find_all(12)
    assert np.mean(found.places == wanted.places) > 0.99
    np.testing.assert_allclose(found.distances, wanted.distances, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_forces_are_those_of_all_pairs(card: Card, dimensions: int) -> None:
    vectors, _ = make_clusters(150)
    affinities = find_affinities(NeighbourSearch(vectors, "euclidean").find_all(30), 10)
    layout = np.random.default_rng(0).normal(0, 3, (150, dimensions))
    plain = Forces(affinities, kernel=None)
    wanted = plain.find_gradient(layout, 4.0)
    plain.close()
    found = card.make_forces(affinities).find_gradient(layout, 4.0)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize(("dimensions", "spread"), [(2, 20), (2, 0.1), (3, 3)])
def test_a_grid_on_the_card_is_the_grid_of_numpy(
    card: Card, dimensions: int, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, _ = make_clusters(300)
    affinities = find_affinities(NeighbourSearch(vectors, "euclidean").find_all(30), 10)
    layout = np.random.default_rng(0).normal(0, spread, (300, dimensions)).astype(np.float32)
    wide = layout.astype(np.float64)
    low = wide.min(axis=0)
    span = float((wide.max(axis=0) - low).max())
    grid = repulsion.Grid(*repulsion.count_nodes(span, dimensions), low)
    wanted, total = repulsion.repel(wide, grid)
    monkeypatch.setattr(cards, "_MOST_IN_PAIRS", 100)
    forces, sum_of_all = card.make_forces(affinities)._repel(card.send(layout))
    np.testing.assert_allclose(forces.numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert sum_of_all == pytest.approx(total, rel=1e-9)


def test_a_layout_keeps_clusters_apart(card: Card) -> None:
    vectors, labels = make_clusters(200)
    layout = make_layout(vectors, Settings(iterations=300, perplexity=10), card=card)
    assert measure_mixing(layout, labels) < 0.02


def test_a_card_that_is_not_there_is_none() -> None:
    assert find_card("cpu") is None
    assert (find_card("cuda") is None) == (not torch.cuda.is_available())
