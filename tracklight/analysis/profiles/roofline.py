"""What ops cost, and how close they came to the peak rates of their device.

Costs (FLOPs and memory traffic) are counted from shapes: a matrix product takes two operations per
pair of numbers, an elementwise op one per element. Bytes are those of inputs and outputs, each
touched once. Rates are the peak rates of devices, the points of the roofline and the utilization of
the overview.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence, Set
from functools import lru_cache
from math import isnan, nan, prod
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles import unique_counts
from tracklight.analysis.profiles.attribution import list_devices
from tracklight.analysis.profiles.kernels import (
    PrecisionKind,
    TensorCoreUse,
    classify_precision,
    classify_types,
    detect_tensor_core_use,
    is_matmul_kernel,
    is_tensor_core_op,
)
from tracklight.analysis.profiles.ops import EventOps, Op, OpSide, OpStats
from tracklight.analysis.profiles.trace import PS_PER_MS, Device, Trace
from tracklight.analysis.profiles.xla_programs import (
    CONVOLUTION,
    DATA_MOVEMENT,
    MATMUL,
    InstructionMap,
    InstructionRef,
    XlaProgram,
    allows_tf32,
    classify_instruction,
    get_matmul_types,
    group_runs,
    iter_fused_instructions,
)
from tracklight.formats.profiles.hlo import HloInstruction, HloShape

# ---- costs

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


# ---- XLA instructions


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
        return sum(_count_flops(program, item, depth + 1) for item in fused)
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
    return [operand.shape for operand in operands if operand is not None]


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


# ---- PyTorch ops


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


# ---- peak rates of devices

_TERA = 1e12
#: TF32 are numbers of 32 bits on tensor cores; FP16 is also bfloat16.
PrecisionName = Literal["fp4", "fp8", "fp16", "tf32", "fp32", "fp64", "unknown"]
_PRECISIONS: dict[int, PrecisionName] = {
    PrecisionKind.FP4: "fp4",
    PrecisionKind.FP8: "fp8",
    PrecisionKind.FP16: "fp16",
    PrecisionKind.FP32: "fp32",
    PrecisionKind.FP64: "fp64",
    PrecisionKind.UNKNOWN: "unknown",
}


class PeakRates(NamedTuple):
    """Peak operations per second by precision, and memory bandwidth. 0 if there is none or unknown.

    All but ``fp32`` are on tensor cores or their like.
    """

    fp32: float
    tf32: float
    fp16: float
    fp8: float
    bytes_per_s: float
    fp64: float = 0.0
    fp4: float = 0.0
    is_estimate: bool = False
    """Computed from the number of units and their clock instead of the vendor's data sheet."""

    def get_rate(self, precision: PrecisionName) -> float:
        """Return the rate in a precision; 0 if it is unknown."""
        return 0.0 if precision == "unknown" else float(getattr(self, precision))


def _make_rates(
    fp32: float,
    tf32: float,
    fp16: float,
    fp8: float,
    terabytes_per_s: float,
    *,
    fp64: float = 0.0,
    fp4: float = 0.0,
) -> PeakRates:
    """Return rates that are given in tera, as in data sheets."""
    return PeakRates(
        fp32=fp32 * _TERA,
        tf32=tf32 * _TERA,
        fp16=fp16 * _TERA,
        fp8=fp8 * _TERA,
        bytes_per_s=terabytes_per_s * _TERA,
        fp64=fp64 * _TERA,
        fp4=fp4 * _TERA,
    )


