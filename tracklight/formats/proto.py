"""Protocol buffers: message classes, and the wire format of messages that are not decoded.

The classes (``proto.Event``, ``proto.TensorProto`` and so on) are built on first use from the
declarations in ``schemas/*.proto``, with the installed protobuf runtime and in a private descriptor
pool. There is no generated code that is tied to particular protobuf versions, and no conflict with
the messages of the same names that TensorFlow and TensorBoard register in the same process.

The declarations differ from the originals in ways that do not change the encoding:

* Strings are declared as ``bytes``, so that invalid UTF-8 does not make a record unreadable.
* Maps are declared as repeated key-value messages, because map keys cannot be ``bytes``; those of
  training examples, which are passed to functions of users, are maps with ``string`` keys.
* Enums are declared as ``int32``.
* Fields that are not used are left out. Large messages that are decoded on demand are declared as
  ``bytes``.

`iter_fields` yields the fields of an encoded message one by one; the ``scan_`` functions return the
fields of many messages as arrays and use a compiled kernel if it was built. The Python equivalents
end in ``_in_python``. Parsing is strict: random bytes are rejected instead of being taken for a
message. It never touches the content of length-delimited fields, so a caller may provide a
`ByteSource` that reads bytes on demand.
Specification: https://protobuf.dev/programming-guides/encoding/

Importing this module must not import numpy, which programs that only log scalars may not need.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, overload

from tracklight.errors import FormatError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

    from tracklight.types import Int64

#: A protobuf message. The classes are built at run time, so type checkers do not know the fields.
Message: TypeAlias = Any

#: Declares the messages in a subset of the protobuf language: one field per line, no nesting.
SCHEMA_DIR = os.path.join(os.path.dirname(__file__), "schemas")

_PACKAGE = "tracklight.formats"
_SCALAR_TYPES = frozenset(
    {"double", "float", "int64", "uint64", "int32", "uint32", "fixed32", "bool", "bytes", "string"}
)

_lock = threading.Lock()
_classes: dict[str, Any] = {}


def parse(name: str, data: bytes | bytearray | memoryview) -> Message:
    """Decode ``data`` as the message called ``name``.

    Raises:
        FormatError: The bytes are not such a message.
    """
    from google.protobuf.message import DecodeError

    try:
        return _get_class(name).FromString(bytes(data))
    except (DecodeError, RecursionError) as error:
        raise FormatError(
            "files.invalid_message",
            "not a valid {name} message ({size} bytes): {error}",
            name=name,
            size=len(data),
            error=error,
        ) from error


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    message_class = _get_class(name)
    globals()[name] = message_class
    return message_class


def _get_class(name: str) -> Any:
    global _classes
    # All threads must get the same classes: messages of different classes cannot be combined.
    if not _classes:
        with _lock:
            _classes = _classes or _build_classes()
    try:
        return _classes[name]
    except KeyError:
        raise AttributeError(f"no message {name} is declared in schemas/") from None


def _build_classes() -> dict[str, Any]:
    from pathlib import Path  # not at the top: programs that only log scalars do without it

    from google.protobuf import descriptor_pool, message_factory
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name="tracklight/formats.proto", package=_PACKAGE, syntax="proto3")
    for path in sorted(Path(SCHEMA_DIR).glob("*.proto")):
        _declare_messages(file, path.read_text("utf-8"))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    # protobuf 4.22 added GetMessageClass; protobuf 5 removed MessageFactory.GetPrototype.
    get_class = getattr(message_factory, "GetMessageClass", None)
    if get_class is None:
        get_class = message_factory.MessageFactory(pool).GetPrototype  # type: ignore[attr-defined]
    return {
        message.name: get_class(pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}"))
        for message in file.message_type
    }


def _declare_messages(file: FileDescriptorProto, declarations: str) -> None:
    in_oneof = False
    for line in declarations.splitlines():
        match line.removesuffix(";").split():
            case ["message", name, "{"]:
                message = file.message_type.add(name=name)
            case ["oneof", name, "{"]:
                message.oneof_decl.add(name=name)
                in_oneof = True
            case ["}"]:
                in_oneof = False
            case [map_key, map_value, name, "=", number] if map_key.startswith("map<"):
                key, value = map_key[len("map<") : -1], map_value[:-1]
                entry = _declare_map_entry(message, name, key, value)
                _declare_field(message, entry, name, int(number), True, False)
            case [*label, kind, name, "=", number] if number.isdigit():
                _declare_field(message, kind, name, int(number), bool(label), in_oneof)


def _declare_map_entry(message: DescriptorProto, field: str, key: str, value: str) -> str:
    """Declare the message for an entry of a map; return its name."""
    name = "".join(part.capitalize() for part in field.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _declare_field(entry, key, "key", 1, False, False)
    _declare_field(entry, value, "value", 2, False, False)
    return f"{message.name}.{name}"


def _declare_field(
    message: DescriptorProto, kind: str, name: str, number: int, repeated: bool, in_oneof: bool
) -> None:
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    if kind in _SCALAR_TYPES:
        field.type = getattr(field, f"TYPE_{kind.upper()}")
    else:
        field.type = field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"
    if in_oneof:
        field.oneof_index = len(message.oneof_decl) - 1


# ---- the wire format

# Wire types.
VARINT = 0
FIXED64 = 1
LENGTH_DELIMITED = 2
FIXED32 = 5

_MAX_VARINT_BYTES = 10
_UINT64 = (1 << 64) - 1


class ByteSource(Protocol):
    """Bytes that can be indexed and sliced, such as ``bytes`` or a ``memoryview``."""

    @overload
    def __getitem__(self, index: int, /) -> int: ...
    @overload
    def __getitem__(self, span: slice, /) -> bytes | memoryview: ...


class Field(NamedTuple):
    """One field of a message; its content is ``source[start:end]``."""

    number: int
    wire_type: int
    value: int
    """The unsigned value of a varint; 0 for other wire types."""
    start: int
    end: int


def iter_fields(source: ByteSource, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message ``source[start:end]``.

    Raises:
        FormatError: The bytes are not a message, or it contains groups.
    """
    offset = start
    while offset < end:
        key = source[offset]
        if key < 0x80:  # the common case: field numbers below 16
            first = offset = offset + 1
        else:
            key, first = read_varint(source, offset, end)
            offset = first
        number, wire_type, value = key >> 3, key & 7, 0
        if wire_type == VARINT:
            value, offset = read_varint(source, offset, end)
        elif wire_type == LENGTH_DELIMITED:
            length, first = read_varint(source, offset, end)
            offset = first + length
        elif wire_type == FIXED64:
            offset += 8
        elif wire_type == FIXED32:
            offset += 4
        else:
            raise FormatError(
                "log.wire_type",
                "unsupported wire type {wire_type} at offset {offset}",
                wire_type=wire_type,
                offset=first,
            )
        if number == 0 or offset > end:
            raise FormatError(
                "log.field_size",
                "field {number} at offset {offset} does not fit its message",
                number=number,
                offset=first,
            )
        yield Field(number, wire_type, value, first, offset)


