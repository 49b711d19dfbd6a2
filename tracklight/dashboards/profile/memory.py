"""Memory: allocator events, heap profiles, snapshots of the CUDA allocator, and XLA's buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.analysis.profiles.memory import (
    AllocationGroup,
    Allocator,
    HeapSample,
    analyze_memory,
    has_allocator_events,
    list_heap_samples,
)
from tracklight.analysis.profiles.memory.snapshots import (
    BufferKind,
    DeviceMemory,
    Fragmentation,
    MemoryCategory,
    ProgramMemory,
    analyze_buffers,
    analyze_snapshot,
    classify_stack,
    describe_user_frame,
    format_frame,
)
from tracklight.analysis.profiles.trace import PS_PER_MS
from tracklight.dashboards.profile.schemas import CaptureRequest, has_version
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
)
from tracklight.errors import Message
from tracklight.formats.profiles.memory_profiles import (
    INACTIVE,
    CudaSnapshot,
    MemorySegment,
    parse_pprof,
)
from tracklight.index.downsampling import downsample_minmax
from tracklight.plugin import Route
from tracklight.types import MEMORY_KINDS, Float64, Int32

#: More points than any screen is wide.
_MAX_POINTS = 4000
#: There are mostly few different allocations, but there may be a million.
_MAX_ALLOCATION_GROUPS = 2000
_MAX_HEAP_ROWS = 20_000
#: The map of segments is at most a few screens high.
_MAX_SEGMENTS, _MAX_BLOCKS = 400, 20_000
_MAX_OUT_OF_MEMORY = 100
_FREE_BLOCK = -1


# ---- allocator events and heap profiles


class AllocationColumns(msgspec.Struct):
    """Groups of equal allocations, largest first.

    ``bytes`` and ``requested`` are totals of each group. ``regions`` is ``before`` for memory that
    was in use before the capture, mostly weights. ``events`` are the first allocations, -1 if they
    are not in the capture. ``steps`` is, for leaks, the number of steps that made such an
    allocation.
    """

    ops: list[str]
    bytes: Float64
    requested: Float64
    counts: Int32
    regions: list[str]
    types: list[str]
    shapes: list[str]
    events: Int32
    steps: Int32


class MemoryPeak(msgspec.Struct):
    """State of an allocator when most memory was in use. Unknown numbers are null."""

    ms: float
    event: int
    heap: int
    stack: int
    cache: int
    free: int | None
    fragmentation: float | None
    lifetime_peak_bytes: int | None
    """Most memory in use since the start of the program."""


class AllocatorRow(msgspec.Struct):
    """An allocator and columns of its use over time: ``ms`` since the start, and bytes.

    If there are too many events, minima and maxima are kept. ``capacity`` is null if unknown.
    """

    name: str
    is_device: bool
    allocations: int
    frees: int
    capacity: int | None
    peak: MemoryPeak
    ms: Float64
    heap: Float64
    stack: Float64
    cache: Float64
    events: Int32
    peak_allocations: AllocationColumns
    """What was in use at the peak."""
    leaks: AllocationColumns
    step_heap_bytes: Float64
    """Heap in use at the end of each step."""


class MemoryResponse(msgspec.Struct):
    """All allocators, those of devices first; start and end of steps in milliseconds."""

    allocators: list[AllocatorRow]
    step_names: list[str]
    step_starts: Float64
    step_ends: Float64


class HeapResponse(msgspec.Struct):
    """Samples of a memory profile, largest first.

    ``locations`` are function, file and line in the user's code. ``stacks`` are call stacks, one
    frame per line, innermost first. ``total_bytes`` includes samples that were left out.
    """

    locations: list[str]
    stacks: list[str]
    kinds: list[str]
    devices: list[str]
    counts: Int32
    bytes: Float64
    total_bytes: float


def get_memory_response(store: CaptureStore, request: CaptureRequest) -> MemoryResponse:
    def compute(capture: LoadedCapture) -> MemoryResponse:
        steps = capture.get_steps(request.marker)
        allocators = analyze_memory(capture.trace, steps)
        return MemoryResponse(
            allocators=[_make_allocator_row(allocator) for allocator in allocators],
            step_names=[*steps.names],
            step_starts=steps.spans[:, 0] / PS_PER_MS,
            step_ends=steps.spans[:, 1] / PS_PER_MS,
        )

    return store.get_or_compute(request, "memory", MemoryResponse, compute)


def _make_allocator_row(allocator: Allocator) -> AllocatorRow:
    events, peak = allocator.events, allocator.events[allocator.peak_index]
    in_use_bytes = np.array([event.in_use_bytes for event in events], np.float64)
    points = [events[at] for at in downsample_minmax(in_use_bytes, _MAX_POINTS).tolist()]
    return AllocatorRow(
        name=allocator.name,
        is_device=allocator.is_device,
        allocations=sum(event.bytes >= 0 for event in events),
        frees=sum(event.bytes < 0 for event in events),
        capacity=peak.in_use_bytes + peak.free_bytes if peak.free_bytes >= 0 else None,
        peak=_make_peak(allocator),
        ms=np.array([event.time_ps for event in points], np.float64) / PS_PER_MS,
        heap=np.array([event.heap_bytes for event in points], np.float64),
        stack=np.array([event.stack_bytes for event in points], np.float64),
        cache=np.array([event.cache_bytes for event in points], np.float64),
        events=np.array([event.event for event in points], np.int32),
        peak_allocations=_make_allocation_columns(allocator.peak_groups[:_MAX_ALLOCATION_GROUPS]),
        leaks=_make_allocation_columns(allocator.leaks[:_MAX_ALLOCATION_GROUPS]),
        step_heap_bytes=allocator.step_heap_bytes.astype(np.float64),
    )


def _make_peak(allocator: Allocator) -> MemoryPeak:
    event = allocator.events[allocator.peak_index]
    lifetime_peak_bytes = allocator.lifetime_peak_bytes
    return MemoryPeak(
        ms=event.time_ps / PS_PER_MS,
        event=event.event,
        heap=event.heap_bytes,
        stack=event.stack_bytes,
        cache=event.cache_bytes,
        free=event.free_bytes if event.free_bytes >= 0 else None,
        fragmentation=event.fragmentation if event.fragmentation >= 0 else None,
        lifetime_peak_bytes=lifetime_peak_bytes if lifetime_peak_bytes >= 0 else None,
    )


def _make_allocation_columns(groups: list[AllocationGroup]) -> AllocationColumns:
    return AllocationColumns(
        ops=[group.op for group in groups],
        bytes=np.array([group.bytes for group in groups], np.float64),
        requested=np.array([group.requested_bytes for group in groups], np.float64),
        counts=np.array([group.occurrences for group in groups], np.int32),
        regions=[group.region for group in groups],
        types=[group.type for group in groups],
        shapes=[group.shape for group in groups],
        events=np.array([group.event for group in groups], np.int32),
        steps=np.array([group.steps for group in groups], np.int32),
    )


def get_heap_response(store: CaptureStore, request: CaptureRequest) -> HeapResponse:
    def compute(capture: LoadedCapture) -> HeapResponse:
        samples = _read_samples(store, request) if capture.file.kind == "pprof" else []
        shown = samples[:_MAX_HEAP_ROWS]
        return HeapResponse(
            locations=[sample.location for sample in shown],
            stacks=["\n".join(sample.stack) for sample in shown],
            kinds=[sample.kind for sample in shown],
            devices=[sample.device for sample in shown],
            counts=np.array([sample.occurrences for sample in shown], np.int32),
            bytes=np.array([sample.bytes for sample in shown], np.float64),
            total_bytes=float(sum(sample.bytes for sample in samples)),
        )

    return store.get_or_compute(request, "heap", HeapResponse, compute)


def _read_samples(store: CaptureStore, request: CaptureRequest) -> list[HeapSample]:
    with store.open_file(request) as path:
        return list_heap_samples(parse_pprof(path.read_bytes()))


# ---- snapshots of PyTorch's CUDA allocator


class CategoryColumn(msgspec.Struct):
    """Memory of one category over time, in bytes."""

    name: str
    bytes: Float64
    peak_bytes: int
    """In use at the peak of all categories together."""


class LiveColumns(msgspec.Struct):
    """What was in use at the peak, by the stack that allocated it, largest first.

    ``categories`` are names of categories. ``locations`` are the innermost frames in the user's
    code. ``stacks`` have one frame per line, innermost first.
    """

    categories: list[str]
    locations: list[str]
    stacks: list[str]
    bytes: Float64
    counts: Int32
    largest: Float64


class FragmentationRow(msgspec.Struct):
    """Memory of a device when the snapshot was taken, in bytes."""

    reserved: int
    active: int
    requested: int
    split_free: int
    """Free, in segments that are partly in use."""
    unused_segments: int
    largest_free: int
    share: float | None
    """Share of the free memory outside of the largest free block; null without any."""


class SegmentColumns(msgspec.Struct):
    """Segments, largest first, and their blocks.

    ``block_segments`` are indices of segments. ``block_offsets`` and ``block_sizes`` are in bytes.
    ``block_categories`` are indices of categories, -1 for free blocks.
    """

    sizes: Float64
    active: Float64
    largest_free: Float64
    streams: Int32
    kinds: list[str]
    block_segments: Int32
    block_offsets: Float64
    block_sizes: Float64
    block_categories: Int32
    omitted_segments: int


class OutOfMemoryRow(msgspec.Struct):
    """A call that failed for lack of memory; ``free_bytes`` of the device is null if unknown."""

    ms: float
    requested_bytes: int
    free_bytes: int | None
    location: str


class SnapshotDevice(msgspec.Struct):
    """The memory of a device. If there are too many calls, minima and maxima are kept.

    ``ms`` is the time since the first call, or the number of the call without ``has_times``.
    """

    device: int
    calls: int
    has_times: bool
    is_complete: bool
    """Whether the recorded calls explain all memory in use."""
    ms: Float64
    categories: list[CategoryColumn]
    reserved: Float64
    peak_ms: float
    peak_bytes: int
    peak_reserved_bytes: int
    live: LiveColumns
    fragmentation: FragmentationRow
    segments: SegmentColumns
    out_of_memory: list[OutOfMemoryRow]


class SnapshotResponse(msgspec.Struct):
    """A snapshot: its devices, and the settings of the allocator."""

    devices: list[SnapshotDevice]
    settings: dict[str, str]


def get_snapshot_response(store: CaptureStore, request: CaptureRequest) -> SnapshotResponse:
    def compute(capture: LoadedCapture) -> SnapshotResponse:
        snapshot = capture.snapshot
        if snapshot is None:
            return SnapshotResponse([], {})
        devices = [_make_snapshot_device(item, snapshot) for item in analyze_snapshot(snapshot)]
        return SnapshotResponse(devices, snapshot.settings)

    return store.get_or_compute(request, "snapshot", SnapshotResponse, compute)


def _make_snapshot_device(memory: DeviceMemory, snapshot: CudaSnapshot) -> SnapshotDevice:
    in_use = memory.in_use_bytes
    points = downsample_minmax(in_use.astype(np.float64), _MAX_POINTS)
    return SnapshotDevice(
        device=memory.device,
        calls=len(memory.calls),
        has_times=memory.has_times,
        is_complete=memory.is_complete,
        ms=memory.ms[points],
        categories=[
            CategoryColumn(
                name=category.name.lower(),
                bytes=memory.category_bytes[points, category].astype(np.float64),
                peak_bytes=int(memory.category_bytes[memory.peak, category]),
            )
            for category in MemoryCategory
        ],
        reserved=memory.reserved_bytes[points].astype(np.float64),
        peak_ms=float(memory.ms[memory.peak]),
        peak_bytes=int(in_use[memory.peak]),
        peak_reserved_bytes=int(memory.reserved_bytes[memory.peak]),
        live=_make_live_columns(memory, snapshot),
        fragmentation=_make_fragmentation_row(memory.fragmentation),
        segments=_make_segment_columns(memory.segments, snapshot),
        out_of_memory=[
            OutOfMemoryRow(
                ms=float(memory.ms[item.call + 1]),
                requested_bytes=item.requested_bytes,
                free_bytes=item.free_bytes if item.free_bytes >= 0 else None,
                location=describe_user_frame(snapshot.stacks[item.stack]),
            )
            for item in memory.out_of_memory[:_MAX_OUT_OF_MEMORY]
        ],
    )


def _make_live_columns(memory: DeviceMemory, snapshot: CudaSnapshot) -> LiveColumns:
    groups = memory.peak_groups[:_MAX_ALLOCATION_GROUPS]
    stacks = [snapshot.stacks[group.stack] for group in groups]
    return LiveColumns(
        categories=[group.category.name.lower() for group in groups],
        locations=[describe_user_frame(stack) for stack in stacks],
        stacks=["\n".join(map(format_frame, stack)) for stack in stacks],
        bytes=np.array([group.bytes for group in groups], np.float64),
        counts=np.array([group.occurrences for group in groups], np.int32),
        largest=np.array([group.largest_bytes for group in groups], np.float64),
    )


def _make_fragmentation_row(fragmentation: Fragmentation) -> FragmentationRow:
    return FragmentationRow(
        reserved=fragmentation.reserved_bytes,
        active=fragmentation.active_bytes,
        requested=fragmentation.requested_bytes,
        split_free=fragmentation.split_free_bytes,
        unused_segments=fragmentation.unused_segment_bytes,
        largest_free=fragmentation.largest_free_bytes,
        share=fragmentation.share,
    )


def _make_segment_columns(segments: list[MemorySegment], snapshot: CudaSnapshot) -> SegmentColumns:
    shown: list[MemorySegment] = []
    block_count = 0
    for segment in segments[:_MAX_SEGMENTS]:
        block_count += len(segment.blocks)
        if block_count > _MAX_BLOCKS and shown:
            break
        shown.append(segment)
    free_sizes = [
        [block.size for block in segment.blocks if block.state == INACTIVE] for segment in shown
    ]
    blocks = [
        (at, block.address - segment.address, block)
        for at, segment in enumerate(shown)
        for block in segment.blocks[:_MAX_BLOCKS]
    ]
    return SegmentColumns(
        sizes=np.array([segment.size for segment in shown], np.float64),
        active=np.array(
            [
                sum(block.size for block in segment.blocks if block.state != INACTIVE)
                for segment in shown
            ],
            np.float64,
        ),
        largest_free=np.array([max(sizes, default=0) for sizes in free_sizes], np.float64),
        streams=np.array([segment.stream % (1 << 31) for segment in shown], np.int32),
        kinds=[segment.kind for segment in shown],
        block_segments=np.array([at for at, _, _ in blocks], np.int32),
        block_offsets=np.array([offset for _, offset, _ in blocks], np.float64),
        block_sizes=np.array([block.size for _, _, block in blocks], np.float64),
        block_categories=np.array(
            [
                _FREE_BLOCK
                if block.state == INACTIVE
                else classify_stack(snapshot.stacks[block.stack])
                for _, _, block in blocks
            ],
            np.int32,
        ),
        omitted_segments=len(segments) - len(shown),
    )


# ---- XLA buffers


class ProgramMemoryRow(msgspec.Struct):
    """What a program of XLA keeps in memory at its peak, largest first."""

    name: str
    allocated_bytes: int
    peak_bytes: int
    has_order: bool
    """Whether it is known which temporary values are live at the same time."""
    kinds: list[BufferKind]
    instructions: list[str]
    scopes: list[str]
    sources: list[str]
    bytes: Float64
    omitted: int


class BuffersResponse(msgspec.Struct):
    """Programs with a buffer assignment, largest first."""

    programs: list[ProgramMemoryRow]


def get_buffers_response(store: CaptureStore, request: CaptureRequest) -> BuffersResponse:
    def compute(capture: LoadedCapture) -> BuffersResponse:
        return BuffersResponse(
            [_make_program_row(item) for item in analyze_buffers(capture.programs)]
        )

    return store.get_or_compute(request, "buffers", BuffersResponse, compute)


def _make_program_row(memory: ProgramMemory) -> ProgramMemoryRow:
    shown = memory.buffers[:_MAX_ALLOCATION_GROUPS]
    return ProgramMemoryRow(
        name=memory.name,
        allocated_bytes=memory.allocated_bytes,
        peak_bytes=memory.peak_bytes,
        has_order=memory.has_order,
        kinds=[buffer.kind for buffer in shown],
        instructions=[buffer.instruction for buffer in shown],
        scopes=[buffer.scope for buffer in shown],
        sources=[buffer.source for buffer in shown],
        bytes=np.array([buffer.bytes for buffer in shown], np.float64),
        omitted=len(memory.buffers) - len(shown),
    )


# ---- the tool


def _has_buffers(capture: LoadedCapture) -> bool:
    return any(module.buffers for module in capture.trace.hlo_modules)


def _explain_no_memory(capture: LoadedCapture) -> EmptyReason | None:
    if (
        capture.file.kind in MEMORY_KINDS
        or has_allocator_events(capture.trace)
        or _has_buffers(capture)
    ):
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_memory", "No allocator events were recorded."),
        Message(
            "profile.no_memory_hint",
            "Pass profile_memory=True to PyTorch's profiler. TensorFlow records allocations, "
            "except for small tensors on a CPU. torch.cuda.memory._dump_snapshot saves all memory "
            "of PyTorch on a GPU.",
        ),
    )


def _make_memory_routes(store: CaptureStore) -> Sequence[Route]:
    def memory(request: CaptureRequest) -> MemoryResponse:
        """Return memory over time, what was in use at the peak, and leaks."""
        return get_memory_response(store, request)

    def heap(request: CaptureRequest) -> HeapResponse:
        """Return what a memory profile holds, by the line of code that allocated it."""
        return get_heap_response(store, request)

    def snapshot(request: CaptureRequest) -> SnapshotResponse:
        """Return a snapshot of PyTorch's CUDA allocator: memory over time and at the peak."""
        return get_snapshot_response(store, request)

    def buffers(request: CaptureRequest) -> BuffersResponse:
        """Return what XLA's programs keep in memory when they need most."""
        return get_buffers_response(store, request)

    return [
        Route("memory", CaptureRequest, memory, "GET", immutable=has_version),
        Route("heap", CaptureRequest, heap, "GET", immutable=has_version),
        Route("memory/snapshot", CaptureRequest, snapshot, "GET", immutable=has_version),
        Route("memory/buffers", CaptureRequest, buffers, "GET", immutable=has_version),
    ]


def _iter_memory_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    capture = store.load(request)
    if capture.file.kind == "pprof":
        yield f"heap?capture={request.capture}", get_heap_response(store, request)
    elif capture.file.kind == "snapshot":
        yield f"memory/snapshot?capture={request.capture}", get_snapshot_response(store, request)
    else:
        yield f"memory?capture={request.capture}", get_memory_response(store, request)
        yield f"memory/buffers?capture={request.capture}", get_buffers_response(store, request)


MEMORY_TOOL = Tool("memory", _make_memory_routes, _explain_no_memory, _iter_memory_static)
