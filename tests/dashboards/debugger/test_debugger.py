"""The routes of the Debugger dashboard, on dumps and on a recording."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.debugger.dump_builder import make_execution, make_trace, write_dump
from tests.analysis.debugger.recording_builder import RecordingWriter
from tests.archives import extract
from tests.dashboards.opening import make_context
from tracklight.dashboards.debugger import Debugger
from tracklight.dashboards.debugger.schemas import (
    AlertExportRequest,
    CompareSourcesRequest,
    DebugAlertsRequest,
    DebugEventRequest,
    DebugEventResponse,
    DebugSourceRequest,
    ExecutionTimelineRequest,
    HeatmapRequest,
    OpRequest,
    RowsRequest,
    SourceFileRequest,
    StoredValueRequest,
    TensorHistogramRequest,
    WatchedTensorRequest,
)
from tracklight.debugger.recorder import Recorder, Schedule, make_row
from tracklight.errors import LogError, UsageError
from tracklight.formats.tensor_health import SourceLocation, WatchedTensor
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.plugin import Empty
from tracklight.types import Float32

DATA = Path(__file__).parents[2] / "data/debug_events/dumps.tar.xz"


def make_health(*rows: tuple[float, float, float]) -> Float32:
    """Return a matrix from the NaN count, the maximum and the norm of each tensor."""
    matrix = np.stack([make_row() for _ in rows])
    for order, (nan, highest, norm) in enumerate(rows):
        matrix[order] = 0
        matrix[order, [0, 1, 7, 10]] = order, nan, highest, norm
    return matrix


def write_recording(folder: Path, shift: float = 0.0) -> None:
    recorder = Recorder(
        str(folder), "torch", "2", schedule=Schedule(1, 0), history=5, on_problem="continue"
    )
    program = folder.parent / "model.py"
    program.write_text("def forward(x):\n    return torch.log(x)\n")
    stack = [SourceLocation(str(program), 2, "forward", "torch.log(x)")]
    recorder.add(WatchedTensor("input", "input", size=4, dtype="float32"))
    recorder.add(WatchedTensor("log", "output", "log", "float32", 4, (2, 2), inputs=(0,)), stack)
    recorder.add(WatchedTensor("fc", "output", "Linear", "float16", 4, (2, 2), inputs=(1,)))
    for step in range(10):
        nan = 2.0 if step >= 6 else 0.0
        matrix = make_health((0, 1, 1), (nan, 2, 2 + (shift if step >= 4 else 0)), (nan, 3, step))
        samples = {1: np.float32([-1.5, 0, 0, 3.0 if step < 5 else 300.0])}
        recorder.end_step(step, matrix, get_samples=lambda samples=samples: samples)
    recorder.close()


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Debugger:
    folder = tmp_path_factory.mktemp("logs")
    extract(DATA, folder)
    write_recording(folder / "recorded")
    write_recording(folder / "other", shift=0.5)
    catalog = Catalog(parse_roots(str(folder)), cache=False)
    catalog.refresh()
    return Debugger(make_context(catalog))


def test_lists_sources(dashboard: Debugger) -> None:
    rows = {row.name: row for row in dashboard.sources(Empty()).sources}
    assert rows["full_health"].kind == "dump"
    assert rows["full_health"].framework == "tensorflow"
    assert (rows["recorded"].kind, rows["recorded"].run) == ("recording", "recorded")
    assert all(row.problem is None for row in rows.values())
    overview = dashboard.overview(DebugSourceRequest("full_health"))
    first = dashboard.alerts(DebugAlertsRequest("full_health", limit=1)).alerts[0]
    assert rows["full_health"].problem_step is None
    assert rows["full_health"].problem_time == overview.source.problem_time == first.wall_time
    tensor = dashboard.tensor(WatchedTensorRequest("recorded", 1))
    assert rows["recorded"].problem_step == 6
    assert rows["recorded"].problem_time == tensor.wall_time[tensor.step.tolist().index(6)]
    assert rows["shape"].problem_time is None


def test_overview_of_a_dump(dashboard: Debugger) -> None:
    overview = dashboard.overview(DebugSourceRequest("full_health"))
    assert overview.root_cause is not None
    assert overview.root_cause.op_type == "Log"
    assert overview.alerts == sum(overview.kinds.values())
    assert overview.graph_executions == 159
    assert overview.damage == []


def test_overview_of_a_recording(dashboard: Debugger) -> None:
    overview = dashboard.overview(DebugSourceRequest("recorded"))
    assert overview.root_cause is not None
    assert overview.root_cause.message == (
        'Step 6: "log" produced 2 NaN of 4 values from finite inputs between 0 and 1, '
        "model.py:2 in forward."
    )
    assert overview.root_cause.step == 6
    assert (overview.steps, overview.tensors, overview.kinds) == (10, 3, {"nan": 8})


def test_selects_alerts(dashboard: Debugger) -> None:
    every = dashboard.alerts(DebugAlertsRequest("full_health", limit=2000))
    assert every.total == len(every.alerts)
    infinite = dashboard.alerts(DebugAlertsRequest("full_health", kinds=["inf"], limit=5, offset=2))
    assert (infinite.total, len(infinite.alerts)) == (9, 5)
    assert every.alerts[int(infinite.indexes[0])] == infinite.alerts[0]
    logs = dashboard.alerts(DebugAlertsRequest("full_health", query="log", limit=2000))
    assert {alert.op_type for alert in logs.alerts} >= {"Log"}
    half = dashboard.alerts(
        DebugAlertsRequest("recorded", dtype="float16", first_step=7, last_step=8)
    )
    assert [(it.op_name, it.step) for it in half.alerts] == [("fc", 7), ("fc", 8)]


def test_heatmap(dashboard: Debugger) -> None:
    heatmap = dashboard.heatmap(HeatmapRequest("recorded", stat="norm"))
    assert [row.name for row in heatmap.tensors] == ["input", "log", "fc"]
    assert heatmap.values.reshape(3, 10)[2].tolist() == list(range(10))
    assert heatmap.first_step.tolist() == heatmap.last_step.tolist() == list(range(10))
    merged = dashboard.heatmap(HeatmapRequest("recorded", query="fc", columns=2, first_step=2))
    assert merged.values.tolist() == [5, 9]
    assert (merged.first_step.tolist(), merged.last_step.tolist()) == ([2, 6], [5, 9])
    counts = dashboard.heatmap(HeatmapRequest("recorded", stat="non_finite", roles=["input"]))
    assert not counts.values.any()
    empty = dashboard.heatmap(HeatmapRequest("recorded", first_step=100))
    assert empty.values.shape == (0,)


def test_tensor_over_steps(dashboard: Debugger) -> None:
    tensor = dashboard.tensor(WatchedTensorRequest("recorded", 1))
    assert [it.name for it in tensor.inputs] == ["input"]
    assert [it.name for it in tensor.consumers] == ["fc"]
    assert tensor.stats["nan"].tolist() == [0] * 6 + [2] * 4
    with pytest.raises(UsageError, match="no tensor 7"):
        dashboard.tensor(WatchedTensorRequest("recorded", 7))


def test_histogram_of_a_recorded_tensor_has_the_bins_in_use(dashboard: Debugger) -> None:
    histogram = dashboard.tensor(WatchedTensorRequest("recorded", 1)).histogram
    assert histogram is not None
    assert histogram.step.tolist() == list(range(10))
    assert histogram.edges[0] <= -1.5 < histogram.edges[1]
    assert histogram.edges[-2] <= 300 < histogram.edges[-1]
    shares = histogram.shares.reshape(10, -1)
    zero = int(np.flatnonzero((histogram.edges[:-1] < 0) & (histogram.edges[1:] > 0))[0])
    assert shares[:, zero].tolist() == [128] * 10
    assert [row.nonzero()[0].max() for row in shares][4:6] != [shares.shape[1] - 1] * 2
    assert dashboard.tensor(WatchedTensorRequest("recorded", 2)).histogram is None


def test_stack_and_neighborhood_of_a_recorded_tensor(dashboard: Debugger) -> None:
    response = dashboard.tensor(WatchedTensorRequest("recorded", 1))
    assert [(it.line, it.function) for it in response.stack] == [(2, "forward")]
    graph = response.neighborhood
    assert [(it.name, it.health) for it in graph.nodes] == [("log", 2), ("input", 1), ("fc", 2)]
    assert graph.edges == [(0, 2), (1, 0)]
    assert not graph.is_truncated


def test_executions_and_traces(dashboard: Debugger) -> None:
    executions = dashboard.executions(RowsRequest("full_health", limit=5))
    assert executions.total == len(executions.index) + executions.total - 5
    assert executions.op_type[0] == "VarHandleOp"
    bad = dashboard.graph_executions(RowsRequest("full_health", only_non_finite=True))
    assert set(bad.health.tolist()) == {2}
    found = dashboard.graph_executions(RowsRequest("full_health", query="log"))
    assert all(
        "log" in f"{a} {b}".lower() for a, b in zip(found.op_type, found.op_name, strict=True)
    )
    one = dashboard.graph_executions(RowsRequest("full_health", op_name="Log"))
    assert set(one.op_name) == {"Log"}


def test_timeline_counts_all_events(dashboard: Debugger) -> None:
    timeline = dashboard.timeline(ExecutionTimelineRequest("full_health", columns=50))
    assert timeline.graph_executions.sum() == 159
    overview = dashboard.overview(DebugSourceRequest("full_health"))
    assert timeline.executions.sum() == overview.executions


def test_event_details(dashboard: Debugger) -> None:
    cause = dashboard.overview(DebugSourceRequest("full_tensor")).root_cause
    assert cause is not None
    assert cause.graph_execution is not None
    event = dashboard.event(
        DebugEventRequest("full_tensor", "graph_execution", cause.graph_execution)
    )
    assert (event.op_type, event.inputs) == ("Log", ["x:0"])
    assert event.execution == cause.execution
    (tensor,) = event.tensors
    assert tensor.values is not None
    assert (tensor.values.shape, tensor.columns) == ((4,), 2)
    assert tensor.neg_inf == 1
    assert any(line.code == "return tf.math.log(x)" for line in event.stack)
    execution = dashboard.event(DebugEventRequest("full_health", "execution", 3))
    assert len(execution.inputs) == len(execution.input_executions)
    with pytest.raises(UsageError, match="no event"):
        dashboard.event(DebugEventRequest("full_health", "execution", 10_000))


def test_operation_with_neighbors(dashboard: Debugger) -> None:
    (graph, *_) = dashboard.graph_executions(RowsRequest("full_health", op_name="Log")).graph
    op = dashboard.op(OpRequest("full_health", graph, "Log"))
    assert op.graph_names[-1] == "take_log"
    assert [it.op_type for it in op.inputs] == ["Placeholder"]
    assert [it.op_type for it in op.consumers] == ["Identity"]
    assert [it.type for it in op.neighborhood.nodes] == ["Log", "Placeholder", "Identity"]
    assert op.neighborhood.nodes[0].health == 2
    assert op.neighborhood.edges == [(0, 2), (1, 0)]
    with pytest.raises(UsageError, match="no operation"):
        dashboard.op(OpRequest("full_health", graph, "Missing"))


def test_source_file(dashboard: Debugger) -> None:
    files = dashboard.overview(DebugSourceRequest("shape")).source_files
    path = next(path for _, path in files if "debug_dump_program" in path)
    lines = dashboard.source_file(SourceFileRequest("shape", path)).lines
    assert lines is not None
    assert lines[0].startswith('"""Write a dump')
    assert dashboard.source_file(SourceFileRequest("shape", "/etc/passwd")).lines is None


