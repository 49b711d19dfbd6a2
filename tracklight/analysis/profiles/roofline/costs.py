"""FLOPs and memory traffic of ops.

Costs are counted from shapes: a matrix product takes two operations per pair of numbers, an
elementwise op one per element. Bytes are those of inputs and outputs, each touched once.
"""

from __future__ import annotations

import json
from functools import lru_cache
from math import nan, prod
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import unique_counts
from tracklight.analysis.profiles.ops import EventOps, Op
from tracklight.analysis.profiles.trace import Trace
from tracklight.analysis.profiles.xla_programs import (
    CONVOLUTION,
    DATA_MOVEMENT,
    MATMUL,
    InstructionMap,
    InstructionRef,
    XlaProgram,
    classify_instruction,
    group_runs,
    iter_fused_instructions,
)
from tracklight.formats.profiles.hlo import HloInstruction, HloShape

_XLA_TYPE_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "float8": 1, "int16": 2, "uint16": 2, "float16": 2,
    "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip
_MAX_FUSION_DEPTH = 8

#: PyTorch's type of two numbers in a byte. Shapes count bytes.
_PACKED_FP4 = "c10::Float4_e2m1fn_x2"
_TORCH_TYPE_BYTES = {
    "float": 4, "double": 8, "int": 4, "long int": 8, "bool": 1, "unsigned char": 1,
    "signed char": 1, "short": 2, "c10::Half": 2, "c10::BFloat16": 2, "c10::Float8_e4m3fn": 1,
    "c10::Float8_e5m2": 1, "c10::Float8_e8m0fnu": 1, _PACKED_FP4: 1,
}  # fmt: skip
_MATMULS_WITH_BIAS = {"aten::addmm", "aten::baddbmm"}
_SCALED_MATMUL = "aten::_scaled_mm"
_MATMULS = {"aten::mm", "aten::bmm", "aten::matmul", _SCALED_MATMUL, *_MATMULS_WITH_BIAS}
_CONVOLUTIONS = {
    "aten::cudnn_convolution", "aten::mkldnn_convolution", "aten::_convolution",
    "aten::convolution_overrideable", "aten::miopen_convolution", "aten::convolution",
}  # fmt: skip
_CONVOLUTION_BACKWARD = {"aten::convolution_backward"}
_DATA_MOVEMENT_OPS = {"aten::copy_", "aten::cat", "aten::clone", "aten::fill_", "aten::zero_"}


class Cost(NamedTuple):
    """Floating-point operations and bytes read or written by one call."""

    flops: float
    """NaN if unknown, as for most custom calls."""
    bytes: float


def compute_op_costs(
    trace: Trace, event_ops: EventOps, instructions: InstructionMap
) -> dict[Op, Cost]:
    """Return the mean cost of a call of each op of which it is known."""
    return _compute_program_costs(trace, instructions) | _compute_torch_costs(trace, event_ops)


class _CostTotals:
    """Sums up the costs of the calls of ops."""

    def __init__(self) -> None:
        self._totals: dict[Op, tuple[int, float, float]] = {}

    def add(self, op: Op, cost: Cost, calls: int) -> None:
        before, flops, size = self._totals.get(op, (0, 0.0, 0.0))
        self._totals[op] = before + calls, flops + calls * cost.flops, size + calls * cost.bytes

    def get_means(self) -> dict[Op, Cost]:
        """Return the mean cost of a call of each op."""
        return {
            op: Cost(flops / calls, size / calls)
            for op, (calls, flops, size) in self._totals.items()
        }


# --- XLA instructions ----------------------------------------------------------------------------


def compute_instruction_cost(program: XlaProgram, instruction: HloInstruction) -> Cost:
    shapes = [_get_result_shape(instruction), *_get_operand_shapes(program, instruction)]
    return Cost(_count_flops(program, instruction, 0), sum(map(_compute_shape_bytes, shapes)))


def _compute_shape_bytes(shape: HloShape) -> int:
    own_bytes = prod(shape.dimensions) * _XLA_TYPE_BYTES.get(shape.dtype, 0)
    return own_bytes + sum(_compute_shape_bytes(part) for part in shape.parts)


def _count_elements(shape: HloShape) -> int:
    if shape.parts:
        return max(_count_elements(part) for part in shape.parts)
    return prod(shape.dimensions) if shape.dtype else 0


