"""Device kernels: how they were launched, whether they use tensor cores, and their precision.

No profiler records the use of tensor cores. Libraries name their kernels after the instruction that
does the work; of other kernels nothing is claimed. Precision is taken from the types of ops and
programs. Kernel names are the last resort, as they say little and change with every library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from math import nan, prod
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles import unique_counts, unique_inverse
from tracklight.analysis.profiles.ops import EventOps, Op
from tracklight.analysis.profiles.steps import StepPart, classify_events
from tracklight.analysis.profiles.trace import Trace
from tracklight.analysis.profiles.xla_programs import (
    CONVOLUTION,
    LOW_PRECISION_TYPES,
    MATMUL,
    InstructionMap,
    get_matmul_types,
)
from tracklight.formats.profiles.hlo import HloModule, get_instruction_dtypes
from tracklight.types import Int8, Int32, Int64

#: Parts of the names of kernels that use no tensor cores, although they look as if they did.
_CUDA_CORE_KERNEL = re.compile(
    r"init_device_workspace|ffma|simt|sgemm(?!.*tensorop)|dgemm|sgemv|gemv|f32f32_f32f32_f32", re.I
)
#: Shapes (884 to 16832) and names of tensor core instructions, and libraries that always use them.
_TENSOR_CORE_KERNEL = re.compile(
    r"(?<!\d)(884|1688|16816|16832|8816|16864)(?!\d)|[hi]mma|wgmma|gmma|qgmma|tensorop|xmma"
    r"|nvjet|cudnn.*(sdpa|flash)|flash_?(fwd|bwd|attn)|fmha|mfma|wmma|tf32",
    re.I,
)
_TENSOR_CORE_OP = re.compile(
    r"(aten::)?(addmm|mm|bmm|baddbmm|matmul|linear|\w*conv([123]d|olution|_)\w*"
    r"|_?scaled_dot_product\w*|_\w*attention\w*|_scaled_mm|einsum)\Z"
    r"|(_?\w*(MatMul|Conv[23]D|BatchMatMul|Einsum|CudnnRNN|XlaDot)\w*)\Z"
)
_MATMUL_KERNEL = re.compile(r"gemm|dot|conv|matmul|wgrad|dgrad|fprop", re.I)
_NUMBER = re.compile(r"\d+")
_NO_OP = Op("", "")

#: Characters of instruction names that are replaced by underscores in kernel names.
_NAME_SEPARATORS = re.compile(r"[.-]")
#: In place of the id of a program, if an event has none.
_NO_PROGRAM = -1
_QUOTED = re.compile(r'"([^"]*)"')


# ---- tensor cores


class TensorCoreUse(IntEnum):
    NO = 0
    YES = 1
    UNKNOWN = 2


def detect_tensor_core_use(kernel: str, op_type: str) -> TensorCoreUse:
    """Return whether a kernel uses tensor cores, judged by its name and the type of its op."""
    if _CUDA_CORE_KERNEL.search(kernel):
        return TensorCoreUse.NO
    if _TENSOR_CORE_KERNEL.search(kernel):
        return TensorCoreUse.YES
    if is_tensor_core_op(op_type) and is_matmul_kernel(kernel):
        return TensorCoreUse.UNKNOWN
    return TensorCoreUse.NO


def is_tensor_core_op(op_type: str) -> bool:
    """Return whether tensor cores can run ops of this type."""
    return op_type in (MATMUL, CONVOLUTION) or bool(_TENSOR_CORE_OP.match(op_type))


def is_matmul_kernel(kernel: str) -> bool:
    """Return whether a kernel does the work of a matrix product or convolution.

    Such ops also launch kernels that transpose, fill or reduce, or prepare the work of another,
    after which they are named.
    """
    return "init_device_workspace" not in kernel and _MATMUL_KERNEL.search(kernel) is not None


# ---- kernels and their launches


class LaunchConfig(NamedTuple):
    """How a kernel was launched. Unknown numbers are 0, an unknown occupancy is NaN."""

    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = 0
    shared_bytes: int = 0
    occupancy: float = nan
    """Percent of the threads that a multiprocessor can hold."""

    @property
    def blocks(self) -> int:
        return prod(self.grid) if self.grid else 0


@dataclass
class KernelStats:
    """All runs of a kernel with the same launch configuration and op."""

    name: str
    op: Op
    launch: LaunchConfig
    tensor_cores: TensorCoreUse
    is_eligible: bool
    """Whether tensor cores could run it."""
    count: int = 0
    total_ps: int = 0
    min_ps: int = 1 << 62
    max_ps: int = 0
    longest_event: int = -1

    def add(self, event: int, duration_ps: int) -> None:
        """Count a run."""
        self.count += 1
        self.total_ps += duration_ps
        self.min_ps = min(self.min_ps, duration_ps)
        if duration_ps > self.max_ps or self.longest_event < 0:
            self.max_ps, self.longest_event = duration_ps, event


def list_kernels(
    trace: Trace, event_ops: EventOps, instructions: InstructionMap | None = None
) -> list[KernelStats]:
    """List the kernels of a capture, longest total time first.

    Args:
        trace: The trace.
        event_ops: The op of each event.
        instructions: The XLA instructions of events, whose types tell whether kernels that XLA
            generated use tensor cores.
    """
    low_precision = _list_low_precision_matmuls(instructions) if instructions else frozenset()
    kernels: dict[tuple[int, int, LaunchConfig], KernelStats] = {}
    by_launch_id: dict[tuple[int, int, int], KernelStats] = {}
    for event, launch in _iter_launches(trace):
        name, op = int(trace.name[event]), int(event_ops.op_index[event])
        # Equal launches are mostly the same object, and its id is faster to look up than its value.
        kernel = by_launch_id.get((name, op, id(launch)))
        if kernel is None:
            kernel = _make_kernel(
                trace.names[name], event_ops.ops[op] if op >= 0 else _NO_OP, launch, low_precision
            )
            kernel = kernels.setdefault((name, op, launch), kernel)
            by_launch_id[name, op, id(launch)] = kernel
        kernel.add(event, int(trace.duration_ps[event]))
    return sorted(kernels.values(), key=lambda kernel: -kernel.total_ps)


def _list_low_precision_matmuls(instructions: InstructionMap) -> frozenset[str]:
    """Return the names of the instructions that multiply numbers of at most 16 bits."""
    return frozenset(
        ref.instruction.name
        for ref in instructions.instructions
        if (types := get_matmul_types(*ref)) and types <= LOW_PRECISION_TYPES
    )


def _make_kernel(
    name: str, op: Op, launch: LaunchConfig, low_precision: frozenset[str]
) -> KernelStats:
    use = detect_tensor_core_use(name, op.type)
    if use == TensorCoreUse.UNKNOWN and op.name in low_precision:
        use = TensorCoreUse.YES  # the only way in which kernels of XLA multiply these types
    is_eligible = use == TensorCoreUse.YES or (
        is_tensor_core_op(op.type) and is_matmul_kernel(name)
    )
    return KernelStats(name, op, launch, use, is_eligible)


def _iter_launches(trace: Trace) -> Iterator[tuple[int, LaunchConfig]]:
    """Yield kernel events and their launches: one text in XPlanes, several arguments of PyTorch."""
    launches: dict[str, LaunchConfig] = {}
    events, texts = trace.get_text_args("kernel_details")
    for event, text in zip(events.tolist(), texts, strict=True):
        if text not in launches:
            launches[text] = _parse_details(text)
        yield event, launches[text]
    yield from _iter_torch_launches(trace)


def _parse_details(text: str) -> LaunchConfig:
    """Parse ``regs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 block:64,1,1 occ_pct:50``."""
    details = dict(word.partition(":")[::2] for word in text.split())
    static_shared = _parse_int(details.get("static_shared", ""))
    dynamic_shared = _parse_int(details.get("dynamic_shared", ""))
    return LaunchConfig(
        grid=_parse_ints(details.get("grid", "")),
        block=_parse_ints(details.get("block", "")),
        registers=_parse_int(details.get("regs", "")),
        shared_bytes=static_shared + dynamic_shared,
        occupancy=_parse_float(details.get("occ_pct", "")),
    )


def _iter_torch_launches(trace: Trace) -> Iterator[tuple[int, LaunchConfig]]:
    events = np.flatnonzero(trace.match_categories("kernel") & trace.on_device)
    if not len(events):
        return
    grids, blocks = (_make_dict(*trace.get_text_args(key)) for key in ("grid", "block"))
    registers, shared, int_occupancy = (
        _make_dict(arg_events, values.tolist())
        for arg_events, values in map(
            trace.get_int_args, ("registers", "shared_memory", "occupancy")
        )
    )
    arg_events, values = trace.get_float_args("occupancy")
    occupancy = int_occupancy | _make_dict(arg_events, values.tolist())
    launches: dict[tuple[Any, ...], LaunchConfig] = {}
    for event in events.tolist():
        key = tuple(arg.get(event) for arg in (grids, blocks, registers, shared, occupancy))
        if key not in launches:
            launches[key] = _make_launch(*key)
        yield event, launches[key]


def _make_launch(
    grid: str | None, block: str | None, registers: Any, shared: Any, occupancy: Any
) -> LaunchConfig:
    return LaunchConfig(
        grid=_parse_ints(grid or ""),
        block=_parse_ints(block or ""),
        registers=registers or 0,
        shared_bytes=shared or 0,
        occupancy=nan if occupancy is None else float(occupancy),
    )


def _make_dict(events: Int64, values: list[Any]) -> dict[int, Any]:
    return dict(zip(events.tolist(), values, strict=True))


def _parse_ints(text: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(text)[:3]))


def _parse_int(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


# ---- precision


class PrecisionKind(IntEnum):
    """The type of the numbers that a kernel computes with, narrow ones first."""

    FP4 = 0
    FP8 = 1
    FP16 = 2
    """Also bfloat16."""
    FP32 = 3
    """Also TF32, which has the types of FP32."""
    FP64 = 4
    UNKNOWN = 5


#: Beginnings of the names of types of XLA and PyTorch, which has several of 8 and 4 bits.
_NARROW_TYPES = {
    PrecisionKind.FP4: ("float4", "c10::Float4"),
    PrecisionKind.FP8: ("float8", "c10::Float8"),
    PrecisionKind.FP16: ("float16", "bfloat16", "c10::Half", "c10::BFloat16"),
}
_WIDE_TYPES = {
    "float32": PrecisionKind.FP32,
    "float": PrecisionKind.FP32,
    "float64": PrecisionKind.FP64,
    "double": PrecisionKind.FP64,
}
#: Matrix products of CUTLASS name their types, unless they multiply 32 or 64 bits. Names of the
#: newest kernels of cuBLAS contain the types of matrices: t for bfloat16, q for 8 bits.
_KERNEL_NAMES = {
    PrecisionKind.FP4: re.compile(r"e2m1|(?<![a-z])(nv|mx)?fp4", re.I),
    PrecisionKind.FP8: re.compile(r"e4m3|e5m2|fp8|float8|qgmma|nvjet_(sm\d+_)?q", re.I),
    PrecisionKind.FP16: re.compile(
        r"bf16|bfloat16|fp16|(?<!f)f16|half|h884|h1688|hmma|_hsh_|_tst_|nvjet_(sm\d+_)?[th]", re.I
    ),
    PrecisionKind.FP64: re.compile(r"dgemm|tensorop_d\d+gemm|nvjet_(sm\d+_)?d|f64f64", re.I),
    PrecisionKind.FP32: re.compile(
        r"f32f32|tf32|float|sgemm|ffma|tensorop_s\d+gemm|nvjet_(sm\d+_)?s", re.I
    ),
}


class Precision(NamedTuple):
    """How long kernels ran in each precision."""

    low_ps: int
    """In at most 16 bits."""
    full_ps: int
    unknown_ps: int
    byte_ps: int = 0
    """In at most 8 bits; a part of ``low_ps``."""

    @property
    def low_share(self) -> float | None:
        """Share of low precision in the time of known precision; None if there is none."""
        known_ps = self.low_ps + self.full_ps
        return self.low_ps / known_ps if known_ps else None


def measure_precision(trace: Trace, event_parts: Int8 | None = None) -> Precision:
    """Return how long kernels ran in each precision.

    Args:
        trace: The trace.
        event_parts: The result of `classify_events`, if it is already known.
    """
    event_parts = classify_events(trace) if event_parts is None else event_parts
    kernels = np.flatnonzero((event_parts == StepPart.DEVICE_COMPUTE) & trace.on_device)
    precision, duration = classify_precision(trace)[kernels], trace.duration_ps[kernels]
    fp4, fp8, fp16, fp32, fp64, unknown = (
        int(duration[precision == kind].sum()) for kind in PrecisionKind
    )
    return Precision(fp4 + fp8 + fp16, fp32 + fp64, unknown, fp4 + fp8)


def classify_precision(trace: Trace) -> Int32:
    """Return the `PrecisionKind` of each event. That of host events is unknown."""
    precision = np.full(len(trace), PrecisionKind.UNKNOWN, np.int32)
    kernels = np.flatnonzero(trace.on_device)
    name_ids, inverse = unique_inverse(trace.name[kernels])
    names = [trace.names[id] for id in name_ids.tolist()]
    _set_from_instructions(trace, precision)
    _set_from_torch_ops(trace, precision)
    is_unknown = precision[kernels] == PrecisionKind.UNKNOWN
    by_name = [_classify_kernel_name(name) for name in names]
    precision[kernels[is_unknown]] = _expand(by_name, inverse[is_unknown])
    return precision


def _set_from_instructions(trace: Trace, precision: Int32) -> None:
    """Set the precision of events by the XLA instruction that they name or are named after.

    Several programs may have an instruction of one name.
    """
    modules = {module.id: module for module in trace.hlo_modules}
    if not modules:
        return
    program_of = np.full(len(trace), _NO_PROGRAM, np.int64)
    events, program_ids = trace.get_int_args("program_id")
    program_of[events] = program_ids
    named, inverse, ops = trace.get_unique_text_args("hlo_op")
    op_of = np.full(len(trace), -1, np.int64)
    op_of[named] = inverse
    executed = set(unique_counts(program_ids)[0].tolist()) or modules.keys()
    kernels = np.flatnonzero(trace.on_device)
    programs, program = unique_inverse(program_of[kernels])
    for number, id in enumerate(programs.tolist()):
        # Events without the id of their program may belong to any.
        owners = executed if id == _NO_PROGRAM else {id}
        by_instruction = _get_instruction_precision(
            module for module in modules.values() if module.id in owners
        )
        by_kernel = {_NAME_SEPARATORS.sub("_", name): kind for name, kind in by_instruction.items()}
        events = kernels[program == number]
        name_ids, at = unique_inverse(trace.name[events])
        names = [trace.names[id] for id in name_ids.tolist()]
        by_name = _expand([by_kernel.get(name) for name in names], at)
        by_op = _expand([*(by_instruction.get(op) for op in ops), None], op_of[events])
        precision[events] = np.where(by_op == PrecisionKind.UNKNOWN, by_name, by_op)


def _expand(kinds: Sequence[PrecisionKind | None], inverse: Int64) -> Int32:
    known = [PrecisionKind.UNKNOWN if kind is None else kind for kind in kinds]
    return np.array(known, np.int32)[inverse]


def _get_instruction_precision(modules: Iterable[HloModule]) -> dict[str, PrecisionKind]:
    """Return the precision of the XLA instructions of which it is known, by name."""
    dtypes = chain.from_iterable(get_instruction_dtypes(module).items() for module in modules)
    kinds = ((name, classify_types(types)) for name, types in dtypes)
    return {name: kind for name, kind in kinds if kind != PrecisionKind.UNKNOWN}


def _set_from_torch_ops(trace: Trace, precision: Int32) -> None:
    """Set the precision of kernels by the input types of the PyTorch op that launched them."""
    ops, inverse, texts = trace.get_unique_text_args("input_types")
    op_precision = np.full(len(trace), PrecisionKind.UNKNOWN, np.int32)
    kinds = [classify_types(_QUOTED.findall(text)) for text in texts]
    op_precision[ops] = _expand(kinds, inverse)
    events, ids = trace.get_int_args("external")
    is_known = op_precision[events] != PrecisionKind.UNKNOWN
    order = np.argsort(ids[is_known], kind="stable")
    launchers, launcher_ids = events[is_known][order], ids[is_known][order]
    is_launched = np.isin(events, ops, invert=True)
    events, ids = events[is_launched], ids[is_launched]
    # The last op of an id is the innermost, which launched the kernel.
    match = np.searchsorted(launcher_ids, ids, "right") - 1
    is_match = match >= 0
    is_match[is_match] = launcher_ids[match[is_match]] == ids[is_match]
    precision[events[is_match]] = op_precision[launchers[match[is_match]]]


def classify_types(types: Iterable[str]) -> PrecisionKind:
    """Return the narrowest of the types of an op."""
    return min(map(_classify_type, set(types)), default=PrecisionKind.UNKNOWN)


def _classify_type(type: str) -> PrecisionKind:
    kinds = (kind for kind, names in _NARROW_TYPES.items() if type.startswith(names))
    return next(kinds, _WIDE_TYPES.get(type, PrecisionKind.UNKNOWN))


def _classify_kernel_name(kernel: str) -> PrecisionKind:
    kinds = (kind for kind, pattern in _KERNEL_NAMES.items() if pattern.search(kernel))
    return next(kinds, PrecisionKind.UNKNOWN)