def test_source_file_of_a_recording(dashboard: Debugger) -> None:
    ((_, path),) = dashboard.overview(DebugSourceRequest("recorded")).source_files
    lines = dashboard.source_file(SourceFileRequest("recorded", path)).lines
    assert lines == ["def forward(x):", "    return torch.log(x)"]
    assert dashboard.source_file(SourceFileRequest("recorded", "/etc/passwd")).lines is None


def test_histogram_of_a_tensor_over_executions(dashboard: Debugger) -> None:
    request = TensorHistogramRequest("full_tensor", "", "Log", 10**6)
    histogram = dashboard.histogram(request)
    executions = len(histogram.index)
    assert executions > 1
    counts = histogram.counts.reshape(executions, len(histogram.edges) - 1)
    event = dashboard.event(
        DebugEventRequest("full_tensor", "graph_execution", int(histogram.index[0]))
    )
    assert event.tensors[0].size == counts[0].sum() + histogram.non_finite[0]
    without = TensorHistogramRequest("full_health", "", "Log", 10**6)
    assert len(dashboard.histogram(without).index) == 0


def test_compares_recordings(dashboard: Debugger) -> None:
    response = dashboard.compare(CompareSourcesRequest("recorded", "other"))
    assert (response.step, response.stat) == (4, "norm")
    assert response.tensor is not None
    assert response.tensor.name == "log"
    same = dashboard.compare(CompareSourcesRequest("recorded", "recorded"))
    assert (same.step, same.message) == (None, "The recordings do not differ.")


