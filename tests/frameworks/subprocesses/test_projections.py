"""Components, neighbours and layouts hold against those of scikit-learn."""

from __future__ import annotations

import pytest

from tests.frameworks.programs import need, run_program


def test_projections_are_as_good_as_those_of_scikit_learn() -> None:
    need("sklearn")
    told = run_program("projection_program.py", OMP_NUM_THREADS="1")
    assert told["directions"] < 1e-6
    assert told["explained"] < 1e-6
    assert told["euclidean"] < 1e-4  # of distances of about 20
    assert told["cosine"] < 1e-6
    assert told["ours"] > told["theirs"] - 0.01
    assert told["measured"] == pytest.approx(told["ours"], abs=1e-4)  # ties
