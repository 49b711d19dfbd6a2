"""PCA, neighbors and t-SNE compared with scikit-learn."""

from __future__ import annotations

import pytest

from tests.frameworks.programs import need, run_program


def test_projections_agree_with_scikit_learn() -> None:
    need("sklearn")
    results = run_program("projection_program.py", OMP_NUM_THREADS="1")
    assert results["directions"] < 1e-6
    assert results["explained"] < 1e-6
    assert results["euclidean"] < 1e-4  # distances are about 20
    assert results["cosine"] < 1e-6
    assert results["ours"] > results["theirs"] - 0.01
    assert results["measured"] == pytest.approx(results["ours"], abs=1e-4)  # ties
