"""What ran on devices: how it was launched, in how many bits, on which units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from math import nan, prod
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import unique_counts, unique_inverse
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
from tracklight.formats.profiles.hlo import get_instruction_dtypes
from tracklight.types import Int32, Int64

# Whether a kernel multiplies matrices on the units that a device has for that.
#
# No profiler says so. Libraries name their kernels after the instruction that does the work, and of
# the others nothing is claimed.


class TensorCoreUse(IntEnum):
    NO = 0
    YES = 1
    UNKNOWN = 2


#: Plain cores: these words stand in the names of kernels that would else look like the others.
_CUDA_CORE_KERNEL = re.compile(
    r"ffma|simt|sgemm(?!.*tensorop)|dgemm|sgemv|gemv|f32f32_f32f32_f32", re.I
)

#: Instructions of tensor cores by their shapes (884 to 16832), by their names, and libraries that
#: use nothing else.
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


def detect_tensor_core_use(kernel: str, op_type: str) -> TensorCoreUse:
    """By the kernel's name; what does no products needs none of them."""
    if _CUDA_CORE_KERNEL.search(kernel):
        return TensorCoreUse.NO
    if _TENSOR_CORE_KERNEL.search(kernel):
        return TensorCoreUse.YES
    return (
        TensorCoreUse.UNKNOWN
        if is_tensor_core_op(op_type) and is_matmul_kernel(kernel)
        else TensorCoreUse.NO
    )


def is_tensor_core_op(op_type: str) -> bool:
    """Whether an op is one that tensor cores can do."""
    return op_type in (MATMUL, CONVOLUTION) or bool(_TENSOR_CORE_OP.match(op_type))


def is_matmul_kernel(kernel: str) -> bool:
    """Ops launch kernels beside that which does the work: to transpose, to fill, to add up."""
    return re.search(r"gemm|dot|conv|matmul|wgrad|dgrad|fprop", kernel, re.I) is not None


# The kernels that ran on devices: how they were launched, for which op, and how well they fit.

_NUMBER = re.compile(r"\d+")

_NO_OP = Op("", "")


class LaunchConfig(NamedTuple):
    """How a kernel was launched; what is not known is 0, and of occupancy NaN."""

    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = 0
    shared_bytes: int = 0
    occupancy: float = nan
    """In percent of the threads that a multiprocessor can hold."""

    @property
    def blocks(self) -> int:
        return prod(self.grid) if self.grid else 0


@dataclass
class KernelStats:
    """All runs of a kernel that were launched in one way for one op."""

    name: str
    op: Op
    launch: LaunchConfig
    tensor_cores: TensorCoreUse
    is_eligible: bool
    """It does what tensor cores can do."""
    count: int = 0
    total_ps: int = 0
    min_ps: int = 1 << 62
    max_ps: int = 0
    longest_event: int = -1


def list_kernels(
    trace: Trace, event_ops: EventOps, instructions: InstructionMap | None = None
) -> list[KernelStats]:
    """The kernels of a capture, those that ran longest first.

    ``placement`` tells on which numbers the products of a program's own kernels work.
    """
    short = _list_low_precision_matmuls(instructions) if instructions else frozenset()
    kernels: dict[tuple[int, int, LaunchConfig], KernelStats] = {}
    ids: dict[tuple[int, int, int], KernelStats] = {}
    for event, launch in _iter_launches(trace):
        name, op = int(trace.name[event]), int(event_ops.op_index[event])
        # Launches that are alike are one object, which is quicker to tell apart than what it says.
        kernel = ids.get((name, op, id(launch)))
        if kernel is None:
            kernel = _make_kernel(
                trace.names[name], event_ops.ops[op] if op >= 0 else _NO_OP, launch, short
            )
            kernel = ids[name, op, id(launch)] = kernels.setdefault((name, op, launch), kernel)
        _add_event(kernel, event, int(trace.duration_ps[event]))
    return sorted(kernels.values(), key=lambda kernel: -kernel.total_ps)


def _list_low_precision_matmuls(placement: InstructionMap) -> frozenset[str]:
    """The instructions that multiply numbers of 16 bits or fewer."""
    return frozenset(
        placed.instruction.name
        for placed in placement.instructions
        if (types := get_matmul_types(*placed)) and types <= LOW_PRECISION_TYPES
    )


