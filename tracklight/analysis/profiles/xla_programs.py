"""XLA programs in a capture: their instructions, which events ran them, and their text.

A program is an HLO module as XLA compiled it. The events of a device are mapped to its instructions
by the arguments that the profiler recorded, or else by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles import unique_inverse
from tracklight.analysis.profiles.attribution import (
    GraphKernel,
    match_kernels,
    pair_launches,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.formats.profiles.hlo import (
    HloComputation,
    HloInstruction,
    HloModule,
    HloShape,
    iter_dtypes,
    iter_executed_computations,
    order_instructions,
)
from tracklight.types import Bool, Int64

# Kinds of instructions.
MATMUL = "matrix product"
CONVOLUTION = "convolution"
COLLECTIVE = "collective"
REDUCTION = "reduction"
ELEMENTWISE = "elementwise"
DATA_MOVEMENT = "data movement"
CONTROL_FLOW = "control flow"

LOW_PRECISION_TYPES = frozenset({"float16", "bfloat16", "float8"})

#: Characters of instruction names that are replaced by underscores in kernel names.
_NAME_SEPARATORS = re.compile(r"[.-]")
_LIBRARY_KERNEL = re.compile(r"gemm|nvjet|cutlass|matmul", re.I)
_MATMUL_TARGET = re.compile(r"gemm|matmul", re.I)
#: Results of `_InstructionMapper._resolve` that are no index of an instruction: the event ran no
#: known instruction, or it may be a matrix product of a library.
_UNKNOWN, _UNRESOLVED = -1, -2

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
#: The kind of a fusion is the first of these that it contains.
_KIND_PRIORITY = (COLLECTIVE, CONVOLUTION, MATMUL, REDUCTION, ELEMENTWISE)
#: Fusions contain fusions, and a damaged program may contain itself.
_MAX_FUSION_DEPTH = 8

_SHORT_TYPE_NAMES = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "float8": "f8",
    "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "bool": "pred", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


class XlaProgram:
    """An HLO module with lookup tables of its instructions."""

    def __init__(self, module: HloModule) -> None:
        self.module = module
        self.computations = {computation.id: computation for computation in module.computations}

    @property
    def entry(self) -> HloComputation | None:
        return self.computations.get(self.module.entry)

    @cached_property
    def instructions(self) -> dict[str, HloInstruction]:
        """All instructions by name."""
        return {instruction.name: instruction for instruction in self.iter_instructions()}

    @cached_property
    def by_id(self) -> dict[int, HloInstruction]:
        """All instructions by id, which is unique in the program."""
        return {instruction.id: instruction for instruction in self.iter_instructions()}

    @cached_property
    def executed(self) -> dict[str, HloInstruction]:
        """Instructions by name that run on their own, not as part of a fusion."""
        computations = iter_executed_computations(self.module)
        return {
            instruction.name: instruction
            for computation in computations
            for instruction in computation.instructions
        }

    @cached_property
    def by_kernel_name(self) -> dict[str, HloInstruction]:
        """Executed instructions by the name of the kernel that XLA generates for them."""
        return {_NAME_SEPARATORS.sub("_", name): item for name, item in self.executed.items()}

    @cached_property
    def scheduled(self) -> list[HloInstruction]:
        """The instructions of the entry computation in execution order."""
        return order_instructions(self.module, self.entry) if self.entry else []

    @cached_property
    def library_matmuls(self) -> list[HloInstruction]:
        """Matrix products that call a library such as cuBLAS, in execution order."""
        return [item for item in self.scheduled if _MATMUL_TARGET.search(item.target)]

    def get_source(self, instruction: HloInstruction) -> str:
        """Return file and line in the user's program; empty if unknown."""
        frame = instruction.frame - 1
        is_known = 0 <= frame < len(self.module.frames)
        return instruction.source or (self.module.frames[frame] if is_known else "")

    def iter_instructions(self) -> Iterator[HloInstruction]:
        for computation in self.module.computations:
            yield from computation.instructions


