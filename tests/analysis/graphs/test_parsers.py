"""The format of model files is detected by content; unsupported files raise an error."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.conftest import DATA as DATA_FOLDER
from tests.analysis.graphs.conftest import FILES
from tests.analysis.graphs.test_graphdef import edges_of
from tests.archives import extract
from tracklight.analysis.graphs import Graph, parsers
from tracklight.analysis.graphs.parsers import parse_graph_file, parse_logged_graph
from tracklight.errors import EmptyGraphError, FormatError, GraphFileError
from tracklight.formats import proto
from tracklight.server.responses import describe_error

NAMES = ["function.pb", "function.pbtxt", "saved_model.pb", "torch_export.onnx", "choice.onnx"]
DATA = {name: (FILES / name).read_bytes() for name in NAMES}
MODEL = json.loads((FILES / "keras2_sequential.json").read_bytes())["model"].encode()
#: As transformers writes it; sizes and vocabulary shortened.
BERT = json.dumps(
    {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": 8}
).encode()


def pack(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def describe(graph: Graph) -> object:
    bodies = {name: describe(body) for name, body in graph.functions.items()}
    details = [graph.describe(node) for node in range(len(graph))]
    return list(graph.names), list(graph.ops), edges_of(graph), details, bodies


def test_text_and_binary_graphdef_are_equal() -> None:
    text, plain = (parse_graph_file(name, DATA[name]) for name in ("function.pbtxt", "function.pb"))
    assert describe(text) == describe(plain)
    assert len(plain.functions) == 5


@pytest.fixture(scope="module")
def branches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models that have branches and loops."""
    folder = tmp_path_factory.mktemp("branches")
    extract(DATA_FOLDER / "netron/branches.tar.xz", folder)
    return folder


def test_branches_of_exported_programs_keep_their_bodies(branches: Path) -> None:
    graph = parse_graph_file("nested.pt2", (branches / "nested.pt2").read_bytes())
    bodies = [graph]
    for depth in range(2):
        node = next(at for at, op in enumerate(bodies[-1].ops) if op == "higher_order.cond")
        details = bodies[-1].describe(node)
        # Not a line of the code that PyTorch generates for branches.
        assert details.source.startswith("branches.py:")
        true_branch, false_branch = (graph.functions[name] for name in details.functions)
        bodies.append(true_branch)
        assert ("aten.sub.Tensor" in false_branch.ops) == (depth == 0)
    assert {"aten.linear.default", "aten.relu.default", "aten.add.Tensor"} < set(bodies[2].ops)


def test_symbolic_sizes_of_exported_programs_are_formulas(branches: Path) -> None:
    graph = parse_graph_file("by_size.pt2", (branches / "by_size.pt2").read_bytes())
    shapes = {name: graph.describe(node).outputs[0].shape for node, name in enumerate(graph.names)}
    (size,) = (name for name, op in zip(graph.names, graph.ops, strict=True) if "sym_size" in op)
    rows = shapes["x"][0]
    assert shapes["BySize/reshape"] == (f"2*{rows}", 2)
    assert shapes["BySize/cat"] == (f"3*{rows}", 2)
    assert "/" not in size  # PyTorch has added it, no module has


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (
            "Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(-1))",
            "2*s - 1",
        ),
        ("FloorDiv(Add(Symbol('s77', integer=True), Integer(1)), Integer(2))", "(s + 1)//2"),
        ("Max(Integer(4), Pow(Symbol('s77', integer=True), Integer(2)))", "Max(4, s**2)"),
        ("((", "(("),
        ("-" * 400 + "1", "-" * 400 + "1"),  # too deep for a parser
    ],
)
def test_symbolic_size(expression: str, text: str) -> None:
    data = make_exported_program(expression.replace("s77", "s"))
    graph = parse_graph_file("model.pt2", data)
    assert graph.describe(0).outputs[0].shape == (text,)


