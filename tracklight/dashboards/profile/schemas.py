"""What the page asks of the Profile dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.steps import StepRules
from tracklight.analysis.profiles.timeline.layout import (
    TrackRow,
)
from tracklight.analysis.profiles.timeline.pyramid import MAX_LEVELS
from tracklight.analysis.profiles.timeline.tiles import (
    Tiles,
)
from tracklight.plugin import Problem
from tracklight.types import (
    CaptureKind,
    Float32,
    Float64,
    Int32,
)

RequestText = Annotated[str, msgspec.Meta(max_length=2000)]


class CaptureRequest(msgspec.Struct):
    """A capture by the ``id`` that the listing gives it; of several hosts, by default the first."""

    capture: RequestText
    host: RequestText = ""
    marker: RequestText = ""
    """What events are called that are taken for steps; by default that is found out."""
    rules: StepRules = "ours"
    before: RequestText = ""
    """Another capture to compare with."""
    before_host: RequestText = ""
    mark: int | None = None
    """With it, the answer can never be another one."""
    thresholds: RequestText = ""
    """From which percent of a step on things are told, if not as usual: ``input:10,host:30``."""


class CaptureFileRequest(CaptureRequest):
    """The file itself, or the same in Chrome's form, which Perfetto opens."""

    format: Literal["original", "chrome"] = "original"


def make_baseline_request(request: CaptureRequest) -> CaptureRequest:
    """The same, of the capture that is compared with."""
    before, host = request.before, request.before_host
    return CaptureRequest(
        before, host, request.marker, request.rules, thresholds=request.thresholds
    )


# What the page asks of a timeline; times are picoseconds since the trace began.

EventNumber = Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]

#: Anything may be asked for, but where no trace reaches there is nothing.
TimePs = Annotated[float, msgspec.Meta(ge=-(2.0**60), le=2.0**60)]

TrackIds = Annotated[list[EventNumber], msgspec.Meta(max_length=10_000)]


class TilesRequest(CaptureRequest):
    """The tiles from ``first`` to ``last`` of some tracks; 1,024 times 2 ** level ps each."""

    level: Annotated[int, msgspec.Meta(ge=0, lt=MAX_LEVELS)] = 0
    first: int = 0
    last: int = 0
    tracks: TrackIds = msgspec.field(default_factory=list)


class EventRequest(CaptureRequest):
    """One event, by its place in the trace."""

    event: EventNumber = 0


class SearchRequest(CaptureRequest):
    """What names, and with ``arguments`` these too, are looked through for.

    Words that all have to be in one, or with ``regex`` an expression; of very many events, those
    from the ``offset`` on.
    """

    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    regex: bool = False
    arguments: bool = False
    offset: EventNumber = 0


class TimeRangeRequest(CaptureRequest):
    """A stretch of time in some tracks."""

    start: TimePs = 0.0
    end: TimePs = 0.0
    tracks: TrackIds = msgspec.field(default_factory=list)


class HostRow(msgspec.Struct):
    """One file of a capture."""

    name: str
    bytes: int


class CaptureRow(msgspec.Struct):
    """One capture; ``mark`` is another one whenever a file of it was written."""

    id: str
    run: str
    session: str
    title: str
    kind: CaptureKind
    wall_s: float
    step: int | None
    """The last step that the run logged a scalar of before; null where it logged none."""
    bytes: int
    mark: int
    hosts: list[HostRow]


class CapturesResponse(msgspec.Struct):
    """All captures, by run and time."""

    cursor: str
    captures: list[CaptureRow]


class OpeningResponse(msgspec.Struct):
    """How far the reading of a capture has come; ``share`` is null where that is not known."""

    state: str
    share: float | None
    what: str
    problem: Problem | None


class ToolRow(msgspec.Struct):
    """``why`` is empty where there is something to show."""

    name: str
    title: str
    why: str
    next: str


class ToolsResponse(msgspec.Struct):
    """All tools, whether or not they have something to show, in their order."""

    tools: list[ToolRow]


class PartColumns(msgspec.Struct):
    """One part of every step, in milliseconds."""

    name: str
    label: str
    counted: Float64
    """Each instant once."""
    alone: Float64
    """As if there were no other part."""


class StepsResponse(msgspec.Struct):
    """One row a step, in milliseconds; ``averaged`` says which of them averages are of."""

    names: list[str]
    start_ms: Float64
    total_ms: Float64
    parts: list[PartColumns]
    other: Float64
    averaged: tuple[int, int]
    """The first of them, and the one after the last."""


class HostStepRow(msgspec.Struct):
    """How an average step of one host went; null where its file cannot be read, and why."""

    name: str
    step_ms: float | None
    parts_ms: dict[str, float]
    problem: Problem | None


class HostsResponse(msgspec.Struct):
    """All hosts of a capture, by name."""

    hosts: list[HostStepRow]


class OpsResponse(msgspec.Struct):
    """Ops, those that took longest by themselves first.

    ``sides`` are 0 for the host, 1 for devices, 2 for functions of Python. Times are those of the
    whole capture, in milliseconds; ``steps`` is how many steps it has. ``longest`` is the event of
    each op that took longest.
    """

    names: list[str]
    types: list[str]
    sides: NDArray[np.uint8]
    counts: Int32
    total_ms: Float64
    self_ms: Float64
    longest: Int32
    host_idle_ms: float
    device_idle_ms: float
    steps: int


class DeviceRow(msgspec.Struct):
    """A device; 0 and the empty text where the capture does not say."""

    name: str
    multiprocessors: int
    memory_bytes: int
    capability: str


