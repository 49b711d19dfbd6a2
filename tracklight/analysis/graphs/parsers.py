"""Choose the parser for a graph: by plugin name for logged graphs, by content for model files.

Start with `parse_logged_graph` (values of a log) or `parse_graph_file` (uploads and files given to
the command line).
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from tracklight.analysis.graphs import Graph
from tracklight.analysis.graphs.graphdef import (
    build_graph,
    get_dtype_number,
    parse_graphdef,
    parse_run_metadata,
)
from tracklight.analysis.graphs.keras import parse_keras
from tracklight.analysis.graphs.model_files import ModelArchive
from tracklight.analysis.graphs.model_files.exported_program import (
    find_exported_program,
    parse_exported_program,
)
from tracklight.analysis.graphs.model_files.stablehlo import is_stablehlo, parse_stablehlo
from tracklight.analysis.graphs.model_files.tflite import (
    TFLITE_MAGIC,
    iter_tflite_properties,
    parse_tflite,
)
from tracklight.analysis.graphs.model_files.torch_parameters import add_parameter_shapes
from tracklight.analysis.graphs.model_files.torchscript import is_torchscript, parse_torchscript
from tracklight.analysis.graphs.model_files.weight_files import (
    HDF5_MAGIC,
    KERAS_CONFIG,
    check_has_layers,
    is_safetensors,
    list_safetensors,
    parse_keras_archive,
    parse_keras_hdf5,
    parse_safetensors,
    parse_safetensors_archive,
)
from tracklight.analysis.graphs.onnx import parse_onnx
from tracklight.errors import EmptyGraphError, FormatError, GraphFileError, MissingDependencyError
from tracklight.formats import proto
from tracklight.formats.checkpoints.tensor_file import read_root_attribute
from tracklight.formats.proto import LENGTH_DELIMITED, VARINT, Message, decode_text, iter_fields
from tracklight.util.parsing import load_json

GRAPH_PARSERS: dict[str, Callable[[bytes], Graph]] = {
    "graphs": lambda data: add_parameter_shapes(parse_graphdef(data)),
    "graph_run_metadata": parse_run_metadata,
    "graph_run_metadata_graph": parse_run_metadata,
    "graph_keras_model": parse_keras,
}
"""Parsers by the plugin name of a tag."""

#: Codes of errors of supported files whose content is bad.
_DAMAGED = frozenset(
    {
        "files.empty",
        "files.hdf5_damaged",
        "graphs.damaged_archive",
        "graphs.damaged_program",
        "graphs.damaged_tflite",
        "graphs.damaged_torchscript",
        "graphs.text_too_large",
    }
)
_PICKLE_MAGIC = b"\x80"
_GZIP_MAGIC = b"\x1f\x8b"
_MLIR_BYTECODE_MAGIC = b"ML\xefR"
_HLO_TEXT_START = "HloModule "
#: Names of model files, to recognize an archive of them.
_MODEL_SUFFIXES = (".h5", ".keras", ".mlir", ".onnx", ".pb", ".pbtxt", ".pt2", ".tflite")
_ZIP_MAGIC = b"PK\x03\x04"
#: How many bytes of a file are examined to detect a text format.
_HEAD_BYTES = 64 << 10


#: Takes about 30 seconds to parse; the same graph in binary form takes one.
MAX_PBTXT_CHARACTERS = 32_000_000
_FIRST_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")
#: Message types by the first field of the text.
_MESSAGE_TYPES = {
    **dict.fromkeys(("saved_model_schema_version", "meta_graphs"), "SavedModel"),
    **dict.fromkeys(("meta_info_def", "graph_def"), "MetaGraphDef"),
    **dict.fromkeys(("node", "library", "versions", "version"), "GraphDef"),
}
#: Names of data types, which tracklight's message declarations have as numbers. Quoted strings
#: match without the group and are left alone.
_TYPE_NAME = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\bDT_(\w+)')


def parse_logged_graph(plugin: str, data: bytes) -> Graph:
    """Parse a graph that was logged for a plugin.

    Raises:
        EmptyGraphError: The logged graph has no nodes.
        FormatError: The bytes are not a graph.
    """
    graph = GRAPH_PARSERS[plugin](data) if data else None
    if graph is None or not (len(graph) or graph.functions):
        raise EmptyGraphError("graphs.empty", "this graph is empty: it was logged without nodes")
    return graph


def parse_graph_file(name: str, data: bytes) -> Graph:
    """Parse a model file; its format is detected from the content.

    Args:
        name: The file name, for messages and to recognize event files.
        data: The content.

    Raises:
        FormatError: The file has no graph or its format is not supported.
    """
    try:
        parser = _choose_parser(name, data)
        graph = parser(data)
    except FormatError as error:
        is_damaged = getattr(error.args[0], "code", "") in _DAMAGED
        raise (FormatError if is_damaged else GraphFileError)(
            "graphs.cannot_show", 'cannot show "{name}": {error}', name=name, error=error
        ) from error
    if not len(graph) and not graph.functions:
        raise GraphFileError(
            "graphs.no_nodes", 'cannot show "{name}": its graph has no nodes', name=name
        )
    return replace(graph, properties=_read_properties(parser, data))


def _choose_parser(name: str, data: bytes) -> Callable[[bytes], Graph]:
    if not data:
        raise FormatError("files.empty", "the file is empty")
    # The length at its start may look like the magic bytes of another format.
    if is_safetensors(data):
        return parse_safetensors
    if data.startswith(_PICKLE_MAGIC):
        raise FormatError(
            "graphs.pickle",
            "it is a pickle, which is not opened for security reasons; save the model with "
            "torch.export.save, or export it as ONNX",
        )
    if data.startswith(_GZIP_MAGIC):
        raise FormatError("graphs.compressed", "it is compressed; decompress it first")
    if data.startswith(_MLIR_BYTECODE_MAGIC):
        raise FormatError(
            "graphs.mlir_bytecode",
            "it is MLIR bytecode; write StableHLO as text, with mlir_module() of a jax.export "
            "module or with jax.jit(f).lower(x).as_text()",
        )
    if data[4:8] == TFLITE_MAGIC:
        return parse_tflite
    if data.startswith(HDF5_MAGIC):
        return parse_keras_hdf5
    if ".tfevents." in name:
        raise FormatError("graphs.event_file", "it is an event file; open its folder as a log")
    if data.startswith(_ZIP_MAGIC):
        return _parse_archive
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return _parse_json
    text = _find_text_head(data[:_HEAD_BYTES])
    if text is not None and is_stablehlo(text):
        return _parse_stablehlo_bytes
    if text is not None and text.startswith(_HLO_TEXT_START):
        raise FormatError(
            "graphs.compiled_hlo",
            "it is a program that XLA has compiled; write StableHLO as text with "
            "jax.jit(f).lower(x).as_text()",
        )
    if text is not None and (find_message_type(text) or name.endswith("pbtxt")):
        return lambda data: parse_pbtxt(data.decode("utf-8-sig", "replace"))
    if text is not None and _is_text(data[:_HEAD_BYTES]):
        raise FormatError(
            "graphs.unknown_text",
            "it is text, but neither StableHLO nor a GraphDef of TensorFlow",
        )
    return _choose_message_parser(data)


def _find_text_head(head: bytes) -> str | None:
    """Decode the start of a file; None if it is binary."""
    text = head.decode("utf-8-sig", "ignore")
    return text if "".join(text.split()).isprintable() else None


def _is_text(head: bytes) -> bool:
    """Return whether the start of a file is UTF-8, up to a character that is cut off."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _choose_message_parser(data: bytes) -> Callable[[bytes], Graph]:
    """Detect the type of a protobuf message from its field numbers and wire types."""
    try:
        fields = {(field.number, field.wire_type) for field in iter_fields(data, 0, len(data))}
    except FormatError as error:
        raise FormatError(
            "graphs.truncated_or_unknown",
            "it ends too early, or is not a supported model file",
        ) from error
    if (7, LENGTH_DELIMITED) in fields and (1, LENGTH_DELIMITED) not in fields:
        return parse_onnx
    if (1, VARINT) in fields and (2, LENGTH_DELIMITED) in fields:
        return _parse_saved_model
    if (1, LENGTH_DELIMITED) in fields and (3, LENGTH_DELIMITED) in fields:
        return _parse_meta_graph
    if _is_meta_graph(data):
        return _parse_meta_graph
    if fields & {(1, LENGTH_DELIMITED), (2, LENGTH_DELIMITED)}:
        return parse_graphdef
    raise FormatError("graphs.unknown_format", "it is not a supported model file")


