from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections.affinities import compute_affinities
from tracklight.analysis.embeddings.projections.neighbors import Neighbors, NeighborSearch


def as_matrix(neighbours: Neighbors, perplexity: float, **options: object) -> np.ndarray:
    found = compute_affinities(neighbours, perplexity, **options)  # type: ignore[arg-type]
    count = len(neighbours.indices)
    matrix = np.zeros((count, count))
    for row in range(count):
        pairs = slice(found.indptr[row], found.indptr[row + 1])
        matrix[row, found.indices[pairs]] = found.weights[pairs]
    return matrix


def test_weights_are_the_same_from_both_sides_and_one_together() -> None:
    vectors, _ = make_clusters(60)
    matrix = as_matrix(NeighborSearch(vectors, "euclidean").query_all(30), 10)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-6)
    assert matrix.sum() == pytest.approx(1)
    assert not matrix.diagonal().any()


@pytest.mark.parametrize("perplexity", [3.0, 15.0])
def test_each_point_cares_for_as_many_as_the_perplexity_says(perplexity: float) -> None:
    # On a ring all points see the same, so that no row is changed by the other direction.
    angles = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    matrix = as_matrix(NeighborSearch(ring, "euclidean").query_all(88), perplexity)
    shares = matrix[0] / matrix[0].sum()
    entropy = -sum(share * np.log(share) for share in shares if share > 0)
    assert np.exp(entropy) == pytest.approx(perplexity, rel=0.01)


def test_labels_that_differ_count_less() -> None:
    vectors, _ = make_clusters(40, clusters=1)
    labels = np.arange(40) % 2
    neighbours = NeighborSearch(vectors, "euclidean").query_all(39)
    labels[0] = -1  # not known: nothing of it changes
    plain = as_matrix(neighbours, 10)
    pulled = as_matrix(neighbours, 10, labels=labels, pull=1.0)
    unlike = (labels[:, None] != labels[None]) & (labels[:, None] >= 0) & (labels[None] >= 0)
    assert plain[unlike].any()
    assert not pulled[unlike].any()
    assert pulled[0, 1:].any()


def test_points_that_are_all_the_same_weigh_the_same() -> None:
    neighbours = NeighborSearch(np.ones((9, 3), np.float32), "euclidean").query_all(8)
    matrix = as_matrix(neighbours, 3)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(matrix[~np.eye(9, dtype=bool)], 1 / 72, rtol=1e-5)


def test_labels_that_all_differ_leave_some_weight() -> None:
    vectors, _ = make_clusters(20)
    neighbours = NeighborSearch(vectors, "euclidean").query_all(6)
    affinities = compute_affinities(neighbours, 2.0, np.arange(20), pull=1.0)
    assert float(affinities.weights.sum()) == pytest.approx(1)
