"""Device memory of PyTorch over time, and of an XLA program at its peak.

A snapshot of PyTorch's CUDA allocator has the blocks that are in use when it is taken and the
latest calls of the allocator. Memory at earlier times follows from both: what a recorded call freed
was in use before it, and what is in use at the end without a recorded allocation was in use all the
time. Start with `analyze_snapshot`.

XLA decides at compile time where each value is stored. Parameters, outputs and constants are kept
for the whole run. Temporary values share one allocation, and the order in which they are allocated
and freed says which of them are live at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from tracklight.analysis.profiles.xla_programs import XlaProgram
from tracklight.errors import FormatError
from tracklight.formats.profiles.hlo import (
    HEAP_ALLOCATE,
    HEAP_FREE,
    HEAP_SHARE,
    BufferAssignment,
    HeapEvent,
    HloAllocation,
    parse_buffers,
)
from tracklight.formats.profiles.memory_profiles import (
    ALLOCATE,
    FREE_COMPLETED,
    INACTIVE,
    OUT_OF_MEMORY,
    SEGMENT_ALLOCATE,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    AllocatorCall,
    CudaSnapshot,
    MemorySegment,
    StackFrame,
)
from tracklight.types import Float64, Int64


class MemoryCategory(IntEnum):
    """What memory is used for, judged by the stack that allocated it."""

    WEIGHTS = 0
    GRADIENTS = 1
    OPTIMIZER = 2
    ACTIVATIONS = 3
    WORKSPACE = 4
    OTHER = 5
    """Allocated by other code, such as that of the input."""
    UNKNOWN = 6
    """No stack was recorded."""


#: Workspaces of libraries, whichever code called them.
_WORKSPACE = re.compile(
    r"workspace|CUDABlas(Lt)?Handle|cublas(Lt)?Create|cudnnCreate|CuDNNHandle", re.IGNORECASE
)
_OPTIMIZER_FILE = re.compile(r"[/\\]torch[/\\]optim[/\\]|(^|[/\\])(apex|bitsandbytes)[/\\].*optim")
#: The backward pass runs in a thread of C++, below the engine or a node of the graph.
_BACKWARD = re.compile(
    r"torch::autograd::(python::)?(PythonEngine|Engine|Node|generated::)"
    r"|AccumulateGrad|Backward\d*::apply|_engine_run_backward"
)
_BACKWARD_FUNCTION = re.compile(r"backward$|^_engine_run_backward$")
#: A forward pass that is repeated within the backward pass.
_CHECKPOINT_FILE = re.compile(r"[/\\]torch[/\\]utils[/\\]checkpoint\.py$")
_MODULE_FILE = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]")
_WEIGHTS_FUNCTIONS = frozenset({
    "_apply", "_load_from_state_dict", "load_state_dict", "from_pretrained", "to_empty",
    "reset_parameters", "register_parameter", "convert",
})  # fmt: skip
_FORWARD_FUNCTIONS = frozenset({"_call_impl", "_wrapped_call_impl", "forward"})
_FUNCTIONAL_FILE = re.compile(r"[/\\]torch[/\\]nn[/\\]functional\.py$")
#: Files of installed packages, as opposed to the user's own code.
_INSTALLED_CODE = re.compile(r"(site|dist)-packages[/\\]|^<frozen|[/\\]lib[/\\]python3")
#: Frames of C++ that say nothing about the caller: of the recording and of the allocator.
_ALLOCATOR_CODE = re.compile(r"unwind|CapturedTraceback|gather_with_cpp|CachingAllocator|empty")

_SIGNS = {SEGMENT_ALLOCATE: 1, SEGMENT_MAP: 1, SEGMENT_FREE: -1, SEGMENT_UNMAP: -1}


def classify_stack(stack: Sequence[StackFrame]) -> MemoryCategory:
    """Return what memory is used for that a stack allocated; frames are innermost first."""
    if not stack:
        return MemoryCategory.UNKNOWN
    if any(_WORKSPACE.search(frame.function) for frame in stack):
        return MemoryCategory.WORKSPACE
    for frame in stack:
        # The innermost frame that tells decides: a checkpoint runs modules in the backward pass,
        # and a module that is called may create its weights first.
        if _OPTIMIZER_FILE.search(frame.file):
            return MemoryCategory.OPTIMIZER
        if _CHECKPOINT_FILE.search(frame.file):
            return MemoryCategory.ACTIVATIONS
        if _BACKWARD.search(frame.function) or (
            frame.line > 0 and _BACKWARD_FUNCTION.search(frame.function)
        ):
            return MemoryCategory.GRADIENTS
        if frame.function in _WEIGHTS_FUNCTIONS or (
            frame.function == "__init__" and _MODULE_FILE.search(frame.file)
        ):
            return MemoryCategory.WEIGHTS
        if frame.line > 0 and (
            frame.function in _FORWARD_FUNCTIONS or _FUNCTIONAL_FILE.search(frame.file)
        ):
            return MemoryCategory.ACTIVATIONS
    return MemoryCategory.OTHER


def format_frame(frame: StackFrame) -> str:
    location = f"{frame.file}:{frame.line}" if frame.line else frame.file
    return f"{frame.function} {location}".strip().removesuffix(" ??")


def describe_user_frame(stack: Sequence[StackFrame]) -> str:
    """Return the innermost frame of the user's code, or else the most telling; "" for no stack."""
    in_python = [frame for frame in stack if frame.line > 0 and frame.file]
    own = [frame for frame in in_python if not _INSTALLED_CODE.search(frame.file)]
    # The backward pass has no Python frames; the node of its graph tells most.
    backward = [frame for frame in stack if "Backward" in frame.function]
    native = [frame for frame in stack if not _ALLOCATOR_CODE.search(frame.function)]
    frame = next(iter([*own, *in_python, *backward, *native, *stack]), None)
    return "" if frame is None else format_frame(frame)


