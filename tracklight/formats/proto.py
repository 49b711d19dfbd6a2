"""Protobuf message classes: ``proto.Event``, ``proto.TensorProto`` and so on.

The classes are built on first use from the declarations in ``schemas/*.proto``, with the installed
protobuf runtime and in a private descriptor pool. There is no generated code that is tied to
particular protobuf versions, and no conflict with the messages of the same names that TensorFlow
and TensorBoard register in the same process.

The declarations differ from the originals in ways that do not change the encoding:

* Strings are declared as ``bytes``, so that invalid UTF-8 does not make a record unreadable.
* Maps are declared as repeated key-value messages, because map keys cannot be ``bytes``; those of
  training examples, which are passed to functions of users, are maps with ``string`` keys.
* Enums are declared as ``int32``.
* Fields that are not used are left out. Large messages that are decoded on demand are declared as
  ``bytes``.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from tracklight.errors import FormatError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

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
    """Declare the message that stands for an entry of a map; return its name."""
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
