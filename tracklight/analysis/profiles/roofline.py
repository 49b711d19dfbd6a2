"""What ops compute and move, against what their device can."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles.ops import EventOps, Op, OpSide, OpStats, list_instruction_ops
from tracklight.analysis.profiles.trace import Device, Trace
from tracklight.analysis.profiles.xla_programs import (
    DATA_MOVEMENT,
    MATMUL,
    InstructionMap,
    InstructionRef,
    XlaProgram,
    classify_instruction,
    iter_fused_instructions,
)
from tracklight.formats.profiles.hlo import HloInstruction, HloShape

# How many operations an instruction of XLA takes, and how many bytes it moves.
#
# Counted from shapes as a person would: a product of matrices takes two operations for each pair of
# numbers, anything elementwise one a number. Bytes are those of what goes in and comes out, as if
# each were touched once.

_XLA_TYPE_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "float8": 1, "int16": 2, "uint16": 2, "float16": 2,
    "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip

_MAX_NESTING = 8


class Cost(NamedTuple):
    flops: float
    bytes: float


def compute_instruction_cost(program: XlaProgram, instruction: HloInstruction) -> Cost:
    shapes = [_get_result_shape(instruction), *_get_operand_shapes(program, instruction)]
    return Cost(_count_flops(program, instruction, 0), sum(map(compute_shape_bytes, shapes)))


def compute_shape_bytes(shape: HloShape) -> int:
    own = prod(shape.dimensions) * _XLA_TYPE_BYTES.get(shape.dtype, 0)
    return own + sum(compute_shape_bytes(part) for part in shape.parts)


def _count_elements(shape: HloShape) -> int:
    if shape.parts:
        return max(_count_elements(part) for part in shape.parts)
    return prod(shape.dimensions) if shape.dtype else 0


def _count_flops(program: XlaProgram, instruction: HloInstruction, depth: int) -> float:
    if depth > _MAX_NESTING:
        return 0.0
    if instruction.opcode == "fusion":
        held = iter_fused_instructions(program, instruction)
        return sum(_count_flops(program, each, depth + 1) for each in held)
    kind = classify_instruction(program, instruction)
    if kind == MATMUL:
        return _count_matmul_flops(program, instruction)
    if instruction.opcode == "convolution":
        return _count_convolution_flops(program, instruction)
    if instruction.opcode in ("reduce", "reduce-window"):
        return float(sum(map(_count_elements, _get_operand_shapes(program, instruction)[:1])))
    return 0.0 if kind == DATA_MOVEMENT else float(_count_elements(instruction.shape))


def _count_matmul_flops(program: XlaProgram, instruction: HloInstruction) -> float:
    given = _get_operand_shapes(program, instruction)
    if not given:
        return 0.0
    first = given[0].dimensions
    contracted = instruction.contracting_dimensions or _parse_contracted(instruction.config)
    summed = prod(first[at] for at in contracted if 0 <= at < len(first))
    return 2.0 * summed * _count_elements(_get_result_shape(instruction))


def _get_result_shape(instruction: HloInstruction) -> HloShape:
    """What a library gives besides a product is the room that it worked in, which is no result."""
    parts = instruction.shape.parts
    return parts[0] if parts and instruction.opcode == "custom-call" else instruction.shape


def _parse_contracted(config: str) -> tuple[int, ...]:
    """Which dimensions a library's product sums over, as its backend was told."""
    try:
        told = json.loads(config)["gemm_backend_config"]["dot_dimension_numbers"]
        return tuple(int(at) for at in told["lhs_contracting_dimensions"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def _count_convolution_flops(program: XlaProgram, instruction: HloInstruction) -> float:
    given = _get_operand_shapes(program, instruction)
    if len(given) < 2:
        return 0.0
    kernel = given[1].dimensions
    outputs = (
        kernel[instruction.kernel_output_dimension]
        if instruction.kernel_output_dimension < len(kernel)
        else 1
    )
    return 2.0 * _count_elements(instruction.shape) * prod(kernel) / max(outputs, 1)


def _get_operand_shapes(program: XlaProgram, instruction: HloInstruction) -> list[HloShape]:
    """The shapes of its operands."""
    found = (program.by_id.get(operand) for operand in instruction.operands)
    return [each.shape for each in found if each is not None]


# How long each instruction of the programs that ran took.


class InstructionTime(NamedTuple):
    """An instruction and how long all its runs took."""

    ref: InstructionRef
    kind: str
    run_count: int
    total_ps: int
    cost: Cost
    """Of one run."""
    longest_event: int
    """The event that took longest."""


def measure_instruction_times(trace: Trace, placement: InstructionMap) -> list[InstructionTime]:
    """Those that took longest first."""
    events, which, places = placement
    duration = trace.duration_ps[events]
    total = np.zeros(len(places), np.int64)
    np.add.at(total, which, duration)
    runs = np.bincount(which, minlength=len(places))
    longest = np.full(len(places), -1, np.int64)
    order = np.argsort(duration, kind="stable")
    longest[which[order]] = events[order]
    timed = [
        InstructionTime(
            each,
            classify_instruction(*each),
            int(runs[at]),
            int(total[at]),
            compute_instruction_cost(*each),
            int(longest[at]),
        )
        for at, each in enumerate(places)
        if runs[at]
    ]
    return sorted(_merge_same_instruction(timed), key=lambda each: -each.total_ps)


def _merge_same_instruction(timed: list[InstructionTime]) -> list[InstructionTime]:
    """Put those together that are one instruction: it was met under several names."""
    met: dict[tuple[int, str], InstructionTime] = {}
    for each in timed:
        key = (each.ref.program.module.id, each.ref.instruction.name)
        known = met.get(key)
        if known is None:
            met[key] = each
            continue
        longer = known if known.total_ps >= each.total_ps else each
        met[key] = longer._replace(
            run_count=known.run_count + each.run_count, total_ps=known.total_ps + each.total_ps
        )
    return [*met.values()]


# How many operations an op of PyTorch takes and how many bytes it moves, by what it was given.

_TORCH_TYPE_BYTES = {
    "float": 4, "double": 8, "int": 4, "long int": 8, "bool": 1, "unsigned char": 1,
    "signed char": 1, "short": 2, "c10::Half": 2, "c10::BFloat16": 2, "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1,
}  # fmt: skip

_MATMULS_WITH_BIAS = {"aten::addmm", "aten::baddbmm"}

_MATMULS = {"aten::mm", "aten::bmm", "aten::matmul", "aten::_scaled_mm", *_MATMULS_WITH_BIAS}

_CONVOLUTIONS = {
    "aten::cudnn_convolution", "aten::mkldnn_convolution", "aten::_convolution",
    "aten::convolution_overrideable", "aten::miopen_convolution", "aten::convolution",
}  # fmt: skip

_CONVOLUTION_BACKWARD = {"aten::convolution_backward"}

#: Of these, nothing is computed.
_DATA_MOVEMENT_OPS = {"aten::copy_", "aten::cat", "aten::clone", "aten::fill_", "aten::zero_"}


@lru_cache(maxsize=65_536)
def estimate_torch_cost(op: str, dimensions: str, types: str) -> Cost | None:
    """The cost of one call; None where nothing is known of it.

    What comes out is not recorded: of a product it follows from what went in, of anything else it
    is taken to be as large as the largest of that.
    """
    try:
        shapes = [shape for shape in json.loads(dimensions) if _is_shape(shape)]
        sizes = [_TORCH_TYPE_BYTES.get(kind, 4) for kind in json.loads(types)]
    except (ValueError, TypeError, RecursionError):
        return None
    if not shapes or not sizes:
        return None
    out, flops = _estimate_output(op, shapes)
    moved = sum(prod(shape) * size for shape, size in zip(shapes, sizes, strict=False))
    return Cost(flops, float(moved + out * sizes[0]))


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and bool(shape) and all(isinstance(size, int) for size in shape)


def _estimate_output(op: str, shapes: list[list[int]]) -> tuple[int, float]:
    """How many numbers come out, and how many operations that takes."""
    given = shapes[1:] if op in _MATMULS_WITH_BIAS else shapes
    if op in _MATMULS and len(given) >= 2:
        return _estimate_matmul(*given[:2])
    if op in _CONVOLUTIONS and len(shapes) >= 2:
        return _estimate_convolution(*shapes[:2])
    if op in _CONVOLUTION_BACKWARD and len(shapes) >= 3:
        # Once for what went in and once for the weights.
        out, kernel = shapes[0], shapes[2]
        return prod(shapes[1]), 4.0 * prod(out) * prod(kernel[1:])
    largest = max(map(prod, shapes))
    return largest, 0.0 if op in _DATA_MOVEMENT_OPS else float(largest)


def _estimate_matmul(one: list[int], other: list[int]) -> tuple[int, float]:
    out = prod(one[:-1]) * other[-1]
    return out, 2.0 * out * one[-1]


def _estimate_convolution(given: list[int], kernel: list[int]) -> tuple[int, float]:
    """As if nothing were cut off at the edges, which is what most convolutions are padded for."""
    out = given[0] * kernel[0] * prod(given[2:])
    return out, 2.0 * out * prod(kernel[1:])


# How fast devices can be: what their makers say, else what their number of units comes to.


class PeakRates(NamedTuple):
    """Operations a second in 32 bits on plain units, in TF32 and in 16 bits on tensor cores.

    0 where a device has no such units, or nobody says.
    """

    fp32: float
    tf32: float
    fp16: float
    bytes_per_s: float
    is_estimate: bool = False
    """It was reckoned, and nobody promised it."""


_TERA = 1e12

#: Dense, without the doubling for sparse matrices; longer names first, as they hold shorter ones.
_PEAK_RATES: dict[str, PeakRates] = {
    "GB200": PeakRates(80 * _TERA, 1250 * _TERA, 2500 * _TERA, 8.0e12),
    "B200": PeakRates(75 * _TERA, 1125 * _TERA, 2250 * _TERA, 8.0e12),
    "H200": PeakRates(67 * _TERA, 495 * _TERA, 989 * _TERA, 4.8e12),
    "GH200": PeakRates(67 * _TERA, 495 * _TERA, 989 * _TERA, 4.0e12),
    "H100 PCIe": PeakRates(51 * _TERA, 378 * _TERA, 756 * _TERA, 2.0e12),
    "H100": PeakRates(67 * _TERA, 495 * _TERA, 989 * _TERA, 3.35e12),
    "A100-SXM4-80GB": PeakRates(19.5 * _TERA, 156 * _TERA, 312 * _TERA, 2.04e12),
    "A100": PeakRates(19.5 * _TERA, 156 * _TERA, 312 * _TERA, 1.56e12),
    "L40S": PeakRates(91.6 * _TERA, 183 * _TERA, 362 * _TERA, 0.864e12),
    "L40": PeakRates(90.5 * _TERA, 90.5 * _TERA, 181 * _TERA, 0.864e12),
    "L4": PeakRates(30.3 * _TERA, 60 * _TERA, 121 * _TERA, 0.3e12),
    "A10G": PeakRates(31.5 * _TERA, 35 * _TERA, 70 * _TERA, 0.6e12),
    "A10": PeakRates(31.2 * _TERA, 62.5 * _TERA, 125 * _TERA, 0.6e12),
    "V100": PeakRates(15.7 * _TERA, 0.0, 125 * _TERA, 0.9e12),
    "T4": PeakRates(8.1 * _TERA, 0.0, 65 * _TERA, 0.32e12),
    "RTX 5090": PeakRates(105 * _TERA, 105 * _TERA, 210 * _TERA, 1.79e12),
    "RTX 4090": PeakRates(82.6 * _TERA, 82.6 * _TERA, 165 * _TERA, 1.01e12),
    "RTX 3090": PeakRates(35.6 * _TERA, 35.6 * _TERA, 71 * _TERA, 0.936e12),
    "MI300X": PeakRates(163 * _TERA, 654 * _TERA, 1307 * _TERA, 5.3e12),
}

#: By capability: operations a cycle of one multiprocessor, plain and in 16 bits on tensor cores.
_PER_CYCLE = {
    (7, 0): (128, 1024), (7, 5): (128, 1024), (8, 0): (128, 2048), (8, 6): (256, 1024),
    (8, 9): (256, 1024), (9, 0): (256, 4096), (10, 0): (256, 8192), (12, 0): (256, 1024),
}  # fmt: skip


def find_peak_rates(device: Device) -> PeakRates | None:
    """None where neither its name nor what it is made of is known."""
    known = next(
        (peaks for name, peaks in _PEAK_RATES.items() if _has_word(device.name, name)), None
    )
    if known is not None:
        # What the device says of its own memory goes before what is printed on the box.
        return known._replace(bytes_per_s=device.memory_bytes_per_s or known.bytes_per_s)
    per_cycle = _PER_CYCLE.get(device.compute_capability)
    cycles = device.multiprocessors * device.clock_hz
    if per_cycle is None or not cycles or not device.memory_bytes_per_s:
        return None
    plain, tensor = (each * cycles for each in per_cycle)
    has_32 = device.compute_capability >= (8, 0)
    return PeakRates(plain, tensor / 2 if has_32 else 0.0, tensor, device.memory_bytes_per_s, True)


def _has_word(name: str, word: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){word}(?![A-Za-z0-9])", name) is not None


# Where ops stand below the roof of their device: what they compute and move, in which time.


class RooflinePoint(NamedTuple):
    """An op: what all its calls together computed, moved and took."""

    op: Op
    side: OpSide
    call_count: int
    self_ps: int
    flops: float
    bytes: float
    longest_event: int


def compute_roofline_points(
    trace: Trace, event_ops: EventOps, ops: OpStats, instructions: InstructionMap
) -> list[RooflinePoint]:
    """The ops of which it is known what they cost, those that took longest first.

    Where a device ran, only what ran there: its host waits for it in the meantime.
    """
    costs = dict(_iter_program_costs(instructions)) | dict(_iter_torch_costs(trace, event_ops))
    side = OpSide.DEVICE if (ops.sides == OpSide.DEVICE).any() else OpSide.HOST
    columns = (ops.sides, ops.counts, ops.self_ps, ops.longest_event)
    rows = zip(ops.ops, *(column.tolist() for column in columns), strict=True)
    return [
        RooflinePoint(op, side, count, own, count * cost.flops, count * cost.bytes, longest)
        for op, its, count, own, longest in rows
        if its == side and own > 0 and (cost := costs.get(op)) and (cost.flops or cost.bytes)
    ]


def _iter_program_costs(placement: InstructionMap) -> Iterator[tuple[Op, Cost]]:
    for op, placed in zip(list_instruction_ops(placement), placement.instructions, strict=True):
        yield op, compute_instruction_cost(*placed)


def _iter_torch_costs(trace: Trace, naming: EventOps) -> Iterator[tuple[Op, Cost]]:
    """Ops of PyTorch are named by the shapes they were given, so one event tells of all."""
    events, texts = trace.get_text_args("input_dims")
    types = dict(zip(*_list_text_args(trace, "input_types"), strict=True))
    for event, text in zip(events.tolist(), texts, strict=True):
        number = naming.op_index[event]
        if number >= 0 and event in types:
            op = naming.ops[number]
            cost = estimate_torch_cost(op.type, text, types[event])
            if cost is not None:
                yield op, cost


def _list_text_args(trace: Trace, key: str) -> tuple[list[int], list[str]]:
    events, texts = trace.get_text_args(key)
    return events.tolist(), texts