def test_exports_alerts(dashboard: Debugger) -> None:
    def read(name: str) -> str:
        request = AlertExportRequest("full_health", name)  # type: ignore[arg-type]
        return b"".join(dashboard.export(request).chunks).decode()

    rows = list(csv.DictReader(io.StringIO(read("csv"))))
    objects: list[dict[str, Any]] = json.loads(read("json"))
    assert len(rows) == len(objects) == dashboard.overview(DebugSourceRequest("full_health")).alerts
    assert rows[0]["op_type"] == objects[0]["op_type"] == "Log"


def test_static_export(dashboard: Debugger) -> None:
    parts = dict(dashboard.export_static(["recorded", "shape"]))
    files = [name for name in parts if name.startswith("source_file?")]
    for name in ("model.py", "debug_dump_program.py"):
        assert any(file.endswith(name) for file in files)
    assert set(parts) - set(files) == {
        "sources",
        "overview?source=recorded",
        "alerts?source=recorded",
        *(f"heatmap?source=recorded&stat={it}" for it in ("norm", "max", "std", "dead")),
        "heatmap?source=recorded&stat=non_finite",
        "tensor?source=recorded&tensor=1",
        "overview?source=shape",
        "alerts?source=shape",
        "executions?source=shape",
        "graph_executions?source=shape",
        "timeline?source=shape",
    }
    assert list(dashboard.export_static(["missing"])) == []


