"""`trace_on` and `trace_export` with each framework."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.frameworks.programs import HERE, need, run_keras
from tests.writer.event_files import iter_events
from tracklight import summary
from tracklight.errors import UsageWarning
from tracklight.formats.proto import parse
from tracklight.formats.tensor import decode_tensor

EDGES = {
    "tensorflow": {("x", "forward/MatMul"), ("y", "forward/MatMul")},
    "jax": {
        ("step/x", "step/forward/dot_general"),
        ("step/y", "step/forward/dot_general"),
        ("step/scan/jaxpr/add", "step/scan/scan"),
        ("step/reduce_max", "step/while/cond_jaxpr/lt"),
        ("step/reduce_max", "step/while/body_jaxpr/add"),
        ("step/while/while", "step/output_0"),
    },
    "torch": {
        ("input/input", "Sequential/Linear[0]/linear"),
        ("Sequential/Linear[0]/linear", "Sequential/ReLU[1]/relu"),
    },
}


class Traced(NamedTuple):
    framework: str
    logdir: Path
    output: Any
    values: dict[str, Any]


@pytest.fixture(scope="module", params=EDGES)
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    need(request.param)
    logdir = tmp_path_factory.mktemp(request.param)
    output = run_keras("trace_program.py", request.param, logdir, backend=request.param)
    events = list(iter_events(logdir))
    values = {value.tag.decode(): value for event in events for value in event.summary.value}
    return Traced(request.param, logdir, output, values)


def read_graphs(value: Any) -> list[Any]:
    """Return the function graphs in a RunMetadata message."""
    metadata = parse("RunMetadata", decode_tensor(value.tensor).item())
    functions = metadata.function_graphs
    return [parse("GraphDef", function.pre_optimization_graph) for function in functions]


def test_logs_graphs_of_called_functions(traced: Traced) -> None:
    assert traced.output["on"] and traced.output["graph"]
    assert traced.values["graph"].metadata.plugin_data.plugin_name == b"graph_run_metadata_graph"
    (graph,) = read_graphs(traced.values["graph"])
    edges = {
        (source.partition(b":")[0].decode(), node.name.decode())
        for node in graph.node
        for source in node.input
    }
    assert edges >= EDGES[traced.framework]
    names = {node.name.decode() for node in graph.node}
    assert {source.lstrip("^") for source, _ in edges} <= names
    assert len(names) == len(graph.node)


def test_graphs_have_shapes(traced: Traced) -> None:
    (graph,) = read_graphs(traced.values["graph"])
    shapes = {
        tuple(dim.size for dim in shape.dim)
        for node in graph.node
        for attr in node.attr
        if attr.key == b"_output_shapes"
        for shape in attr.value.list.shape
    }
    assert {(3, 4), (3, 5)} <= shapes


def test_writes_profile_to_outdir(traced: Traced) -> None:
    assert traced.output["profile"]
    assert traced.values["profile"].metadata.plugin_data.plugin_name == b"graph_run_metadata"
    assert len(read_graphs(traced.values["profile"])) == 1
    (session,) = (traced.logdir / "plugins/profile").iterdir()
    assert any(path.stat().st_size > 1000 for path in session.iterdir())


def test_missing_or_empty_trace_warns(traced: Traced) -> None:
    none, empty = traced.output["warnings"]
    assert "`name` has no trace; call `trace_on` first" in none
    assert "`name` has an empty trace" in empty
    assert traced.output["lines"] == [str(HERE / "trace_program.py")] * 2
    assert (traced.output["none"], traced.output["empty"]) == (False, True)
    assert "none" not in traced.values


def test_tensorboard_reads_the_graphs(traced: Traced) -> None:
    pytest.importorskip("tensorboard")
    output = run_keras("graph_reader.py", traced.logdir, backend="tensorflow")
    assert output["tags"] == ["empty", "graph", "profile"]
    assert output["nodes"]["graph"] == output["nodes"]["profile"] > 3


def test_missing_framework_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for framework in EDGES:
        monkeypatch.delitem(__import__("sys").modules, framework, raising=False)
    with pytest.warns(UsageWarning, match="none of tensorflow, jax, torch is imported"):
        assert summary.trace_on()
    with pytest.warns(UsageWarning, match="`graph` is being traced already"):
        assert not summary.trace_on()
    assert not summary.trace_export("nothing")
    summary.trace_off()