class InstructionRef(NamedTuple):
    """An instruction and the program that contains it."""

    program: XlaProgram
    instruction: HloInstruction


class InstructionMap(NamedTuple):
    """Which instruction each event ran, for the events of which that is known."""

    events: Int64
    instance: Int64
    """For each event, an index into ``instructions``."""
    instructions: list[InstructionRef]


def list_programs(trace: Trace) -> list[XlaProgram]:
    """List the programs of a capture that have any computation."""
    return [XlaProgram(module) for module in trace.hlo_modules if module.computations]


def map_instructions(trace: Trace, programs: list[XlaProgram]) -> InstructionMap:
    """Find the instruction that each event ran.

    Kernels of a CUDA graph are only labeled with the graph; see `cuda_graphs`. Other kernels that
    name no instruction are matrix products of a library, in program order.
    """
    mapper = _InstructionMapper(trace, programs)
    events, op_index, ops = trace.get_unique_text_args("hlo_op")
    is_left = ~mapper.add_graphs(events, op_index, ops)
    mapper.add(events[is_left], op_index[is_left], ops)
    mapper.add_library_matmuls()
    return mapper.build()


class _InstructionMapper:
    def __init__(self, trace: Trace, programs: list[XlaProgram]) -> None:
        self._trace = trace
        self._programs = programs
        self._by_id = {program.module.id: program for program in programs}
        self._events: list[Int64] = []
        self._instances: list[Int64] = []
        self._instructions: list[InstructionRef] = []
        self._unresolved: Int64 = np.empty(0, np.int64)
        self._program_id = self._get_int_column("program_id")

    def add(self, events: Int64, op_index: Int64, ops: list[str]) -> None:
        """Map events by their ``hlo_op`` argument. Equal events are resolved once."""
        program_ids, program_index = unique_inverse(self._program_id[events])
        names = self._trace.name[events].astype(np.int64)
        keys = (program_index * len(ops) + op_index) * len(self._trace.names) + names
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        resolved = [
            self._resolve(int(program_ids[program_index[at]]), ops[op_index[at]], int(names[at]))
            for at in first.tolist()
        ]
        instance = np.array(resolved, np.int64)[inverse]
        self._append(events[instance >= 0], instance[instance >= 0])
        self._unresolved = events[instance == _UNRESOLVED]

    def add_graphs(self, events: Int64, op_index: Int64, ops: list[str]) -> Bool:
        """Map the kernels of CUDA graphs, and return a mask of the events that belong to one."""
        nodes = np.full(len(self._trace), -1, np.int64)
        node_events, node_ids = self._trace.get_int_args("cuda_graph_node_id")
        nodes[node_events] = node_ids
        in_graph: Bool = nodes[events] >= 0
        labeled = [
            op
            for op, count in zip(ops, np.bincount(op_index, minlength=len(ops)), strict=True)
            if count
        ]
        matched: dict[tuple[int, str, bytes], Int64] = {}
        launch_id = self._get_int_column("correlation_id")
        graph_events, graph_ops = events[in_graph], op_index[in_graph]
        program_id = self._program_id[graph_events]
        order = np.lexsort((nodes[graph_events], graph_ops, program_id, launch_id[graph_events]))
        graph_events, graph_ops = graph_events[order], graph_ops[order]
        keys = np.column_stack([launch_id[graph_events], self._program_id[graph_events], graph_ops])
        is_new = np.any(np.diff(keys, axis=0) != 0, axis=1)
        for launch in np.split(np.arange(len(graph_events)), np.flatnonzero(is_new) + 1):
            if not len(launch):
                continue
            own = graph_events[launch]
            program = self._by_id.get(int(self._program_id[own[0]]))
            if program is None or program.entry is None:
                continue
            names = self._trace.name[own].tobytes()
            key = (program.module.id, ops[graph_ops[launch[0]]], names)
            if key not in matched:
                found = self._match_graph(program, own, nodes, labeled)
                matched[key] = np.array(found, np.int64)
            instances = matched[key]
            self._append(own[instances >= 0], instances[instances >= 0])
        return in_graph

    def _match_graph(
        self, program: XlaProgram, events: Int64, nodes: Int64, labeled: list[str]
    ) -> list[int]:
        """Return the instance of each kernel of one launch, -1 where it is unknown."""
        trace = self._trace
        kernels = [
            GraphKernel(
                trace.names[trace.name[event]], int(nodes[event]), int(trace.start_ps[event])
            )
            for event in events.tolist()
        ]
        outside = {op.rpartition("::")[2] for op in labeled}
        inside = [item for item in program.scheduled if item.name not in outside]
        return [
            -1 if item is None else self._add_instruction(InstructionRef(program, item))
            for item in match_kernels(kernels, inside, program.by_kernel_name)
        ]

    def add_library_matmuls(self) -> None:
        """Map the unresolved kernels of launches with as many of them as library products."""
        instances: dict[int, Int64] = {}
        for events in self._iter_unresolved_launches():
            program = self._by_id.get(int(self._program_id[events[0]]))
            if program is None or len(program.library_matmuls) != len(events):
                continue
            if program.module.id not in instances:
                refs = [
                    InstructionRef(program, library_matmul)
                    for library_matmul in program.library_matmuls
                ]
                added = [self._add_instruction(ref) for ref in refs]
                instances[program.module.id] = np.array(added)
            self._append(events, instances[program.module.id])

    def build(self) -> InstructionMap:
        empty = np.empty(0, np.int64)
        return InstructionMap(
            np.concatenate([empty, *self._events]),
            np.concatenate([empty, *self._instances]),
            self._instructions,
        )

    def _append(self, events: Int64, instance: Int64) -> None:
        self._events.append(events)
        self._instances.append(instance)

    def _get_int_column(self, key: str) -> Int64:
        """Return the value of an argument for every event, 0 where it is missing."""
        column = np.zeros(len(self._trace), np.int64)
        events, values = self._trace.get_int_args(key)
        column[events] = values
        return column

    def _resolve(self, program_id: int, op: str, name: int) -> int:
        program = self._by_id.get(program_id) or _find_program_of_op(self._programs, op)
        if program is None:
            return _UNKNOWN
        kernel = self._trace.names[name]
        instruction = program.executed.get(op.rpartition("::")[2])
        instruction = instruction or program.by_kernel_name.get(kernel)
        if instruction is not None:
            return self._add_instruction(InstructionRef(program, instruction))
        return _UNRESOLVED if _LIBRARY_KERNEL.search(kernel) else _UNKNOWN

    def _add_instruction(self, ref: InstructionRef) -> int:
        self._instructions.append(ref)
        return len(self._instructions) - 1

    def _iter_unresolved_launches(self) -> Iterator[Int64]:
        """Yield the unresolved events of each launch of a program, sorted by time."""
        events, launch_id = self._unresolved, self._get_int_column("correlation_id")
        if len(events):
            start, program_id = self._trace.start_ps, self._program_id
            events = events[np.lexsort((start[events], launch_id[events], program_id[events]))]
            is_new_launch = np.diff(launch_id[events]) != 0
            is_new_program = np.diff(program_id[events]) != 0
            yield from np.split(events, np.flatnonzero(is_new_launch | is_new_program) + 1)


