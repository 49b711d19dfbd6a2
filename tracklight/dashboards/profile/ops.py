"""Tools about ops and calls: ops, kernels, XLA programs, roofline, PyTorch operators, call tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import numpy as np

from tracklight.analysis.profiles.calls import (
    CallSelection,
    CallTree,
    FrameKind,
    OperatorGrouping,
    OperatorKind,
    TimeOn,
    build_call_tree,
    has_modules,
    has_operators,
    has_stacks,
    list_frame_kinds,
    merge_trees,
    select_visible,
    summarize_operators,
)
from tracklight.analysis.profiles.ops import OpSide
from tracklight.analysis.profiles.roofline import (
    InstructionTime,
    PeakRates,
    find_peak_rates,
    measure_instruction_times,
)
from tracklight.analysis.profiles.trace import PS_PER_MS, Device, Trace
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
    RequestText,
    Roof,
    RooflineResponse,
    TrackIds,
    has_version,
    make_baseline_request,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
    make_tool,
)
from tracklight.errors import Message, UsageError
from tracklight.plugin import Route
from tracklight.types import Float64, Int32, Int64

_MAX_PROGRAM_LINES = 100_000
_MAX_ROOFLINE_POINTS = 1000
_MAX_OPERATOR_ROWS = 5000

StepNumber = Annotated[int, msgspec.Meta(ge=-1, le=1_000_000_000)]


# ---- op statistics


def get_ops_response(store: CaptureStore, request: CaptureRequest) -> OpsResponse:
    """Return how long each op took, with and without nested ops."""

    def compute(capture: LoadedCapture) -> OpsResponse:
        stats = capture.get_op_stats(request.rules)
        return OpsResponse(
            names=[op.name for op in stats.ops],
            types=[op.type for op in stats.ops],
            sides=stats.sides.astype(np.uint8),
            counts=stats.counts.astype(np.int32),
            total_ms=stats.total_ps / PS_PER_MS,
            self_ms=stats.self_ps / PS_PER_MS,
            longest=stats.longest_event.astype(np.int32),
            host_idle_ms=stats.idle_ps[OpSide.HOST] / PS_PER_MS,
            device_idle_ms=stats.idle_ps[OpSide.DEVICE] / PS_PER_MS,
            steps=len(capture.analyze_steps(request.marker, request.rules).steps.names),
        )

    return store.get_or_compute(request, "ops", OpsResponse, compute)


def _explain_no_ops(capture: LoadedCapture) -> EmptyReason | None:
    if capture.get_op_stats().ops:
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_ops", "No ops were recorded."),
        Message(
            "profile.no_ops_hint",
            "Set host_tracer_level=2 in TensorFlow's profiler, or ProfilerActivity.CPU in "
            "PyTorch's.",
        ),
    )


OPS_TOOL = make_tool("ops", CaptureRequest, get_ops_response, _explain_no_ops)


# ---- kernels


def get_kernels_response(store: CaptureStore, request: CaptureRequest) -> KernelsResponse:
    """Return the kernels that ran on devices, and how they were launched."""

    def compute(capture: LoadedCapture) -> KernelsResponse:
        return _make_kernels_response(capture, len(capture.get_steps(request.marker).names))

    return store.get_or_compute(request, "kernels", KernelsResponse, compute)


def _make_kernels_response(capture: LoadedCapture, steps: int) -> KernelsResponse:
    kernels, devices = capture.kernels, capture.trace.devices
    launches = [kernel.launch for kernel in kernels]
    multiprocessors = devices[0].multiprocessors if devices else 0
    return KernelsResponse(
        devices=[_make_device_row(device) for device in devices],
        names=[kernel.name for kernel in kernels],
        ops=[kernel.op.name for kernel in kernels],
        types=[kernel.op.type for kernel in kernels],
        grids=[",".join(map(str, launch.grid)) for launch in launches],
        blocks=[",".join(map(str, launch.block)) for launch in launches],
        registers=np.array([launch.registers for launch in launches], np.int32),
        shared_bytes=np.array([launch.shared_bytes for launch in launches], np.int32),
        occupancy=np.array([launch.occupancy for launch in launches], np.float32),
        occupancy_kind="achieved" if any(capture.trace.categories) else "theoretical",
        fill=np.array(
            [_get_fill(launch.blocks, multiprocessors) for launch in launches], np.float32
        ),
        tensor_cores=np.array([kernel.tensor_cores for kernel in kernels], np.uint8),
        eligible=np.array([kernel.is_eligible for kernel in kernels], np.uint8),
        counts=np.array([kernel.count for kernel in kernels], np.int32),
        total_ms=np.array([kernel.total_ps for kernel in kernels], np.float64) / PS_PER_MS,
        min_ms=np.array([kernel.min_ps for kernel in kernels], np.float64) / PS_PER_MS,
        max_ms=np.array([kernel.max_ps for kernel in kernels], np.float64) / PS_PER_MS,
        longest=np.array([kernel.longest_event for kernel in kernels], np.int32),
        steps=steps,
    )


def _make_device_row(device: Device) -> DeviceRow:
    capability = device.compute_capability
    return DeviceRow(
        name=device.name,
        multiprocessors=device.multiprocessors,
        memory_bytes=device.memory_bytes,
        capability=".".join(map(str, capability)) if any(capability) else "",
    )


def _get_fill(blocks: int, multiprocessors: int) -> float:
    return min(blocks / multiprocessors, 1.0) if blocks and multiprocessors else float("nan")


def _explain_no_kernels(capture: LoadedCapture) -> EmptyReason | None:
    trace = capture.trace
    if trace.on_device.any():
        if "kernel_details" in trace.arg_keys or "kernel" in trace.categories:
            return None
        return EmptyReason(
            Message(
                "profile.no_launches", "A device was used, but kernel launches were not recorded."
            )
        )
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_device", "No device was used in this capture."),
        Message(
            "profile.no_device_hint",
            "Record one on a machine with a GPU. PyTorch needs ProfilerActivity.CUDA; TensorFlow "
            "and JAX need libcupti.",
        ),
    )


KERNELS_TOOL = make_tool("kernels", CaptureRequest, get_kernels_response, _explain_no_kernels)


# ---- XLA programs


def get_programs_response(store: CaptureStore, request: CaptureRequest) -> ProgramsResponse:
    def compute(capture: LoadedCapture) -> ProgramsResponse:
        return _make_programs_response(capture, len(capture.get_steps(request.marker).names))

    return store.get_or_compute(request, "program", ProgramsResponse, compute)


def get_program_text_response(
    store: CaptureStore, request: ProgramTextRequest
) -> ProgramTextResponse:
    """Return the text of a program with the time of each line.

    Raises:
        UsageError: The capture has no program of this index.
    """
    capture = store.load(request)
    programs = capture.programs
    if not 0 <= request.program < len(programs):
        raise UsageError(
            "profile.no_program",
            "No program {program}: this capture has {programs}",
            program=request.program,
            programs=len(programs),
        )
    program = programs[request.program]
    total_ps = {
        time.ref.instruction.name: time.total_ps
        for time in get_instruction_times(capture)
        if time.ref.program is program
    }
    lines = list(iter_program_lines(program))
    shown = lines[:_MAX_PROGRAM_LINES]
    names = [line.instruction.name if line.instruction else "" for line in shown]
    return ProgramTextResponse(
        name=program.module.name,
        lines=[line.text for line in shown],
        names=names,
        ms=np.array([total_ps.get(name, np.nan) for name in names], np.float64) / PS_PER_MS,
        omitted_lines=len(lines) - len(shown),
    )


def get_instruction_times(capture: LoadedCapture) -> list[InstructionTime]:
    return capture.get_or_compute(
        "instruction_times", lambda: measure_instruction_times(capture.trace, capture.instructions)
    )


def _make_programs_response(capture: LoadedCapture, steps: int) -> ProgramsResponse:
    times, programs = get_instruction_times(capture), capture.programs
    index_of = {id(program): index for index, program in enumerate(programs)}
    program_index = np.array([index_of[id(time.ref.program)] for time in times], np.int64)
    total_ms = np.array([time.total_ps for time in times], np.float64) / PS_PER_MS
    program_ms = np.bincount(program_index, total_ms, len(programs)).astype(np.float64)
    instructions = [time.ref.instruction for time in times]
    return ProgramsResponse(
        programs=_make_program_rows(programs, program_ms),
        names=[instruction.name for instruction in instructions],
        opcodes=[instruction.opcode for instruction in instructions],
        kinds=[time.kind for time in times],
        scopes=[instruction.op_name for instruction in instructions],
        sources=[time.ref.program.get_source(time.ref.instruction) for time in times],
        shapes=[format_shape(instruction.shape) for instruction in instructions],
        program_indices=program_index.astype(np.int32),
        counts=np.array([time.run_count for time in times], np.int32),
        total_ms=total_ms,
        flops=np.array([time.run_count * time.cost.flops for time in times], np.float64),
        bytes=np.array([time.run_count * time.cost.bytes for time in times], np.float64),
        longest=np.array([time.longest_event for time in times], np.int32),
        unmapped_ms=_measure_unmapped_ms(capture),
        steps=steps,
    )


def _make_program_rows(programs: list[XlaProgram], total_ms: Float64) -> list[ProgramRow]:
    """Return programs by time; those that took none by their number of instructions."""
    rows = [
        ProgramRow(
            index=index,
            name=program.module.name,
            module_id=program.module.id,
            instructions=len(program.instructions),
            total_ms=float(total_ms[index]),
        )
        for index, program in enumerate(programs)
    ]
    return sorted(rows, key=lambda row: (-row.total_ms, -row.instructions))


def _measure_unmapped_ms(capture: LoadedCapture) -> float:
    """Return the time of device events that belong to no known instruction."""
    is_unmapped = capture.trace.is_device_work.copy()
    is_unmapped[capture.instructions.events] = False
    return float(capture.trace.duration_ps[is_unmapped].sum()) / PS_PER_MS


def _explain_no_programs(capture: LoadedCapture) -> EmptyReason | None:
    if capture.programs:
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_xla_program", "This capture contains no XLA program."),
        Message(
            "profile.no_xla_program_hint",
            "Captures of JAX do, and those of TensorFlow models compiled with jit_compile=True.",
        ),
    )


def _make_program_routes(store: CaptureStore) -> Sequence[Route]:
    def program(request: CaptureRequest) -> ProgramsResponse:
        """Return the XLA programs of a capture, and how long their instructions took."""
        return get_programs_response(store, request)

    def text(request: ProgramTextRequest) -> ProgramTextResponse:
        """Return the text of an XLA program with the time of each line."""
        return get_program_text_response(store, request)

    return [
        Route("program", CaptureRequest, program, "GET", immutable=has_version),
        Route("program/text", ProgramTextRequest, text, "GET", immutable=has_version),
    ]


def _iter_program_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    response = get_programs_response(store, request)
    yield f"program?capture={request.capture}", response
    for row in response.programs[:1]:
        text_request = ProgramTextRequest(request.capture, program=row.index)
        path = f"program/text?capture={request.capture}&program={row.index}"
        yield path, get_program_text_response(store, text_request)


PROGRAM_TOOL = Tool("program", _make_program_routes, _explain_no_programs, _iter_program_static)


# ---- roofline


def get_roofline_response(store: CaptureStore, request: CaptureRequest) -> RooflineResponse:
    """Return FLOPs, bytes and time of ops, and the peak rates of their device."""

    def compute(capture: LoadedCapture) -> RooflineResponse:
        return _make_roofline_response(capture, len(capture.get_steps(request.marker).names))

    return store.get_or_compute(request, "roofline", RooflineResponse, compute)


def _make_roofline_response(capture: LoadedCapture, steps: int) -> RooflineResponse:
    points = capture.roofline_points[:_MAX_ROOFLINE_POINTS]
    devices = capture.trace.devices
    # A device may be present without being used. Its peak rates say nothing about the host.
    rates = find_peak_rates(devices[0]) if devices and capture.trace.on_device.any() else None
    return RooflineResponse(
        device=devices[0].name if devices else "",
        roofs=_list_roofs(rates) if rates else [],
        bytes_per_s=rates.bytes_per_s if rates else 0.0,
        is_estimate=rates.is_estimate if rates else False,
        names=[point.op.name for point in points],
        types=[point.op.type for point in points],
        counts=np.array([point.call_count for point in points], np.int32),
        self_ms=np.array([point.self_ps for point in points], np.float64) / PS_PER_MS,
        flops=np.array([point.flops for point in points], np.float64),
        bytes=np.array([point.bytes for point in points], np.float64),
        longest=np.array([point.longest_event for point in points], np.int32),
        steps=steps,
        utilization=capture.utilization,
    )


def _list_roofs(rates: PeakRates) -> list[Roof]:
    roofs = (
        Roof("fp32", rates.fp32),
        Roof("tf32", rates.tf32),
        Roof("fp16", rates.fp16),
        Roof("fp8", rates.fp8),
        Roof("fp4", rates.fp4),
    )
    return [roof for roof in roofs if roof.flops_per_s]


def _explain_no_roofline(capture: LoadedCapture) -> EmptyReason | None:
    if capture.programs or len(capture.trace.get_text_args("input_dims")[0]):
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_op_costs", "The cost of the ops in this capture is unknown."),
        Message(
            "profile.no_op_costs_hint",
            "Pass record_shapes=True to PyTorch's profiler. For TensorFlow and JAX, costs are "
            "computed from XLA programs.",
        ),
    )


ROOFLINE_TOOL = make_tool("roofline", CaptureRequest, get_roofline_response, _explain_no_roofline)


# ---- operators and modules


class OperatorsRequest(CaptureRequest):
    """The operators of a capture, by name, input shapes, stack or module."""

    group_by: OperatorGrouping = "name"


class OperatorsResponse(msgspec.Struct):
    """PyTorch's operators: longest self time on devices first, or modules as a tree.

    ``groups`` are the shapes of the inputs, or the innermost frames of the stack, one per line.
    ``depths`` say how deep modules are nested. ``longest`` is the longest call of each row.
    """

    groupings: list[OperatorGrouping]
    """What this capture can be grouped by."""
    names: list[str]
    groups: list[str]
    kinds: list[OperatorKind]
    depths: Int32
    counts: Int32
    host_self_ms: Float64
    host_total_ms: Float64
    device_self_ms: Float64
    device_total_ms: Float64
    longest: Int32
    steps: int


def get_operators_response(store: CaptureStore, request: OperatorsRequest) -> OperatorsResponse:
    """Return PyTorch's operators or modules with their time on the host and on devices."""

    def compute(capture: LoadedCapture) -> OperatorsResponse:
        rows = summarize_operators(capture.trace, request.group_by)
        shown = slice(_MAX_OPERATOR_ROWS)
        return OperatorsResponse(
            groupings=_list_groupings(capture.trace),
            names=rows.names[shown],
            groups=rows.groups[shown],
            kinds=list(rows.kinds[shown]),
            depths=rows.depths[shown],
            counts=rows.counts[shown].astype(np.int32),
            host_self_ms=_to_ms(rows.host_self_ps[shown]),
            host_total_ms=_to_ms(rows.host_total_ps[shown]),
            device_self_ms=_to_ms(rows.device_self_ps[shown]),
            device_total_ms=_to_ms(rows.device_total_ps[shown]),
            longest=rows.longest_event[shown].astype(np.int32),
            steps=len(capture.get_steps(request.marker).names),
        )

    name = f"operators {request.group_by}"
    return store.get_or_compute(request, name, OperatorsResponse, compute)


