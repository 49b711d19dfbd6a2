"""Alerts and root causes of dumps, compared with TensorFlow's monitor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.debugger.dumps import open_dump
from tracklight.analysis.debugger import AlertKind
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis, get_function_name

FIELDS = (
    "op_type",
    "output_slot",
    "size",
    "nan",
    "neg_inf",
    "pos_inf",
    "execution",
    "graph_execution",
)


@pytest.mark.parametrize(
    "name", ["no_tensor", "curt_health", "concise_health", "full_health", "shape", "circular"]
)
def test_finds_the_alerts_that_tensorflow_finds(dumps_folder: Path, name: str) -> None:
    told = json.loads((dumps_folder / f"{name}.json").read_text())["alerts"]
    alerts = DumpAnalysis(open_dump(dumps_folder / name)).alerts
    found = [{field: getattr(alert, field) for field in FIELDS} for alert in alerts]
    assert sorted(found, key=str) == sorted(told, key=str)


def test_finds_the_same_alerts_in_whole_tensors(dumps_folder: Path) -> None:
    told = json.loads((dumps_folder / "full_tensor.json").read_text())["alerts"]
    alerts = DumpAnalysis(open_dump(dumps_folder / "full_tensor")).alerts
    found = [{field: getattr(alert, field) for field in FIELDS} for alert in alerts]
    # TensorFlow's monitor ignores bfloat16.
    assert {str(it) for it in told} <= {str(it) for it in found}
    assert all(it["op_type"] in ("Mul", "Cast") for it in found if str(it) not in map(str, told))


def test_alerts_are_chronological(dumps_folder: Path) -> None:
    alerts = DumpAnalysis(open_dump(dumps_folder / "full_health")).alerts
    assert np.all(np.diff(alerts.wall_time) >= 0)
    assert [alert.wall_time for alert in alerts] == alerts.wall_time.tolist()
    assert alerts.count_kinds() == {"inf": 9, "nan": len(alerts) - 9}
    assert {alert.kind for alert in alerts} == {AlertKind.NAN, AlertKind.INF}


@pytest.mark.parametrize("name", ["curt_health", "concise_health", "full_health", "full_tensor"])
def test_names_the_operation_that_failed_first(dumps_folder: Path, name: str) -> None:
    cause = DumpAnalysis(open_dump(dumps_folder / name)).root_cause
    assert cause is not None
    assert (cause.op_type, cause.op_name) == ("Log", "Log")
    assert cause.source is not None
    assert cause.source.code == "return tf.math.log(x)"
    assert cause.source.function == "take_log"
    assert "logarithm" in cause.hint
    assert cause.is_certain
    assert cause.execution is not None
    # The argument of the function is a tensor of the loop that calls it.
    assert [it.is_finite for it in cause.inputs] == [True]
    if name == "full_tensor":
        assert (cause.inputs[0].min, cause.inputs[0].max) == (0, 15)


def test_admits_that_the_first_events_are_gone(dumps_folder: Path) -> None:
    cause = DumpAnalysis(open_dump(dumps_folder / "circular")).root_cause
    assert cause is not None
    assert not cause.is_certain
    assert "not in the dump" in cause.message


@pytest.mark.parametrize("name", ["no_tensor", "shape"])
def test_dumps_without_health_have_no_root_cause(dumps_folder: Path, name: str) -> None:
    assert DumpAnalysis(open_dump(dumps_folder / name)).root_cause is None


def test_names_of_functions() -> None:
    assert get_function_name("__inference_f_12") == "f"
    assert get_function_name("__inference___backward_f_111_276") == "__backward_f_111"
    assert get_function_name("MatMul") == ""