def make_exported_program(size: str) -> bytes:
    """Return a program that returns its input, a tensor of a symbolic size."""
    tensor = {"dtype": 7, "sizes": [{"as_expr": {"expr_str": size}}]}
    argument = {"as_tensor": {"name": "x"}}
    graph = {
        "inputs": [argument],
        "outputs": [argument],
        "nodes": [],
        "tensor_values": {"x": tensor},
    }
    program = {"graph_module": {"graph": graph, "signature": {}}}
    return pack("model/models/model.json", json.dumps(program).encode())


def test_saved_model() -> None:
    graph = parse_graph_file("model", DATA["saved_model.pb"])
    assert "StatefulPartitionedCall" in graph.ops
    assert sum(graph.describe(node).parameters for node in range(len(graph))) == 8


def test_meta_graph() -> None:
    graph = proto.parse("GraphDef", DATA["function.pb"])
    # Add the fields meta_info_def and saver_def, which tracklight does not declare.
    data = b"\x0a\x03\x0a\x011" + proto.MetaGraphDef(graph_def=graph).SerializeToString()
    assert len(parse_graph_file("model.meta", data + b"\x1a\x00")) == len(graph.node)
    # A program without variables has no saver_def.
    assert len(parse_graph_file("model.meta", data)) == len(graph.node)


def test_graph_of_one_node_and_a_library_is_no_meta_graph() -> None:
    graph = proto.parse("GraphDef", DATA["function.pb"])
    call = next(node for node in graph.node if node.op == b"PartitionedCall")
    small = proto.GraphDef(node=[call], library=graph.library).SerializeToString()
    assert len(parse_graph_file("small.pb", small).functions) == 5


@pytest.mark.parametrize("name", ["a.onnx", "b"])
def test_file_name_does_not_matter(name: str) -> None:
    assert "Clip" in parse_graph_file(name, DATA["choice.onnx"]).ops


@pytest.mark.parametrize("data", [MODEL, b"\xef\xbb\xbf" + MODEL, pack("config.json", MODEL)])
def test_keras_models(data: bytes) -> None:
    assert "Conv2D" in parse_graph_file("model.keras", data).ops


@pytest.mark.parametrize("magic", [b"\x80", b"\x1f\x8b"])
def test_length_of_a_safetensors_header_may_look_like_another_format(magic: bytes) -> None:
    size = int.from_bytes(magic.ljust(2, b"\x01"), "little")
    header = {"a.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    text = json.dumps(header).ljust(size).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(4)
    assert data.startswith(magic)
    assert list(parse_graph_file("model.safetensors", data).names) == ["a"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "the HDF5 file is damaged"),
        (b"\x80\x04", "a pickle, which is not opened"),
        (b"\x1f\x8b\x08", "decompress it first"),
        (b"\x1c\0\0\0TFL3", "the TensorFlow Lite model is damaged"),
        (pack("notes.txt", b""), "neither a .keras file nor a model of torch.export"),
        (pack("weights/data.pkl", b""), "it has pickled weights and no graph"),
        (pack("model.onnx", b""), "open the model file in it"),
        (b"ML\xefR\x0dMLIR", "write StableHLO as text"),
        (b"HloModule jit_f, is_scheduled=true", "XLA has compiled"),
        (pack("m/models/model.json", b"[]"), "has no model"),
        (pack("m/models/model.json", b"{}"), "the exported program is damaged"),
        (pack("m/models/model.json", b"{"), "is not JSON"),
        (b"\x0a" + bytes(7) + b'{"a": {"x"', "the header of the safetensors file is invalid"),
        (pack("config.json", MODEL)[:-30], "the archive is damaged"),
        (pack("config.json", b"{}"), "not a model's description"),
        (BERT, "the settings of a Hugging Face model (BertForMaskedLM), but neither its weights"),
        (pack("config.json", BERT), "open the safetensors file beside it"),
        (b'{"_class_name": "UNet2DModel"}', "Hugging Face model (UNet2DModel)"),
        (b'{"transformers_version": "5.2", "architectures": 3}', "Hugging Face model (5.2)"),
        (b'{"metadata": {}, "weight_map": {"a": "b.safetensors"}}', "which file has which weights"),
        (b"hello world", "it is text, but neither StableHLO nor a GraphDef"),
        (b'name: "net"\nlayer { name: "a" type: "Input" }', "it is text, but neither"),
        (b"hello \xff world", "not a supported model file"),
        (b"[1, 2]", "it is JSON, but not a model's description"),
        (b"\x08\x01\x08\x01", "it is not a supported model file"),
        (b"#" * 100_000, "it is text, but neither"),
        ("日本".encode() * 20_000, "it is text, but neither"),
        (b"node {\n  name: 3 3\n}", "the text is not a GraphDef message: 2:9"),
        (b"node { attr { " * 2000, "not a GraphDef message"),
        (b"saved_model_schema_version: 1", "the saved model has no graph"),
        (b"versions { producer: 3 }", "its graph has no nodes"),
        (DATA["function.pb"][:-9], "ends too early"),
        (DATA["choice.onnx"][:-9], "ends too early"),
        (DATA["function.pbtxt"][:-99], "not a GraphDef message"),
    ],
)
def test_unsupported_file_raises_format_error(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_graph_file("some.file", data)
    assert str(caught.value).startswith('cannot show "some.file": ')
    assert message in str(caught.value)


def test_too_large_text_raises_format_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "MAX_PBTXT_CHARACTERS", 100)
    with pytest.raises(FormatError, match=r"write a binary graph \(\.pb\)"):
        parse_graph_file("function.pbtxt", DATA["function.pbtxt"])


