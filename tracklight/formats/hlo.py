"""Reads of XLA's programs, as profiles carry them, which types each instruction works on."""

from __future__ import annotations

from collections.abc import Iterator

from tracklight.errors import FormatError
from tracklight.formats.event import decode_text
from tracklight.formats.wire import DELIMITED, VARINT, Field, iter_fields, read_varint, to_int64

_PROTO_MODULE, _MODULE_COMPUTATIONS, _COMPUTATION_INSTRUCTIONS = 1, 3, 2
_NAME, _SHAPE, _ID, _OPERANDS = 1, 3, 35, 36
_SHAPE_TYPE, _SHAPE_PARTS = 2, 4
#: Shapes inside of shapes inside of shapes: more of them are no program's.
_DEEPEST = 20
_TYPES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16",
    8: "uint32", 9: "uint64", 10: "float16", 11: "float32", 12: "float64", 15: "complex64",
    16: "bfloat16", 18: "complex128", 19: "float8", 20: "float8", 23: "float8", 24: "float8",
    25: "float8", 28: "float8", 29: "float8",
}  # fmt: skip


def read_types(data: bytes) -> dict[str, frozenset[str]]:
    """The types of what each instruction of a program takes and gives, by its name."""
    types: dict[str, frozenset[str]] = {}
    for computation in _iter_computations(data):
        types |= _read_computation(data, computation)
    return types


def _iter_computations(data: bytes) -> Iterator[Field]:
    for module in _iter_of(data, Field(0, DELIMITED, 0, 0, len(data)), _PROTO_MODULE):
        yield from _iter_of(data, module, _MODULE_COMPUTATIONS)


def _read_computation(data: bytes, computation: Field) -> dict[str, frozenset[str]]:
    found = [
        _read_instruction(data, instruction)
        for instruction in _iter_of(data, computation, _COMPUTATION_INSTRUCTIONS)
    ]
    gives = {number: given for _, number, given, _ in found}
    return {
        name: given.union(*(gives.get(operand, frozenset()) for operand in operands))
        for name, _, given, operands in found
    }


def _read_instruction(data: bytes, span: Field) -> tuple[str, int, frozenset[str], list[int]]:
    name, number, given, operands = "", 0, frozenset[str](), list[int]()
    for part in iter_fields(data, span.start, span.end):
        if part.number == _NAME and part.wire == DELIMITED:
            name = decode_text(data[part.start : part.end])
        elif part.number == _ID and part.wire == VARINT:
            number = to_int64(part.value)
        elif part.number == _SHAPE and part.wire == DELIMITED:
            given = frozenset(_iter_types(data, part, 0))
        elif part.number == _OPERANDS:
            operands += [part.value] if part.wire == VARINT else _unpack(data, part)
    return name, number, given, operands


def _iter_types(data: bytes, shape: Field, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        raise FormatError("the shapes of a program are nested too deep")
    for part in iter_fields(data, shape.start, shape.end):
        if part.number == _SHAPE_TYPE and part.wire == VARINT and part.value in _TYPES:
            yield _TYPES[part.value]
        elif part.number == _SHAPE_PARTS and part.wire == DELIMITED:
            yield from _iter_types(data, part, depth + 1)


def _unpack(data: bytes, packed: Field) -> list[int]:
    numbers, at = [], packed.start
    while at < packed.end:
        number, at = read_varint(data, at, packed.end)
        numbers.append(number)
    return numbers


def _iter_of(data: bytes, span: Field, number: int) -> Iterator[Field]:
    for part in iter_fields(data, span.start, span.end):
        if part.number == number and part.wire == DELIMITED:
            yield part
