"""Properties of a model file as a whole: its format, who wrote it, versions, notes of its author.

They are what the header of a file says; nothing is derived. A file whose header cannot be read has
no properties, as its parser reports what is wrong.
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tracklight.analysis.graphs.model_files.exported_program import find_exported_program
from tracklight.analysis.graphs.model_files.graph_builder import ModelArchive
from tracklight.analysis.graphs.model_files.tflite import iter_tflite_properties
from tracklight.analysis.graphs.model_files.torchscript import is_torchscript
from tracklight.analysis.graphs.model_files.weight_files import list_safetensors
from tracklight.errors import FormatError, MissingDependencyError
from tracklight.formats.checkpoints.tensor_file import read_root_attribute
from tracklight.formats.wire_format import LENGTH_DELIMITED, VARINT, decode_text, iter_fields

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


def read_properties(kind: str, data: bytes) -> dict[str, str]:
    """Return the properties of a file.

    Args:
        kind: The format, a key of `READERS`; others have no properties.
        data: The content of the file.
    """
    found: dict[str, str] = {}
    try:
        for name, value in READERS[kind](data) if kind in READERS else ():
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
    yield from _iter_texts(json.loads(data[8 : 8 + size]).get(_METADATA, {}))


def _iter_archive(data: bytes) -> Pairs:
    archive = ModelArchive(data)
    program = find_exported_program(archive)
    if program is not None:
        yield FORMAT, "torch.export"
        description = archive.read_json(program)
        yield PRODUCER, f"PyTorch {description.get('torch_version', '')}".strip()
        schema = description.get("schema_version", {})
        yield "schema_version", f"{schema['major']}.{schema['minor']}"
        yield "opset", ", ".join(f"{key} v{it}" for key, it in description["opset_version"].items())
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


READERS: dict[str, Callable[[bytes], Pairs]] = {
    "onnx": _iter_onnx,
    "saved_model": _iter_saved_model,
    "meta_graph": _iter_meta_graph,
    "tflite": iter_tflite_properties,
    "hdf5": _iter_hdf5,
    "safetensors": _iter_safetensors,
    "archive": _iter_archive,
    "stablehlo": _iter_stablehlo,
}
"""How properties are read, by the format."""