def _list_groupings(trace: Trace) -> list[OperatorGrouping]:
    groupings: list[OperatorGrouping] = ["name"]
    if len(trace.get_text_args("input_dims")[0]):
        groupings.append("shape")
    if has_stacks(trace):
        groupings.append("stack")
    if has_modules(trace):
        groupings.append("module")
    return groupings


def _to_ms(ps: Int64) -> Float64:
    ms: Float64 = ps / PS_PER_MS
    return ms


def _explain_no_operators(capture: LoadedCapture) -> EmptyReason | None:
    if has_operators(capture.trace):
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_operators", "This capture has no operators of PyTorch."),
        Message("profile.no_operators_hint", "Ops of other frameworks are listed under Ops."),
    )


OPERATORS_TOOL = make_tool(
    "operators", OperatorsRequest, get_operators_response, _explain_no_operators
)


# ---- call trees


class CallTreeRequest(CaptureRequest):
    """Calls to merge by their stack.

    ``first_step`` and ``last_step`` are indexes; -1 for all of the capture. ``tracks`` are threads
    or streams; all if empty. With ``below``, only calls of this name and what they called. With a
    ``baseline``, the trees of both captures are merged, without their tracks.
    """

    time_on: TimeOn = "host"
    frames: FrameKind = "all"
    first_step: StepNumber = -1
    last_step: StepNumber = -1
    tracks: TrackIds = msgspec.field(default_factory=list)
    below: RequestText = ""


