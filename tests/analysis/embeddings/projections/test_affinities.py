from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings.projections import Neighbors, NeighborSearch
from tracklight.analysis.embeddings.projections.forces import compute_affinities


def as_matrix(neighbors: Neighbors, perplexity: float, **options: object) -> np.ndarray:
    affinities = compute_affinities(neighbors, perplexity, **options)  # type: ignore[arg-type]
    count = len(neighbors.indices)
    matrix = np.zeros((count, count))
    for row in range(count):
        edges = slice(affinities.indptr[row], affinities.indptr[row + 1])
        matrix[row, affinities.indices[edges]] = affinities.weights[edges]
    return matrix


def test_affinities_are_symmetric_and_sum_to_one() -> None:
    vectors, _ = make_clusters(60)
    matrix = as_matrix(NeighborSearch(vectors, "euclidean").query_all(30), 10)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-6)
    assert matrix.sum() == pytest.approx(1)
    assert not matrix.diagonal().any()


@pytest.mark.parametrize("perplexity", [3.0, 15.0])
def test_effective_number_of_neighbors_is_the_perplexity(perplexity: float) -> None:
    # On a ring all points have the same neighborhood, so that symmetrizing does not change it.
    angles = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    matrix = as_matrix(NeighborSearch(ring, "euclidean").query_all(88), perplexity)
    shares = matrix[0] / matrix[0].sum()
    entropy = -sum(share * np.log(share) for share in shares if share > 0)
    assert np.exp(entropy) == pytest.approx(perplexity, rel=0.01)


def test_target_weight_removes_neighbors_with_other_labels() -> None:
    vectors, _ = make_clusters(40, clusters=1)
    labels = np.arange(40) % 2
    neighbors = NeighborSearch(vectors, "euclidean").query_all(39)
    labels[0] = -1  # an unknown label has no effect
    plain = as_matrix(neighbors, 10)
    supervised = as_matrix(neighbors, 10, labels=labels, target_weight=1.0)
    is_other = (labels[:, None] != labels[None]) & (labels[:, None] >= 0) & (labels[None] >= 0)
    assert plain[is_other].any()
    assert not supervised[is_other].any()
    assert supervised[0, 1:].any()


def test_equal_points_have_equal_affinities() -> None:
    neighbors = NeighborSearch(np.ones((9, 3), np.float32), "euclidean").query_all(8)
    matrix = as_matrix(neighbors, 3)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(matrix[~np.eye(9, dtype=bool)], 1 / 72, rtol=1e-5)


def test_point_without_neighbors_of_its_label_keeps_its_weights() -> None:
    vectors, _ = make_clusters(20)
    neighbors = NeighborSearch(vectors, "euclidean").query_all(6)
    affinities = compute_affinities(neighbors, 2.0, np.arange(20), target_weight=1.0)
    assert float(affinities.weights.sum()) == pytest.approx(1)
