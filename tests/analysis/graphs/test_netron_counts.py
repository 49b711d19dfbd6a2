"""Model files have as many nodes and edges as in Netron.

The files are well-known architectures, ten of each format, by ``tests/data/netron/make.py``. Beside
them are the numbers that Netron 9.2.1 finds: nodes, inputs that are outputs of other nodes,
and nodes of functions. Netron draws less as nodes than we do, by the rules of `list_counted`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.archives import extract
from tracklight.analysis.graphs.model import INPUT, OUTPUT, Graph
from tracklight.analysis.graphs.model_files.graph_builder import INITIALIZER
from tracklight.analysis.graphs.parsers import parse_graph_file

NETRON = Path(__file__).parents[2] / "data/netron"
COUNT = 10

#: Inputs, outputs and weights of a model; the arguments and results of functions.
ENDS = {INPUT, OUTPUT, INITIALIZER, "InputLayer", "Placeholder", "_Arg", "_Retval"}
CONSTANTS = {"Const", "Constant", "constant"}
#: TorchScript asks for the device of a tensor; Netron does not show the answer.
QUERIES = {"aten::device"}

#: Nodes and edges that Netron has in addition.
DIFFERENCES = {
    # A model that is called twice is drawn once, with its layers; Netron draws two boxes.
    "siamese.h5": (0, -1),
    "siamese.keras": (0, -1),
    # `annotate(number, x)` in the code of a model is not an operation.
    "gpt2.pt": (3, 3),
}


def list_counted(graph: Graph, name: str) -> list[bool]:
    """Return which nodes are nodes in Netron as well.

    A constant with one reader is an input of that reader. What is in a region of StableHLO, such
    as the body of a loop, belongs to its operation. In functions of TensorFlow, all constants are
    nodes.
    """
    names = set(graph.names)
    is_inside = [
        name.endswith(".mlir") and path.partition("/")[0] in names - {path} for path in graph.names
    ]
    ends = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    readers = Counter(source for source, target in ends if not is_inside[target])
    return [
        op not in ENDS | QUERIES
        and not is_inside[node]
        and not (op in CONSTANTS and readers[node] == 1)
        for node, op in enumerate(graph.ops)
    ]


def count_graph(graph: Graph, name: str) -> tuple[int, int]:
    """Return the number of nodes, and of edges between them."""
    counted = list_counted(graph, name)
    ends = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    return sum(counted), sum(counted[source] and counted[target] for source, target in ends)


def count_function_nodes(graph: Graph, name: str) -> int:
    if name.endswith(".pb"):
        return sum(op not in ENDS for body in graph.functions.values() for op in body.ops)
    return sum(sum(list_counted(body, name)) for body in graph.functions.values())


@pytest.mark.parametrize(
    ("framework", "suffixes"),
    [
        ("tensorflow", {".keras", ".h5", ".pb", ".tflite"}),
        ("torch", {".pt", ".pt2", ".onnx", ".safetensors"}),
        ("jax", {".mlir"}),
    ],
)
def test_counts_equal_those_of_netron(framework: str, suffixes: set[str], tmp_path: Path) -> None:
    if ".h5" in suffixes:
        pytest.importorskip("h5py")
    recorded = json.loads((NETRON / f"{framework}.json").read_text())
    extract(NETRON / f"{framework}.tar.xz", tmp_path)
    found, expected = {}, {}
    for path in sorted(tmp_path.iterdir()):
        graph = parse_graph_file(path.name, path.read_bytes())
        more_nodes, more_edges = DIFFERENCES.get(path.name, (0, 0))
        nodes, edges = count_graph(graph, path.name)
        functions = count_function_nodes(graph, path.name)
        found[path.name] = (nodes + more_nodes, edges + more_edges, functions)
        expected[path.name] = tuple(recorded[path.name].values())
    assert found == expected
    assert Counter(Path(name).suffix for name in found) == dict.fromkeys(suffixes, COUNT)