#: FP32, TF32, FP16 and FP8 in TFLOP/s, and TB/s, from vendors' data sheets: dense matrices, sums in
#: FP32. Names that contain others come first.
_PEAK_RATES: dict[str, PeakRates] = {
    "GB200": _make_rates(80, 1250, 2500, 5000, 8.0, fp4=10_000),
    "B200": _make_rates(75, 1125, 2250, 4500, 8.0, fp4=9000),
    "H200 NVL": _make_rates(60, 417.5, 835.5, 1670.5, 4.8, fp64=60),
    "H200": _make_rates(67, 495, 989, 1979, 4.8, fp64=67),
    "GH200": _make_rates(67, 495, 989, 1979, 4.0, fp64=67),
    "H100 PCIe": _make_rates(51, 378, 756, 1513, 2.0, fp64=51),
    "H100 NVL": _make_rates(60, 417.5, 835.5, 1670.5, 3.9, fp64=60),
    "H100": _make_rates(67, 495, 989, 1979, 3.35, fp64=67),
    "A100-SXM4-80GB": _make_rates(19.5, 156, 312, 0, 2.04, fp64=19.5),
    "A100": _make_rates(19.5, 156, 312, 0, 1.56, fp64=19.5),
    "L40S": _make_rates(91.6, 183, 362, 733, 0.864),
    "L40": _make_rates(90.5, 90.5, 181, 362, 0.864),
    "L4": _make_rates(30.3, 60, 121, 242.5, 0.3),
    "A10G": _make_rates(31.5, 35, 70, 0, 0.6),
    "A10": _make_rates(31.2, 62.5, 125, 0, 0.6),
    "V100": _make_rates(15.7, 0, 125, 0, 0.9, fp64=7.8),
    "T4": _make_rates(8.1, 0, 65, 0, 0.32),
    "RTX 5090": _make_rates(105, 105, 210, 419, 1.79, fp4=1676),
    "RTX 4090": _make_rates(82.6, 82.6, 165, 330, 1.01),
    "RTX 3090": _make_rates(35.6, 35.6, 71, 0, 0.936),
    "MI300X": _make_rates(163, 654, 1307, 2615, 5.3, fp64=163),
}
#: By compute capability: operations per cycle of a multiprocessor, in FP32 and in FP16 on tensor
#: cores.
_PER_CYCLE = {
    (7, 0): (128, 1024), (7, 5): (128, 1024), (8, 0): (128, 2048), (8, 6): (256, 1024),
    (8, 9): (256, 1024), (9, 0): (256, 4096), (10, 0): (256, 8192), (12, 0): (256, 1024),
}  # fmt: skip


def find_peak_rates(device: Device) -> PeakRates | None:
    """Return the peak rates of a device; None if neither its name nor its units are known."""
    for name, rates in _PEAK_RATES.items():
        if _has_word(device.name, name):
            # The measured bandwidth of this device is more accurate than the data sheet.
            return rates._replace(bytes_per_s=device.memory_bytes_per_s or rates.bytes_per_s)
    per_cycle = _PER_CYCLE.get(device.compute_capability)
    cycles_per_s = device.multiprocessors * device.clock_hz
    if per_cycle is None or not cycles_per_s or not device.memory_bytes_per_s:
        return None
    fp32, fp16 = (operations * cycles_per_s for operations in per_cycle)
    return PeakRates(
        fp32=fp32,
        tf32=fp16 / 2 if device.compute_capability >= (8, 0) else 0.0,
        fp16=fp16,
        fp8=fp16 * 2 if device.compute_capability >= (8, 9) else 0.0,
        bytes_per_s=device.memory_bytes_per_s,
        is_estimate=True,
    )


def _has_word(name: str, word: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){word}(?![A-Za-z0-9])", name) is not None


# ---- roofline


class RooflinePoint(NamedTuple):
    """An op: the total cost and time of all its calls."""

    op: Op
    side: OpSide
    call_count: int
    self_ps: int
    flops: float
    bytes: float
    longest_event: int


def compute_roofline_points(op_stats: OpStats, costs: dict[Op, Cost]) -> list[RooflinePoint]:
    """Return the ops with a known cost, longest first.

    If any op ran on a device, only device ops are returned, as the host mostly waits for them.
    """
    side = OpSide.DEVICE if (op_stats.sides == OpSide.DEVICE).any() else OpSide.HOST
    columns = (op_stats.sides, op_stats.counts, op_stats.self_ps, op_stats.longest_event)
    rows = zip(op_stats.ops, *(column.tolist() for column in columns), strict=True)
    return [
        RooflinePoint(op, side, count, self_ps, count * cost.flops, count * cost.bytes, longest)
        for op, op_side, count, self_ps, longest in rows
        if op_side == side
        and self_ps > 0
        and (cost := costs.get(op))
        and (cost.flops or cost.bytes)
        and not isnan(cost.flops)
    ]


