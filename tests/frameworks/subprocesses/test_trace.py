"""What runs while a trace is on is logged as a graph, whichever framework runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.frameworks.programs import HERE, need, run_program
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
    said: Any
    values: dict[str, Any]


@pytest.fixture(scope="module", params=EDGES)
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    need(request.param)
    logdir = tmp_path_factory.mktemp(request.param)
    said = run_program("trace_program.py", request.param, logdir)
    events = list(iter_events(logdir))
    values = {value.tag.decode(): value for event in events for value in event.summary.value}
    return Traced(request.param, logdir, said, values)


def read_graphs(value: Any) -> list[Any]:
    """The graphs of functions in a RunMetadata message."""
    metadata = parse("RunMetadata", decode_tensor(value.tensor).item())
    functions = metadata.function_graphs
    return [parse("GraphDef", function.pre_optimization_graph) for function in functions]


def test_logs_the_graph_of_what_was_called(traced: Traced) -> None:
    assert traced.said["on"] and traced.said["graph"]
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


def test_writes_a_profile_where_it_is_told_to(traced: Traced) -> None:
    assert traced.said["profile"]
    assert traced.values["profile"].metadata.plugin_data.plugin_name == b"graph_run_metadata"
    assert len(read_graphs(traced.values["profile"])) == 1
    (session,) = (traced.logdir / "plugins/profile").iterdir()
    assert any(path.stat().st_size > 1000 for path in session.iterdir())


def test_tells_of_traces_that_are_not_there(traced: Traced) -> None:
    none, empty = traced.said["warnings"]
    assert "`name` is of no trace; call `trace_on` before" in none
    assert "`name` is of an empty trace" in empty
    assert traced.said["lines"] == [str(HERE / "trace_program.py")] * 2
    assert (traced.said["none"], traced.said["empty"]) == (False, True)
    assert "none" not in traced.values


def test_tensorboard_reads_the_graphs(traced: Traced) -> None:
    pytest.importorskip("tensorboard")
    said = run_program("graph_reader.py", traced.logdir)
    assert said["tags"] == ["empty", "graph", "profile"]
    assert said["nodes"]["graph"] == said["nodes"]["profile"] > 3


def test_tells_that_there_is_no_framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for framework in EDGES:
        monkeypatch.delitem(__import__("sys").modules, framework, raising=False)
    with pytest.warns(UsageWarning, match="none of tensorflow, jax, torch is loaded"):
        assert summary.trace_on()
    with pytest.warns(UsageWarning, match="`graph` is traced already"):
        assert not summary.trace_on()
    assert not summary.trace_export("nothing")
    summary.trace_off()
