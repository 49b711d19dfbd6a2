"""Recordings of the debugger that are damaged, incomplete or unusual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.debugger.recording_builder import RecordingWriter
from tracklight.analysis.debugger import AlertKind, InputSummary
from tracklight.analysis.debugger.library import DebuggerLibrary, HealthMonitor
from tracklight.analysis.debugger.recording import RecordingAnalysis
from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    HISTOGRAM_BINS,
    HISTOGRAM_TAG,
    LAYOUT_TAG,
    REPORT_TAG,
    SOURCE_FILES_TAG,
    STAT_INDEX,
    HealthReport,
    RecordedSourceFile,
    WatchedTensor,
)
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots

WEIGHT = WatchedTensor("w", "parameter", size=4, dtype="float32", shape=(4,))
OUTPUT = WatchedTensor("y", "output", "Linear", "float32", 4, (4,), inputs=(0,))
GRADIENT = WatchedTensor("w", "gradient", size=4, dtype="float32", of=0)
TENSORS = [WEIGHT, OUTPUT, GRADIENT]
BROKEN = proto.TensorProto(dtype=1, tensor_content=b"\x00\x00\x00")


def open_catalog(folder: Path) -> Catalog:
    catalog = Catalog(parse_roots(str(folder)), cache=False)
    catalog.refresh()
    return catalog


def analyze(folder: Path, name: str = "run") -> RecordingAnalysis:
    analysis = DebuggerLibrary(open_catalog(folder)).get(name)
    assert isinstance(analysis, RecordingAnalysis)
    return analysis


@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        (b"{", 'The layout of "run" is invalid: Input data was truncated'),
        (b'{"tensors": 3}', 'The layout of "run" is invalid: '),
        (BROKEN, 'The recording of "run" has no layout'),
        (
            b'{"framework": "torch", "tensors": [{"name": "a", "role": "output", "inputs": [1]}]}',
            'The layout of "run" is invalid: "a" refers to tensor 1 of 1',
        ),
        (
            b'{"framework": "torch", "tensors": [{"name": "a", "role": "gradient", "of": 7}]}',
            'The layout of "run" is invalid: "a" refers to tensor 7 of 1',
        ),
    ],
)
def test_layout_that_cannot_be_read(tmp_path: Path, layout: Any, problem: str) -> None:
    writer = RecordingWriter(tmp_path / "run", [])
    (path,) = (tmp_path / "run").iterdir()
    path.unlink()
    if isinstance(layout, bytes):
        writer.write_text(LAYOUT_TAG, layout)
    else:
        writer.write_tensor(LAYOUT_TAG, layout)
    writer.write_health(0, {"nan": 1})
    with pytest.raises(FormatError, match=problem):
        analyze(tmp_path)
    catalog = open_catalog(tmp_path)
    monitor = HealthMonitor(catalog, frozenset(AlertKind))
    monitor.add_runs(["run"], is_new=True)
    assert monitor.check_next().found == []


def test_recording_that_has_no_step_yet(tmp_path: Path) -> None:
    RecordingWriter(tmp_path / "run", TENSORS)
    analysis = analyze(tmp_path)
    assert analysis.recording.step.tolist() == []
    assert (list(analysis.alerts), analysis.root_cause) == ([], None)
    assert DebuggerLibrary(open_catalog(tmp_path)).summarize("run").problem_step is None


@pytest.mark.parametrize(
    "damaged",
    [
        BROKEN,
        encode_tensor(np.zeros(3, np.float32)),
        proto.TensorProto(
            dtype=7,
            tensor_shape=proto.TensorShapeProto(dim=[proto.Dim(size=1), proto.Dim(size=1)]),
            string_val=[b"text"],
        ),
    ],
)
def test_damaged_step_is_unknown(tmp_path: Path, damaged: proto.Message) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    for step in range(3):
        if step == 1:
            writer.write_tensor(HEALTH_TAG, damaged, step)
        else:
            writer.write_health(step, {}, {"nan": step}, {})
    analysis = analyze(tmp_path)
    assert analysis.recording.step.tolist() == [0, 1, 2]
    assert np.isnan(analysis.recording.health[1]).all()
    assert [(it.step, it.op_name) for it in analysis.alerts] == [(2, "y")]


@pytest.mark.parametrize("count", [np.inf, np.nan])
def test_tensor_with_counts_that_are_not_finite_is_unknown(tmp_path: Path, count: float) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    writer.write_health(0, {}, {"nan": 1, "pos_inf": count}, {"neg_inf": 2})
    analysis = analyze(tmp_path)
    assert [(it.role, it.neg_inf) for it in analysis.alerts] == [("gradient", 2)]


def test_recording_of_fewer_tensors_than_the_layout(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    writer.write_health(0, {}, {"nan": 1})
    analysis = analyze(tmp_path)
    assert np.isnan(analysis.recording.health[0, 2]).all()
    assert [it.op_name for it in analysis.alerts] == ["y"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (1, 'Step 3: "y" contains 1 NaN and 2 +Inf of 4 values.'),
        (2, 'Step 3: gradient of "w" contains 1 NaN and 2 +Inf of 4 values.'),
    ],
)
def test_root_cause_without_a_report(tmp_path: Path, bad: int, message: str) -> None:
    """A program that was killed may have written the step and not the report."""
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    for step in range(4):
        rows = [{"norm": 2.0}, {}, {}]
        if step == 3:
            rows[bad] = {"nan": 1, "pos_inf": 2}
        writer.write_health(step, *rows)
    cause = analyze(tmp_path).root_cause
    assert cause is not None
    assert cause.message == message
    assert (cause.kind, cause.tensor, cause.source) == (AlertKind.NAN, bad, None)
    # A parameter is recorded after its update: an input is what it was in the step before.
    assert [(it.name, it.is_finite) for it in cause.inputs] == ([("w", True)] if bad == 1 else [])


def test_input_that_was_never_recorded_is_unknown(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    writer.write_health(0, None, {"nan": 1}, None)
    cause = analyze(tmp_path).root_cause
    assert cause is not None
    assert cause.inputs == (InputSummary("w", None, size=4, dtype="float32"),)


def test_damaged_reports_and_files_are_left_out(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    writer.write_health(0, {}, {"nan": 1}, {})
    writer.write_text(REPORT_TAG, b"[]")
    writer.write_text(REPORT_TAG, HealthReport(0, 99, "tensor 99 is unknown"), step=1)
    writer.write_text(REPORT_TAG, HealthReport(0, 1, "step 0: y is NaN"), step=2)
    writer.write_text(SOURCE_FILES_TAG, b"nothing")
    writer.write_text(SOURCE_FILES_TAG, RecordedSourceFile("train.py", "y = w"), step=1)
    analysis = analyze(tmp_path)
    assert [it.message for it in analysis.recording.reports] == ["step 0: y is NaN"]
    assert analysis.recording.source_files == {"train.py": "y = w"}
    assert analysis.root_cause is not None
    assert analysis.root_cause.message == "Step 0: y is NaN."


def test_histograms_that_are_missing_or_damaged(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    writer.write_health(0, {}, {}, {})
    assert analyze(tmp_path).recording.read_histograms(1, 10)[0].tolist() == []
    table = np.zeros((2, HISTOGRAM_BINS), np.uint8)
    table[1, 7] = 255
    writer.write_tensor(HISTOGRAM_TAG, BROKEN, 0)
    writer.write(HISTOGRAM_TAG, table, 1)
    writer.write(HISTOGRAM_TAG, table[:, :5], 2)
    writer.write(HISTOGRAM_TAG, table[1], 3)
    recording = analyze(tmp_path).recording
    steps, shares = recording.read_histograms(1, 10)
    assert (steps.tolist(), shares.tolist()) == ([1], [table[1].tolist()])
    assert recording.read_histograms(0, 10)[0].tolist() == []
    assert recording.read_histograms(2, 10)[0].tolist() == []


def test_stored_value_that_is_missing(tmp_path: Path) -> None:
    RecordingWriter(tmp_path / "run", TENSORS).write_health(0, {}, {}, {})
    assert analyze(tmp_path).recording.read_value("debugger/values/y") is None


def test_growth_needs_two_steps_with_values(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run", TENSORS)
    for step in range(6):
        rows = [{"norm": 10.0**step}, {"norm": 0.0}, {}]
        if step == 5:
            rows[1] = {"pos_inf": 4}
        writer.write_health(step, *rows)
    cause = analyze(tmp_path).root_cause
    assert cause is not None
    assert cause.hint.startswith('The norm of "w" grew from 1 to 1e+04 between steps 0 and 4.')


@pytest.mark.parametrize(
    ("other_step", "is_spread"), [(2, True), (4, False)], ids=["before", "later"]
)
def test_cause_in_another_rank(tmp_path: Path, other_step: int, is_spread: bool) -> None:
    for rank in range(2):
        writer = RecordingWriter(tmp_path / "run", TENSORS, rank)
        for step in range(6):
            is_bad = step >= (other_step if rank else 3)
            rows = [{}, {"nan": 1} if is_bad and rank else {}, {"nan": 1} if is_bad else {}]
            writer.write_health(step, *rows)
    analysis = analyze(tmp_path)
    cause = analysis.root_cause
    assert cause is not None
    assert (cause.role, cause.step) == ("gradient", 3)
    assert ("The cause is in rank 1" in cause.hint) == is_spread
    assert (analysis.cause_in_other_rank is not None) == is_spread
    assert analyze(tmp_path, "run (rank 1)").cause_in_other_rank is None
    assert analysis.recording.health[3, 2, STAT_INDEX["nan"]] == 1