def group_runs(trace: Trace, instructions: InstructionMap) -> Int64:
    """Return, for each event of a map, the first event of the same run of its instruction.

    An instruction that calls a library may run several kernels. In the entry computation, every
    instruction runs once per execution of the program. Elsewhere, or if the execution is unknown,
    a run has as many kernels as the rarest of them suggests.
    """
    events, index, refs = instructions
    execution = _get_executions(trace)[events]
    entry_names = {
        id(program): {item.name for item in program.scheduled}
        for program in {id(ref.program): ref.program for ref in refs}.values()
    }
    key_of: dict[tuple[int, str], int] = {}
    keys = [key_of.setdefault((id(ref.program), ref.instruction.name), len(key_of)) for ref in refs]
    in_entry = [ref.instruction.name in entry_names[id(ref.program)] for ref in refs]
    key = np.array(keys, np.int64)[index]
    is_known = np.array(in_entry, bool)[index] & (execution >= 0)
    first: Int64 = events.copy()
    _set_first(first, events, np.flatnonzero(is_known), key, execution)
    rest = np.flatnonzero(~is_known)
    _set_first(first, events, rest, key, _number_runs(trace, events, rest, key))
    return first


def _set_first(first: Int64, events: Int64, rows: Int64, key: Int64, run: Int64) -> None:
    """Set the first event of rows that have the same key and run."""
    if len(rows):
        runs, run_index = unique_inverse(run[rows])
        pairs, inverse = unique_inverse(key[rows] * len(runs) + run_index)
        lowest = np.full(len(pairs), np.iinfo(np.int64).max)
        np.minimum.at(lowest, inverse, events[rows])
        first[rows] = lowest[inverse]