def _make_kernel(name: str, op: Op, launch: LaunchConfig, short: frozenset[str]) -> KernelStats:
    use = detect_tensor_core_use(name, op.type)
    if use == TensorCoreUse.UNKNOWN and op.name in short:
        use = TensorCoreUse.YES  # XLA's own kernels leave such products to nothing else
    is_product = use == TensorCoreUse.YES or (is_tensor_core_op(op.type) and is_matmul_kernel(name))
    return KernelStats(name, op, launch, use, is_product)


def _add_event(kernel: KernelStats, event: int, ps: int) -> None:
    kernel.count += 1
    kernel.total_ps += ps
    kernel.min_ps = min(kernel.min_ps, ps)
    if ps > kernel.max_ps or kernel.longest_event < 0:
        kernel.max_ps, kernel.longest_event = ps, event


def _iter_launches(trace: Trace) -> Iterator[tuple[int, LaunchConfig]]:
    """What TensorFlow and JAX say in one text, and PyTorch under names of its own."""
    known: dict[str, LaunchConfig] = {}
    events, texts = trace.get_text_args("kernel_details")
    for event, text in zip(events.tolist(), texts, strict=True):
        if text not in known:
            known[text] = _parse_details(text)
        yield event, known[text]
    yield from _iter_torch_launches(trace)


def _parse_details(text: str) -> LaunchConfig:
    said = dict(word.partition(":")[::2] for word in text.split())
    return LaunchConfig(
        grid=_parse_ints(said.get("grid", "")),
        block=_parse_ints(said.get("block", "")),
        registers=_parse_int(said.get("regs", "")),
        shared_bytes=_parse_int(said.get("static_shared", ""))
        + _parse_int(said.get("dynamic_shared", "")),
        occupancy=_parse_float(said.get("occ_pct", "")),
    )


def _iter_torch_launches(trace: Trace) -> Iterator[tuple[int, LaunchConfig]]:
    events = np.flatnonzero(trace.match_categories("kernel") & trace.on_device)
    if not len(events):
        return
    grids, blocks = (dict(_pair(*trace.get_text_args(key))) for key in ("grid", "block"))
    registers, shared, whole = (
        dict(_pair(at, numbers.tolist()))
        for at, numbers in map(trace.get_int_args, ("registers", "shared_memory", "occupancy"))
    )
    at, reals = trace.get_float_args("occupancy")
    occupancy = whole | dict(_pair(at, reals.tolist()))
    known: dict[tuple[Any, ...], LaunchConfig] = {}
    for event in events.tolist():
        said = tuple(each.get(event) for each in (grids, blocks, registers, shared, occupancy))
        if said not in known:
            known[said] = _make_launch(*said)
        yield event, known[said]


def _make_launch(
    grid: str | None, block: str | None, registers: Any, shared: Any, occupancy: Any
) -> LaunchConfig:
    share = nan if occupancy is None else float(occupancy)
    return LaunchConfig(
        _parse_ints(grid or ""), _parse_ints(block or ""), registers or 0, shared or 0, share
    )


def _pair(events: Int64, values: list[Any]) -> Iterator[tuple[int, Any]]:
    return zip(events.tolist(), values, strict=True)


def _parse_ints(text: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(text)[:3]))