# ---- utilization


class PrecisionRate(msgspec.Struct):
    """FLOP/s of all devices in one precision. The peak is null if it is unknown."""

    precision: PrecisionName
    flops_per_s: float
    peak_flops_per_s: float | None


class Utilization(msgspec.Struct):
    """What the devices achieved together, from the first event on one of them to the last.

    Idle time is included. Rates are computed from the ops of known cost, whose share of the time of
    all device ops is ``known_share``. Peak rates are null if they are unknown.
    """

    window_ms: float
    devices: int
    flops_per_s: float
    """Of all devices. Ops of unknown cost are not counted, so it may be more."""
    bytes_per_s: float
    """If every input and output is transferred once."""
    known_share: float
    precision: PrecisionName
    """The one of most matrix products and convolutions, by FLOPs."""
    peak_flops_per_s: float | None
    """If each precision ran at its peak; null if one of them is unknown."""
    peak_bytes_per_s: float | None
    precisions: list[PrecisionRate]
    """Most FLOPs first. Other ops than matrix products and convolutions are part of the first."""


def compute_utilization(
    trace: Trace,
    event_ops: EventOps,
    instructions: InstructionMap,
    op_stats: OpStats,
    points: Sequence[RooflinePoint],
) -> Utilization | None:
    """Return the rates that devices achieved; None if no cost of a device op is known.

    Args:
        trace: The trace.
        event_ops: The op of each event.
        instructions: The XLA instructions of events.
        op_stats: The ops of the trace.
        points: The result of `compute_roofline_points`.
    """
    work = trace.is_device_work
    on_device = op_stats.sides == OpSide.DEVICE
    if not work.any() or not points or points[0].side != OpSide.DEVICE:
        return None
    window_ps = int(trace.end_ps[work].max() - trace.start_ps[work].min())
    device_ps = int(op_stats.self_ps[on_device].sum())
    if not window_ps or not device_ps:
        return None
    window_ms, devices = window_ps / PS_PER_MS, len(list_devices(trace))
    rates = find_peak_rates(trace.devices[0]) if trace.devices else None
    precisions = [
        PrecisionRate(
            precision=precision,
            flops_per_s=flops / window_ms * 1e3,
            peak_flops_per_s=rates.get_rate(precision) * devices or None if rates else None,
        )
        for precision, flops in measure_flops(
            trace, event_ops, instructions, points, has_tf32=rates is None or rates.tf32 > 0
        ).items()
    ]
    return Utilization(
        window_ms=window_ms,
        devices=devices,
        flops_per_s=sum(point.flops for point in points) / window_ms * 1e3,
        bytes_per_s=sum(point.bytes for point in points) / window_ms * 1e3,
        known_share=sum(point.self_ps for point in points) / device_ps,
        precision=precisions[0].precision,
        peak_flops_per_s=combine_peaks(precisions),
        peak_bytes_per_s=rates.bytes_per_s * devices if rates else None,
        precisions=precisions,
    )


def combine_peaks(precisions: Sequence[PrecisionRate]) -> float | None:
    """Return the highest rate at which operations of several precisions can run in this proportion.

    Each takes as long as at its own peak. None if one of the peaks is unknown.
    """
    peaks = [precision.peak_flops_per_s for precision in precisions]
    if len(peaks) == 1:
        return peaks[0]
    seconds = 0.0
    for precision in precisions:
        if precision.peak_flops_per_s is None:
            return None
        seconds += precision.flops_per_s / precision.peak_flops_per_s
    return sum(precision.flops_per_s for precision in precisions) / seconds if seconds else None


