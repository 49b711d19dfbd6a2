"""Properties of model files: formats, producers and versions as their headers say."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.analysis.graphs.conftest import FILES
from tracklight.analysis.graphs.parsers import parse_graph_file

NETRON = FILES.parent / "netron"


def read_file(framework: str, name: str) -> bytes:
    with tarfile.open(NETRON / f"{framework}.tar.xz") as archive:
        member = archive.extractfile(name)
        assert member is not None
        return member.read()


@pytest.mark.parametrize(
    ("framework", "name", "expected"),
    [
        (
            "torch",
            "decoder.onnx",
            {"format": "ONNX v9", "producer": "pytorch 2.13.0", "opset": "ai.onnx v20"},
        ),
        ("torch", "decoder.pt", {"format": "TorchScript", "version": "3"}),
        (
            "torch",
            "decoder.pt2",
            {
                "format": "torch.export",
                "producer": "PyTorch 2.13.0+cpu",
                "schema_version": "8.20",
                "opset": "aten v10",
            },
        ),
        ("torch", "decoder.safetensors", {"format": "safetensors"}),
        (
            "tensorflow",
            "text_cnn.pb",
            {
                "format": "TensorFlow SavedModel v1",
                "producer": "TensorFlow 2.21.0",
                "tags": "serve",
            },
        ),
        (
            "tensorflow",
            "text_cnn.tflite",
            {
                "format": "TensorFlow Lite v3",
                "description": "MLIR Converted.",
                "min_runtime_version": "1.11.0",
                "signatures": "serving_default",
            },
        ),
        (
            "jax",
            "mlp.mlir",
            {
                "format": "StableHLO",
                "module": "jit_mlp",
                "mhlo.num_partitions": "1 : i32",
                "mhlo.num_replicas": "1 : i32",
            },
        ),
    ],
)
def test_header(framework: str, name: str, expected: dict[str, str]) -> None:
    graph = parse_graph_file(name, read_file(framework, name))
    assert dict(graph.properties) == expected


def test_keras() -> None:
    data = read_file("tensorflow", "text_cnn.keras")
    properties = parse_graph_file("text_cnn.keras", data).properties
    assert (properties["format"], properties["keras_version"]) == ("Keras", "3.15.1")
    pytest.importorskip("h5py")
    data = read_file("tensorflow", "text_cnn.h5")
    properties = parse_graph_file("text_cnn.h5", data).properties
    assert properties == {
        "format": "Keras HDF5",
        "keras_version": "3.15.1",
        "backend": "tensorflow",
    }


def test_notes_of_the_author_do_not_replace_the_format() -> None:
    tensor = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    metadata = {"format": "pt", "license": "MIT"}
    header = json.dumps({"__metadata__": metadata, "a.weight": tensor}).encode()
    data = len(header).to_bytes(8, "little") + header + bytes(4)
    assert parse_graph_file("m.safetensors", data).properties == {
        "format": "safetensors",
        "metadata/format": "pt",
        "license": "MIT",
    }


def test_logged_graphs_have_none() -> None:
    name = "function.pbtxt"
    assert parse_graph_file(name, (Path(FILES) / name).read_bytes()).properties == {}
