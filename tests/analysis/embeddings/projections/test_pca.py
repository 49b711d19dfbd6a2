from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections import pca
from tracklight.analysis.embeddings.projections.pca import compute_pca
from tracklight.errors import UsageError
from tracklight.types import Float32


def solve(vectors: Float32, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by singular values, in one line."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    return directions[:count], (values**2 / (values**2).sum())[:count]


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    signs = np.sign(np.einsum("ij,ij->i", found, expected))
    np.testing.assert_allclose(found * signs[:, None], expected, atol=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(200, 10), (30, 50), (5, 5), (400, 3)])
def test_components_are_those_of_the_singular_values(rows: int, columns: int) -> None:
    vectors, _ = make_clusters(rows, columns)
    vectors += 100  # what is not centred would have this as its first component
    found = compute_pca(vectors, 3)
    directions, explained = solve(vectors, 3)
    assert_same(found.directions, directions)
    np.testing.assert_allclose(found.explained_ratio, explained, atol=1e-6)
    assert found.is_exact
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(found.project(vectors), centred @ found.directions.T, atol=1e-4)


def test_many_columns_of_few_rows_are_solved_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pca, "_MAX_EXACT_SIDE", 40)
    vectors, _ = make_clusters(40, 300)
    found = compute_pca(vectors, 4)
    assert_same(found.directions, solve(vectors, 4)[0])
    assert found.is_exact


def test_what_is_long_both_ways_is_solved_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pca, "_MAX_EXACT_SIDE", 20)
    monkeypatch.setattr(pca, "_BLOCK_VALUES", 500)
    vectors, _ = make_clusters(300, 60, clusters=6)
    found = compute_pca(vectors, 3)
    assert not found.is_exact
    assert_same(found.directions, solve(vectors, 3)[0])
    again = compute_pca(vectors, 3)
    assert np.array_equal(found.directions, again.directions)


def test_no_more_components_than_there_can_be() -> None:
    vectors, _ = make_clusters(4, 10)
    found = compute_pca(vectors, 10)
    assert found.directions.shape == (3, 10)
    assert found.explained_ratio.sum() == pytest.approx(1)


def test_vectors_that_are_all_the_same_explain_nothing() -> None:
    found = compute_pca(np.ones((5, 3), np.float32), 2)
    assert found.explained_ratio.tolist() == [0, 0]
    assert not found.project(np.ones((5, 3), np.float32)).any()


def test_one_vector_has_no_components() -> None:
    with pytest.raises(UsageError, match="2 components cannot be found of 1 vectors"):
        compute_pca(np.ones((1, 3), np.float32), 2)