def _is_meta_graph(data: bytes) -> bool:
    """Return whether field 2 is the graph of a ``MetaGraphDef``, not the library of a GraphDef.

    Both messages have fields 1 and 2, and a meta graph need not have any other. The first node of
    a graph starts with its name, the first function of a library with its signature, a message.
    """
    try:
        field = next(item for item in iter_fields(data, 0, len(data)) if item.number == 2)
        node = next(iter_fields(data, field.start, field.end))
        name = next(iter_fields(data, node.start, node.end))
    except (FormatError, StopIteration):
        return False
    numbers = {item.number for item in (field, node, name) if item.wire_type == LENGTH_DELIMITED}
    text = data[name.start : name.end].decode("utf-8", "replace")
    return numbers == {1, 2} and text.isprintable()


def _parse_archive(data: bytes) -> Graph:
    """Parse a zip archive: a .keras file, a model of torch.export or torch.jit, or safetensors."""
    archive = ModelArchive(data)
    program = find_exported_program(archive)
    if program is not None:
        return parse_exported_program(archive, program)
    if is_torchscript(archive):
        return parse_torchscript(archive)
    if list_safetensors(archive):
        return parse_safetensors_archive(archive)
    if KERAS_CONFIG in archive.names:
        check_has_layers(archive.read_json(KERAS_CONFIG))
        return parse_keras_archive(archive, data)
    if archive.find("data.pkl"):
        raise FormatError(
            "graphs.pickled_weights",
            "it has pickled weights and no graph; save the model with torch.export.save or "
            "torch.jit.save, or export it as ONNX",
        )
    if any(name.endswith(_MODEL_SUFFIXES) for name in archive.names):
        raise FormatError(
            "graphs.archive_of_models", "it is an archive; extract it and open the model file in it"
        )
    raise FormatError(
        "graphs.unknown_archive",
        "it is an archive, but neither a .keras file nor a model of torch.export (.pt2) or "
        "torch.jit.save; export it as one of them or as ONNX",
    )