class CallTreeTrack(msgspec.Struct):
    """A thread or stream that calls can be selected from; ``id`` as in the timeline."""

    id: int
    name: str
    is_device: bool


class CallTreeResponse(msgspec.Struct):
    """Nodes of a tree, each after its parent, which is -1 for a root.

    ``names`` are indexes into ``unique_names``. Times are totals over ``steps`` steps. ``events``
    are the longest events, -1 for tracks. The columns of the baseline are empty without one.
    """

    unique_names: list[str]
    names: Int32
    parents: Int32
    counts: Int32
    total_ms: Float64
    self_ms: Float64
    events: Int32
    baseline_total_ms: Float64
    baseline_self_ms: Float64
    steps: int
    baseline_steps: int
    omitted_nodes: int
    """Nodes with too little time to be drawn."""
    tracks: list[CallTreeTrack]
    step_names: list[str]
    frame_kinds: list[FrameKind]
    has_device: bool


def get_call_tree_response(store: CaptureStore, request: CallTreeRequest) -> CallTreeResponse:
    """Return calls merged by their stack, for a flame graph or call tree."""
    capture = store.load(request)
    if not request.baseline:
        tree, steps = _build_tree(capture, request, by_track=True)
        nodes = select_visible(tree.total_ps, tree.parent)
        return _make_call_tree_response(capture, request, tree, nodes, steps)
    baseline = store.load(make_baseline_request(request))
    tree, steps = _build_tree(capture, request, by_track=False)
    before, baseline_steps = _build_tree(baseline, request, by_track=False)
    merged = merge_trees(before, tree)
    # Of both captures, the time of a step.
    per_step = np.maximum(
        _take(before.total_ps, merged.before) / baseline_steps,
        _take(tree.total_ps, merged.after) / steps,
    )
    both = CallTree(
        names=merged.names,
        parent=merged.parent,
        counts=_take(tree.counts, merged.after),
        total_ps=_take(tree.total_ps, merged.after),
        self_ps=_take(tree.self_ps, merged.after),
        longest_event=np.where(merged.after < 0, -1, tree.longest_event[merged.after])
        if len(tree)
        else np.full(len(merged.names), -1, np.int64),
    )
    nodes = select_visible(np.ceil(per_step).astype(np.int64), merged.parent)
    response = _make_call_tree_response(capture, request, both, nodes, steps)
    response.baseline_total_ms = _to_ms(_take(before.total_ps, merged.before)[nodes])
    response.baseline_self_ms = _to_ms(_take(before.self_ps, merged.before)[nodes])
    response.baseline_steps = baseline_steps
    return response


