"""Choose the parser for a graph: by plugin name for logged graphs, by content for model files.

Start with `parse_logged_graph` (values of a log) or `parse_graph_file` (uploads and files given to
the command line).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tracklight.analysis.graphs.graphdef import (
    build_graph,
    get_dtype_number,
    parse_graphdef,
    parse_run_metadata,
)
from tracklight.analysis.graphs.keras import parse_keras
from tracklight.analysis.graphs.model import Graph
from tracklight.analysis.graphs.model_files.exported_program import (
    find_exported_program,
    parse_exported_program,
)
from tracklight.analysis.graphs.model_files.graph_builder import ModelArchive
from tracklight.analysis.graphs.model_files.properties import read_properties
from tracklight.analysis.graphs.model_files.stablehlo import is_stablehlo, parse_stablehlo
from tracklight.analysis.graphs.model_files.tflite import TFLITE_MAGIC, parse_tflite
from tracklight.analysis.graphs.model_files.torch_parameters import add_parameter_shapes
from tracklight.analysis.graphs.model_files.torchscript import is_torchscript, parse_torchscript
from tracklight.analysis.graphs.model_files.weight_files import (
    HDF5_MAGIC,
    KERAS_CONFIG,
    is_safetensors,
    list_safetensors,
    parse_keras_archive,
    parse_keras_hdf5,
    parse_safetensors,
    parse_safetensors_archive,
)
from tracklight.analysis.graphs.onnx import parse_onnx
from tracklight.errors import EmptyGraphError, FormatError, GraphFileError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.wire_format import LENGTH_DELIMITED, VARINT, iter_fields

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
    return replace(graph, properties=read_properties(_FORMATS.get(parser, ""), data))


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
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return parse_keras
    text = _find_text_head(data[:_HEAD_BYTES])
    if text is not None and is_stablehlo(text):
        return _parse_stablehlo_bytes
    if text is not None and text.startswith(_HLO_TEXT_START):
        raise FormatError(
            "graphs.compiled_hlo",
            "it is a program that XLA has compiled; write StableHLO as text with "
            "jax.jit(f).lower(x).as_text()",
        )
    if text is not None and (find_message_type(text) or name.endswith(("pbtxt", "prototxt"))):
        return lambda data: parse_pbtxt(data.decode("utf-8-sig", "replace"))
    return _choose_message_parser(data)


def _find_text_head(head: bytes) -> str | None:
    """Decode the start of a file; None if it is binary."""
    text = head.decode("utf-8-sig", "ignore")
    return text if "".join(text.split()).isprintable() else None


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
        field = next(it for it in iter_fields(data, 0, len(data)) if it.number == 2)
        node = next(iter_fields(data, field.start, field.end))
        name = next(iter_fields(data, node.start, node.end))
    except (FormatError, StopIteration):
        return False
    numbers = {it.number for it in (field, node, name) if it.wire_type == LENGTH_DELIMITED}
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


def _parse_stablehlo_bytes(data: bytes) -> Graph:
    return parse_stablehlo(data.decode("utf-8", "replace"))


def _parse_saved_model(data: bytes) -> Graph:
    return build_graph(get_graphdef(proto.parse("SavedModel", data)))


def _parse_meta_graph(data: bytes) -> Graph:
    return build_graph(get_graphdef(proto.parse("MetaGraphDef", data)))


_FORMATS: dict[Callable[[bytes], Graph], str] = {
    parse_onnx: "onnx",
    _parse_saved_model: "saved_model",
    _parse_meta_graph: "meta_graph",
    parse_tflite: "tflite",
    parse_keras_hdf5: "hdf5",
    parse_safetensors: "safetensors",
    _parse_archive: "archive",
    _parse_stablehlo_bytes: "stablehlo",
}
"""How the properties of a file are read."""


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