class KernelsResponse(msgspec.Struct):
    """Kernels, those that ran longest first; one row for each way to launch one for an op.

    ``grids`` and ``blocks`` are the numbers with commas between them. ``occupancy`` is in percent,
    NaN where unknown, and as ``occupancy_is`` says: what the launch allows, or what was achieved at
    most. ``fill`` is the share of the multiprocessors that the grid is enough for. ``tensor_cores``
    is 0 for no, 1 for yes, 2 where nobody knows; ``eligible`` is 1 where the op could use them.
    Times are those of the whole capture, in milliseconds.
    """

    devices: list[DeviceRow]
    names: list[str]
    ops: list[str]
    types: list[str]
    grids: list[str]
    blocks: list[str]
    registers: Int32
    shared_bytes: Int32
    occupancy: Float32
    occupancy_is: Literal["theoretical", "achieved"]
    fill: Float32
    tensor_cores: NDArray[np.uint8]
    eligible: NDArray[np.uint8]
    counts: Int32
    total_ms: Float64
    min_ms: Float64
    max_ms: Float64
    longest: Int32
    steps: int


class Roof(msgspec.Struct):
    """The most operations a second of one kind of units."""

    name: str
    flops_per_s: float


class RooflineResponse(msgspec.Struct):
    """Ops of which it is known what they cost, those that took longest first.

    ``flops`` and ``bytes`` are counted from shapes, for all calls together. Without ``roofs``
    nobody says how fast the device is; ``is_guess`` where that was reckoned from its units.
    """

    device: str
    roofs: list[Roof]
    bytes_per_s: float
    is_guess: bool
    names: list[str]
    types: list[str]
    counts: Int32
    self_ms: Float64
    flops: Float64
    bytes: Float64
    longest: Int32
    steps: int


class ProgramRow(msgspec.Struct):
    """A program; ``index`` is what its text is asked for by."""

    index: int
    name: str
    number: int
    instructions: int
    total_ms: float


class ProgramsResponse(msgspec.Struct):
    """Programs and the instructions of them that ran, those that took longest first.

    ``programs_of`` are places in ``programs``. ``scopes`` are what the framework calls that which
    an instruction came of, with slashes between its parts. ``flops`` and ``bytes`` are counted from
    shapes, for all runs together. ``unplaced_ms`` is what ran on devices and is no known
    instruction.
    """

    programs: list[ProgramRow]
    names: list[str]
    opcodes: list[str]
    kinds: list[str]
    scopes: list[str]
    sources: list[str]
    shapes: list[str]
    programs_of: Int32
    counts: Int32
    total_ms: Float64
    flops: Float64
    bytes: Float64
    longest: Int32
    unplaced_ms: float
    steps: int


class ProgramTextRequest(CaptureRequest):
    """A program by its ``index``."""

    program: int = 0


class ProgramTextResponse(msgspec.Struct):
    """A program line by line; ``ms`` is NaN on lines of what did not run by itself.

    ``rest`` is how many lines there are beyond those.
    """

    name: str
    lines: list[str]
    names: list[str]
    """The instruction of each line; empty for none."""
    ms: Float64
    rest: int


class AllocationColumns(msgspec.Struct):
    """Memory that was taken alike: one row each, the largest first.

    ``bytes`` and ``requested`` are those of all ``counts`` of them together. ``regions`` also says
    ``before`` for what was there when the capture began, mostly weights. ``events`` are where
    the first was taken, -1 for not in this capture. ``steps`` is, of what was lost, in how many
    steps.
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
    """The moment at which most was in use; null where nobody says."""

    ms: float
    event: int
    heap: int
    stack: int
    cache: int
    free: int | None
    fragmentation: float | None
    ever: int | None
    """The most that ever was in use, before the capture as well."""


class AllocatorRow(msgspec.Struct):
    """An allocator over time: ``ms`` since the capture began, and bytes.

    Of many events, those at which most and least was in use are kept. ``capacity`` is all that it
    could have given, null where nobody says.
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
    pieces: AllocationColumns
    leaks: AllocationColumns
    step_heaps: Float64


class MemoryResponse(msgspec.Struct):
    """All allocators, those of devices first; steps by their starts and ends in milliseconds."""

    allocators: list[AllocatorRow]
    step_names: list[str]
    step_starts: Float64
    step_ends: Float64


class HeapResponse(msgspec.Struct):
    """What is held, the largest first; ``total_bytes`` is that of all, told or not.

    ``wheres`` are functions, files and lines of the user's program, ``stacks`` all that was called,
    a line each, the innermost first.
    """

    wheres: list[str]
    stacks: list[str]
    kinds: list[str]
    devices: list[str]
    counts: Int32
    bytes: Float64
    total_bytes: float


class StepColumns(msgspec.Struct):
    rule: str
    """How they were found."""
    names: list[str]
    start: Float64
    end: Float64


class TimelineResponse(msgspec.Struct):
    """A trace as a whole; times are picoseconds since it began."""

    start_ps: float
    end_ps: float
    events: int
    tracks: list[TrackRow]
    """In the order to show them in: the main thread, devices, other threads."""
    steps: StepColumns
    flows: int
    """How many arrows lead from one event to another."""
    problems: list[str]


class StaticTimeline(msgspec.Struct):
    """What a copy of the board carries: all tracks in all tiles of one level of detail."""

    timeline: TimelineResponse
    level: int
    first: int
    last: int
    tiles: Tiles
