"""Files that somebody drops in are known by their bytes, or refused in a sentence."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.conftest import FILES
from tests.analysis.graphs.test_graphdef import edges_of
from tracklight.analysis.graphs import parsers
from tracklight.analysis.graphs.model import Graph
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.errors import FormatError
from tracklight.formats import proto

NAMES = ["function.pb", "function.pbtxt", "saved_model.pb", "torch_export.onnx", "choice.onnx"]
DATA = {name: (FILES / name).read_bytes() for name in NAMES}
MODEL = json.loads((FILES / "keras2_sequential.json").read_bytes())["model"].encode()


def pack(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def describe(graph: Graph) -> object:
    bodies = {name: describe(body) for name, body in graph.functions.items()}
    details = [graph.describe(place) for place in range(len(graph))]
    return list(graph.names), list(graph.ops), edges_of(graph), details, bodies


def test_text_and_bytes_are_the_same_graph() -> None:
    text, plain = (parse_graph_file(name, DATA[name]) for name in ("function.pbtxt", "function.pb"))
    assert describe(text) == describe(plain)
    assert len(plain.functions) == 5


def test_an_exported_model_of_tensorflow() -> None:
    graph = parse_graph_file("model", DATA["saved_model.pb"])
    assert "StatefulPartitionedCall" in graph.ops
    assert sum(graph.describe(place).parameters for place in range(len(graph))) == 8


def test_a_meta_graph() -> None:
    graph = proto.parse("GraphDef", DATA["function.pb"])
    # Its first field tells of the writer, its third of what to save.
    data = b"\x0a\x03\x0a\x011" + proto.MetaGraphDef(graph_def=graph).SerializeToString()
    assert len(parse_graph_file("model.meta", data + b"\x1a\x00")) == len(graph.node)


@pytest.mark.parametrize("name", ["a.onnx", "b"])
def test_names_do_not_matter(name: str) -> None:
    assert "Clip" in parse_graph_file(name, DATA["choice.onnx"]).ops


@pytest.mark.parametrize("data", [MODEL, b"\xef\xbb\xbf" + MODEL, pack("config.json", MODEL)])
def test_models_of_keras(data: bytes) -> None:
    assert "Conv2D" in parse_graph_file("model.keras", data).ops


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b"\x89HDF\r\n", "model.to_json()"),
        (b"\x80\x04", "a pickle, which is never opened here"),
        (b"\x1f\x8b\x08", "unpack it first"),
        (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
        (pack("data.pkl", b""), "no .keras file; export it as ONNX"),
        (pack("config.json", MODEL)[:-30], "the archive is damaged"),
        (pack("config.json", b"{}"), "no configuration of layers"),
        (b"hello world", "none of a GraphDef"),
        (b"\x08\x01\x08\x01", "it is none of a GraphDef"),
        (b"#" * 100_000, "none of a GraphDef"),
        (b"node {\n  name: 3 3\n}", "the text is no GraphDef message: 2:9"),
        (b"node { attr { " * 2000, "no GraphDef message"),
        (b"saved_model_schema_version: 1", "the saved model holds no graph"),
        (b"versions { producer: 3 }", "its graph has no nodes"),
        (DATA["function.pb"][:-9], "ends too early"),
        (DATA["choice.onnx"][:-9], "ends too early"),
        (DATA["function.pbtxt"][:-99], "no GraphDef message"),
    ],
)
def test_what_cannot_be_read_is_said(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_graph_file("some.file", data)
    assert str(caught.value).startswith("some.file cannot be shown: ")
    assert sentence in str(caught.value)


def test_more_text_than_can_be_read_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "MAX_PBTXT_CHARACTERS", 100)
    with pytest.raises(FormatError, match=r"write the graph as bytes \(\.pb\)"):
        parse_graph_file("function.pbtxt", DATA["function.pbtxt"])


def test_an_event_file_is_told_apart() -> None:
    (file,) = (FILES / "tensorboardx").iterdir()
    with pytest.raises(FormatError, match="open its folder as a log"):
        parse_graph_file(file.name, file.read_bytes())


SMALL = [DATA["choice.onnx"], DATA["function.pb"], b'node { name: "a" op: "DT_INT8" input: "a" }']


@given(
    st.sampled_from(SMALL),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    st.floats(0, 1),
)
def test_any_bytes_are_read_or_refused(
    whole: bytes, changes: list[tuple[float, int]], end: float
) -> None:
    data = bytearray(whole)
    for at, byte in changes:
        data[int(at * len(data))] = byte
    for part in (bytes(data), bytes(data[: int(end * len(data))])):
        try:
            assert len(parse_graph_file("file", part).names) >= 0
        except FormatError as error:
            assert str(error)


def test_types_inside_of_texts_stay_as_they_are() -> None:
    text = b'node { name: "DT_FLOAT" op: "A" attr { key: "T" value { type: DT_HALF_REF } } }'
    graph = parse_graph_file("a.pbtxt", text)
    assert list(graph.names) == ["DT_FLOAT"]
    assert graph.describe(0).attributes == {"T": "float16"}
