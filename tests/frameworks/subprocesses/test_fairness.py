"""The Keras callback that evaluates per slice."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracklight
from tests.frameworks.programs import need, run_keras


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_fairness_callback_logs_every_epoch(backend: str, tmp_path: Path) -> None:
    need("keras", backend)
    answer = run_keras("fairness_program.py", tmp_path, backend=backend)
    assert answer["recall"] == pytest.approx(answer["expected_recall"])
    (warning,) = answer["warnings"]
    assert 'no column "grup"; did you mean "group"?' in warning
    assert answer["file"][0].endswith("fairness_program.py")
    with tracklight.open(tmp_path) as log:
        assert log["validation"].tags()["fairness"].plugin == "tracklight_fairness"
        assert log.tensors("validation", "fairness").step.tolist() == [0, 1, 2]
