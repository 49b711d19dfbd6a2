"""Reads XLA's programs, as profiles carry them: computations, their instructions, and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.event import decode_text
from tracklight.formats.hlo_frames import read_frames
from tracklight.formats.late import Late
from tracklight.formats.wire import DELIMITED, VARINT, Field, iter_fields, read_varint, to_int64
from tracklight.formats.wire_columns import scan_fields

_PROTO_MODULE = 1
_MODULE_NAME, _MODULE_COMPUTATIONS, _MODULE_ID, _MODULE_ENTRY, _MODULE_FRAMES = 1, 3, 5, 6, 17
_COMPUTATION_NAME, _COMPUTATION_INSTRUCTIONS, _COMPUTATION_ID, _COMPUTATION_ROOT = 1, 2, 5, 6
_SHAPE_TYPE, _SHAPE_DIMENSIONS, _SHAPE_PARTS, _SHAPE_LAYOUT = 2, 3, 4, 5
_METADATA_TYPE, _METADATA_NAME, _METADATA_FILE, _METADATA_LINE, _METADATA_FRAME = 1, 2, 3, 4, 15
_CONVOLUTION_OUTPUT = 4
_RUNS_OTHERS = frozenset({"while", "conditional", "call", "async-start"})
#: Shapes inside of shapes inside of shapes: more of them are no program's.
_DEEPEST = 20
_TYPES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16",
    8: "uint32", 9: "uint64", 10: "float16", 11: "float32", 12: "float64", 15: "complex64",
    16: "bfloat16", 18: "complex128", 19: "float8", 20: "float8", 23: "float8", 24: "float8",
    25: "float8", 28: "float8", 29: "float8",
}  # fmt: skip


class Shape(NamedTuple):
    type: str
    """Empty for a tuple, and for what holds no numbers."""
    dimensions: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()
    """Of a tuple."""
    layout: tuple[int, ...] = ()
    """Which dimension lies densest in memory, then the next."""


class Instruction(NamedTuple):
    name: str = ""
    opcode: str = ""
    shape: Shape = Shape("")
    id: int = 0
    operands: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()
    """The computations that it runs."""
    op_type: str = ""
    op_name: str = ""
    """What the framework calls that which this came of."""
    source: str = ""
    """File and line of the user's program."""
    fusion_kind: str = ""
    target: str = ""
    """What a custom call calls."""
    parameter: int = 0
    contracted: tuple[int, ...] = ()
    """The dimensions of its first operand that a product sums over."""
    kernel_output: int = 0
    """The dimension of a convolution's kernel that counts what comes out."""
    config: str = ""
    """What the backend was told, mostly JSON."""
    frame: int = 0
    """Which of the program's frames it came of, where it says no source itself; 0: none."""


class Computation(NamedTuple):
    name: str
    id: int
    root: int
    instructions: Sequence[Instruction]
    """Read when somebody looks at them; those that are damaged are left out."""


class Module(NamedTuple):
    name: str
    id: int
    entry: int
    computations: tuple[Computation, ...]
    frames: Sequence[str] = ()
    """File and line of each frame of the user's program, from the first on."""


def read_module(data: bytes) -> Module:
    """Read an HloProto; FormatError says what is wrong with one that is none."""
    name, number, entry, computations = "", 0, 0, list[Computation]()
    frames: Sequence[str] = ()
    for module in _iter_of(data, Field(0, DELIMITED, 0, 0, len(data)), _PROTO_MODULE):
        for part in iter_fields(data, module.start, module.end):
            if part.number == _MODULE_NAME:
                name = _text(data, part)
            elif part.number == _MODULE_ID:
                number = to_int64(part.value)
            elif part.number == _MODULE_ENTRY:
                entry = to_int64(part.value)
            elif part.number == _MODULE_COMPUTATIONS and part.wire == DELIMITED:
                computations.append(_read_computation(data, part))
            elif part.number == _MODULE_FRAMES and part.wire == DELIMITED:
                frames = Late(partial(_read_frames, data[part.start : part.end]))
    return Module(name, number, entry, tuple(computations), frames)


def iter_running(module: Module) -> Iterator[Computation]:
    """What runs by itself: the entry, and what it repeats, chooses and calls.

    All else was fused into single instructions, or says how to reduce.
    """
    by_id = {each.id: each for each in module.computations}
    waiting, met = [module.entry], {module.entry}
    while waiting:
        computation = by_id.get(waiting.pop())
        if computation is not None:
            yield computation
            called = {
                number
                for each in computation.instructions
                if each.opcode in _RUNS_OTHERS
                for number in each.calls
            }
            waiting += called - met
            met |= called


def find_types(module: Module) -> dict[str, frozenset[str]]:
    """The types of what each instruction that runs by itself takes and gives, by its name."""
    types: dict[str, frozenset[str]] = {}
    for computation in iter_running(module):
        gives = {each.id: _find_types(each.shape) for each in computation.instructions}
        for each in computation.instructions:
            taken = (gives.get(operand, frozenset()) for operand in each.operands)
            types[each.name] = gives[each.id].union(*taken)
    return types


@lru_cache(maxsize=8_192)
def _find_types(shape: Shape) -> frozenset[str]:
    return frozenset(iter_types(shape))


def iter_types(shape: Shape) -> Iterator[str]:
    if shape.type:
        yield shape.type
    for part in shape.parts:
        yield from iter_types(part)