def _parse_json(data: bytes) -> Graph:
    with suppress(ValueError, RecursionError):  # reported by the parser
        check_has_layers(load_json(data))
    return parse_keras(data)


def _parse_stablehlo_bytes(data: bytes) -> Graph:
    return parse_stablehlo(data.decode("utf-8", "replace"))


def _parse_saved_model(data: bytes) -> Graph:
    return build_graph(get_graphdef(proto.parse("SavedModel", data)))


def _parse_meta_graph(data: bytes) -> Graph:
    return build_graph(get_graphdef(proto.parse("MetaGraphDef", data)))


def find_message_type(text: str) -> str | None:
    """Return the name of the TensorFlow message that a text proto starts like."""
    first = _FIRST_FIELD.match(text)
    return _MESSAGE_TYPES.get(first[1]) if first else None


def parse_pbtxt(text: str) -> Graph:
    """Parse a graph in protobuf's text format, as written by ``tf.io.write_graph``."""
    from google.protobuf import text_format

    if len(text) > MAX_PBTXT_CHARACTERS:
        size = f"{len(text) / 1e6:,.0f} MB"
        raise FormatError(
            "graphs.text_too_large",
            "{size} of text take minutes to parse; write a binary graph (.pb)",
            size=size,
        )
    name = find_message_type(text) or "GraphDef"
    numbered = _TYPE_NAME.sub(
        lambda match: str(get_dtype_number(match[1])) if match[1] else match[0], text
    )
    message = getattr(proto, name)()
    try:
        text_format.Parse(numbered, message, allow_unknown_field=True)
    except (text_format.ParseError, RecursionError) as error:
        raise FormatError(
            "graphs.invalid_text",
            "the text is not a {name} message: {error}",
            name=name,
            error=error,
        ) from error
    return build_graph(get_graphdef(message))


def get_graphdef(message: Message) -> Message:
    """Return the (first) graph in a ``SavedModel``, ``MetaGraphDef`` or ``GraphDef``."""
    name = message.DESCRIPTOR.name
    if name == "SavedModel":
        if not message.meta_graphs:
            raise FormatError("graphs.saved_model_empty", "the saved model has no graph")
        message = message.meta_graphs[0]
    return message if name == "GraphDef" else message.graph_def


# ---- properties of a model file

#: Names of properties that several formats have.
FORMAT, PRODUCER, VERSION, DESCRIPTION = "format", "producer", "version", "description"

MAX_PROPERTIES = 60
MAX_VALUE_CHARACTERS = 2000

_MAX_MEMBER_BYTES = 1 << 20
_METADATA = "__metadata__"
_MODULE = re.compile(r"^module\s+@([\w.$-]+)(?:\s+attributes\s*\{([^\n]*)\})?", re.MULTILINE)

_ERRORS = (
    FormatError,
    MissingDependencyError,
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)

Pairs = Iterator[tuple[str, str]]


class _Fields(NamedTuple):
    """The fields of a message by number: integers, and the content of the others."""

    numbers: dict[int, int]
    contents: dict[int, list[bytes]]

    def text(self, number: int) -> str:
        return decode_text(self.contents.get(number, [b""])[-1])


def _read_fields(data: bytes, wanted: frozenset[int]) -> _Fields:
    numbers: dict[int, int] = {}
    contents: dict[int, list[bytes]] = {}
    for field in iter_fields(data, 0, len(data)):
        if field.number not in wanted:
            continue
        if field.wire_type == VARINT:
            numbers[field.number] = field.value
        elif field.wire_type == LENGTH_DELIMITED:
            contents.setdefault(field.number, []).append(data[field.start : field.end])
    return _Fields(numbers, contents)


