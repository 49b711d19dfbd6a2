from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections import neighbors
from tracklight.analysis.embeddings.projections.neighbors import compute_trustworthiness
from tracklight.errors import UsageError


def measure_slowly(vectors: np.ndarray, layout: np.ndarray, neighbours: int) -> float:
    """The definition, word by word."""
    count = len(vectors)

    def rank(points: np.ndarray) -> np.ndarray:
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.fill_diagonal(apart, -1)
        return apart.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")

    original, shown = rank(vectors.astype(np.float64)), rank(layout.astype(np.float64))
    cost = sum(
        original[row, other] - neighbours
        for row in range(count)
        for other in range(count)
        if 0 < shown[row, other] <= neighbours < original[row, other]
    )
    return 1 - cost * 2 / (count * neighbours * (2 * count - 3 * neighbours - 1))


@pytest.mark.parametrize("neighbours", [1, 5, 12])
def test_it_is_what_its_definition_says(neighbours: int) -> None:
    vectors, _ = make_clusters(60, 6)
    layout = vectors[:, :2] + np.random.default_rng(2).normal(size=(60, 2)).astype(np.float32)
    found = compute_trustworthiness(vectors, layout, neighbours)
    assert found == pytest.approx(measure_slowly(vectors, layout, neighbours), abs=1e-12)


def test_a_copy_can_be_trusted_fully_and_noise_cannot() -> None:
    vectors, _ = make_clusters(100, 3)
    noise = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    assert compute_trustworthiness(vectors, vectors) == 1
    assert compute_trustworthiness(vectors, noise) < 0.6


def test_a_sample_is_about_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = make_clusters(400, 6)
    layout = vectors[:, :2]
    whole = compute_trustworthiness(vectors, layout)
    assert compute_trustworthiness(vectors, layout, sample_size=100) == pytest.approx(
        whole, abs=0.05
    )
    monkeypatch.setattr(neighbors, "_MAX_TRUST_POINTS", 300)
    among = compute_trustworthiness(vectors, layout)
    assert among == pytest.approx(whole, abs=0.05)
    assert among != whole


def test_too_few_points_are_told() -> None:
    with pytest.raises(UsageError, match="5 neighbours cannot be compared among 10 points"):
        compute_trustworthiness(np.zeros((10, 3), np.float32), np.zeros((10, 2), np.float32))
