"""Requests and responses about memory: allocators, heap profiles, snapshots and XLA buffers."""

from __future__ import annotations

import msgspec

from tracklight.analysis.profiles.memory.snapshots import BufferKind
from tracklight.types import Float64, Int32

# --- Allocator events and heap profiles ----------------------------------------------------------


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


# --- Snapshots of PyTorch's CUDA allocator -------------------------------------------------------


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


# --- XLA buffers ---------------------------------------------------------------------------------


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