def _read_properties(parser: Callable[[bytes], Graph], data: bytes) -> dict[str, str]:
    """Return the properties of a file, as far as its header can be read."""
    found: dict[str, str] = {}
    if parser not in _PROPERTY_READERS:
        return found
    try:
        for name, value in _PROPERTY_READERS[parser](data):
            if name and value and len(found) < MAX_PROPERTIES:
                # Notes of an author may have the name of another property.
                found[f"metadata/{name}" if name in found else name] = value[:MAX_VALUE_CHARACTERS]
    except _ERRORS:
        return found
    return found


def _iter_onnx(data: bytes) -> Pairs:
    model = _read_fields(data, frozenset({1, 2, 3, 4, 5, 6, 8, 14}))
    yield FORMAT, f"ONNX v{model.numbers.get(1, 0)}"
    yield PRODUCER, f"{model.text(2)} {model.text(3)}".strip()
    imports = []
    for entry in model.contents.get(8, []):
        opset = _read_fields(entry, frozenset({1, 2}))
        imports.append(f"{opset.text(1) or 'ai.onnx'} v{opset.numbers.get(2, 0)}")
    yield "opset", ", ".join(imports)
    yield "domain", model.text(4)
    version = model.numbers.get(5, 0)
    yield VERSION, str(version) if version else ""
    yield DESCRIPTION, model.text(6)
    for entry in model.contents.get(14, []):
        pair = _read_fields(entry, frozenset({1, 2}))
        yield pair.text(1), pair.text(2)


def _iter_saved_model(data: bytes) -> Pairs:
    saved = _read_fields(data, frozenset({1, 2}))
    yield FORMAT, f"TensorFlow SavedModel v{saved.numbers.get(1, 0)}"
    yield from _iter_meta_graph(saved.contents[2][0])


def _iter_meta_graph(data: bytes) -> Pairs:
    graph = _read_fields(data, frozenset({1}))
    info = _read_fields(graph.contents[1][0], frozenset({4, 5}))
    yield PRODUCER, f"TensorFlow {info.text(5)}" if info.text(5) else ""
    yield "tags", ", ".join(map(decode_text, info.contents.get(4, [])))


def _iter_hdf5(data: bytes) -> Pairs:
    yield FORMAT, "Keras HDF5"
    for name in ("keras_version", "backend"):
        yield name, decode_text(read_root_attribute(io.BytesIO(data), name) or b"")


def _iter_safetensors(data: bytes) -> Pairs:
    yield FORMAT, "safetensors"
    size = int.from_bytes(data[:8], "little")
    yield from _iter_texts(load_json(data[8 : 8 + size]).get(_METADATA, {}))


def _iter_archive(data: bytes) -> Pairs:
    archive = ModelArchive(data)
    program = find_exported_program(archive)
    if program is not None:
        yield FORMAT, "torch.export"
        description = archive.read_json(program)
        yield PRODUCER, f"PyTorch {description.get('torch_version', '')}".strip()
        schema = description.get("schema_version", {})
        yield "schema_version", f"{schema['major']}.{schema['minor']}"
        yield (
            "opset",
            ", ".join(f"{key} v{item}" for key, item in description["opset_version"].items()),
        )
    elif is_torchscript(archive):
        yield FORMAT, "TorchScript"
        member = archive.find("version")
        yield (
            VERSION,
            decode_text(archive.read(member, _MAX_MEMBER_BYTES)).strip() if member else "",
        )
    elif list_safetensors(archive):
        yield FORMAT, "safetensors"
    else:
        yield FORMAT, "Keras"
        member = archive.find("metadata.json")
        if member is not None:
            yield from _iter_texts(archive.read_json(member))


def _iter_stablehlo(data: bytes) -> Pairs:
    yield FORMAT, "StableHLO"
    module = _MODULE.search(data[: 1 << 16].decode("utf-8", "replace"))
    if module:
        yield "module", module[1]
        for part in (module[2] or "").split(","):
            name, _, value = part.partition("=")
            yield name.strip(), value.strip()


def _iter_texts(values: dict[str, object]) -> Pairs:
    for name, value in values.items():
        yield str(name), value if isinstance(value, str) else json.dumps(value)


_PROPERTY_READERS: dict[Callable[[bytes], Graph], Callable[[bytes], Pairs]] = {
    parse_onnx: _iter_onnx,
    _parse_saved_model: _iter_saved_model,
    _parse_meta_graph: _iter_meta_graph,
    parse_tflite: iter_tflite_properties,
    parse_keras_hdf5: _iter_hdf5,
    parse_safetensors: _iter_safetensors,
    _parse_archive: _iter_archive,
    _parse_stablehlo_bytes: _iter_stablehlo,
}
"""How the properties of a file are read, by its parser."""