def read_varint(source: ByteSource, offset: int, end: int) -> tuple[int, int]:
    """Return the unsigned varint at ``offset`` and the offset after it.

    Raises:
        FormatError: The varint does not end before ``end``.
    """
    value = shift = 0
    for position in range(offset, min(end, offset + _MAX_VARINT_BYTES)):
        byte = source[position]
        if byte < 0x80:
            return (value | byte << shift) & _UINT64, position + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise FormatError("log.varint", "unterminated varint at offset {offset}", offset=offset)


def encode_varint(value: int) -> bytes:
    """Encode a non-negative integer."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def to_int64(value: int) -> int:
    """Reinterpret the 64 bits of a varint as a signed integer."""
    return value - (1 << 64) if value >> 63 else value


def decode_text(data: bytes) -> str:
    r"""Decode UTF-8; invalid bytes are shown as ``\xff``."""
    return data.decode("utf-8", "backslashreplace")


def scan_fields(data: bytes, start: int, end: int) -> tuple[Int64, bool]:
    """Return the fields of the message ``data[start:end]``, and whether all could be read.

    Each row holds the number of a field, its wire type, its value (the offset of the content if it
    is length-delimited) and the size of its content. If the message is damaged, the fields before
    the damage are returned.
    """
    try:
        from tracklight.formats._xplane import scan_fields as scan
    except ImportError:
        return scan_fields_in_python(data, start, end)
    return scan(data, start, end)


def scan_messages(data: bytes, spans: Int64, wanted: int) -> Int64:
    """Return the length-delimited fields of many messages.

    Args:
        data: The bytes of a file.
        spans: The offset and the size of each message.
        wanted: A bit mask of the field numbers to return, all below 64.

    Returns:
        One row per field: the index of its message, its number, its offset and its size.

    Raises:
        FormatError: A message is damaged.
    """
    try:
        from tracklight.formats._xplane import scan_messages as scan
    except ImportError:
        return scan_messages_in_python(data, spans, wanted)
    return scan(data, spans, wanted)


def decode_texts(data: bytes, starts: Int64, sizes: Int64) -> list[str]:
    """Apply `decode_text` to many parts of ``data``."""
    try:
        from tracklight.formats._xplane import decode_texts as decode
    except ImportError:
        return decode_texts_in_python(data, starts, sizes)
    return decode(data, starts, sizes)


def scan_fields_in_python(data: bytes, start: int, end: int) -> tuple[Int64, bool]:
    rows: list[list[int]] = []
    try:
        for field in iter_fields(data, start, end):
            rows.append([field.number, field.wire_type, *get_field_value(data, field)])
    except FormatError:
        return to_field_table(rows), False
    return to_field_table(rows), True


def scan_messages_in_python(data: bytes, spans: Int64, wanted: int) -> Int64:
    rows: list[list[int]] = []
    try:
        for index, (start, size) in enumerate(spans.tolist()):
            for field in iter_fields(data, start, start + size):
                is_wanted = field.number < 64 and wanted >> field.number & 1
                if is_wanted and field.wire_type == LENGTH_DELIMITED:
                    rows.append([index, field.number, *get_field_value(data, field)])
    except FormatError:
        raise FormatError(
            "log.undecodable", "it contains a message that cannot be decoded"
        ) from None
    return to_field_table(rows)


def decode_texts_in_python(data: bytes, starts: Int64, sizes: Int64) -> list[str]:
    spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    return [decode_text(data[start:end]) for start, end in spans]


def get_field_value(data: bytes, field: Field) -> tuple[int, int]:
    """Return the value and the size of a field as they appear in the rows of `scan_fields`."""
    if field.wire_type == LENGTH_DELIMITED:
        return field.start, field.end - field.start
    if field.wire_type == VARINT:
        return to_int64(field.value), 0
    bits = int.from_bytes(data[field.start : field.end], "little")
    return (to_int64(bits) if field.wire_type == FIXED64 else bits), 0


def to_field_table(rows: list[list[int]]) -> Int64:
    """Return rows of four numbers as an array, which may be empty."""
    import numpy as np

    return np.array(rows, np.int64).reshape(-1, 4)
