"""Programs of XLA: what their instructions are, cost and took, and how they read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.analysis.profiles.trace import Trace
from tracklight.formats.profiles.hlo import (
    HloComputation,
    HloInstruction,
    HloModule,
    HloShape,
    iter_dtypes,
    iter_executed_computations,
)
from tracklight.types import Int64

# The programs of XLA that a capture carries, and which of their instructions an event is.

#: What names of instructions have and names of kernels cannot.
_NAME_SEPARATORS = re.compile(r"[.-]")

_LIBRARY_KERNEL = re.compile(r"gemm|nvjet|cutlass|matmul", re.I)

_MATMUL_TARGET = re.compile(r"gemm|matmul", re.I)

#: No place among those of a placement.
_UNKNOWN, _UNRESOLVED = -1, -2


class InstructionRef(NamedTuple):
    """An instruction, and where it stands."""

    program: XlaProgram
    instruction: HloInstruction


class XlaProgram:
    def __init__(self, module: HloModule) -> None:
        self.module = module
        self.computations = {each.id: each for each in module.computations}

    @property
    def entry(self) -> HloComputation | None:
        return self.computations.get(self.module.entry)

    @cached_property
    def instructions(self) -> dict[str, HloInstruction]:
        return {each.name: each for each in self.iter_instructions()}

    @cached_property
    def by_id(self) -> dict[int, HloInstruction]:
        """Numbers are the program's, not the computation's."""
        return {each.id: each for each in self.iter_instructions()}

    @cached_property
    def executed(self) -> dict[str, HloInstruction]:
        """Those that run by themselves, and are not a part of another."""
        computations = iter_executed_computations(self.module)
        return {each.name: each for it in computations for each in it.instructions}

    @cached_property
    def by_kernel_name(self) -> dict[str, HloInstruction]:
        """Instructions under the names of the kernels that are made of them."""
        return {_NAME_SEPARATORS.sub("_", name): each for name, each in self.executed.items()}

    @cached_property
    def library_matmuls(self) -> list[HloInstruction]:
        """Products that are left to a library, in the order in which they run."""
        ordered = self.entry.instructions if self.entry else ()
        return [each for each in ordered if _MATMUL_TARGET.search(each.target)]

    def get_source(self, instruction: HloInstruction) -> str:
        """File and line of the user's program; empty where nobody says."""
        frame = instruction.frame - 1
        known = 0 <= frame < len(self.module.frames)
        return instruction.source or (self.module.frames[frame] if known else "")

    def iter_instructions(self) -> Iterator[HloInstruction]:
        for computation in self.module.computations:
            yield from computation.instructions


def list_programs(trace: Trace) -> list[XlaProgram]:
    """The programs of a capture that have something in them."""
    return [XlaProgram(module) for module in trace.hlo_modules if module.computations]


class InstructionMap(NamedTuple):
    """Which instruction events are, where that is known."""

    events: Int64
    instance: Int64
    """Of each, one of the places."""
    instructions: list[InstructionRef]


def map_instructions(trace: Trace, programs: list[XlaProgram]) -> InstructionMap:
    """Find the instructions that events are.

    Kernels that were launched together, as one graph, only say which graph it was; their own names
    tell which instruction most of them are, and what is left of one launch are the library's
    products, in their order.
    """
    placing = _InstructionMapper(trace, programs)
    placing.add(*trace.get_unique_text_args("hlo_op"))
    placing.add_library_matmuls()
    return placing.build()


