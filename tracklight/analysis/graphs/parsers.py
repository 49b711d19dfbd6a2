"""Reads a ``GraphDef`` in protobuf's text form, as ``tf.io.write_graph`` writes it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

from tracklight.analysis.graphs.graphdef import (
    build_graph,
    get_dtype_number,
    parse_graphdef,
    parse_run_metadata,
)
from tracklight.analysis.graphs.keras import parse_keras
from tracklight.analysis.graphs.model import Graph
from tracklight.analysis.graphs.onnx import parse_onnx
from tracklight.analysis.graphs.stablehlo import is_stablehlo, parse_stablehlo
from tracklight.errors import EmptyGraphError, FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.wire_format import LENGTH_DELIMITED, VARINT, iter_fields

#: Types by name, which are numbers in our declarations; texts are passed over.
_TYPE = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\bDT_(\w+)')

#: By the first field of the text.
_MESSAGES = {"saved_model_schema_version": "SavedModel", "meta_graphs": "SavedModel"}


_MESSAGES |= dict.fromkeys(("meta_info_def", "graph_def"), "MetaGraphDef")


_MESSAGES |= dict.fromkeys(("node", "library", "versions", "version"), "GraphDef")

#: About half a minute's worth; the same graph as bytes is read in a second.
MAX_PBTXT_CHARACTERS = 32_000_000

_FIRST_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")


def find_message_type(text: str) -> str | None:
    """Which message a text begins like."""
    first = _FIRST_FIELD.match(text)
    return _MESSAGES.get(first[1]) if first else None


def parse_pbtxt(text: str) -> Graph:
    from google.protobuf import text_format

    if len(text) > MAX_PBTXT_CHARACTERS:
        size = f"{len(text) / 1e6:,.0f} MB"
        raise FormatError(f"{size} of text take minutes to read; write the graph as bytes (.pb)")
    name = find_message_type(text) or "GraphDef"
    numbered = _TYPE.sub(
        lambda found: str(get_dtype_number(found[1])) if found[1] else found[0], text
    )
    message = getattr(proto, name)()
    try:
        text_format.Parse(numbered, message, allow_unknown_field=True)
    except (text_format.ParseError, RecursionError) as error:
        raise FormatError(f"the text is no {name} message: {error}") from error
    return build_graph(get_graphdef(message))


def get_graphdef(message: Message) -> Message:
    """The graph in what TensorFlow exports; the first where there are several."""
    name = message.DESCRIPTOR.name
    if name == "SavedModel":
        if not message.meta_graphs:
            raise FormatError("the saved model holds no graph")
        message = message.meta_graphs[0]
    return message if name == "GraphDef" else message.graph_def


# Reads a file that somebody drops in: what it is, is found from its bytes.

_READABLE = (
    "a GraphDef (.pb, .pbtxt), a saved_model.pb, an ONNX file, a .keras file, a Keras model's JSON "
    "or StableHLO as text"
)

_ARCHIVE = b"PK\x03\x04"

#: What a .keras file calls the description of its layers, and more than any description takes.
_KERAS_CONFIG, _MAX_KERAS_CONFIG_BYTES = "config.json", 64 << 20

#: Beginnings of files that hold no graph that could be read, and what to do instead.
_UNSUPPORTED = {
    b"\x89HDF": "an HDF5 file; drop in what model.to_json() gives",
    b"\x80": "a pickle, which is never opened here; export the model as ONNX",
    b"\x1f\x8b": "compressed; unpack it first",
}

#: How far into a file is looked at to tell what it is.
_HEAD_BYTES = 64 << 10


def parse_graph_file(name: str, data: bytes) -> Graph:
    """The graph in a file; a FormatError says in a sentence why there is none."""
    try:
        graph = _choose_parser(name, data)(data)
    except FormatError as error:
        raise FormatError(f"{name} cannot be shown: {error}") from error
    if not len(graph) and not graph.functions:
        raise FormatError(f"{name} cannot be shown: its graph has no nodes")
    return graph


def _choose_parser(name: str, data: bytes) -> Callable[[bytes], Graph]:
    if not data:
        raise FormatError("the file is empty")
    for start, what in _UNSUPPORTED.items():
        if data.startswith(start):
            raise FormatError(f"it is {what}")
    if data[4:8] == b"TFL3":
        raise FormatError("it is a TensorFlow Lite model; drop in the model that it was made from")
    if ".tfevents." in name:
        raise FormatError("it is an event file; open its folder as a log")
    if data.startswith(_ARCHIVE):
        return _read_archive
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return parse_keras
    text = _find_text_head(data[:_HEAD_BYTES])
    if text is not None and is_stablehlo(text):
        return lambda data: parse_stablehlo(data.decode("utf-8", "replace"))
    if text is not None and (find_message_type(text) or name.endswith("txt")):
        return lambda data: parse_pbtxt(data.decode("utf-8-sig", "replace"))
    return _choose_message_parser(data)


def _find_text_head(head: bytes) -> str | None:
    """What the file begins with, if that is text."""
    text = head.decode("utf-8-sig", "ignore")
    return text if "".join(text.split()).isprintable() else None


def _choose_message_parser(data: bytes) -> Callable[[bytes], Graph]:
    """By the fields that stand in the outermost message and how they are written."""
    try:
        fields = {(field.number, field.wire_type) for field in iter_fields(data, 0, len(data))}
    except FormatError as error:
        raise FormatError(f"it ends too early, or is none of {_READABLE}") from error
    if (7, LENGTH_DELIMITED) in fields and (1, LENGTH_DELIMITED) not in fields:
        return parse_onnx
    if (1, VARINT) in fields and (2, LENGTH_DELIMITED) in fields:
        return lambda data: build_graph(get_graphdef(proto.parse("SavedModel", data)))
    if (1, LENGTH_DELIMITED) in fields and (3, LENGTH_DELIMITED) in fields:
        return lambda data: build_graph(get_graphdef(proto.parse("MetaGraphDef", data)))
    if fields & {(1, LENGTH_DELIMITED), (2, LENGTH_DELIMITED)}:
        return parse_graphdef
    raise FormatError(f"it is none of {_READABLE}")


def _read_archive(data: bytes) -> Graph:
    """A .keras file; archives of PyTorch hold no graph that could be read without running code."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_KERAS_CONFIG) as file:
            described = file.read(_MAX_KERAS_CONFIG_BYTES)
    except KeyError:
        raise FormatError("it is an archive, but no .keras file; export it as ONNX") from None
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError) as error:
        raise FormatError(f"the archive is damaged: {error}") from error
    return parse_keras(described)


# Which tags of a log hold graphs, and how each is read.

GRAPH_PARSERS: dict[str, Callable[[bytes], Graph]] = {
    "graphs": parse_graphdef,
    "graph_run_metadata": parse_run_metadata,
    "graph_run_metadata_graph": parse_run_metadata,
    "graph_keras_model": parse_keras,
}
"""By the plugin of the tag. The times that a tagged run took are no graph."""


def parse_logged_graph(plugin: str, data: bytes) -> Graph:
    """Read a graph that was logged for a plugin.

    Raises:
        EmptyGraphError: The logged value has no bytes.
        FormatError: The bytes are not a graph.
    """
    if not data:
        raise EmptyGraphError("this graph is empty: it was logged without any nodes")
    return GRAPH_PARSERS[plugin](data)