def _take(values: Int64, nodes: Int64) -> Int64:
    """Return the values of nodes; 0 for those that a tree does not have."""
    taken: Int64 = np.append(values, 0)[nodes]
    return taken


def _build_tree(
    capture: LoadedCapture, request: CallTreeRequest, *, by_track: bool
) -> tuple[CallTree, int]:
    """Return the tree of a capture, and the number of steps that it covers."""
    steps = capture.get_steps(request.marker)
    last = len(steps.names) - 1
    selected = None
    if request.first_step >= 0 and last >= 0:
        first_step = min(request.first_step, last)
        selected = first_step, min(max(request.last_step, first_step), last)
    count = selected[1] - selected[0] + 1 if selected else max(len(steps.names), 1)
    # The tracks of another capture have other numbers.
    tracks = {at for at in request.tracks if at < len(capture.trace.tracks)} if by_track else ()
    selection = CallSelection(
        time_on=request.time_on,
        frames=request.frames,
        tracks=frozenset(tracks),
        steps=selected,
        below=request.below,
        by_track=by_track,
    )
    tree = build_call_tree(capture.trace, steps, capture.event_ops, selection)
    return tree, count


def _make_call_tree_response(
    capture: LoadedCapture, request: CallTreeRequest, tree: CallTree, nodes: Int64, steps: int
) -> CallTreeResponse:
    trace = capture.trace
    position = np.full(len(tree) + 1, -1, np.int32)
    position[nodes] = np.arange(len(nodes))
    names = [tree.names[node] for node in nodes.tolist()]
    unique = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return CallTreeResponse(
        unique_names=[*unique],
        names=np.array([unique[name] for name in names], np.int32),
        parents=position[tree.parent[nodes]],
        counts=tree.counts[nodes].astype(np.int32),
        total_ms=_to_ms(tree.total_ps[nodes]),
        self_ms=_to_ms(tree.self_ps[nodes]),
        events=tree.longest_event[nodes].astype(np.int32),
        baseline_total_ms=np.empty(0),
        baseline_self_ms=np.empty(0),
        steps=steps,
        baseline_steps=0,
        omitted_nodes=len(tree) - len(nodes),
        tracks=_list_tracks(trace, request.time_on == "device"),
        step_names=list(capture.get_steps(request.marker).names),
        frame_kinds=list_frame_kinds(trace),
        has_device=bool(trace.is_device_work.any()),
    )


def _list_tracks(trace: Trace, with_streams: bool) -> list[CallTreeTrack]:
    """Return the tracks with events, those with the most events first."""
    counts = np.bincount(trace.track, minlength=len(trace.tracks))
    order = np.argsort(-counts, kind="stable").tolist()
    return [
        CallTreeTrack(at, trace.tracks[at].name, trace.tracks[at].is_device)
        for at in order
        if counts[at] and (with_streams or not trace.tracks[at].is_device)
    ]


def _is_immutable_tree(request: CallTreeRequest) -> bool:
    return has_version(request) and not request.baseline


CALL_TREE_TOOL = make_tool(
    "calls", CallTreeRequest, get_call_tree_response, explain_empty, _is_immutable_tree
)