def test_event_file_raises_format_error() -> None:
    (file,) = (FILES / "tensorboardx").iterdir()
    with pytest.raises(FormatError, match="open its folder as a log"):
        parse_graph_file(file.name, file.read_bytes())


SMALL = [DATA["choice.onnx"], DATA["function.pb"], b'node { name: "a" op: "DT_INT8" input: "a" }']


@given(
    st.sampled_from(SMALL),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    st.floats(0, 1),
)
def test_arbitrary_bytes_are_parsed_or_raise_format_error(
    whole: bytes, changes: list[tuple[float, int]], end: float
) -> None:
    data = bytearray(whole)
    for position, byte in changes:
        data[int(position * len(data))] = byte
    for part in (bytes(data), bytes(data[: int(end * len(data))])):
        try:
            assert len(parse_graph_file("file", part).names) >= 0
        except FormatError as error:
            assert str(error)


def test_type_names_in_strings_are_not_replaced() -> None:
    text = b'node { name: "DT_FLOAT" op: "A" attr { key: "T" value { type: DT_HALF_REF } } }'
    graph = parse_graph_file("a.pbtxt", text)
    assert list(graph.names) == ["DT_FLOAT"]
    assert graph.describe(0).attributes == {"T": "float16"}


def test_a_logged_graph_without_nodes_is_reported() -> None:
    only_versions = proto.GraphDef(versions=proto.VersionDef(producer=1)).SerializeToString()
    for data in (b"", only_versions):
        with pytest.raises(EmptyGraphError, match="logged without nodes"):
            parse_logged_graph("graphs", data)


def test_errors_of_files_quote_the_name_and_say_what_is_supported() -> None:
    with pytest.raises(GraphFileError) as caught:
        parse_graph_file("my model (v2).pkl", b"\x80\x04" + bytes(100))
    problem = describe_error(caught.value)
    assert problem.message.startswith('Cannot show "my model (v2).pkl": it is a pickle')
    assert problem.hint.startswith("Supported files: GraphDef")
    with pytest.raises(FormatError) as damaged:
        parse_graph_file("model.onnx", b"")
    assert "damaged" in describe_error(damaged.value).hint


def test_archive_with_damaged_names_is_reported() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("n\u00e4me", "")
    data = packed.getvalue().replace("\u00e4".encode(), b"\xff\xff")
    with pytest.raises(FormatError, match="the archive is damaged"):
        parse_graph_file("model.pt", data)