def _read_computation(data: bytes, span: Field) -> Computation:
    name, numbers, spans = "", dict[int, int](), list[Field]()
    for part in _iter_scanned(data, span):
        if part.number == _COMPUTATION_NAME and part.wire == DELIMITED:
            name = _text(data, part)
        elif part.number == _COMPUTATION_INSTRUCTIONS and part.wire == DELIMITED:
            spans.append(part)
        elif part.wire == VARINT:
            numbers[part.number] = to_int64(part.value)
    number, root = (numbers.get(key, 0) for key in (_COMPUTATION_ID, _COMPUTATION_ROOT))
    return Computation(name, number, root, Late(partial(_read_instructions, data, spans)))


def _read_frames(data: bytes) -> Sequence[str]:
    try:
        return read_frames(data)
    except FormatError:
        return ()


def _read_instructions(data: bytes, spans: list[Field]) -> list[Instruction]:
    instructions = []
    for span in spans:
        with suppress(FormatError):
            instructions.append(_read_instruction(data, span))
    return instructions


_TEXTS = {1: "name", 2: "opcode", 11: "fusion_kind", 28: "target", 43: "config"}
_NUMBERS = {9: "parameter", 35: "id"}
_LISTS = {36: "operands", 38: "calls"}
_SHAPE, _METADATA, _CONVOLUTION, _DOT = 3, 7, 16, 30
_NOTHING = Instruction()


def _read_instruction(data: bytes, span: Field) -> Instruction:
    read = _NOTHING._asdict()
    for part in _iter_scanned(data, span):
        if part.number in _TEXTS and part.wire == DELIMITED:
            read[_TEXTS[part.number]] = _text(data, part)
        elif part.number in _NUMBERS and part.wire == VARINT:
            read[_NUMBERS[part.number]] = to_int64(part.value)
        elif part.number in _LISTS:
            read[_LISTS[part.number]] += _numbers(data, part)
        elif part.wire == DELIMITED:
            read |= _read_part(data, part)
    return Instruction(**read)


def _read_part(data: bytes, part: Field) -> dict[str, object]:
    if part.number == _SHAPE:
        return {"shape": _read_shape(data[part.start : part.end])}
    if part.number == _METADATA:
        return _read_metadata(data[part.start : part.end])
    if part.number == _DOT:
        return {"contracted": _read_numbers(data, part, 1)}
    if part.number == _CONVOLUTION:
        return {"kernel_output": next(iter(_read_numbers(data, part, _CONVOLUTION_OUTPUT)), 0)}
    return {}


@lru_cache(maxsize=8_192)
def _read_metadata(data: bytes) -> dict[str, object]:
    """What came of one op stands side by side, so most of this was read just before."""
    texts, numbers = dict[int, str](), dict[int, int]()
    for part in iter_fields(data, 0, len(data)):
        if part.wire == DELIMITED:
            texts[part.number] = _text(data, part)
        else:
            numbers[part.number] = to_int64(part.value)
    source, line = texts.get(_METADATA_FILE, ""), numbers.get(_METADATA_LINE, 0)
    return {
        "op_type": texts.get(_METADATA_TYPE, ""),
        "op_name": texts.get(_METADATA_NAME, ""),
        "source": f"{source}:{line}" if source and line else source,
        "frame": numbers.get(_METADATA_FRAME, 0),
    }


@lru_cache(maxsize=8_192)
def _read_shape(data: bytes, depth: int = 0) -> Shape:
    if depth > _DEEPEST:
        raise FormatError("the shapes of a program are nested too deep")
    kind, dimensions, parts, layout = "", tuple[int, ...](), list[Shape](), tuple[int, ...]()
    for part in iter_fields(data, 0, len(data)):
        if part.number == _SHAPE_TYPE and part.wire == VARINT:
            kind = _TYPES.get(part.value, "")
        elif part.number == _SHAPE_DIMENSIONS:
            dimensions += _numbers(data, part)
        elif part.number == _SHAPE_PARTS and part.wire == DELIMITED:
            parts.append(_read_shape(data[part.start : part.end], depth + 1))
        elif part.number == _SHAPE_LAYOUT and part.wire == DELIMITED:
            layout = _read_numbers(data, part, 1)
    return Shape(kind, dimensions, tuple(parts), layout)


def _read_numbers(data: bytes, span: Field, number: int) -> tuple[int, ...]:
    """All numbers of one field of a message."""
    found: tuple[int, ...] = ()
    for part in iter_fields(data, span.start, span.end):
        if part.number == number:
            found += _numbers(data, part)
    return found


def _numbers(data: bytes, part: Field) -> tuple[int, ...]:
    """One number, or many that are packed."""
    if part.wire == VARINT:
        return (to_int64(part.value),)
    numbers, at = [], part.start
    while at < part.end:
        number, at = read_varint(data, at, part.end)
        numbers.append(to_int64(number))
    return tuple(numbers)


def _text(data: bytes, span: Field) -> str:
    return decode_text(data[span.start : span.end])


def _iter_scanned(data: bytes, span: Field) -> Iterator[Field]:
    """As `iter_fields`, in a fraction of the time where messages have many fields."""
    rows, is_whole = scan_fields(data, span.start, span.end)
    if not is_whole:
        raise FormatError(f"the message between bytes {span.start} and {span.end} is damaged")
    for number, wire, value, size in rows.tolist():
        if wire == DELIMITED:
            yield Field(number, wire, 0, value, value + size)
        else:
            yield Field(number, wire, value, 0, 0)


def _iter_of(data: bytes, span: Field, number: int) -> Iterator[Field]:
    for part in iter_fields(data, span.start, span.end):
        if part.number == number and part.wire == DELIMITED:
            yield part