class _InstructionMapper:
    def __init__(self, trace: Trace, programs: list[XlaProgram]) -> None:
        self._trace = trace
        self._programs = programs
        self._by_id = {program.module.id: program for program in programs}
        self._events: list[Int64] = []
        self._index: list[Int64] = []
        self._instructions: list[InstructionRef] = []
        self._unresolved: Int64 = np.empty(0, np.int64)
        self._program_id = self._spread_int_arg("program_id")

    def add(self, events: Int64, which: Int64, ops: list[str]) -> None:
        """Find the instructions of events that say they are of an op; like ones only once."""
        numbers, of_program = unique_inverse(self._program_id[events])
        names = self._trace.name[events].astype(np.int64)
        keys = (of_program * len(ops) + which) * len(self._trace.names) + names
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        places = np.array(
            [
                self._resolve(int(numbers[of_program[at]]), ops[which[at]], int(names[at]))
                for at in first.tolist()
            ],
            np.int64,
        )[inverse]
        self._append(events[places >= 0], places[places >= 0])
        self._unresolved = events[places == _UNRESOLVED]

    def _append(self, events: Int64, which: Int64) -> None:
        self._events.append(events)
        self._index.append(which)

    def _spread_int_arg(self, key: str) -> Int64:
        """Of each event the number that is said under a key, 0 where there is none."""
        spread = np.zeros(len(self._trace), np.int64)
        events, numbers = self._trace.get_int_args(key)
        spread[events] = numbers
        return spread

    def _resolve(self, program_id: int, op: str, name: int) -> int:
        program = self._by_id.get(program_id) or _find_program_of_op(self._programs, op)
        if program is None:
            return _UNKNOWN
        kernel = self._trace.names[name]
        own = program.executed.get(op.rpartition("::")[2]) or program.by_kernel_name.get(kernel)
        if own is not None:
            return self._add_instruction(InstructionRef(program, own))
        return _UNRESOLVED if _LIBRARY_KERNEL.search(kernel) else _UNKNOWN

    def _add_instruction(self, placed: InstructionRef) -> int:
        self._instructions.append(placed)
        return len(self._instructions) - 1

    def add_library_matmuls(self) -> None:
        """Only where there are as many kernels as products is it known which is which."""
        of_program: dict[int, Int64] = {}
        for events in self._iter_unresolved_launches():
            program = self._by_id.get(int(self._program_id[events[0]]))
            if program is None or len(program.library_matmuls) != len(events):
                continue
            if program.module.id not in of_program:
                placed = [InstructionRef(program, each) for each in program.library_matmuls]
                of_program[program.module.id] = np.array(
                    [self._add_instruction(it) for it in placed]
                )
            self._append(events, of_program[program.module.id])

    def _iter_unresolved_launches(self) -> Iterator[Int64]:
        """What is left of each launch of a program, in order of time."""
        left, launch = self._unresolved, self._spread_int_arg("correlation_id")
        if len(left):
            keys = (self._trace.start_ps[left], launch[left], self._program_id[left])
            left = left[np.lexsort(keys)]
            changes = np.diff(launch[left]).astype(bool) | np.diff(self._program_id[left]).astype(
                bool
            )
            yield from np.split(left, np.flatnonzero(changes) + 1)

    def build(self) -> InstructionMap:
        nothing = np.empty(0, np.int64)
        events, which = (np.concatenate([nothing, *it]) for it in (self._events, self._index))
        return InstructionMap(events, which, self._instructions)


def _find_program_of_op(programs: list[XlaProgram], op: str) -> XlaProgram | None:
    return next((each for each in programs if op in each.executed), None)


# What instructions of XLA do, in the few words that people sort them by.

MATMUL, CONVOLUTION, COLLECTIVE = "matrix product", "convolution", "collective"

REDUCTION, ELEMENTWISE, DATA_MOVEMENT, CONTROL_FLOW = (
    "reduction",
    "elementwise",
    "data movement",
    "control flow",
)

LOW_PRECISION_TYPES = frozenset({"float16", "bfloat16", "float8"})

_KIND_BY_OPCODE = {
    **dict.fromkeys(("dot", "ragged-dot"), MATMUL),
    "convolution": CONVOLUTION,
    **dict.fromkeys(("reduce", "reduce-window", "sort", "topk", "select-and-scatter"), REDUCTION),
    **dict.fromkeys(
        ("copy", "copy-start", "copy-done", "transpose", "bitcast", "reshape", "broadcast", "slice",
         "dynamic-slice", "dynamic-update-slice", "concatenate", "gather", "scatter", "pad",
         "tuple", "get-tuple-element", "parameter", "constant", "iota", "reverse", "infeed",
         "outfeed", "send", "recv", "send-done", "recv-done"),
        DATA_MOVEMENT,
    ),
    **dict.fromkeys(("while", "conditional", "call", "async-start", "async-done"), CONTROL_FLOW),
}  # fmt: skip

_COLLECTIVE_PREFIXES = ("all-", "reduce-scatter", "collective-", "partition-id", "replica-id")

#: Of what a fusion holds, the first of these names it.
_KIND_PRIORITY = (COLLECTIVE, CONVOLUTION, MATMUL, REDUCTION, ELEMENTWISE)

#: Fusions hold fusions, and a damaged program may hold itself.
_MAX_FUSION_DEPTH = 8


def classify_instruction(program: XlaProgram, instruction: HloInstruction) -> str:
    held = set(_iter_kinds(program, instruction, 0))
    return next((kind for kind in _KIND_PRIORITY if kind in held), next(iter(held), ELEMENTWISE))


def get_matmul_types(program: XlaProgram, instruction: HloInstruction) -> frozenset[str]:
    """The types of the numbers that an instruction, or one that it holds, multiplies."""
    return frozenset(_iter_matmul_types(program, instruction, 0))


