"""Requests and responses of the Profile dashboard.

Responses with many rows are columns: arrays or lists of equal length. Unless a name says otherwise,
times are totals over the whole capture.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.roofline import Utilization
from tracklight.analysis.profiles.steps import StepRules
from tracklight.analysis.profiles.timeline import MAX_LEVELS, Tiles, TrackRow
from tracklight.analysis.profiles.timeline.details import CounterTrack, EventBox
from tracklight.analysis.source import Sentence
from tracklight.plugin import Problem
from tracklight.types import CaptureKind, Float32, Float64, Int32

RequestText = Annotated[str, msgspec.Meta(max_length=2000)]
EventNumber = Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]
#: A time in a trace. The bounds are beyond any trace, but fit into 64 bits.
TimePs = Annotated[float, msgspec.Meta(ge=-(2.0**60), le=2.0**60)]
TrackIds = Annotated[list[EventNumber], msgspec.Meta(max_length=10_000)]


# ---- captures


class CaptureRequest(msgspec.Struct):
    """A capture by its ``id`` in the listing, and one of its hosts; by default the first."""

    capture: RequestText
    host: RequestText = ""
    marker: RequestText = ""
    """Name of the events that mark steps; detected if empty."""
    rules: StepRules = "ours"
    baseline: RequestText = ""
    """Id of another capture to compare with."""
    baseline_host: RequestText = ""
    version: int | None = None
    """Version of the capture. With it, the response can be cached forever."""
    thresholds: RequestText = ""
    """Thresholds of findings in percent, if not the defaults: ``input:10,host:30``."""


def has_version(request: CaptureRequest) -> bool:
    """Return whether the response never changes; for `Route.immutable`."""
    return request.version is not None


def make_baseline_request(request: CaptureRequest) -> CaptureRequest:
    """Return the same request for the capture to compare with."""
    return CaptureRequest(
        capture=request.baseline,
        host=request.baseline_host,
        marker=request.marker,
        rules=request.rules,
        thresholds=request.thresholds,
    )


class CaptureFileRequest(CaptureRequest):
    """A capture file: as it is, or in the Chrome trace format, which Perfetto opens."""

    format: Literal["original", "chrome"] = "original"


class CaptureUploadRequest(msgspec.Struct):
    """An uploaded capture; ``body`` is its content."""

    name: Annotated[str, msgspec.Meta(max_length=1000)]
    body: bytes


class HostRow(msgspec.Struct):
    """The file of one host of a capture."""

    name: str
    bytes: int


class CaptureRow(msgspec.Struct):
    """A capture. Its ``version`` changes when one of its files does; null in a static export.

    ``run`` is empty for an uploaded capture.
    """

    id: str
    run: str
    session: str
    title: str
    kind: CaptureKind
    wall_s: float
    step: int | None
    """The last step at which the run logged a scalar before the capture; null if it logged none."""
    bytes: int
    version: int | None
    hosts: list[HostRow]


class CapturesResponse(msgspec.Struct):
    """All captures, by run and time."""

    cursor: str
    captures: list[CaptureRow]


class OpeningResponse(msgspec.Struct):
    """Progress of reading a capture; ``share`` is null if it is not being read."""

    state: Literal["idle", "opening", "failed", "ready"]
    share: float | None
    bytes: int
    """Size of the file."""
    problem: Problem | None


class ToolRow(msgspec.Struct):
    """A tool of the dashboard; if it is empty, ``empty_reason`` and ``hint`` say why."""

    name: str
    empty_reason: Sentence | None
    hint: Sentence | None


class ToolsResponse(msgspec.Struct):
    """All tools in display order, whether or not they have something to show."""

    tools: list[ToolRow]
    problems: list[Sentence]
    """What is missing in the file or was corrected while reading it."""
    is_partial: bool
    """Whether only a part of the file could be read."""
    has_xprof_rules: bool
    """Whether the rules of xprof can be applied: only to captures without a device."""


# ---- overview


class PartColumns(msgspec.Struct):
    """Time of every step in one part, in milliseconds."""

    name: str
    label: Sentence
    exclusive_ms: Float64
    """Every instant counted once, for the part of the highest priority."""
    inclusive_ms: Float64
    """As if there were no other part."""


class StepRange(NamedTuple):
    """The indexes of some consecutive steps, without ``stop``; an array in JSON."""

    start: int
    stop: int


class StepsResponse(msgspec.Struct):
    """Columns with one row per step, in milliseconds."""

    names: list[str]
    start_ms: Float64
    total_ms: Float64
    parts: list[PartColumns]
    other_ms: Float64
    averaged: StepRange
    """The steps that averages are taken over."""


class HostStepRow(msgspec.Struct):
    """The average step of one host; ``step_ms`` is null if its file cannot be read."""

    name: str
    step_ms: float | None
    parts_ms: dict[str, float]
    problem: Problem | None


class HostsResponse(msgspec.Struct):
    """All hosts of a capture, by name."""

    hosts: list[HostStepRow]


class SameProgramResponse(msgspec.Struct):
    """Whether two captures have enough ops in common to be of the same program."""

    is_same_program: bool


# ---- ops, kernels, programs and roofline


class OpsResponse(msgspec.Struct):
    """Ops, longest self time first.

    ``sides`` are 0 for the host, 1 for devices and 2 for Python functions. ``longest`` is the
    longest event of each op. ``steps`` is the number of steps of the capture.
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
    """A device. Unknown numbers are 0, unknown texts are empty."""

    name: str
    multiprocessors: int
    memory_bytes: int
    capability: str


