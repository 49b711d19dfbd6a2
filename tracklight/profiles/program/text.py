"""A program of XLA as people read it: one line an instruction, computations one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracklight.formats.hlo import Computation, Instruction, Shape
from tracklight.profiles.program.program import Program

_SHORT = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "float8": "f8",
    "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "bool": "pred", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


class Line(NamedTuple):
    text: str
    instruction: Instruction | None
    """What the line is of; None for what stands around instructions."""


def write_program(program: Program) -> Iterator[Line]:
    """The entry first, as that is where a reader begins."""
    entry = program.entry
    others = (each for each in program.module.computations if each is not entry)
    for computation in (*((entry,) if entry else ()), *others):
        yield from _write_computation(program, computation, computation is entry)
        yield Line("", None)


def _write_computation(
    program: Program, computation: Computation, is_entry: bool
) -> Iterator[Line]:
    yield Line(f"{'ENTRY ' if is_entry else ''}%{computation.name} {{", None)
    for instruction in computation.instructions:
        root = "ROOT " if instruction.id == computation.root else ""
        yield Line(f"  {root}{write_instruction(program, instruction)}", instruction)
    yield Line("}", None)


def write_instruction(program: Program, instruction: Instruction) -> str:
    said = ", ".join([_write_call(program, instruction), *_iter_attributes(program, instruction)])
    return f"%{instruction.name} = {write_shape(instruction.shape)} {said}"


def _write_call(program: Program, instruction: Instruction) -> str:
    if instruction.opcode == "parameter":
        return f"parameter({instruction.parameter})"
    given = (program.by_number.get(operand) for operand in instruction.operands)
    names = ", ".join(f"%{each.name}" if each else "%?" for each in given)
    return f"{instruction.opcode}({names})"


def _iter_attributes(program: Program, instruction: Instruction) -> Iterator[str]:
    if instruction.fusion_kind:
        yield f"kind={instruction.fusion_kind}"
    if instruction.target:
        yield f'custom_call_target="{instruction.target}"'
    if instruction.contracted:
        yield f"lhs_contracting_dims={{{','.join(map(str, instruction.contracted))}}}"
    called = [program.computations.get(number) for number in instruction.calls]
    if called:
        yield f"calls={', '.join(f'%{each.name}' if each else '%?' for each in called)}"
    if instruction.op_name:
        yield f'op_name="{instruction.op_name}"'


def write_shape(shape: Shape) -> str:
    """As XLA writes it: ``f32[512,1024]``."""
    if shape.parts:
        return f"({', '.join(map(write_shape, shape.parts))})"
    return f"{_SHORT.get(shape.type, '?')}[{','.join(map(str, shape.dimensions))}]"
