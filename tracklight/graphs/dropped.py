"""Reads a file that somebody drops in: what it is, is found from its bytes."""

from __future__ import annotations

import io
from collections.abc import Callable

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.wire import DELIMITED, VARINT, iter_fields
from tracklight.graphs.graphdef import build_graph, read_graphdef
from tracklight.graphs.keras import read_keras
from tracklight.graphs.model import Graph
from tracklight.graphs.onnx import read_onnx
from tracklight.graphs.pbtxt import find_message, get_graph, read_pbtxt
from tracklight.graphs.stablehlo import is_stablehlo, read_stablehlo

_READABLE = (
    "a GraphDef (.pb, .pbtxt), a saved_model.pb, an ONNX file, a .keras file, a Keras model's JSON "
    "or StableHLO as text"
)
_ARCHIVE = b"PK\x03\x04"
#: What a .keras file calls the description of its layers, and more than any description takes.
_KERAS_CONFIG, _KERAS_MOST_BYTES = "config.json", 64 << 20
#: Beginnings of files that hold no graph that could be read, and what to do instead.
_OTHERS = {
    b"\x89HDF": "an HDF5 file; drop in what model.to_json() gives",
    b"\x80": "a pickle, which is never opened here; export the model as ONNX",
    b"\x1f\x8b": "compressed; unpack it first",
}
#: How far into a file is looked at to tell what it is.
_HEAD = 64 << 10


def read_dropped(name: str, data: bytes) -> Graph:
    """The graph in a file; a FormatError says in a sentence why there is none."""
    try:
        graph = _choose(name, data)(data)
    except FormatError as error:
        raise FormatError(f"{name} cannot be shown: {error}") from error
    if not len(graph) and not graph.functions:
        raise FormatError(f"{name} cannot be shown: its graph has no nodes")
    return graph


def _choose(name: str, data: bytes) -> Callable[[bytes], Graph]:
    if not data:
        raise FormatError("the file is empty")
    for start, what in _OTHERS.items():
        if data.startswith(start):
            raise FormatError(f"it is {what}")
    if data[4:8] == b"TFL3":
        raise FormatError("it is a TensorFlow Lite model; drop in the model that it was made from")
    if ".tfevents." in name:
        raise FormatError("it is an event file; open its folder as a log")
    if data.startswith(_ARCHIVE):
        return _read_archive
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return read_keras
    text = _find_text(data[:_HEAD])
    if text is not None and is_stablehlo(text):
        return lambda data: read_stablehlo(data.decode("utf-8", "replace"))
    if text is not None and (find_message(text) or name.endswith("txt")):
        return lambda data: read_pbtxt(data.decode("utf-8-sig", "replace"))
    return _choose_message(data)


def _find_text(head: bytes) -> str | None:
    """What the file begins with, if that is text."""
    text = head.decode("utf-8-sig", "ignore")
    return text if "".join(text.split()).isprintable() else None


def _choose_message(data: bytes) -> Callable[[bytes], Graph]:
    """By the fields that stand in the outermost message and how they are written."""
    try:
        fields = {(field.number, field.wire) for field in iter_fields(data, 0, len(data))}
    except FormatError as error:
        raise FormatError(f"it ends too early, or is none of {_READABLE}") from error
    if (7, DELIMITED) in fields and (1, DELIMITED) not in fields:
        return read_onnx
    if (1, VARINT) in fields and (2, DELIMITED) in fields:
        return lambda data: build_graph(get_graph(proto.parse("SavedModel", data)))
    if (1, DELIMITED) in fields and (3, DELIMITED) in fields:
        return lambda data: build_graph(get_graph(proto.parse("MetaGraphDef", data)))
    if fields & {(1, DELIMITED), (2, DELIMITED)}:
        return read_graphdef
    raise FormatError(f"it is none of {_READABLE}")


def _read_archive(data: bytes) -> Graph:
    """A .keras file; archives of PyTorch hold no graph that could be read without running code."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_KERAS_CONFIG) as file:
            described = file.read(_KERAS_MOST_BYTES)
    except KeyError:
        raise FormatError("it is an archive, but no .keras file; export it as ONNX") from None
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError) as error:
        raise FormatError(f"the archive is damaged: {error}") from error
    return read_keras(described)