def _parse_int(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


# In how many bits a device computed: by the types that ops and programs say, else by its kernels.
#
# Names of kernels tell little and change with every library, so they are asked last, and a kernel of
# which nothing is known is counted as that.

_LOW_PRECISION_TYPES = frozenset({"float16", "bfloat16", "float8", "c10::Half", "c10::BFloat16"})

_FULL_PRECISION_TYPES = frozenset({"float32", "float64", "float", "double"})

_LOW_PRECISION_KERNEL = re.compile(
    r"bf16|bfloat16|fp16|(?<!f)f16|half|h884|h1688|hmma|_hsh_|_tst_", re.I
)

_FULL_PRECISION_KERNEL = re.compile(r"f32f32|tf32|float|sgemm|ffma", re.I)

#: What names of instructions have and names of kernels cannot.
_NAME_SEPARATORS = re.compile(r"[.-]")

_QUOTED = re.compile(r'"([^"]*)"')


class PrecisionKind(IntEnum):
    LOW = 0
    """16 or fewer."""
    FULL = 1
    UNKNOWN = 2


class Precision(NamedTuple):
    """How long kernels ran, in ps."""

    low_ps: int
    """In 16 bits or fewer."""
    full_ps: int
    unknown_ps: int

    @property
    def low_share(self) -> float | None:
        """Of what is known; None where nothing is."""
        known = self.low_ps + self.full_ps
        return self.low_ps / known if known else None


def measure_precision(trace: Trace, event_parts: Int64 | None = None) -> Precision:
    """Measure kernels; ``part`` is what `find_parts` gives, where somebody has it."""
    event_parts = classify_events(trace) if event_parts is None else event_parts
    kernels = np.flatnonzero((event_parts == StepPart.DEVICE_COMPUTE) & trace.on_device)
    bits, took = classify_precision(trace)[kernels], trace.duration_ps[kernels]
    short, long, unknown = (int(took[bits == each].sum()) for each in PrecisionKind)
    return Precision(short, long, unknown)


def classify_precision(trace: Trace) -> Int32:
    """Of each event in how many bits it computes, one of `Bits`; only kernels are looked at."""
    bits = np.full(len(trace), PrecisionKind.UNKNOWN, np.int32)
    kernels = np.flatnonzero(trace.on_device)
    names, which = unique_inverse(trace.name[kernels])
    types = _get_instruction_precision(trace)
    by_kernel = {_NAME_SEPARATORS.sub("_", name): short for name, short in types.items()}
    said = [by_kernel.get(trace.names[name]) for name in names.tolist()]
    bits[kernels] = _expand(said, which)
    _set_from_instructions(bits, trace.get_unique_text_args("hlo_op"), types)
    _set_from_torch_ops(trace, bits)
    left = bits[kernels] == PrecisionKind.UNKNOWN
    said = [_classify_kernel_name(trace.names[name]) for name in names.tolist()]
    bits[kernels[left]] = _expand(said, which[left])
    return bits


def _set_from_instructions(
    bits: Int32, said: tuple[Int64, Int64, list[str]], types: dict[str, PrecisionKind]
) -> None:
    """Write down what is known of the instructions that events say they are."""
    events, which, ops = said
    known = _expand([types.get(op) for op in ops], which)
    is_known = known != PrecisionKind.UNKNOWN
    bits[events[is_known]] = known[is_known]


def _expand(said: Sequence[PrecisionKind | None], which: Int64) -> Int32:
    known = [PrecisionKind.UNKNOWN if each is None else each for each in said]
    return np.array(known, np.int32)[which]


def _get_instruction_precision(trace: Trace) -> dict[str, PrecisionKind]:
    """In how many bits instructions of XLA's programs compute, where that can be said."""
    _, ran = trace.get_int_args("program_id")
    numbers = set(unique_counts(ran)[0].tolist())
    modules = [module for module in trace.hlo_modules if module.id in numbers or not numbers]
    found = (get_instruction_dtypes(module).items() for module in modules)
    known = ((name, _classify_types(types)) for name, types in chain.from_iterable(found))
    return {name: bits for name, bits in known if bits != PrecisionKind.UNKNOWN}


def _set_from_torch_ops(trace: Trace, bits: Int32) -> None:
    """Go by what the op of PyTorch that launched a kernel was given."""
    ops, which, texts = trace.get_unique_text_args("input_types")
    given = np.full(len(trace), PrecisionKind.UNKNOWN, np.int32)
    given[ops] = _expand([_classify_types(_QUOTED.findall(text)) for text in texts], which)
    events, numbers = trace.get_int_args("external")
    known = given[events] != PrecisionKind.UNKNOWN
    order = np.argsort(numbers[known], kind="stable")
    launchers, sorted_numbers = events[known][order], numbers[known][order]
    others = np.isin(events, ops, invert=True)
    events, numbers = events[others], numbers[others]
    # The last op of a number, as the one that launched it is the innermost.
    place = np.searchsorted(sorted_numbers, numbers, "right") - 1
    met = place >= 0
    met[met] = sorted_numbers[place[met]] == numbers[met]
    bits[events[met]] = given[launchers[place[met]]]


def _classify_types(types: Iterable[str]) -> PrecisionKind:
    """How somebody who works on these computes."""
    met = set(types)
    return (
        PrecisionKind.LOW
        if met & _LOW_PRECISION_TYPES
        else PrecisionKind.FULL
        if met & _FULL_PRECISION_TYPES
        else PrecisionKind.UNKNOWN
    )


def _classify_kernel_name(kernel: str) -> PrecisionKind:
    if _LOW_PRECISION_KERNEL.search(kernel):
        return PrecisionKind.LOW
    return PrecisionKind.FULL if _FULL_PRECISION_KERNEL.search(kernel) else PrecisionKind.UNKNOWN