class LiveGroup(NamedTuple):
    """Allocations of one stack that are in use at the same time."""

    category: MemoryCategory
    stack: int
    """Index into `CudaSnapshot.stacks`."""
    bytes: int
    occurrences: int
    largest_bytes: int


class OutOfMemory(NamedTuple):
    """A call that failed for lack of memory."""

    call: int
    requested_bytes: int
    free_bytes: int
    """Free memory of the device, -1 if unknown."""
    stack: int


class Fragmentation(NamedTuple):
    """How the memory of a device is divided when the snapshot is taken."""

    reserved_bytes: int
    """Memory that the allocator got from the driver."""
    active_bytes: int
    """Memory of blocks in use, as rounded by the allocator."""
    requested_bytes: int
    """The part that the program requested."""
    split_free_bytes: int
    """Free memory in segments that are partly in use, which cannot be returned to the driver."""
    unused_segment_bytes: int
    """Segments without any block in use."""
    largest_free_bytes: int
    """The largest allocation that fits without more memory from the driver."""

    @property
    def free_bytes(self) -> int:
        return self.split_free_bytes + self.unused_segment_bytes

    @property
    def share(self) -> float | None:
        """Share of the free memory outside of the largest free block; None without any."""
        return 1 - self.largest_free_bytes / self.free_bytes if self.free_bytes else None


class DeviceMemory(NamedTuple):
    """The memory of one device. Columns have a value before the first call and after each one."""

    device: int
    calls: list[AllocatorCall]
    ms: Float64
    """Time since the first call; the number of the call if times were not recorded."""
    has_times: bool
    category_bytes: Int64
    """Memory in use by category, a row per time: requested sizes, before rounding."""
    reserved_bytes: Int64
    peak: int
    """The row with the most memory in use."""
    peak_groups: list[LiveGroup]
    """What was in use then, largest first."""
    fragmentation: Fragmentation
    segments: list[MemorySegment]
    """Largest first."""
    out_of_memory: list[OutOfMemory]
    is_complete: bool
    """Whether the calls explain all memory: those at the start were not dropped."""

    @property
    def in_use_bytes(self) -> Int64:
        total: Int64 = self.category_bytes.sum(axis=1)
        return total


def analyze_snapshot(snapshot: CudaSnapshot) -> list[DeviceMemory]:
    """Return the memory of each device that the snapshot has anything of."""
    categories = [classify_stack(stack) for stack in snapshot.stacks]
    devices = {segment.device for segment in snapshot.segments} | snapshot.calls.keys()
    return [
        _analyze_device(
            device,
            [segment for segment in snapshot.segments if segment.device == device],
            snapshot.calls.get(device, []),
            categories,
        )
        for device in sorted(devices)
    ]


class _Lifetimes(NamedTuple):
    """Columns of allocations: in use after the calls from ``first`` up to ``last``, without it."""

    size: Int64
    stack: Int64
    first: Int64
    last: Int64


