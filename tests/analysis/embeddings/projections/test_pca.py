from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings import projections
from tracklight.analysis.embeddings.projections import compute_pca
from tracklight.errors import UsageError
from tracklight.types import Float32


def compute_by_svd(vectors: Float32, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return directions and explained ratios by singular value decomposition."""
    centered = vectors - vectors.mean(axis=0, dtype=np.float64)
    _, values, directions = np.linalg.svd(centered, full_matrices=False)
    return directions[:count], (values**2 / (values**2).sum())[:count]


def assert_same_directions(found: np.ndarray, expected: np.ndarray) -> None:
    signs = np.sign(np.einsum("ij,ij->i", found, expected))
    np.testing.assert_allclose(found * signs[:, None], expected, atol=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(200, 10), (30, 50), (5, 5), (400, 3)])
def test_components_agree_with_svd(rows: int, columns: int) -> None:
    vectors, _ = make_clusters(rows, columns)
    vectors += 100  # without centering, this would be the first component
    found = compute_pca(vectors, 3)
    directions, explained = compute_by_svd(vectors, 3)
    assert_same_directions(found.directions, directions)
    np.testing.assert_allclose(found.explained_ratio, explained, atol=1e-6)
    assert found.is_exact
    centered = vectors - vectors.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(found.project(vectors), centered @ found.directions.T, atol=1e-4)


def test_few_rows_with_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projections, "_MAX_EXACT_SIDE", 40)
    vectors, _ = make_clusters(40, 300)
    found = compute_pca(vectors, 4)
    assert_same_directions(found.directions, compute_by_svd(vectors, 4)[0])
    assert found.is_exact


def test_subspace_iteration_agrees_with_svd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projections, "_MAX_EXACT_SIDE", 20)
    monkeypatch.setattr(projections, "_PCA_BLOCK_VALUES", 500)
    vectors, _ = make_clusters(300, 60, clusters=6)
    found = compute_pca(vectors, 3)
    assert not found.is_exact
    assert_same_directions(found.directions, compute_by_svd(vectors, 3)[0])
    again = compute_pca(vectors, 3)
    assert np.array_equal(found.directions, again.directions)


def test_number_of_components_is_limited_by_the_vectors() -> None:
    vectors, _ = make_clusters(4, 10)
    found = compute_pca(vectors, 10)
    assert found.directions.shape == (3, 10)
    assert found.explained_ratio.sum() == pytest.approx(1)


def test_equal_vectors_explain_nothing() -> None:
    found = compute_pca(np.ones((5, 3), np.float32), 2)
    assert found.explained_ratio.tolist() == [0, 0]
    assert not found.project(np.ones((5, 3), np.float32)).any()


def test_rejects_a_single_vector() -> None:
    with pytest.raises(UsageError, match="cannot compute 2 components of 1 vectors"):
        compute_pca(np.ones((1, 3), np.float32), 2)