def _number_runs(trace: Trace, events: Int64, rows: Int64, key: Int64) -> Int64:
    """Number the runs of instructions by the kernel that each of them ran least often."""
    run = np.zeros(len(events), np.int64)
    rows = rows[np.lexsort((trace.start_ps[events[rows]], key[rows]))]
    for own in np.split(rows, np.flatnonzero(np.diff(key[rows])) + 1):
        if not len(own):
            continue
        names, name = unique_inverse(trace.name[events[own]])
        counts = np.bincount(name, minlength=len(names))
        per_run = counts // counts.min()
        for item in range(len(counts)):
            same = np.flatnonzero(name == item)
            run[own[same]] = np.arange(len(same)) // per_run[item]
    return run


def _get_executions(trace: Trace) -> Int64:
    """Return the execution of a program in which each device event was launched, -1 if unknown."""
    execution = np.full(len(trace), -1, np.int64)
    callers, run_ids = trace.get_int_args("run_id")
    on_host = ~trace.on_device[callers]
    callers, run_ids = callers[on_host], run_ids[on_host]
    if not len(callers):
        return execution
    order = np.argsort(callers, kind="stable")  # by track, then by start
    callers, run_ids = callers[order], run_ids[order]
    launches, launched = pair_launches(trace)
    at = np.searchsorted(callers, launches, "right") - 1
    caller = callers[np.maximum(at, 0)]
    is_inside = (
        (at >= 0)
        & (trace.track[caller] == trace.track[launches])
        & (trace.end_ps[caller] >= trace.start_ps[launches])
    )
    execution[launched[is_inside]] = run_ids[np.maximum(at, 0)][is_inside]
    return execution


def _find_program_of_op(programs: list[XlaProgram], op: str) -> XlaProgram | None:
    return next((program for program in programs if op in program.executed), None)


def classify_instruction(program: XlaProgram, instruction: HloInstruction) -> str:
    """Return the kind of an instruction; of a fusion, that of its most expensive instruction."""
    kinds = set(_iter_kinds(program, instruction, 0))
    return next((kind for kind in _KIND_PRIORITY if kind in kinds), next(iter(kinds), ELEMENTWISE))


def get_matmul_types(program: XlaProgram, instruction: HloInstruction) -> frozenset[str]:
    """Return the types of the numbers that an instruction, or its fused instructions, multiply."""
    types: set[str] = set()
    for matmul in _iter_matmuls(program, instruction, 0):
        for operand_id in matmul.operands[:2]:
            operand = program.by_id.get(operand_id)
            types.update(iter_dtypes(operand.shape) if operand else ())
    return frozenset(types)


def allows_tf32(program: XlaProgram, instruction: HloInstruction) -> bool:
    """Return whether an instruction contains products that may be in TF32 if they are in 32 bits.

    XLA uses it where the program does not ask for more than the default precision.
    """
    matmuls = list(_iter_matmuls(program, instruction, 0))
    return bool(matmuls) and not any(matmul.is_precise for matmul in matmuls)


