from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings import projections
from tracklight.analysis.embeddings.projections import compute_trustworthiness
from tracklight.errors import UsageError


def compute_by_definition(vectors: np.ndarray, layout: np.ndarray, neighbors: int) -> float:
    """Compute trustworthiness literally by its definition."""
    count = len(vectors)

    def rank(points: np.ndarray) -> np.ndarray:
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.fill_diagonal(distances, -1)
        return distances.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")

    original, shown = rank(vectors.astype(np.float64)), rank(layout.astype(np.float64))
    cost = sum(
        original[row, other] - neighbors
        for row in range(count)
        for other in range(count)
        if 0 < shown[row, other] <= neighbors < original[row, other]
    )
    return 1 - cost * 2 / (count * neighbors * (2 * count - 3 * neighbors - 1))


@pytest.mark.parametrize("neighbors", [1, 5, 12])
def test_agrees_with_the_definition(neighbors: int) -> None:
    vectors, _ = make_clusters(60, 6)
    layout = vectors[:, :2] + np.random.default_rng(2).normal(size=(60, 2)).astype(np.float32)
    found = compute_trustworthiness(vectors, layout, neighbors)
    assert found == pytest.approx(compute_by_definition(vectors, layout, neighbors), abs=1e-12)


def test_identity_is_trusted_and_noise_is_not() -> None:
    vectors, _ = make_clusters(100, 3)
    noise = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    assert compute_trustworthiness(vectors, vectors) == 1
    assert compute_trustworthiness(vectors, noise) < 0.6


def test_samples_give_about_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = make_clusters(400, 6)
    layout = vectors[:, :2]
    full = compute_trustworthiness(vectors, layout)
    assert compute_trustworthiness(vectors, layout, sample_size=100) == pytest.approx(
        full, abs=0.05
    )
    monkeypatch.setattr(projections, "_MAX_TRUST_POINTS", 300)
    sampled = compute_trustworthiness(vectors, layout)
    assert sampled == pytest.approx(full, abs=0.05)
    assert sampled != full


def test_rejects_too_few_points() -> None:
    with pytest.raises(UsageError, match="5 neighbors cannot be compared among 10 points"):
        compute_trustworthiness(np.zeros((10, 3), np.float32), np.zeros((10, 2), np.float32))