def _analyze_device(
    device: int,
    segments: list[MemorySegment],
    calls: list[AllocatorCall],
    categories: Sequence[MemoryCategory],
) -> DeviceMemory:
    lifetimes = _collect_lifetimes(segments, calls)
    category = np.array(categories, np.int64)[lifetimes.stack]
    changes = np.zeros((len(calls) + 2, len(MemoryCategory)), np.int64)
    np.add.at(changes, (lifetimes.first, category), lifetimes.size)
    np.add.at(changes, (lifetimes.last, category), -lifetimes.size)
    category_bytes = np.cumsum(changes[:-1], axis=0)
    peak = int(np.argmax(category_bytes.sum(axis=1)))
    is_live = (lifetimes.first <= peak) & (lifetimes.last > peak)
    ms, has_times = _get_times_ms(calls)
    return DeviceMemory(
        device=device,
        calls=calls,
        ms=ms,
        has_times=has_times,
        category_bytes=category_bytes,
        reserved_bytes=_get_reserved_bytes(segments, calls),
        peak=peak,
        peak_groups=_group_live(lifetimes.stack[is_live], lifetimes.size[is_live], categories),
        fragmentation=_measure_fragmentation(segments),
        segments=sorted(segments, key=lambda segment: -segment.size),
        out_of_memory=[
            OutOfMemory(at, call.size, call.free_bytes, call.stack)
            for at, call in enumerate(calls)
            if call.action == OUT_OF_MEMORY
        ],
        is_complete=not category_bytes[0].any(),
    )


def _collect_lifetimes(
    segments: Sequence[MemorySegment], calls: Sequence[AllocatorCall]
) -> _Lifetimes:
    """Return all allocations that appear in the calls or in the final blocks."""
    rows: list[tuple[int, int, int, int]] = []
    live: dict[int, tuple[int, int, int]] = {}
    """Size, stack and first row of what is in use, by address."""
    end = len(calls) + 1
    for row, call in enumerate(calls, 1):
        if call.action == ALLOCATE:
            if (replaced := live.pop(call.address, None)) is not None:
                rows.append((*replaced, row))
            live[call.address] = call.size, call.stack, row
        elif call.action == FREE_COMPLETED:
            # What was allocated before the first recorded call has an unknown stack.
            rows.append((*live.pop(call.address, (call.size, 0, 0)), row))
    for segment in segments:
        for block in segment.blocks:
            if block.state == INACTIVE:
                continue
            known = live.pop(block.address, None)
            rows.append((*(known or (block.requested_size, block.stack, 0)), end))
    # Allocations that are neither freed nor in a block: of a snapshot that was not taken at once.
    rows.extend((*known, end) for known in live.values())
    columns = np.array(rows, np.int64).reshape(-1, 4)
    return _Lifetimes(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3])


def _get_times_ms(calls: Sequence[AllocatorCall]) -> tuple[Float64, bool]:
    times_us = np.array([call.time_us for call in calls], np.float64)
    if not len(calls) or (times_us < 0).any():
        return np.arange(len(calls) + 1, dtype=np.float64), False
    ms = np.maximum.accumulate(times_us - times_us[0]) / 1e3
    return np.append(ms[0], ms), True


def _get_reserved_bytes(segments: Sequence[MemorySegment], calls: Sequence[AllocatorCall]) -> Int64:
    changes = np.array([_SIGNS.get(call.action, 0) * call.size for call in calls], np.int64)
    reserved = np.append(0, np.cumsum(changes))
    return reserved + (sum(segment.size for segment in segments) - int(reserved[-1]))


def _group_live(
    stacks: Int64, sizes: Int64, categories: Sequence[MemoryCategory]
) -> list[LiveGroup]:
    groups: dict[int, list[int]] = {}
    for stack, size in zip(stacks.tolist(), sizes.tolist(), strict=True):
        groups.setdefault(stack, []).append(size)
    rows = (
        LiveGroup(categories[stack], stack, sum(group), len(group), max(group))
        for stack, group in groups.items()
    )
    return sorted(rows, key=lambda row: -row.bytes)


def _measure_fragmentation(segments: Sequence[MemorySegment]) -> Fragmentation:
    active = requested = split_free = unused = largest = 0
    for segment in segments:
        in_use = [block for block in segment.blocks if block.state != INACTIVE]
        free = [block.size for block in segment.blocks if block.state == INACTIVE]
        active += sum(block.size for block in in_use)
        requested += sum(block.requested_size for block in in_use)
        if in_use:
            split_free += sum(free)
        else:
            unused += sum(free)
        largest = max([largest, *free])
    return Fragmentation(
        reserved_bytes=sum(segment.size for segment in segments),
        active_bytes=active,
        requested_bytes=requested,
        split_free_bytes=split_free,
        unused_segment_bytes=unused,
        largest_free_bytes=largest,
    )


# ---- XLA buffers

BufferKind = Literal["parameter", "output", "constant", "temporary"]


class ProgramBuffer(NamedTuple):
    """A buffer that is live when the program needs most memory."""

    kind: BufferKind
    instruction: str
    scope: str
    """The framework's name of what the instruction was compiled from; empty if unknown."""
    source: str
    bytes: int


