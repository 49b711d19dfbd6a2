"""What the debugger computes of arrays and what it writes, without a framework."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.frameworks.recordings import open_recording
from tracklight.debugger import check_numerics, recorder, watch
from tracklight.debugger.recorder import Recorder, Schedule, TensorFilter, compute_health
from tracklight.errors import NonFiniteError, UsageError
from tracklight.formats.tensor_health import STAT_INDEX, STATS, SourceLocation, WatchedTensor
from tracklight.types import Float32


def make_array(dtype: str) -> NDArray[Any]:
    """Return an array of which a channel is dead, with all that is counted."""
    values = np.random.default_rng(0).normal(size=(8, 6, 30)).astype(np.float32)
    values[:, 2] = 0
    values[0, 0, :6] = [np.nan, np.inf, -np.inf, 3e-38 / 8, -1e-7, 65504]
    if dtype == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("axis", [None, 1])
def test_statistics_without_the_kernel_are_the_same(
    monkeypatch: pytest.MonkeyPatch, dtype: str, axis: int | None
) -> None:
    array = make_array(dtype)
    rows, samples = [], []
    for has_kernel in (True, False):
        if not has_kernel:
            monkeypatch.setattr(recorder, "compute", None)
        assert recorder.has_kernel() == has_kernel
        rows.append(recorder.make_row())
        samples.append(np.zeros(recorder.get_sample_size(array.size), np.float32))
        compute_health(array, dtype, rows[-1], axis, sample=samples[-1])
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-4)
    np.testing.assert_array_equal(*samples)
    assert rows[1][[1, 2, 3]].tolist() == [1, 1, 1]
    assert rows[1][STAT_INDEX["dead"]] == (0 if axis is None else 1)
    assert (rows[1][STAT_INDEX["overflow"]] > 0) == (dtype in recorder.RANGES)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16", "float32"])
def test_statistics_of_types_that_the_kernel_does_not_know(dtype: str) -> None:
    row = recorder.make_row()
    compute_health(np.array([0, 1, 1, 0], dtype), dtype, row, None)
    stats = {name: float(row[index]) for name, index in STAT_INDEX.items()}
    assert (stats["min"], stats["max"], stats["mean"], stats["zeros"]) == (0, 1, 0.5, 2)
    assert stats["norm"] == pytest.approx(2**0.5)


@pytest.mark.parametrize("values", [[], [np.nan, np.inf]])
def test_statistics_of_no_finite_value(
    monkeypatch: pytest.MonkeyPatch, values: list[float]
) -> None:
    monkeypatch.setattr(recorder, "compute", None)
    row = recorder.make_row()
    compute_health(np.array(values, np.float32), "float32", row, None)
    assert row[1:4].tolist() == [len(values) / 2, 0, len(values) / 2]
    assert not row[4:].any()


def make_recorder(folder: Path, **options: Any) -> Recorder:
    arguments: dict[str, Any] = {"history": 0, "on_problem": "continue", "schedule": Schedule(1, 0)}
    made = Recorder(str(folder), "torch", "2", **(arguments | options))
    made.add(WatchedTensor("fc", "output", "Linear", "float32", 4, (4,)))
    return made


def make_health(nan: float = 0) -> Float32:
    health: Float32 = np.zeros((1, len(STATS)), np.float32)
    health[0, STAT_INDEX["nan"]] = nan
    return health


def test_enters_the_debugger_at_the_first_problem_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = []
    made = make_recorder(tmp_path, on_problem="debug")
    monkeypatch.setattr(sys, "breakpointhook", lambda: entered.append(step))
    for step in range(5):
        made.end_step(step, make_health(nan=step >= 2))
    made.close()
    assert entered == [2]


def test_after_many_problems_only_the_steps_of_the_schedule_are_written(tmp_path: Path) -> None:
    made = make_recorder(tmp_path, schedule=Schedule(10, 0))
    for step in range(35):
        made.end_step(step, make_health(nan=1))
    made.close()
    recording = open_recording(tmp_path)
    assert len(recording.reports) == 10
    assert recording.step.tolist() == [*range(10), 10, 20, 30]


def test_large_values_of_a_report_are_not_stored(tmp_path: Path) -> None:
    made = make_recorder(tmp_path)
    values = {
        "large": np.broadcast_to(np.float32(0), (1 << 25,)),
        "small": np.ones(2, np.float32),
    }
    made.end_step(0, make_health(nan=1), get_values=lambda row: values)
    made.close()
    recording = open_recording(tmp_path)
    (report,) = recording.reports
    assert list(report.values) == ["small"]
    stored = recording.read_value(report.values["small"])
    assert stored is not None
    assert stored.tolist() == [1, 1]


def test_files_that_are_missing_or_large_are_not_stored(tmp_path: Path) -> None:
    sizes = {"small.py": 100, "large.py": 2 << 20}
    for name, size in sizes.items():
        (tmp_path / name).write_text("x\n" * (size // 2))
    made = make_recorder(tmp_path / "run")
    stack = [SourceLocation(str(tmp_path / it), 1, "f") for it in ("missing.py", *sizes)]
    made.add(WatchedTensor("relu", "output"), stack)
    made.end_step(0, np.concatenate([make_health(), make_health()]))
    made.close()
    files = open_recording(tmp_path / "run").source_files
    assert list(files) == [str(tmp_path / "small.py")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": -1}, "`every` must be a number of steps, not -1"),
        ({"first": 1.5}, "`first` must be a number of steps, not 1.5"),
        ({"history": True}, "`history` must be a number of steps, not True"),
        ({}, "`model` must be a PyTorch module, a Keras model or a JAX function, not object"),
    ],
)
def test_watch_names_the_invalid_argument(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        watch(object(), tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_recorder_names_the_invalid_argument(tmp_path: Path) -> None:
    message = '`on_problem` must be "continue", "stop" or "debug", not \'ignore\''
    with pytest.raises(UsageError, match=message):
        make_recorder(tmp_path, on_problem="ignore")
    with pytest.raises(UsageError, match="`names` is not a regular expression: missing"):
        TensorFilter(names="(")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([np.zeros(2), np.array([1, np.nan])], r"value\[1\]"),
        ({"a": (np.zeros(1), {"b": np.float64("nan")})}, r"value\['a'\]\[1\]\['b'\]"),
        (np.array([np.nan, 1j]), "value"),
        (float("nan"), "value"),
    ],
)
def test_check_numerics_names_the_part(value: Any, name: str) -> None:
    with pytest.raises(NonFiniteError, match=rf"^{name} contains 1 NaN of . values at test_rec"):
        check_numerics(value)


@pytest.mark.parametrize("value", [np.arange(3), [None, "text", b"bytes"], (), {}, [np.ones(2), 1]])
def test_check_numerics_returns_finite_values(value: Any) -> None:
    assert check_numerics(value) is value