def measure_flops(
    trace: Trace,
    event_ops: EventOps,
    instructions: InstructionMap,
    points: Sequence[RooflinePoint],
    *,
    has_tf32: bool = True,
) -> dict[PrecisionName, float]:
    """Return the FLOPs of each precision in which matrices are multiplied, most first.

    Matrix products and convolutions are nearly all of them. Those of other ops, which use no tensor
    cores, are added to the first precision. Calls of one op may have different types: its FLOPs are
    divided by the number of kernels of each.

    Args:
        trace: The trace.
        event_ops: The op of each event.
        instructions: The XLA instructions of events.
        points: The ops of known cost.
        has_tf32: Whether the device can multiply numbers of 32 bits on tensor cores.
    """
    counted = [point for point in points if is_tensor_core_op(point.op.type)] or points
    shares = _count_kernels(trace, event_ops, instructions, {point.op for point in counted})
    flops: dict[PrecisionName, float] = {}
    for point in counted:
        counts = shares.get(point.op) or {"unknown": 1}
        for precision, count in counts.items():
            if precision == "tf32" and not has_tf32:
                precision = "fp32"
            part = point.flops * count / sum(counts.values())
            flops[precision] = flops.get(precision, 0.0) + part
    flops = dict(sorted(flops.items(), key=lambda item: -item[1]))
    first = next(iter(flops))
    others = sum(point.flops for point in points) - sum(point.flops for point in counted)
    flops[first] += others
    return {
        precision: element for precision, element in flops.items() if element or precision == first
    }


def _count_kernels(
    trace: Trace, event_ops: EventOps, instructions: InstructionMap, ops: Set[Op]
) -> dict[Op, dict[PrecisionName, int]]:
    """Return the number of kernels of ops by precision.

    If it is known which kernels of an op multiply, as its calls also transpose or reduce, only
    those count.
    """
    is_counted = np.array([op in ops for op in event_ops.ops] + [False])
    events = np.flatnonzero(trace.is_device_work & is_counted[event_ops.op_index])
    kinds = classify_precision(trace)
    # The types that an instruction multiplies are more exact than all of its types.
    types = [classify_types(get_matmul_types(*ref)) for ref in instructions.instructions]
    if types:
        multiplied = np.array(types, np.int32)[instructions.instance]
        is_known = multiplied != PrecisionKind.UNKNOWN
        kinds[instructions.events[is_known]] = multiplied[is_known]
    keys = np.column_stack([event_ops.op_index[events], trace.name[events], kinds[events]])
    rows, counts = np.unique(keys, axis=0, return_counts=True)
    # On tensor cores, 32 bits are TF32. Of kernels that XLA or Triton generated, the name does not
    # tell whether they use them: the program does, or it uses TF32 elsewhere.
    may_be_tf32 = {
        Op(ref.instruction.name, classify_instruction(*ref))
        for ref in instructions.instructions
        if allows_tf32(*ref)
    }
    uses_tf32 = any("tf32" in trace.names[name] for name in np.unique(trace.name[events]))
    found: dict[Op, dict[bool, dict[PrecisionName, int]]] = {}
    for (op_index, name_id, kind), count in zip(rows.tolist(), counts.tolist(), strict=True):
        op, name = event_ops.ops[op_index], trace.names[name_id]
        use = detect_tensor_core_use(name, op.type)
        multiplies = use == TensorCoreUse.YES or is_matmul_kernel(name)
        precision = _PRECISIONS[kind]
        is_allowed = op in may_be_tf32 or (uses_tf32 and not instructions.instructions)
        if precision == "fp32" and (
            use == TensorCoreUse.YES or (use == TensorCoreUse.UNKNOWN and is_allowed)
        ):
            precision = "tf32"
        by_precision = found.setdefault(op, {}).setdefault(multiplies, {})
        by_precision[precision] = by_precision.get(precision, 0) + count
    return {op: counts.get(True) or counts[False] for op, counts in found.items()}
