"""How many operations an instruction of XLA takes, and how many bytes it moves.

Counted from shapes as a person would: a product of matrices takes two operations for each pair of
numbers, anything elementwise one a number. Bytes are those of what goes in and comes out, as if
each were touched once.
"""

from __future__ import annotations

import json
from math import prod
from typing import NamedTuple

from tracklight.formats.hlo import Instruction, Shape
from tracklight.profiles.program.kinds import MOVEMENT, PRODUCT, iter_held, kind_of
from tracklight.profiles.program.program import Program

_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "float8": 1, "int16": 2, "uint16": 2, "float16": 2,
    "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip
_DEEPEST = 8


class Cost(NamedTuple):
    flops: float
    bytes: float


def cost_of(program: Program, instruction: Instruction) -> Cost:
    shapes = [_shape_of_product(instruction), *_given(program, instruction)]
    return Cost(_count_flops(program, instruction, 0), sum(map(count_bytes, shapes)))


def count_bytes(shape: Shape) -> int:
    own = prod(shape.dimensions) * _BYTES.get(shape.type, 0)
    return own + sum(count_bytes(part) for part in shape.parts)


def _count_elements(shape: Shape) -> int:
    if shape.parts:
        return max(_count_elements(part) for part in shape.parts)
    return prod(shape.dimensions) if shape.type else 0


def _count_flops(program: Program, instruction: Instruction, depth: int) -> float:
    if depth > _DEEPEST:
        return 0.0
    if instruction.opcode == "fusion":
        held = iter_held(program, instruction)
        return sum(_count_flops(program, each, depth + 1) for each in held)
    kind = kind_of(program, instruction)
    if kind == PRODUCT:
        return _count_product(program, instruction)
    if instruction.opcode == "convolution":
        return _count_convolution(program, instruction)
    if instruction.opcode in ("reduce", "reduce-window"):
        return float(sum(map(_count_elements, _given(program, instruction)[:1])))
    return 0.0 if kind == MOVEMENT else float(_count_elements(instruction.shape))


def _count_product(program: Program, instruction: Instruction) -> float:
    given = _given(program, instruction)
    if not given:
        return 0.0
    first = given[0].dimensions
    contracted = instruction.contracted or _find_contracted(instruction.config)
    summed = prod(first[at] for at in contracted if 0 <= at < len(first))
    return 2.0 * summed * _count_elements(_shape_of_product(instruction))


def _shape_of_product(instruction: Instruction) -> Shape:
    """What a library gives besides a product is the room that it worked in, which is no result."""
    parts = instruction.shape.parts
    return parts[0] if parts and instruction.opcode == "custom-call" else instruction.shape


def _find_contracted(config: str) -> tuple[int, ...]:
    """Which dimensions a library's product sums over, as its backend was told."""
    try:
        told = json.loads(config)["gemm_backend_config"]["dot_dimension_numbers"]
        return tuple(int(at) for at in told["lhs_contracting_dimensions"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def _count_convolution(program: Program, instruction: Instruction) -> float:
    given = _given(program, instruction)
    if len(given) < 2:
        return 0.0
    kernel = given[1].dimensions
    outputs = kernel[instruction.kernel_output] if instruction.kernel_output < len(kernel) else 1
    return 2.0 * _count_elements(instruction.shape) * prod(kernel) / max(outputs, 1)


def _given(program: Program, instruction: Instruction) -> list[Shape]:
    """The shapes of its operands."""
    found = (program.by_number.get(operand) for operand in instruction.operands)
    return [each.shape for each in found if each is not None]