class ProgramMemory(NamedTuple):
    """The memory of a program; bytes of all allocations, and of what is live at the peak."""

    name: str
    allocated_bytes: int
    """All allocations together: what a run of the program needs."""
    peak_bytes: int
    """Live values, without the gaps between temporary ones."""
    has_order: bool
    """Whether it is known which temporary values are live at the same time."""
    buffers: list[ProgramBuffer]
    """Live at the peak, largest first."""


def analyze_buffers(programs: Iterable[XlaProgram]) -> list[ProgramMemory]:
    """Return the memory of each program with a buffer assignment, largest first."""
    memories = []
    for program in programs:
        with suppress(FormatError):  # a damaged assignment
            assignment = parse_buffers(program.module)
            if assignment.allocations:
                memories.append(_analyze_program(program, assignment))
    return sorted(memories, key=lambda memory: -memory.allocated_bytes)


def _analyze_program(program: XlaProgram, assignment: BufferAssignment) -> ProgramMemory:
    allocations = [item for item in assignment.allocations if not item.is_thread_local]
    buffers: list[ProgramBuffer] = []
    has_order = True
    for allocation in allocations:
        kind = _get_kind(allocation)
        if kind == "temporary":
            live, is_ordered = _list_live_at_peak(assignment, allocation)
            has_order = has_order and is_ordered
            buffers.extend(
                _make_buffer(program, assignment, kind, id, size) for id, size in live.items()
            )
        else:
            # The buffers of such an allocation are views or later values of the same memory.
            first = next(iter(allocation.buffers), -1)
            buffers.append(_make_buffer(program, assignment, kind, first, allocation.size))
    return ProgramMemory(
        name=program.module.name,
        allocated_bytes=sum(allocation.size for allocation in allocations),
        peak_bytes=sum(buffer.bytes for buffer in buffers),
        has_order=has_order,
        buffers=sorted(buffers, key=lambda buffer: -buffer.bytes),
    )


def _get_kind(allocation: HloAllocation) -> BufferKind:
    if allocation.is_parameter:
        return "parameter"
    if allocation.is_constant:
        return "constant"
    return "output" if allocation.is_output else "temporary"


def _list_live_at_peak(
    assignment: BufferAssignment, allocation: HloAllocation
) -> tuple[dict[int, int], bool]:
    """Return the sizes of the temporary buffers that are live at the peak, and if that is known.

    Without an order, the allocation itself is all that is known.
    """
    own_ids = frozenset(allocation.buffers)
    traces = assignment.heap_traces
    events = next(
        (trace for trace in traces if any(event.buffer in own_ids for event in trace)), None
    )
    if events is None:
        own = next(iter(allocation.buffers), -1)
        return {own: allocation.size}, len(allocation.buffers) <= 1
    sizes = {id: assignment.buffers[id].size for id in own_ids if id in assignment.buffers}
    peak = total = position = 0
    for at, (change, _) in enumerate(_iter_changes(events, sizes), 1):
        total += change
        if total > peak:
            peak, position = total, at
    live: dict[int, int] = {}
    for change, buffer in islice(_iter_changes(events, sizes), position):
        if change > 0:
            live[buffer] = change
        elif change < 0:
            live.pop(buffer, None)
    return live, True


def _iter_changes(
    events: Sequence[HeapEvent], sizes: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield by how much each event changes the live memory, and the buffer that owns it.

    Memory that several buffers share is freed with the last of them, and may be taken again later.
    """
    owners: dict[int, int] = {}
    """The buffer whose memory each buffer uses."""
    users: dict[int, int] = {}
    """How many live buffers use the memory of each buffer."""
    for kind, buffer, shared_with in events:
        if kind == HEAP_FREE:
            owner = owners.get(buffer, buffer)
            users[owner] = users.get(owner, 0) - 1
            if not users[owner]:
                yield -sizes.get(owner, 0), owner
        elif kind in (HEAP_ALLOCATE, HEAP_SHARE):
            owner = owners.get(shared_with, shared_with) if kind == HEAP_SHARE else buffer
            owners[buffer] = owner
            users[owner] = users.get(owner, 0) + 1
            if users[owner] == 1:
                yield sizes.get(owner, 0), owner


def _make_buffer(
    program: XlaProgram, assignment: BufferAssignment, kind: BufferKind, id: int, size: int
) -> ProgramBuffer:
    buffer = assignment.buffers.get(id)
    instruction = None if buffer is None else program.by_id.get(buffer.instruction_id)
    name = "" if buffer is None else buffer.instruction
    if instruction is None:
        return ProgramBuffer(kind, name, "", "", size)
    return ProgramBuffer(
        kind, instruction.name, instruction.op_name, program.get_source(instruction), size
    )
