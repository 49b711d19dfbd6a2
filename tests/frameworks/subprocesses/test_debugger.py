"""`tracklight.debugger` with Keras 3 on its backends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.recordings import analyze, check_root_cause

PROGRAM = Path(__file__).parents[1] / "programs/debugger_keras.py"


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_keras(backend: str, tmp_path: Path) -> None:
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, PROGRAM, tmp_path], env=environment, check=True)
    healthy = analyze(tmp_path / "healthy")
    assert list(healthy.alerts) == []
    assert healthy.recording.framework == f"keras/{backend}"
    assert len(healthy.recording.step) == 12
    for row, tensor in enumerate(healthy.recording.layout.tensors):
        steps, _ = healthy.recording.read_histograms(row, limit=20)
        assert len(steps) == 12, tensor
    assert str(PROGRAM) in healthy.recording.source_files
    check_root_cause(analyze(tmp_path / "log").root_cause, "inf", "LogLayer.call")
    data = analyze(tmp_path / "data").root_cause
    check_root_cause(data, "nan", "input")
    assert data is not None
    assert data.step == 2
    check_root_cause(analyze(tmp_path / "dead").root_cause, "dead_units", "Dense relu")