def _count_flops(program: XlaProgram, instruction: HloInstruction, depth: int) -> float:
    if depth > _MAX_FUSION_DEPTH:
        return 0.0
    if instruction.opcode == "fusion":
        fused = iter_fused_instructions(program, instruction)
        return sum(_count_flops(program, each, depth + 1) for each in fused)
    kind = classify_instruction(program, instruction)
    if kind == MATMUL:
        return _count_matmul_flops(program, instruction)
    if kind == CONVOLUTION:
        return _count_convolution_flops(program, instruction)
    if instruction.opcode == "custom-call":
        return nan
    if instruction.opcode in ("reduce", "reduce-window"):
        return float(sum(map(_count_elements, _get_operand_shapes(program, instruction)[:1])))
    return 0.0 if kind == DATA_MOVEMENT else float(_count_elements(instruction.shape))


def _count_matmul_flops(program: XlaProgram, instruction: HloInstruction) -> float:
    operands = _get_operand_shapes(program, instruction)
    contracted = instruction.contracting_dimensions or _parse_contracted(instruction.config)
    if not operands or (contracted is None and instruction.opcode == "custom-call"):
        return nan
    left = operands[0].dimensions
    inner_size = prod(left[axis] for axis in contracted or () if 0 <= axis < len(left))
    return 2.0 * inner_size * _count_elements(_get_result_shape(instruction))


def _count_convolution_flops(program: XlaProgram, instruction: HloInstruction) -> float:
    """Count a multiplication and an addition per output element and input of the filter.

    The gradients of a convolution take as many operations as the convolution itself.
    """
    operands = _get_operand_shapes(program, instruction)
    if len(operands) < 2:
        return nan
    result = _get_result_shape(instruction)
    if "BackwardFilter" in instruction.target:
        output, filter = operands[1], result
    elif "BackwardInput" in instruction.target:
        output, filter = operands[0], operands[1]
    else:
        output, filter = result, operands[1]
    axis = instruction.kernel_output_dimension
    outputs = filter.dimensions[axis] if axis < len(filter.dimensions) else 1
    return 2.0 * _count_elements(output) * prod(filter.dimensions) / max(outputs, 1)


def _get_result_shape(instruction: HloInstruction) -> HloShape:
    """Return the shape of the result. Further outputs of a library call are its workspace."""
    parts = instruction.shape.parts
    return parts[0] if parts and instruction.opcode == "custom-call" else instruction.shape


