"""`tracklight.debugger` with Keras 3 on its backends, and dumps of TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.programs import need, run_keras
from tests.frameworks.recordings import analyze, check_root_cause, open_recording
from tracklight.analysis.debugger import AlertKind
from tracklight.analysis.debugger.library import HealthMonitor
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots

PROGRAMS = Path(__file__).parents[1] / "programs"
PROGRAM = PROGRAMS / "debugger_keras.py"


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_keras(backend: str, tmp_path: Path) -> None:
    need("keras", backend)
    told = run_keras(PROGRAM.name, tmp_path, backend=backend)
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

    few = open_recording(tmp_path / "few")
    assert few.step.tolist() == [0, 4, 8]
    assert {it.role for it in few.layout.tensors} == {"input", "output"}

    half = open_recording(tmp_path / "half")
    tensors = half.layout.tensors
    row = next(i for i, it in enumerate(tensors) if (it.role, it.dtype) == ("output", "float16"))
    assert half.get_stat("overflow")[0, row] == 0
    assert half.get_stat("max")[0, row] == pytest.approx(6e4, rel=1e-3)

    words = open_recording(tmp_path / "words").layout.tensors
    (gradient,) = [it for it in words if "words" in it.name and it.role == "gradient"]
    assert (words[gradient.of].name, words[gradient.of].role) == (gradient.name, "parameter")

    notes = [it.text for it in open_recording(tmp_path / "compiled").layout.notes]
    assert any("XLA" in it for it in notes) == (backend == "tensorflow")
    assert told["jit_compile"] == (backend != "torch")

    assert 'step 2: the input "input" contains 1 NaN of 128 values' in told["message"]
    assert told["wrapped"] == []


def test_alerts_of_a_dump_that_are_not_about_nan(tmp_path: Path) -> None:
    need("tensorflow", "keras")
    run_keras("debug_kinds_program.py", tmp_path / "dump", backend="tensorflow")
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    monitor.add_runs(catalog.refresh().added, is_new=True)
    found = {it.alert.kind.value: it for it in monitor.check_next().found}
    assert found.keys() == {"retracing", "shape_change", "dead_units"}
    assert {it.source for it in found.values()} == {"dump"}
    assert found["retracing"].alert.op_type == "scale"
    assert found["dead_units"].alert.op_type == "Relu"
    assert found["shape_change"].alert.step is None
