"""Statistics and files of the weights of a node, for ONNX and TensorFlow constants."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from tests.analysis.graphs.conftest import FILES
from tracklight.analysis.graphs.model_files.weight_files import (
    encode_npy,
    format_values,
    read_weights,
    summarize_weights,
)
from tracklight.analysis.graphs.onnx import INITIALIZER
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.errors import UsageError
from tracklight.formats import proto
from tracklight.formats.tensor import encode_tensor


def test_statistics_are_of_finite_values() -> None:
    array = np.array([[0.0, 1.0, np.nan], [3.0, np.inf, 0.0]], np.float32)
    statistics = summarize_weights("w", array)
    assert (statistics.min, statistics.max, statistics.mean) == (0.0, 3.0, 1.0)
    assert statistics.std == pytest.approx(np.std([0, 1, 3, 0]))
    assert (statistics.zeros, statistics.nonfinite) == (2, 2)
    assert statistics.counts.sum() == 4
    assert (statistics.edges[0], statistics.edges[-1]) == (0.0, 3.0)


def test_values_of_a_large_tensor_are_abbreviated() -> None:
    assert format_values(np.array([[1.5, -2], [0, 7]])) == "[[ 1.5, -2. ],\n [ 0. ,  7. ]]"
    assert format_values(np.arange(1000)) == "[  0,   1,   2, ..., 997, 998, 999]"
    assert format_values(np.array(3, np.int8)) == "3"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(0),
        np.full(3, np.nan),
        np.full(4, 7),
        np.array([-1e308, 1e308, 5e307]),
        np.eye(2) > 0,
    ],
)
def test_unusual_arrays(array: np.ndarray) -> None:  # type: ignore[type-arg]
    statistics = summarize_weights("w", array)
    assert statistics.shape == array.shape
    assert len(statistics.edges) in (0, len(statistics.counts) + 1)


def test_weights_of_an_onnx_model() -> None:
    onnx = pytest.importorskip("onnx")
    path = FILES / "torch_export.onnx"
    graph = parse_graph_file(path.name, path.read_bytes())
    model = onnx.load(path)
    expected = {it.name: onnx.numpy_helper.to_array(it) for it in model.graph.initializer}
    found = {
        name: array
        for node, op in enumerate(graph.ops)
        if op == INITIALIZER
        for name, array in read_weights(graph, node).items()
    }
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_texts_are_weights_without_statistics() -> None:
    texts = np.array([[b"cat", b"d\xc3\xb6g"], [b"", b"\xff"]], object)
    message = proto.GraphDef()
    attribute = message.node.add(name=b"labels", op=b"Const").attr.add(key=b"value")
    attribute.value.tensor.CopyFrom(encode_tensor(texts))
    graph = parse_graph_file("g.pb", message.SerializeToString())
    (found,) = read_weights(graph, 0).values()
    assert found.tolist() == [["cat", "dög"], ["", "\ufffd"]]
    statistics = summarize_weights("labels", found)
    assert (statistics.dtype, statistics.shape, len(statistics.counts)) == ("string", (2, 2), 0)
    assert np.isnan(statistics.min)
    assert format_values(found) == "[['cat', 'dög'],\n ['', '\ufffd']]"
    saved = np.load(io.BytesIO(encode_npy({"labels": found}, "labels")))
    np.testing.assert_array_equal(saved, found)


def test_texts_of_an_onnx_model() -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    vocabulary = helper.make_tensor("vocabulary", onnx.TensorProto.STRING, [2], [b"yes", b"no"])
    node = helper.make_node("Gather", ["vocabulary", "i"], ["text"])
    inputs = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [1])]
    outputs = [helper.make_tensor_value_info("text", onnx.TensorProto.STRING, [1])]
    model = helper.make_model(helper.make_graph([node], "g", inputs, outputs, [vocabulary]))
    graph = parse_graph_file("g.onnx", model.SerializeToString())
    (found,) = read_weights(graph, graph.ops.index(INITIALIZER)).values()
    assert found.tolist() == ["yes", "no"]


def test_constants_of_tensorflow_are_weights() -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    message = proto.GraphDef()
    message.node.add(name=b"c", op=b"Const")
    message.node.add(name=b"x", op=b"Placeholder")
    attribute = message.node[0].attr.add()
    attribute.key = b"value"
    attribute.value.tensor.CopyFrom(encode_tensor(value))
    graph = parse_graph_file("graph.pb", message.SerializeToString())
    assert set(graph.weights) == {0}
    np.testing.assert_array_equal(read_weights(graph, 0)["value"], value)
    assert read_weights(graph, 1) == {}


def test_npy_export() -> None:
    arrays = {"w": np.arange(4.0).reshape(2, 2).T}
    loaded = np.load(io.BytesIO(encode_npy(arrays, "w")), allow_pickle=False)
    np.testing.assert_array_equal(loaded, arrays["w"])
    with pytest.raises(UsageError, match='no weights "v"'):
        encode_npy(arrays, "v")


def make_safetensors(names: list[str]) -> bytes:
    """Return a file with a tensor of two numbers for each name."""
    header = {
        name: {"dtype": "F32", "shape": [2], "data_offsets": [8 * index, 8 * index + 8]}
        for index, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    values = np.arange(2 * len(names), dtype=np.float32).tobytes()
    return len(text).to_bytes(8, "little") + text + values


def test_safetensors_with_a_config_have_its_settings() -> None:
    file = io.BytesIO()
    config = {"architectures": ["BertModel"], "hidden_size": 16, "id2label": {"0": "a"}}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("bert/config.json", json.dumps(config))
        archive.writestr("bert/model-00001-of-00002.safetensors", make_safetensors(["a.fc.w"]))
        archive.writestr("bert/model-00002-of-00002.safetensors", make_safetensors(["b.w", "b.b"]))
    graph = parse_graph_file("bert.zip", file.getvalue())
    assert list(zip(graph.names, graph.ops, strict=True)) == [
        ("config.json", "BertModel"),
        ("a/fc", "Module"),
        ("b", "Module"),
    ]
    settings = graph.describe(0).attributes
    assert (settings["hidden_size"], settings["id2label"]) == ("16", '{"0": "a"}')
    assert read_weights(graph, 2)["b"].tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name", ["whole.keras", "old.h5"])
def test_layers_of_keras_files_have_their_weights(name: str) -> None:
    h5py = pytest.importorskip("h5py")
    data = (FILES.parent / "weights" / name).read_bytes()
    graph = parse_graph_file(name, data)
    found = [
        (array.shape, float(array.astype(np.float64).sum()))
        for node in range(len(graph))
        for array in read_weights(graph, node).values()
    ]
    if name.endswith(".keras"):
        data = zipfile.ZipFile(io.BytesIO(data)).read("model.weights.h5")
    stored: list[tuple[tuple[int, ...], float]] = []

    def add(path: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not path.startswith("optimizer"):
            stored.append((item.shape, float(np.asarray(item, np.float64).sum())))

    with h5py.File(io.BytesIO(data)) as file:
        file.visititems(add)
    assert len(stored) == 3 and sorted(found) == sorted(stored)
    parameters = {layer: graph.describe(node).parameters for node, layer in enumerate(graph.names)}
    assert parameters == {"input_layer": 0, "words": 36, "flatten": 0, "out": 27}
    assert set(read_weights(graph, graph.names.index("out"))) in ({"0", "1"}, {"kernel", "bias"})