class KernelsResponse(msgspec.Struct):
    """Kernels, longest total time first; one row per kernel, op and launch configuration.

    ``grids`` and ``blocks`` are comma-separated sizes. ``occupancy`` is in percent, NaN if unknown;
    ``occupancy_kind`` says whether it is the maximum for the launch or an estimate of what was
    achieved. ``fill`` is the share of the multiprocessors that the grid has blocks for.
    ``tensor_cores`` is 0 for no, 1 for yes and 2 for unknown; ``eligible`` is 1 if the kernel could
    use them.
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
    occupancy_kind: Literal["theoretical", "achieved"]
    fill: Float32
    tensor_cores: NDArray[np.uint8]
    eligible: NDArray[np.uint8]
    counts: Int32
    total_ms: Float64
    min_ms: Float64
    max_ms: Float64
    longest: Int32
    steps: int


class ProgramRow(msgspec.Struct):
    """An XLA program; ``index`` identifies it in requests for its text."""

    index: int
    name: str
    module_id: int
    instructions: int
    total_ms: float


class ProgramsResponse(msgspec.Struct):
    """XLA programs and their executed instructions, longest total time first.

    ``program_indices`` are indices into ``programs``. ``scopes`` are the framework's names of what
    an instruction was compiled from, with slashes between their parts. ``flops`` and ``bytes`` are
    computed from shapes, for all runs together; NaN if unknown. ``unmapped_ms`` is the device time
    of events that belong to no known instruction.
    """

    programs: list[ProgramRow]
    names: list[str]
    opcodes: list[str]
    kinds: list[str]
    scopes: list[str]
    sources: list[str]
    shapes: list[str]
    program_indices: Int32
    counts: Int32
    total_ms: Float64
    flops: Float64
    bytes: Float64
    longest: Int32
    unmapped_ms: float
    steps: int


class ProgramTextRequest(CaptureRequest):
    """The text of the XLA program with the index ``program``."""

    program: int = 0


class ProgramTextResponse(msgspec.Struct):
    """The lines of a program; ``ms`` is NaN for lines that did not run on their own.

    ``omitted_lines`` is the number of lines that were left out at the end.
    """

    name: str
    lines: list[str]
    names: list[str]
    """The instruction of each line; empty for none."""
    ms: Float64
    omitted_lines: int


class Roof(msgspec.Struct):
    """Peak rate of a device in one precision; all but ``fp32`` are on tensor cores."""

    precision: Literal["fp32", "tf32", "fp16", "fp8", "fp4"]
    flops_per_s: float


class RooflineResponse(msgspec.Struct):
    """Ops with a known cost, longest self time first.

    ``flops`` and ``bytes`` are computed from shapes, for all calls together. ``roofs`` is empty if
    the peak rates of the device are unknown; ``is_estimate`` if they were computed from its units.
    """

    device: str
    roofs: list[Roof]
    bytes_per_s: float
    is_estimate: bool
    names: list[str]
    types: list[str]
    counts: Int32
    self_ms: Float64
    flops: Float64
    bytes: Float64
    longest: Int32
    steps: int
    utilization: Utilization | None


# ---- timeline


class TilesRequest(CaptureRequest):
    """The tiles from ``first`` to ``last`` of some tracks; each is 1,024 * 2 ** level ps wide."""

    level: Annotated[int, msgspec.Meta(ge=0, lt=MAX_LEVELS)] = 0
    first: int = 0
    last: int = 0
    tracks: TrackIds = msgspec.field(default_factory=list)


class EventRequest(CaptureRequest):
    """An event by its number in the trace."""

    event: EventNumber = 0


class SearchRequest(CaptureRequest):
    """A search for names, and with ``arguments`` for arguments of events.

    The query is a list of words, or with ``regex`` a regular expression. ``offset`` is the number
    of matching events to skip.
    """

    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    regex: bool = False
    arguments: bool = False
    offset: EventNumber = 0


class TimeRangeRequest(CaptureRequest):
    """A range of time in some tracks, in picoseconds."""

    start: TimePs = 0.0
    end: TimePs = 0.0
    tracks: TrackIds = msgspec.field(default_factory=list)


class EventSetRequest(CaptureRequest):
    """Events by their numbers, and those in rectangles.

    An event that is in a rectangle and also given by its number is left out.
    """

    events: Annotated[list[EventNumber], msgspec.Meta(max_length=100_000)] = msgspec.field(
        default_factory=list
    )
    boxes: Annotated[list[EventBox], msgspec.Meta(max_length=1000)] = msgspec.field(
        default_factory=list
    )


class CountersRequest(CaptureRequest):
    """A range of time in picoseconds; ``cells`` is the number of values that can be shown."""

    start: TimePs = 0.0
    end: TimePs = 0.0
    cells: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class CountersResponse(msgspec.Struct):
    """The counters of a capture: recorded ones, memory in use, and queues of devices."""

    counters: list[CounterTrack]


class StepColumns(msgspec.Struct):
    """The steps of a trace, in picoseconds."""

    rule: Sentence
    """How the steps were found."""
    names: list[str]
    start_ps: Float64
    end_ps: Float64


class TileRange(msgspec.Struct):
    """The tiles from ``first`` to ``last`` of a level of detail."""

    level: int
    first: int
    last: int


class TimelineResponse(msgspec.Struct):
    """An overview of a trace. Times are picoseconds since the start of the capture."""

    start_ps: float
    end_ps: float
    events: int
    tracks: list[TrackRow]
    """In display order: the main thread, devices, other threads."""
    steps: StepColumns
    flows: int
    """Number of flows between events."""
    has_counters: bool
    problems: list[Sentence]
    exported: TileRange | None = None
    """The only tiles there are, in a static export; null with a server."""


class TimeNote(msgspec.Struct):
    """A note at a time, in picoseconds since the start of the capture."""

    id: str
    time_ps: float
    text: str


class TimeNotesResponse(msgspec.Struct):
    """The notes of a capture, by time."""

    notes: list[TimeNote]


class AddNoteRequest(CaptureRequest, kw_only=True):
    """A note to add to a capture."""

    time_ps: TimePs
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class DeleteNoteRequest(CaptureRequest):
    """A note to delete."""

    id: RequestText = ""


class StaticTimeline(msgspec.Struct):
    """The timeline of a static export, with the exported tiles of all tracks, and counters."""

    timeline: TimelineResponse
    tiles: Tiles
    counters: CountersResponse