def test_static_export_compares_sources_of_the_same_kind(dashboard: Debugger) -> None:
    runs = ["recorded", "other", "shape", "full_health"]
    parts = dict(dashboard.export_static(runs))
    compared = {name: part for name, part in parts.items() if name.startswith("compare")}
    assert compared.keys() == {
        "compare?first=recorded&second=other",
        "compare?first=other&second=recorded",
        "compare_dumps?first=shape&second=full_health",
        "compare_dumps?first=full_health&second=shape",
    }
    request = CompareSourcesRequest("recorded", "other")
    assert compared["compare?first=recorded&second=other"] == dashboard.compare(request)


def test_says_what_a_source_does_not_have(dashboard: Debugger) -> None:
    with pytest.raises(LogError, match="is a dump"):
        dashboard.heatmap(HeatmapRequest("shape"))
    with pytest.raises(LogError, match="is a recording"):
        dashboard.executions(RowsRequest("recorded"))
    with pytest.raises(LogError, match='No debugger data "nothing"'):
        dashboard.overview(DebugSourceRequest("nothing"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Debugger:
    """Dumps and recordings with what is rare."""
    folder = tmp_path_factory.mktemp("small")
    write_dump(folder / "empty")
    write_dump(
        folder / "eager",
        executions=[
            make_execution("Abs", {1: [1.0]}, 1.0),
            make_execution("Log", {2: [[np.nan], [np.inf]]}, 2.0, inputs=[1]),
            make_execution("Log", {3: [1.0]}, 3.0, mode=99),
        ],
        traces=[make_trace("x", [1.0])],
    )
    RecordingWriter(folder / "broken", []).write_text("layout", b"{", step=1)
    layer = WatchedTensor("fc", "output", "Linear", "float32", 4, (4,))
    for name, tensor in (("first", layer), ("other", WatchedTensor("conv", "output"))):
        writer = RecordingWriter(folder / name, [tensor])
        for step in range(4):
            writer.write_health(step, {"norm": 1 + step / 10})
    catalog = Catalog(parse_roots(str(folder)), cache=False)
    catalog.refresh()
    return Debugger(make_context(catalog))


def test_source_that_cannot_be_read_is_listed(small: Debugger) -> None:
    rows = {row.name: row for row in small.sources(Empty()).sources}
    problem = rows["broken"].problem
    assert problem is not None
    assert 'The layout of "broken" is invalid' in str(problem)
    assert all(row.problem is None for name, row in rows.items() if name != "broken")
    parts = dict(small.export_static(["broken", "empty"]))
    assert not any("broken" in name for name in parts)
    assert "overview?source=empty" in parts


def test_timeline_of_a_dump_without_events(small: Debugger) -> None:
    timeline = small.timeline(ExecutionTimelineRequest("empty", columns=3))
    assert timeline.executions.tolist() == timeline.graph_executions.tolist() == [0, 0, 0]
    assert small.overview(DebugSourceRequest("empty")).root_cause is None


def test_static_export_of_an_eager_cause(small: Debugger) -> None:
    parts = dict(small.export_static(["eager"]))
    event = parts["event?source=eager&kind=execution&index=1"]
    assert isinstance(event, DebugEventResponse)
    assert event.op_type == "Log"


def test_tensor_without_finite_values_has_no_range(small: Debugger) -> None:
    (tensor,) = small.event(DebugEventRequest("eager", "execution", 1)).tensors
    assert (tensor.mode, tensor.min, tensor.max) == ("FULL_TENSOR", None, None)
    assert tensor.values is not None
    np.testing.assert_array_equal(tensor.values, [np.nan, np.inf])
    (unknown,) = small.event(DebugEventRequest("eager", "execution", 2)).tensors
    assert (unknown.mode, unknown.values) == ("99", None)


def test_locates_an_event_among_those_that_are_shown(small: Debugger) -> None:
    rows = small.executions(RowsRequest("eager", query="log", locate=2))
    assert rows.index.tolist() == [1, 2]
    assert rows.position == 1


def test_recordings_without_a_tensor_in_common(small: Debugger) -> None:
    response = small.compare(CompareSourcesRequest("first", "other"))
    assert response.message == "The recordings have no step and tensor in common."
    assert (response.step, response.shared_steps) == (None, 0)
    assert (response.only_first, response.only_second) == (["fc (output)"], ["conv (output)"])


def test_recording_without_problems(small: Debugger) -> None:
    overview = small.overview(DebugSourceRequest("first"))
    assert (overview.root_cause, overview.curve, overview.values) == (None, None, [])
    graph = small.tensor(WatchedTensorRequest("first", 0)).neighborhood
    assert [(it.name, it.health) for it in graph.nodes] == [("fc", 1)]
    heatmap = small.heatmap(HeatmapRequest("first", first_step=1, last_step=2))
    assert heatmap.first_step.tolist() == [1, 2]
    with pytest.raises(UsageError, match='the recording has no stored tensor "fc"'):
        small.value(StoredValueRequest("first", "fc"))


def test_curve_of_a_loss_scale_that_fell(tmp_path: Path) -> None:
    recorder = Recorder(
        str(tmp_path / "run"), "torch", "2", schedule=Schedule(1, 0), history=5,
        on_problem="continue",
    )  # fmt: skip
    recorder.add(WatchedTensor("fc", "output", "Linear", "float32", 4, (2, 2)))
    for step in range(6):
        recorder.log_loss_scale(step, 2.0**-step, is_skipped=True)
        recorder.end_step(step, make_health((0, 1, 1)))
    recorder.close()
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    catalog.refresh()
    overview = Debugger(make_context(catalog)).overview(DebugSourceRequest("run"))
    assert overview.curve is not None
    assert (overview.curve.stat, overview.curve.value.tolist()) == (
        "loss_scale",
        [2.0**-step for step in range(6)],
    )


def test_exports_many_alerts_in_parts(tmp_path: Path) -> None:
    traces = [make_trace("x", [np.nan], float(i)) for i in range(2500)]
    write_dump(tmp_path / "dump", traces=traces)
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    catalog.refresh()
    stream = Debugger(make_context(catalog)).export(AlertExportRequest("dump", "csv"))
    parts = [bytes(part).decode() for part in stream.chunks]
    assert len(parts) == 3
    rows = list(csv.DictReader(io.StringIO("".join(parts))))
    assert [float(row["wall_time"]) for row in rows] == list(range(2500))
