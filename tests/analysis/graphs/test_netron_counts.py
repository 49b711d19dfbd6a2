"""Model files have as many nodes and edges as in Netron.

The files are well-known architectures, at least ten of each format, by
``tests/data/netron/make.py``. Beside them are the numbers that Netron 9.3.3 finds: nodes, inputs
that are outputs of other nodes, and nodes of functions. Netron draws less as nodes than we do, by
the rules of `list_counted`, and draws each call of a Keras layer, by those of `count_keras`.

Files of TorchScript with branches and loops are not compared: Netron draws nothing that is inside
of them. Of a scripted ``nn.LSTM`` it has 21 nodes, of 139 operations that PyTorch's own
``inlined_graph`` has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archives import extract
from tracklight.analysis.graphs import INPUT, OUTPUT, Graph
from tracklight.analysis.graphs.model_files import INITIALIZER
from tracklight.analysis.graphs.parsers import parse_graph_file

NETRON = Path(__file__).parents[2] / "data/netron"

#: Inputs, outputs and weights of a model; the arguments and results of functions.
ENDS = {INPUT, OUTPUT, INITIALIZER, "InputLayer", "Placeholder", "_Arg", "_Retval"}
CONSTANTS = {"Const", "Constant", "constant"}
#: TorchScript asks for the device of a tensor; Netron does not show the answer.
QUERIES = {"aten::device"}

#: Edges that Netron does not find. It reads no tensors in keyword arguments: the second layer of
#: this model is called with ``initial_state=[state, cell]``.
MISSING_EDGES = {"keywords.h5": 2, "keywords.keras": 2}


def list_counted(graph: Graph, name: str, ends: set[str] = ENDS) -> list[bool]:
    """Return which nodes are nodes in Netron as well.

    A constant with one reader is an input of that reader unless it has control inputs, and so is a
    weight, except that a weight of an exported program with several readers is a node. What is in
    a region of StableHLO, such as the body of a loop, belongs to its operation. In functions of
    TensorFlow, all constants are nodes.
    """
    names = set(graph.names)
    is_inside = [
        name.endswith(".mlir") and not names.isdisjoint(iter_scopes(path)) for path in graph.names
    ]
    controlled = set(graph.edges.target[graph.edges.control].tolist())
    pairs = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    readers = Counter(source for source, target in pairs if not is_inside[target])
    return [
        (op == INITIALIZER and name.endswith(".pt2") and readers[node] > 1)
        or (
            op not in ends | QUERIES
            and not is_inside[node]
            and not (op in CONSTANTS and readers[node] == 1 and node not in controlled)
        )
        for node, op in enumerate(graph.ops)
    ]


def iter_scopes(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def count_graph(graph: Graph, name: str, ends: set[str] = ENDS) -> tuple[int, int]:
    """Return the number of nodes, and of edges between them without control dependencies."""
    counted = list_counted(graph, name, ends)
    is_data = ~graph.edges.control
    sources, targets = graph.edges.source[is_data], graph.edges.target[is_data]
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    return sum(counted), sum(counted[source] and counted[target] for source, target in pairs)


def count_keras(graph: Graph) -> tuple[int, int, int]:
    """Return the nodes and edges of a Keras model as Netron draws it, and the layers of its models.

    For Netron, a model in a model is one node, and a layer or model that is called twice is two.
    """
    boxes = [path.partition("/")[0] for path in graph.names]
    is_layer = [op not in ENDS for op in graph.ops]
    ends = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    # A layer that is called with its own result has an edge to itself.
    between = [
        (source, target)
        for source, target in ends
        if boxes[source] != boxes[target] or graph.names[source] == boxes[target]
    ]
    calls: dict[str, int] = {}
    nested = 0
    for node, path in enumerate(graph.names):
        if boxes[node] == path:
            if is_layer[node]:
                calls[path] = int(graph.describe(node).attributes.get("calls", 1))
            continue
        entered = sum(target == node for _, target in between)
        calls[boxes[node]] = max(calls.get(boxes[node], 1), entered)
        is_direct = path.count("/") == 1
        nested += is_direct and is_layer[node]
    # Models in these models are nodes of them.
    deeper = {path.rpartition("/")[0] for path in graph.names if path.count("/") > 1}
    nested += sum(path.count("/") > 1 and is_layer[node] for node, path in enumerate(graph.names))
    edges = sum(is_layer[source] or boxes[source] != graph.names[source] for source, _ in between)
    return sum(calls.values()), edges, nested + len(deeper)


def count_function_nodes(graph: Graph, name: str) -> int:
    if name.endswith(".pb"):
        return sum(op not in ENDS for body in graph.functions.values() for op in body.ops)
    return sum(sum(list_counted(body, name)) for body in graph.functions.values())


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("tensorflow", {".keras": 10, ".h5": 10, ".pb": 10, ".tflite": 10}),
        ("graphdef", {".pb": 10}),
        ("nested", {".keras": 7, ".h5": 7}),
        ("torch", {".pt": 10, ".pt2": 10, ".onnx": 10, ".safetensors": 10}),
        ("tuples", {".pt": 13}),
        ("classics", {".pt": 12, ".pt2": 12, ".onnx": 12}),
        ("jax", {".mlir": 10}),
        ("branches", {".pt2": 5, ".onnx": 2, ".pb": 2, ".mlir": 6}),
    ],
)
def test_counts_equal_those_of_netron(name: str, files: dict[str, int], tmp_path: Path) -> None:
    if ".h5" in files:
        pytest.importorskip("h5py")
    recorded = json.loads((NETRON / f"{name}.json").read_text())
    extract(NETRON / f"{name}.tar.xz", tmp_path)
    found, expected = {}, {}
    for path in sorted(tmp_path.iterdir()):
        graph = parse_graph_file(path.name, path.read_bytes())
        if path.suffix in (".keras", ".h5"):
            nodes, edges, functions = count_keras(graph)
        else:
            # A GraphDef that does not say the shapes of outputs has placeholders as nodes.
            has_shapes = name not in ("graphdef", "branches")
            ends = ENDS if has_shapes else ENDS - {"Placeholder"}
            nodes, edges = count_graph(graph, path.name, ends)
            functions = count_function_nodes(graph, path.name)
        found[path.name] = (nodes, edges - MISSING_EDGES.get(path.name, 0), functions)
        expected[path.name] = tuple(recorded[path.name].values())
    assert found == expected
    assert Counter(Path(file).suffix for file in found) == files
