"""Op statistics: what took how long, on the host, on devices and in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.media.values import has_fingerprint
from tracklight.analysis.profiles.kernels import KernelStats, list_kernels
from tracklight.analysis.profiles.ops import OpSide, OpStats
from tracklight.analysis.profiles.roofline import (
    InstructionTime,
    RooflinePoint,
    compute_roofline_points,
    find_peak_rates,
    measure_instruction_times,
)
from tracklight.analysis.profiles.xla_programs import XlaProgram, format_shape, iter_program_lines
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    DeviceRow,
    KernelsResponse,
    OpsResponse,
    ProgramRow,
    ProgramsResponse,
    ProgramTextRequest,
    ProgramTextResponse,
    Roof,
    RooflineResponse,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
    get_event_ops,
    get_instructions,
    get_op_stats,
    get_programs,
)
from tracklight.errors import UsageError
from tracklight.plugin import Route
from tracklight.types import Float64

_PS_PER_MS = 1e9


def get_ops_response(store: CaptureStore, ask: CaptureRequest) -> OpsResponse:
    def make(opened: LoadedCapture) -> OpsResponse:
        steps = len(opened.analyze_steps(ask.marker, ask.rules).steps.names)
        return _make_ops_response(get_op_stats(opened, ask.rules), steps)

    return store.get_or_compute(ask, "ops", OpsResponse, make)


def _make_ops_response(ops: OpStats, steps: int) -> OpsResponse:
    return OpsResponse(
        names=[op.name for op in ops.ops],
        types=[op.type for op in ops.ops],
        sides=ops.sides.astype(np.uint8),
        counts=ops.counts.astype(np.int32),
        total_ms=ops.total_ps / _PS_PER_MS,
        self_ms=ops.self_ps / _PS_PER_MS,
        longest=ops.longest_event.astype(np.int32),
        host_idle_ms=ops.idle_ps[OpSide.HOST] / _PS_PER_MS,
        device_idle_ms=ops.idle_ps[OpSide.DEVICE] / _PS_PER_MS,
        steps=steps,
    )


def _explain_no_ops(opened: LoadedCapture) -> EmptyReason | None:
    if get_op_stats(opened).ops:
        return None
    return explain_empty(opened) or EmptyReason(
        "no event of this capture is an op",
        "give TensorFlow's profiler host_tracer_level=2, or PyTorch's ProfilerActivity.CPU",
    )


def _make_ops_routes(store: CaptureStore) -> Sequence[Route]:
    def ops(ask: CaptureRequest) -> OpsResponse:
        """How long each op took, with and without what ran inside of it."""
        return get_ops_response(store, ask)

    return [Route("ops", CaptureRequest, ops, "GET", immutable=has_fingerprint)]


def _iter_ops_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    yield f"ops?capture={ask.capture}", get_ops_response(store, ask)


OPS_TOOL = Tool("ops", "Ops", _make_ops_routes, _explain_no_ops, _iter_ops_static)


# Kernels: how they were launched, how well they fit the device, and who uses tensor cores.


def get_kernels_response(store: CaptureStore, ask: CaptureRequest) -> KernelsResponse:
    def make(opened: LoadedCapture) -> KernelsResponse:
        return _make_kernels_response(opened, len(opened.get_steps(ask.marker).names))

    return store.get_or_compute(ask, "kernels", KernelsResponse, make)


def get_kernels(opened: LoadedCapture) -> list[KernelStats]:
    def find() -> list[KernelStats]:
        return list_kernels(opened.trace, get_event_ops(opened), get_instructions(opened))

    return opened.get_or_compute("kernels", find)


def _make_kernels_response(opened: LoadedCapture, steps: int) -> KernelsResponse:
    kernels, devices = get_kernels(opened), opened.trace.devices
    launches = [kernel.launch for kernel in kernels]
    cores = devices[0].multiprocessors if devices else 0
    return KernelsResponse(
        devices=[
            DeviceRow(
                each.name,
                each.multiprocessors,
                each.memory_bytes,
                _format_capability(each.compute_capability),
            )
            for each in devices
        ],
        names=[kernel.name for kernel in kernels],
        ops=[kernel.op.name for kernel in kernels],
        types=[kernel.op.type for kernel in kernels],
        grids=[",".join(map(str, launch.grid)) for launch in launches],
        blocks=[",".join(map(str, launch.block)) for launch in launches],
        registers=np.array([launch.registers for launch in launches], np.int32),
        shared_bytes=np.array([launch.shared_bytes for launch in launches], np.int32),
        occupancy=np.array([launch.occupancy for launch in launches], np.float32),
        occupancy_is="achieved" if any(opened.trace.categories) else "theoretical",
        fill=np.array([_get_fill(launch.blocks, cores) for launch in launches], np.float32),
        tensor_cores=np.array([kernel.tensor_cores for kernel in kernels], np.uint8),
        eligible=np.array([kernel.is_eligible for kernel in kernels], np.uint8),
        counts=np.array([kernel.count for kernel in kernels], np.int32),
        total_ms=np.array([kernel.total_ps for kernel in kernels], np.float64) / _PS_PER_MS,
        min_ms=np.array([kernel.min_ps for kernel in kernels], np.float64) / _PS_PER_MS,
        max_ms=np.array([kernel.max_ps for kernel in kernels], np.float64) / _PS_PER_MS,
        longest=np.array([kernel.longest_event for kernel in kernels], np.int32),
        steps=steps,
    )


def _format_capability(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability)) if any(capability) else ""


def _get_fill(blocks: int, cores: int) -> float:
    return min(blocks / cores, 1.0) if blocks and cores else float("nan")


def _explain_no_kernels(opened: LoadedCapture) -> EmptyReason | None:
    trace = opened.trace
    if trace.on_device.any():
        if "kernel_details" in trace.arg_keys or "kernel" in trace.categories:
            return None
        return EmptyReason("a device ran, but nothing says how its kernels were launched")
    return explain_empty(opened) or EmptyReason(
        "no device took part in this capture",
        "take one on a machine with a GPU; PyTorch needs ProfilerActivity.CUDA, and TensorFlow "
        "and JAX that libcupti can be loaded",
    )


def _make_kernels_routes(store: CaptureStore) -> Sequence[Route]:
    def kernels(ask: CaptureRequest) -> KernelsResponse:
        """The kernels that ran on devices, and how they were launched."""
        return get_kernels_response(store, ask)

    return [Route("kernels", CaptureRequest, kernels, "GET", immutable=has_fingerprint)]


def _iter_kernels_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    yield f"kernels?capture={ask.capture}", get_kernels_response(store, ask)


KERNELS_TOOL = Tool(
    "kernels", "Kernels", _make_kernels_routes, _explain_no_kernels, _iter_kernels_static
)


# Roofline: how near ops come to what their device can do, and what holds them back.

_MAX_ROOFLINE_POINTS = 1000


def get_roofline_response(store: CaptureStore, ask: CaptureRequest) -> RooflineResponse:
    def make(opened: LoadedCapture) -> RooflineResponse:
        return _make_roofline_response(opened, len(opened.get_steps(ask.marker).names))

    return store.get_or_compute(ask, "roofline", RooflineResponse, make)


def get_roofline_points(opened: LoadedCapture) -> list[RooflinePoint]:
    def find() -> list[RooflinePoint]:
        return compute_roofline_points(
            opened.trace, get_event_ops(opened), get_op_stats(opened), get_instructions(opened)
        )

    return opened.get_or_compute("points", find)


def _make_roofline_response(opened: LoadedCapture, steps: int) -> RooflineResponse:
    points = get_roofline_points(opened)[:_MAX_ROOFLINE_POINTS]
    roofs, bytes_per_s, is_guess = _get_roofs(opened)
    devices = opened.trace.devices
    return RooflineResponse(
        device=devices[0].name if devices else "",
        roofs=roofs,
        bytes_per_s=bytes_per_s,
        is_guess=is_guess,
        names=[point.op.name for point in points],
        types=[point.op.type for point in points],
        counts=np.array([point.call_count for point in points], np.int32),
        self_ms=np.array([point.self_ps for point in points], np.float64) / _PS_PER_MS,
        flops=np.array([point.flops for point in points], np.float64),
        bytes=np.array([point.bytes for point in points], np.float64),
        longest=np.array([point.longest_event for point in points], np.int32),
        steps=steps,
    )


def _get_roofs(opened: LoadedCapture) -> tuple[list[Roof], float, bool]:
    """A device may be there and not have been used; its roof says nothing of the host."""
    devices = opened.trace.devices
    peaks = find_peak_rates(devices[0]) if devices and opened.trace.on_device.any() else None
    if peaks is None:
        return [], 0.0, False
    named = {
        "32 bits": peaks.fp32,
        "TF32 on tensor cores": peaks.tf32,
        "16 bits on tensor cores": peaks.fp16,
    }
    roofs = [Roof(name, most) for name, most in named.items() if most]
    return roofs, peaks.bytes_per_s, peaks.is_estimate


def _explain_no_roofline(opened: LoadedCapture) -> EmptyReason | None:
    if get_programs(opened) or len(opened.trace.get_text_args("input_dims")[0]):
        return None
    return explain_empty(opened) or EmptyReason(
        "it is not known how much any op of this capture computes",
        "PyTorch records shapes with record_shapes=True; TensorFlow and JAX tell of programs that "
        "XLA compiled",
    )


def _make_roofline_routes(store: CaptureStore) -> Sequence[Route]:
    def roofline(ask: CaptureRequest) -> RooflineResponse:
        """What ops computed and moved in which time, and what their device could have done."""
        return get_roofline_response(store, ask)

    return [Route("roofline", CaptureRequest, roofline, "GET", immutable=has_fingerprint)]


def _iter_roofline_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    yield f"roofline?capture={ask.capture}", get_roofline_response(store, ask)


ROOFLINE_TOOL = Tool(
    "roofline", "Roofline", _make_roofline_routes, _explain_no_roofline, _iter_roofline_static
)


# Programs: what the compiler made of the model, and how long each instruction took.

_MAX_LINES = 100_000


def get_programs_response(store: CaptureStore, ask: CaptureRequest) -> ProgramsResponse:
    def make(opened: LoadedCapture) -> ProgramsResponse:
        return _make_programs_response(opened, len(opened.get_steps(ask.marker).names))

    return store.get_or_compute(ask, "program", ProgramsResponse, make)


def get_program_text_response(store: CaptureStore, ask: ProgramTextRequest) -> ProgramTextResponse:
    opened = store.load(ask)
    programs = get_programs(opened)
    if not 0 <= ask.program < len(programs):
        raise UsageError(f"this capture has {len(programs)} programs, counted from 0 on")
    program = programs[ask.program]
    took = {
        each.ref.instruction.name: each.total_ps
        for each in get_instruction_times(opened)
        if each.ref.program is program
    }
    lines = list(iter_program_lines(program))
    names = [line.instruction.name if line.instruction else "" for line in lines[:_MAX_LINES]]
    return ProgramTextResponse(
        name=program.module.name,
        lines=[line.text for line in lines[:_MAX_LINES]],
        names=names,
        ms=np.array([took.get(name, np.nan) for name in names], np.float64) / _PS_PER_MS,
        rest=max(0, len(lines) - _MAX_LINES),
    )


def get_instruction_times(opened: LoadedCapture) -> list[InstructionTime]:
    return opened.get_or_compute(
        "timed", lambda: measure_instruction_times(opened.trace, get_instructions(opened))
    )


def _make_programs_response(opened: LoadedCapture, steps: int) -> ProgramsResponse:
    timed, programs = get_instruction_times(opened), get_programs(opened)
    places = {id(program): at for at, program in enumerate(programs)}
    of = np.array([places[id(each.ref.program)] for each in timed], np.int64)
    total_ms = np.array([each.total_ps for each in timed], np.float64) / _PS_PER_MS
    instructions = [each.ref.instruction for each in timed]
    return ProgramsResponse(
        programs=_make_program_rows(
            programs, np.bincount(of, total_ms, len(programs)).astype(np.float64)
        ),
        names=[each.name for each in instructions],
        opcodes=[each.opcode for each in instructions],
        kinds=[each.kind for each in timed],
        scopes=[each.op_name for each in instructions],
        sources=[each.ref.program.get_source(each.ref.instruction) for each in timed],
        shapes=[format_shape(each.shape) for each in instructions],
        programs_of=of.astype(np.int32),
        counts=np.array([each.run_count for each in timed], np.int32),
        total_ms=total_ms,
        flops=np.array([each.run_count * each.cost.flops for each in timed], np.float64),
        bytes=np.array([each.run_count * each.cost.bytes for each in timed], np.float64),
        longest=np.array([each.longest_event for each in timed], np.int32),
        unplaced_ms=_measure_unmapped_ms(opened),
        steps=steps,
    )


def _make_program_rows(programs: list[XlaProgram], took_ms: Float64) -> list[ProgramRow]:
    """Those that took longest first; what only prepared something took no time here."""
    rows = [
        ProgramRow(at, each.module.name, each.module.id, len(each.instructions), float(took_ms[at]))
        for at, each in enumerate(programs)
    ]
    return sorted(rows, key=lambda row: (-row.total_ms, -row.instructions))


def _measure_unmapped_ms(opened: LoadedCapture) -> float:
    trace, placed = opened.trace, get_instructions(opened).events
    left = trace.on_device.copy()
    left[placed] = False
    return float(trace.duration_ps[left].sum()) / _PS_PER_MS


def _explain_no_programs(opened: LoadedCapture) -> EmptyReason | None:
    if get_programs(opened):
        return None
    return explain_empty(opened) or EmptyReason(
        "this capture carries no program of XLA",
        "JAX's captures do, and TensorFlow's of models compiled with jit_compile=True",
    )


def _make_program_routes(store: CaptureStore) -> Sequence[Route]:
    def program(ask: CaptureRequest) -> ProgramsResponse:
        """The programs of XLA that a capture carries, and how long their instructions took."""
        return get_programs_response(store, ask)

    def text(ask: ProgramTextRequest) -> ProgramTextResponse:
        """One program as people read it, with the time that each line took."""
        return get_program_text_response(store, ask)

    return [
        Route("program", CaptureRequest, program, "GET", immutable=has_fingerprint),
        Route("program/text", ProgramTextRequest, text, "GET", immutable=has_fingerprint),
    ]


def _iter_program_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    answer = get_programs_response(store, ask)
    yield f"program?capture={ask.capture}", answer
    for row in answer.programs[:1]:
        path = f"program/text?capture={ask.capture}&program={row.index}"
        yield (
            path,
            get_program_text_response(store, ProgramTextRequest(ask.capture, program=row.index)),
        )


PROGRAM_TOOL = Tool(
    "program", "Program", _make_program_routes, _explain_no_programs, _iter_program_static
)