def _parse_contracted(config: str) -> tuple[int, ...] | None:
    """Return the contracted dimensions in the backend config of a library call, if it has any."""
    try:
        dimensions = json.loads(config)["gemm_backend_config"]["dot_dimension_numbers"]
        return tuple(int(axis) for axis in dimensions["lhs_contracting_dimensions"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _get_operand_shapes(program: XlaProgram, instruction: HloInstruction) -> list[HloShape]:
    operands = (program.by_id.get(id) for id in instruction.operands)
    return [each.shape for each in operands if each is not None]


class InstructionTime(NamedTuple):
    """All runs of an instruction."""

    ref: InstructionRef
    kind: str
    run_count: int
    total_ps: int
    cost: Cost
    """Cost of one run."""
    longest_event: int


def _merge_same_instruction(instructions: InstructionMap) -> InstructionMap:
    """Merge entries of one instruction, which may have run under several event names."""
    refs: dict[tuple[int, str], InstructionRef] = {}
    keys = [(ref.program.module.id, ref.instruction.name) for ref in instructions.instructions]
    for key, ref in zip(keys, instructions.instructions, strict=True):
        refs.setdefault(key, ref)
    position = {key: at for at, key in enumerate(refs)}
    merged = np.array([position[key] for key in keys], np.int64)[instructions.instance]
    return InstructionMap(instructions.events, merged, [*refs.values()])


def measure_instruction_times(trace: Trace, instructions: InstructionMap) -> list[InstructionTime]:
    """Return how long each instruction took, longest first."""
    first = group_runs(trace, instructions)
    events, index, refs = _merge_same_instruction(instructions)
    duration = trace.duration_ps[events]
    total = np.zeros(len(refs), np.int64)
    np.add.at(total, index, duration)
    keys = unique_counts(index << 32 | first)[0] >> 32
    run_count = np.bincount(keys, minlength=len(refs))
    longest = np.full(len(refs), -1, np.int64)
    order = np.argsort(duration, kind="stable")
    longest[index[order]] = events[order]
    times = [
        InstructionTime(
            ref=ref,
            kind=classify_instruction(*ref),
            run_count=int(run_count[at]),
            total_ps=int(total[at]),
            cost=compute_instruction_cost(*ref),
            longest_event=int(longest[at]),
        )
        for at, ref in enumerate(refs)
        if run_count[at]
    ]
    return sorted(times, key=lambda time: -time.total_ps)


def _compute_program_costs(trace: Trace, instructions: InstructionMap) -> dict[Op, Cost]:
    """Return the costs of XLA instructions. Those of several programs may have one name."""
    totals = _CostTotals()
    for time in measure_instruction_times(trace, instructions):
        totals.add(Op(time.ref.instruction.name, time.kind), time.cost, time.run_count)
    return totals.get_means()


# --- PyTorch ops ---------------------------------------------------------------------------------


@lru_cache(maxsize=65_536)
def estimate_torch_cost(op: str, dimensions: str, types: str) -> Cost | None:
    """Estimate the cost of one call; None if its inputs are unknown.

    Output shapes are not recorded. Those of matrix products and convolutions follow from the
    inputs; the output of any other op is assumed to be as large as its largest input.

    Args:
        op: Type of the op, such as ``aten::mm``.
        dimensions: Shapes of the inputs as JSON.
        types: Element types of the inputs as JSON.
    """
    try:
        inputs = [
            (shape, _TORCH_TYPE_BYTES.get(type, 4))
            for shape, type in zip(json.loads(dimensions), json.loads(types), strict=False)
            if _is_shape(shape)
        ]
    except (ValueError, TypeError, RecursionError):
        return None
    if not inputs:
        return None
    output_size, flops = _estimate_output(op, [shape for shape, _ in inputs])
    if op == _SCALED_MATMUL and _PACKED_FP4 in types:
        flops *= 2
    input_bytes = sum(prod(shape) * item_bytes for shape, item_bytes in inputs)
    # Products of 8-bit matrices are in 16 bits; others have the type of their inputs.
    output_bytes = output_size * (2 if op == _SCALED_MATMUL else inputs[0][1])
    return Cost(flops, float(input_bytes + output_bytes))


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and bool(shape) and all(isinstance(size, int) for size in shape)


def _estimate_output(op: str, shapes: list[list[int]]) -> tuple[int, float]:
    """Return the number of output elements and the FLOPs."""
    factors = shapes[1:] if op in _MATMULS_WITH_BIAS else shapes
    if op in _MATMULS and len(factors) >= 2:
        return _estimate_matmul(*factors[:2])
    if op in _CONVOLUTIONS and len(shapes) >= 2:
        return _estimate_convolution(*shapes[:2])
    if op in _CONVOLUTION_BACKWARD and len(shapes) >= 3:
        # One convolution for the gradient of the input and one for that of the weights.
        output_gradient, input, kernel = shapes[:3]
        return prod(input), 4.0 * prod(output_gradient) * prod(kernel[1:])
    largest = max(map(prod, shapes))
    return largest, 0.0 if op in _DATA_MOVEMENT_OPS else float(largest)


def _estimate_matmul(left: list[int], right: list[int]) -> tuple[int, float]:
    output_size = prod(left[:-1]) * right[-1]
    return output_size, 2.0 * output_size * left[-1]


def _estimate_convolution(input: list[int], kernel: list[int]) -> tuple[int, float]:
    """Assume "same" padding, as most convolutions use it."""
    output_size = input[0] * kernel[0] * prod(input[2:])
    return output_size, 2.0 * output_size * prod(kernel[1:])


def _compute_torch_costs(trace: Trace, event_ops: EventOps) -> dict[Op, Cost]:
    """Return the costs of PyTorch ops, whose names contain the shapes but not the types of inputs.

    Programs in mixed precision call an op with inputs of several types.
    """
    events, dims_index, dims = trace.get_unique_text_args("input_dims")
    type_events, type_index, types = trace.get_unique_text_args("input_types")
    type_of = np.full(len(trace), -1, np.int64)
    type_of[type_events] = type_index
    op = event_ops.op_index[events]
    keys = np.column_stack([op, dims_index, type_of[events]])
    rows, counts = np.unique(keys[(keys >= 0).all(axis=1)], axis=0, return_counts=True)
    totals = _CostTotals()
    for (op_index, dims_at, type_at), count in zip(rows.tolist(), counts.tolist(), strict=True):
        each = event_ops.ops[op_index]
        cost = estimate_torch_cost(each.type, dims[dims_at], types[type_at])
        if cost is not None:
            totals.add(each, cost, count)
    return totals.get_means()
