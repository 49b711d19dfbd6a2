"""What the attributes of a ``NodeDef`` say, in words that fit a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.graphs.model import Detail, Output, Shape
from tracklight.graphs.wording import take_apart

#: Where the shapes of all outputs stand, for writers that know them.
_SHAPES = "_output_shapes"
#: Where tracklight's writers put the line that a node comes from.
_SOURCE = "source"
#: What PyTorch's writer and tracklight's put several settings into.
_PACKED = ("attr", "parameters")
#: What gives a variable to those who read or change it, and no numbers itself.
_HANDLE = "VarHandleOp"
#: Operations whose output is what training changes.
_PARAMETERS = frozenset({"Parameter", "VariableV2", "prim::GetAttr"})
#: Attributes that say of what type a node's outputs are, the best first.
_TYPES = ("output_type", "dtype", "T", "DstT", "out_type")
_LONGEST = 1000
_CROSS = "\N{MULTIPLICATION SIGN}"
_TYPE_NAMES = (
    "", "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64",
    "bool", "qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128",
    "float16", "resource", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2",
    "float4_e2m1fn",
)  # fmt: skip
_REFERENCE = 100
#: What TensorFlow's own names for types are here.
_RENAMED = {"float": "float32", "double": "float64", "half": "float16"}


def describe_node(node: Message) -> Detail:
    values = {decode_text(attr.key): attr.value for attr in node.attr}
    op = decode_text(node.op)
    outputs = _find_outputs(op, values)
    shown = {key: _show(value) for key, value in values.items() if key not in (_SHAPES, _SOURCE)}
    for key in _PACKED:
        if key in shown and values[key].WhichOneof("value") == "s":
            shown = take_apart(shown.pop(key), key) | shown
    return Detail(
        outputs,
        shown,
        decode_text(node.device),
        _count_parameters(op, values, outputs),
        tuple(_iter_calls(values.values())),
        decode_text(values[_SOURCE].s) if _SOURCE in values else "",
    )


def name_type(number: int) -> str:
    """TensorFlow's number for a type in the words of NumPy."""
    plain = number - _REFERENCE if number > _REFERENCE else number
    return _TYPE_NAMES[plain] if 0 <= plain < len(_TYPE_NAMES) else f"type {number}"


def number_type(name: str) -> int:
    """TensorFlow's number for a type that is called ``DT_FLOAT`` there; 0 for an unknown one."""
    plain = name.removesuffix("_REF").lower()
    plain = _RENAMED.get(plain, plain)
    if plain not in _TYPE_NAMES:
        return 0
    return _TYPE_NAMES.index(plain) + (_REFERENCE if name.endswith("_REF") else 0)


def read_shape(shape: Message) -> Shape:
    if shape.unknown_rank:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in shape.dim)


def format_shape(shape: Shape) -> str:
    """Sizes with a cross between them, or ``scalar``; nothing for one that is not known."""
    if shape is None:
        return ""
    return _CROSS.join("?" if size is None else str(size) for size in shape) or "scalar"


def format_output(output: Output) -> str:
    """Its type and its shape, as far as they are known."""
    return f"{output.dtype} {format_shape(output.shape)}".strip()


def _find_outputs(op: str, values: Mapping[str, Message]) -> tuple[Output, ...]:
    if op == _HANDLE:
        return (Output("resource", ()),)
    shapes = _find_shapes(values)
    types = _find_types(values)
    # One type is that of all outputs.
    types = types * len(shapes) if len(types) == 1 else [*types, *[""] * len(shapes)]
    return tuple(Output(dtype, shape) for dtype, shape in zip(types, shapes, strict=False))


def _find_shapes(values: Mapping[str, Message]) -> list[Shape]:
    if _SHAPES in values:
        given = values[_SHAPES]
        shapes = given.list.shape if given.WhichOneof("value") == "list" else [given.shape]
        return [read_shape(shape) for shape in shapes]
    if "shape" in values and values["shape"].WhichOneof("value") == "shape":
        return [read_shape(values["shape"].shape)]
    if "value" in values and values["value"].WhichOneof("value") == "tensor":
        return [read_shape(values["value"].tensor.tensor_shape)]
    return [None] if any(key in values for key in _TYPES) else []


def _find_types(values: Mapping[str, Message]) -> list[str]:
    """TensorFlow writes one as a number, tracklight's own writers one for each output as text."""
    found = next((values[key] for key in _TYPES if key in values), None)
    if found is None:
        return []
    if found.WhichOneof("value") == "s":
        return decode_text(found.s).split(", ")
    return [name_type(found.type)]


def _count_parameters(op: str, values: Mapping[str, Message], outputs: tuple[Output, ...]) -> int:
    if op == _HANDLE and "shape" in values:
        return Output("", read_shape(values["shape"].shape)).count() or 0
    return sum(output.count() or 0 for output in outputs) if op in _PARAMETERS else 0


def _iter_calls(values: Iterable[Message]) -> Iterator[str]:
    for value in values:
        kind = value.WhichOneof("value")
        functions = [value.func] if kind == "func" else value.list.func if kind == "list" else ()
        yield from (decode_text(function.name) for function in functions)


def _show(value: Message) -> str:
    """A value as people write it; a long one is cut."""
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind == "list":
        items = [
            _show_one(field.name, it) for field, its in value.list.ListFields() for it in its[:50]
        ]
        text = f"[{', '.join(items)}]"
    else:
        text = _show_one(kind, getattr(value, kind))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _show_one(kind: str, item: Message) -> str:
    if kind in ("s", "placeholder"):
        return decode_text(item)
    if kind == "type":
        return name_type(item)
    if kind == "shape":
        return format_shape(read_shape(item)) or "unknown"
    if kind == "tensor":
        shape = format_shape(read_shape(item.tensor_shape))
        return f"{name_type(item.dtype)} {shape}".strip()
    if kind == "func":
        return decode_text(item.name)
    return str(item)
