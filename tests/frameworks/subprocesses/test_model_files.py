"""Model files written by real frameworks: operations, edges and weights are those of the model.

For TensorFlow Lite, safetensors and HDF5, the numbers of nodes and edges are those of Netron 9.3.3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.programs import need, run_keras
from tracklight.analysis.graphs import INPUT, OUTPUT, Graph
from tracklight.analysis.graphs.model_files import INITIALIZER
from tracklight.analysis.graphs.model_files.weight_files import read_weights, summarize_weights
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.errors import FormatError

pytestmark = pytest.mark.slow

_ENDS = (INPUT, OUTPUT, INITIALIZER)


def load(path: Path) -> Graph:
    return parse_graph_file(path.name, path.read_bytes())


def list_ops(graph: Graph) -> list[str]:
    return [op for op in graph.ops if op not in _ENDS]


def count_inner_edges(graph: Graph) -> int:
    """Count the edges between operations, as Netron draws them."""
    ends = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    return sum(graph.ops[a] not in _ENDS and graph.ops[b] not in _ENDS for a, b in ends)


def sum_weights(graph: Graph) -> dict[str, float]:
    return {
        name: float(array.astype(float).sum())
        for node in range(len(graph))
        for name, array in read_weights(graph, node).items()
    }


@pytest.fixture(scope="module")
def tensorflow_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    need("tensorflow")
    folder = tmp_path_factory.mktemp("tensorflow")
    return folder, run_keras("model_files_program.py", "tensorflow", folder, backend="tensorflow")


@pytest.fixture(scope="module")
def torch_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    need("torch", "safetensors")
    folder = tmp_path_factory.mktemp("torch")
    return folder, run_keras("model_files_program.py", "torch", folder, backend="torch")


@pytest.mark.parametrize(("name", "edges"), [("float", 6), ("dynamic", 6), ("loop", 0)])
def test_tensorflow_lite(
    tensorflow_files: tuple[Path, dict[str, Any]], name: str, edges: int
) -> None:
    folder, written = tensorflow_files
    graph = load(folder / f"{name}.tflite")
    assert list_ops(graph) == written["ops"][name]
    assert count_inner_edges(graph) == edges
    assert graph.problems == ()


def test_tensorflow_lite_weights_and_attributes(
    tensorflow_files: tuple[Path, dict[str, Any]],
) -> None:
    folder, written = tensorflow_files
    graph = load(folder / "float.tflite")
    convolution = graph.describe(graph.ops.index("CONV_2D"))
    assert convolution.attributes["fused_activation_function"] == "RELU"
    assert convolution.outputs[0].shape == (None, 28, 28, 8)
    sums = sum_weights(graph)
    assert any(total == pytest.approx(written["kernel_sum"], rel=1e-4) for total in sums.values())


def test_loops_of_tensorflow_lite_are_functions(
    tensorflow_files: tuple[Path, dict[str, Any]],
) -> None:
    graph = load(tensorflow_files[0] / "loop.tflite")
    assert graph.describe(graph.ops.index("WHILE")).functions == ("while_cond", "while_body")
    body = graph.functions["while_body"]
    assert [op for op in body.ops if op.isupper()] == ["ADD", "GREATER", "MUL", "SELECT_V2"]


def test_keras_hdf5(tensorflow_files: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = tensorflow_files
    graph, archive = load(folder / "model.h5"), load(folder / "model.keras")
    assert list(graph.ops) == list(archive.ops)
    assert len(graph.edges) == len(archive.edges) == 6
    with pytest.raises(FormatError, match="without a Keras model; save the whole model"):
        load(folder / "only.weights.h5")


def test_exported_program(torch_files: tuple[Path, dict[str, Any]]) -> None:
    folder, written = torch_files
    graph = load(folder / "net.pt2")
    # An index into the results of an operation is not an operation of its own in the file.
    getitems = [op for op in written["ops"] if "getitem" in op]
    expected = [op for op in written["ops"] if "getitem" not in op]
    assert list_ops(graph) == expected
    outputs = graph.ops.count(OUTPUT)
    assert len(graph.edges) - outputs == written["edges"] - len(getitems)
    assert graph.problems == ()
    assert sum_weights(graph) == pytest.approx(written["weights"])
    linear = graph.names.index("Net/Sequential[blocks]/Block[0]/Linear[fc]/linear")
    assert graph.describe(linear).outputs[0].shape == ("s77", 4)
    assert "model_files_program.py:" in graph.describe(linear).source
    assert sum(graph.describe(node).parameters for node in range(len(graph))) == 66


def test_branches_of_exported_programs_are_functions(
    torch_files: tuple[Path, dict[str, Any]],
) -> None:
    graph = load(torch_files[0] / "choice.pt2")
    call = graph.ops.index("higher_order.cond")
    bodies = [graph.functions[name] for name in graph.describe(call).functions]
    assert [list_ops(body) for body in bodies] == [
        ["_Arg", "aten.add.Tensor", "_Retval"],
        ["_Arg", "aten.mul.Tensor", "_Retval"],
    ]


def test_safetensors(torch_files: tuple[Path, dict[str, Any]]) -> None:
    folder, written = torch_files
    graph = load(folder / "net.safetensors")
    assert sorted(graph.names) == [
        "blocks/0/fc",
        "blocks/0/norm",
        "blocks/1/fc",
        "blocks/1/norm",
        "head",
    ]
    node = graph.names.index("blocks/0/fc")
    arrays = read_weights(graph, node)
    assert arrays["weight"].shape == (4, 4)
    statistics = summarize_weights("weight", arrays["weight"])
    assert statistics.mean * 16 == pytest.approx(written["weights"]["blocks.0.fc.weight"])
    assert statistics.counts.sum() == 16


@pytest.mark.parametrize("name", ["net.pt2", "net.safetensors"])
def test_truncated_files_raise_format_error(
    torch_files: tuple[Path, dict[str, Any]], name: str
) -> None:
    data = (torch_files[0] / name).read_bytes()
    for size in range(9, len(data), max(1, len(data) // 40)):
        with pytest.raises(FormatError):
            parse_graph_file(name, data[:size])


def test_damaged_tensorflow_lite_files_are_parsed_or_raise_format_error(
    tensorflow_files: tuple[Path, dict[str, Any]],
) -> None:
    whole = (tensorflow_files[0] / "float.tflite").read_bytes()
    for position in range(8, len(whole), 7):
        data = bytearray(whole)
        data[position] ^= 0xFF
        for part in (bytes(data), whole[:position]):
            try:
                graph = parse_graph_file("model.tflite", part)
                for node in range(len(graph)):
                    read_weights(graph, node)
            except FormatError as error:
                assert str(error)
