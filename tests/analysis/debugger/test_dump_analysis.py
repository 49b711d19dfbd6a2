"""Alerts and root causes of dumps, compared with TensorFlow's monitor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.debugger.dump_builder import (
    LINE,
    PROGRAM,
    Event,
    make_execution,
    make_graph,
    make_op,
    make_trace,
    write_dump,
)
from tests.analysis.debugger.dumps import open_dump
from tracklight.analysis.debugger import AlertKind, InputSummary, RootCause
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


def analyze(folder: Path, **events: list[Event]) -> DumpAnalysis:
    return DumpAnalysis(open_dump(write_dump(folder / "dump", **events)))  # type: ignore[arg-type]


def explain(folder: Path, **events: list[Event]) -> RootCause:
    cause = analyze(folder, **events).root_cause
    assert cause is not None
    return cause


def test_explains_an_eager_execution(tmp_path: Path) -> None:
    cause = explain(
        tmp_path,
        executions=[
            make_execution("Square", {1: [0.0, 4.0]}, 1.0),
            make_execution("Log", {2: [-np.inf, 1.0]}, 2.0, inputs=[1, 77]),
            make_execution("Neg", {3: [np.inf, -1.0]}, 3.0, inputs=[2]),
            make_execution("Abs", {4: [1.0]}, 4.0),
        ],
        traces=[make_trace("x", [1.0])],
    )
    assert cause.message.startswith("Log produced 1 -Inf of 2 values at ")
    assert (cause.execution, cause.graph_execution, cause.followers) == (1, None, 1)
    assert [(it.name, it.is_finite, it.min) for it in cause.inputs] == [
        ("Square:0", True, 0),
        ("tensor 77", None, None),
    ]
    assert cause.source is not None
    assert (cause.source.path, cause.source.code) == (PROGRAM, LINE)


def test_input_that_was_written_just_after_is_the_cause(tmp_path: Path) -> None:
    """Threads that run in parallel write tensors out of order."""
    ops = [make_op("log", "Log"), make_op("mul", "Mul", "log:0")]
    traces = [make_trace("mul", [np.nan], 1.0), make_trace("log", [np.nan], 1.01)]
    cause = explain(tmp_path, graphs=ops, traces=traces)
    assert (cause.op_name, cause.graph_execution) == ("log", 1)


def test_input_that_was_written_much_later_is_not_the_cause(tmp_path: Path) -> None:
    ops = [make_op("log", "Log"), make_op("mul", "Mul", "log:0")]
    traces = [make_trace("mul", [np.nan], 1.0), make_trace("log", [np.nan], 2.0)]
    cause = explain(tmp_path, graphs=ops, traces=traces)
    assert (cause.op_name, [it.is_finite for it in cause.inputs]) == ("mul", [None])


def test_argument_of_a_function_is_followed_to_the_eager_call(tmp_path: Path) -> None:
    analysis = analyze(
        tmp_path,
        graphs=[
            make_graph("g", "f"),
            make_op("x", "Placeholder"),
            make_op("copy", "Identity", "x:0"),
            make_op("log", "Log", "copy:0"),
        ],
        traces=[make_trace("log", [-np.inf], 2.0)],
        executions=[
            make_execution("Square", {1: [0.0]}, 1.0),
            make_execution("__inference_f_1", {2: [-np.inf]}, 3.0, inputs=[1], graph="g"),
        ],
    )
    cause = analysis.root_cause
    assert cause is not None
    assert cause.message.startswith('Log "log" produced 1 -Inf of 1 values from finite inputs at')
    assert (cause.execution, [it.max for it in cause.inputs]) == (1, [0])
    assert analysis.find_traces(0) is None
    assert analysis.find_traces(1) == (0, 0)


@pytest.mark.parametrize(
    ("graphs", "executions"),
    [
        ([], []),
        ([make_op("x", "Placeholder"), make_op("log", "Log", "x:0")], []),
        (
            [make_graph("g", "f"), make_op("x", "Placeholder"), make_op("log", "Log", "x:0")],
            [make_execution("__inference_f_1", {2: [0.0]}, 3.0, inputs=[1, 2], graph="g")],
        ),
        ([make_op("x", "Identity", "x:0"), make_op("log", "Log", "x:0")], []),
        ([make_op("x", "Identity"), make_op("log", "Log", "x:0")], []),
        ([make_op("log", "Log", "x:0")], []),
    ],
    ids=["no_op", "no_call", "other_arguments", "loop", "no_source", "unknown_input"],
)
def test_inputs_that_are_not_in_the_dump_are_unknown(
    tmp_path: Path, graphs: list[Event], executions: list[Event]
) -> None:
    traces = [make_trace("log", [np.nan], 2.0), make_trace("other", [1.0], 1.0)]
    cause = explain(tmp_path, graphs=graphs, executions=executions, traces=traces)
    assert cause.op_name == "log"
    assert all(it == InputSummary("x:0", None) for it in cause.inputs)
    assert "from finite inputs" not in cause.message
    # Without the operation, its inputs are not even known by name.
    assert cause.is_certain == bool(graphs)
    assert ("what happened before is not in the dump" in cause.message) == (not graphs)


def test_activation_that_is_always_zero_is_the_cause(tmp_path: Path) -> None:
    ops = [make_op("relu", "Relu"), make_op("relu2", "Relu")]
    values = {"relu": [0.0, 0.0], "relu2": [0.0, 1.0]}
    traces = [make_trace(op, value, t) for t in (1.0, 2.0, 3.0) for op, value in values.items()]
    analysis = analyze(tmp_path, graphs=ops, traces=traces)
    assert [(it.kind, it.op_name) for it in analysis.alerts] == [(AlertKind.DEAD_UNITS, "relu")]
    cause = analysis.root_cause
    assert cause is not None
    assert cause.message == f'All outputs of Relu "relu" are zero at {cause.source}.'
    assert (cause.kind, cause.size, cause.execution) == (AlertKind.DEAD_UNITS, 2, None)
    assert analysis.alerts.select([], "", "float64").tolist() == [0]
    assert analysis.alerts.select([], "", "float16").tolist() == []