def iter_fused_instructions(
    program: XlaProgram, instruction: HloInstruction
) -> Iterator[HloInstruction]:
    """Yield the instructions of a fusion; nothing for other instructions."""
    for id in instruction.calls if instruction.opcode == "fusion" else ():
        computation = program.computations.get(id)
        yield from computation.instructions if computation else ()


def _iter_matmuls(
    program: XlaProgram, instruction: HloInstruction, depth: int
) -> Iterator[HloInstruction]:
    """Yield the matrix products and convolutions of an instruction and its fused instructions."""
    if _classify_unfused(instruction) in (MATMUL, CONVOLUTION):
        yield instruction
    if depth <= _MAX_FUSION_DEPTH:
        for fused_instruction in iter_fused_instructions(program, instruction):
            yield from _iter_matmuls(program, fused_instruction, depth + 1)


def _iter_kinds(program: XlaProgram, instruction: HloInstruction, depth: int) -> Iterator[str]:
    if instruction.opcode != "fusion" or depth > _MAX_FUSION_DEPTH:
        yield _classify_unfused(instruction)
        return
    for fused_instruction in iter_fused_instructions(program, instruction):
        yield from _iter_kinds(program, fused_instruction, depth + 1)


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


class ProgramLine(NamedTuple):
    """A line of the text of a program."""

    text: str
    instruction: HloInstruction | None
    """None for lines that begin or end a computation."""


def iter_program_lines(program: XlaProgram) -> Iterator[ProgramLine]:
    """Yield the text of a program in HLO syntax, the entry computation first."""
    entry = program.entry
    others = (item for item in program.module.computations if item is not entry)
    for computation in (*((entry,) if entry else ()), *others):
        yield from _iter_computation_lines(program, computation, computation is entry)
        yield ProgramLine("", None)


def _iter_computation_lines(
    program: XlaProgram, computation: HloComputation, is_entry: bool
) -> Iterator[ProgramLine]:
    yield ProgramLine(f"{'ENTRY ' if is_entry else ''}%{computation.name} {{", None)
    for instruction in computation.instructions:
        root = "ROOT " if instruction.id == computation.root else ""
        yield ProgramLine(f"  {root}{_format_instruction(program, instruction)}", instruction)
    yield ProgramLine("}", None)


def _format_instruction(program: XlaProgram, instruction: HloInstruction) -> str:
    """Format an instruction: ``%dot.1 = f32[8,8] dot(%a, %b), lhs_contracting_dims={1}``."""
    call = [_format_call(program, instruction), *_iter_attributes(program, instruction)]
    return f"%{instruction.name} = {format_shape(instruction.shape)} {', '.join(call)}"


def _format_call(program: XlaProgram, instruction: HloInstruction) -> str:
    if instruction.opcode == "parameter":
        return f"parameter({instruction.parameter})"
    operands = (program.by_id.get(id) for id in instruction.operands)
    names = ", ".join(f"%{operand.name}" if operand else "%?" for operand in operands)
    return f"{instruction.opcode}({names})"


def _iter_attributes(program: XlaProgram, instruction: HloInstruction) -> Iterator[str]:
    if instruction.fusion_kind:
        yield f"kind={instruction.fusion_kind}"
    if instruction.target:
        yield f'custom_call_target="{instruction.target}"'
    if instruction.contracting_dimensions:
        yield f"lhs_contracting_dims={{{','.join(map(str, instruction.contracting_dimensions))}}}"
    called = [program.computations.get(id) for id in instruction.calls]
    if called:
        yield f"calls={', '.join(f'%{item.name}' if item else '%?' for item in called)}"
    if instruction.op_name:
        yield f'op_name="{instruction.op_name}"'


def format_shape(shape: HloShape) -> str:
    """Format a shape as XLA does: ``f32[512,1024]``."""
    if shape.parts:
        return f"({', '.join(map(format_shape, shape.parts))})"
    return f"{_SHORT_TYPE_NAMES.get(shape.dtype, '?')}[{','.join(map(str, shape.dimensions))}]"