def _iter_matmul_types(
    program: XlaProgram, instruction: HloInstruction, depth: int
) -> Iterator[str]:
    if _classify_unfused(instruction) in (MATMUL, CONVOLUTION):
        for operand in instruction.operands[:2]:
            given = program.by_id.get(operand)
            yield from iter_dtypes(given.shape) if given else ()
    for each in iter_fused_instructions(program, instruction) if depth <= _MAX_FUSION_DEPTH else ():
        yield from _iter_matmul_types(program, each, depth + 1)


def iter_fused_instructions(
    program: XlaProgram, instruction: HloInstruction
) -> Iterator[HloInstruction]:
    """The instructions that a fusion was made of."""
    for number in instruction.calls if instruction.opcode == "fusion" else ():
        computation = program.computations.get(number)
        yield from computation.instructions if computation else ()


def _iter_kinds(program: XlaProgram, instruction: HloInstruction, depth: int) -> Iterator[str]:
    if instruction.opcode != "fusion" or depth > _MAX_FUSION_DEPTH:
        yield _classify_unfused(instruction)
        return
    for each in iter_fused_instructions(program, instruction):
        yield from _iter_kinds(program, each, depth + 1)


def _classify_unfused(instruction: HloInstruction) -> str:
    if instruction.opcode == "custom-call":
        return _classify_custom_call(instruction.target.lower())
    if instruction.opcode.startswith(_COLLECTIVE_PREFIXES):
        return COLLECTIVE
    return _KIND_BY_OPCODE.get(instruction.opcode, ELEMENTWISE)


def _classify_custom_call(target: str) -> str:
    if "gemm" in target or "matmul" in target:
        return MATMUL
    if "conv" in target:
        return CONVOLUTION
    return f"custom call: {target}" if target else "custom call"


# A program of XLA as people read it: one line an instruction, computations one after the other.

_SHORT_TYPE_NAMES = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "float8": "f8",
    "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "bool": "pred", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


class ProgramLine(NamedTuple):
    text: str
    instruction: HloInstruction | None
    """What the line is of; None for what stands around instructions."""


def iter_program_lines(program: XlaProgram) -> Iterator[ProgramLine]:
    """The entry first, as that is where a reader begins."""
    entry = program.entry
    others = (each for each in program.module.computations if each is not entry)
    for computation in (*((entry,) if entry else ()), *others):
        yield from _iter_computation_lines(program, computation, computation is entry)
        yield ProgramLine("", None)


def _iter_computation_lines(
    program: XlaProgram, computation: HloComputation, is_entry: bool
) -> Iterator[ProgramLine]:
    yield ProgramLine(f"{'ENTRY ' if is_entry else ''}%{computation.name} {{", None)
    for instruction in computation.instructions:
        root = "ROOT " if instruction.id == computation.root else ""
        yield ProgramLine(f"  {root}{format_instruction(program, instruction)}", instruction)
    yield ProgramLine("}", None)


def format_instruction(program: XlaProgram, instruction: HloInstruction) -> str:
    said = ", ".join([_format_call(program, instruction), *_iter_attributes(program, instruction)])
    return f"%{instruction.name} = {format_shape(instruction.shape)} {said}"


def _format_call(program: XlaProgram, instruction: HloInstruction) -> str:
    if instruction.opcode == "parameter":
        return f"parameter({instruction.parameter})"
    given = (program.by_id.get(operand) for operand in instruction.operands)
    names = ", ".join(f"%{each.name}" if each else "%?" for each in given)
    return f"{instruction.opcode}({names})"


def _iter_attributes(program: XlaProgram, instruction: HloInstruction) -> Iterator[str]:
    if instruction.fusion_kind:
        yield f"kind={instruction.fusion_kind}"
    if instruction.target:
        yield f'custom_call_target="{instruction.target}"'
    if instruction.contracting_dimensions:
        yield f"lhs_contracting_dims={{{','.join(map(str, instruction.contracting_dimensions))}}}"
    called = [program.computations.get(number) for number in instruction.calls]
    if called:
        yield f"calls={', '.join(f'%{each.name}' if each else '%?' for each in called)}"
    if instruction.op_name:
        yield f'op_name="{instruction.op_name}"'


def format_shape(shape: HloShape) -> str:
    """As XLA writes it: ``f32[512,1024]``."""
    if shape.parts:
        return f"({', '.join(map(format_shape, shape.parts))})"
    return f"{_SHORT_TYPE_NAMES.get(shape.dtype, '?')}[{','.join(map(str, shape.dimensions))}]"
