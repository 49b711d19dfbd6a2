"""Message classes of the event file format: ``proto.Event``, ``proto.TensorProto`` and the rest.

They are made with the installed protobuf runtime from the declarations in `schema`, on first use,
in a descriptor pool of their own. So there is no generated code that only suits some versions of
protobuf, and nothing clashes with the same messages of TensorFlow or TensorBoard in one process.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from tracklight.errors import FormatError
from tracklight.formats import schema

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

#: A protobuf message. Its class is made at run time, so a type checker cannot know its fields.
Message: TypeAlias = Any

_PACKAGE = "tracklight.reader"
_SCALAR_TYPES = frozenset(
    {"double", "float", "int64", "uint64", "int32", "uint32", "fixed32", "bool", "bytes"}
)

_building = threading.Lock()
_classes: dict[str, Any] = {}


def parse(name: str, data: bytes | bytearray | memoryview) -> Message:
    """Decode ``data`` as the message ``name`` of `schema`."""
    from google.protobuf.message import DecodeError

    try:
        return _get_class(name).FromString(bytes(data))
    except (DecodeError, RecursionError) as error:
        raise FormatError(f"{len(data)} bytes that are no {name} message: {error}") from error


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    message_class = _get_class(name)
    globals()[name] = message_class
    return message_class


def _get_class(name: str) -> Any:
    global _classes
    # Two threads must get the same classes: messages of unlike classes do not go together.
    with _building:
        _classes = _classes or _build_classes()
    try:
        return _classes[name]
    except KeyError:
        raise AttributeError(f"no message {name} in the event file format") from None


def _build_classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pool, message_factory

    file = _declare_file()
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    # GetMessageClass came with protobuf 4.22; what it replaced went away with 5.
    get_class = getattr(message_factory, "GetMessageClass", None)
    if get_class is None:
        get_class = message_factory.MessageFactory(pool).GetPrototype  # type: ignore[attr-defined]
    return {
        message.name: get_class(pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}"))
        for message in file.message_type
    }


def _declare_file() -> FileDescriptorProto:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name="tracklight/reader.proto", package=_PACKAGE, syntax="proto3")
    for text in schema.ALL:
        _declare_messages(file, text)
    return file


def _declare_messages(file: FileDescriptorProto, text: str) -> None:
    in_oneof = False
    for line in text.split("\n"):
        match line.split():
            case ["message", name, "{"]:
                message = file.message_type.add(name=name)
            case ["oneof", name, "{"]:
                message.oneof_decl.add(name=name)
                in_oneof = True
            case ["}"]:
                in_oneof = False
            case [*label, kind, name, "=", number]:
                _declare_field(message, kind, name, int(number), bool(label), in_oneof)


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
