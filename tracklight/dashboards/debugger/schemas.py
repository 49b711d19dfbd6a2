"""Requests and responses of the Debugger dashboard; arrays are sent as columns."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger import HealthAlert, RootCause, SourceLine
from tracklight.analysis.debugger.dump_comparison import DifferenceKind
from tracklight.analysis.source import Sentence
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64, Int32, Int64

#: Rows of one response; the page asks for what is on screen.
MAX_ROWS = 2000
#: Steps of a heat map; more are merged.
MAX_COLUMNS = 2000

Offset = Annotated[int, msgspec.Meta(ge=0)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS)]
Columns = Annotated[int, msgspec.Meta(ge=1, le=MAX_COLUMNS)]
Statistic = Literal[
    "nan", "neg_inf", "pos_inf", "non_finite", "zeros", "negatives", "min", "max", "mean", "std",
    "norm", "overflow", "underflow", "dead",
]  # fmt: skip


class DebugSourceRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A dump or recording by its name."""

    source: str


class DebugAlertsRequest(DebugSourceRequest):
    """Some alerts in chronological order. Empty filters match all alerts.

    ``query`` is a part of the name or type of an operation or layer.
    """

    kinds: list[str] = []
    query: str = ""
    dtype: str = ""
    first_step: int | None = None
    last_step: int | None = None
    offset: Offset = 0
    limit: Limit = 200


class HeatmapRequest(DebugSourceRequest):
    """A statistic of all tensors over the steps of a recording."""

    stat: Statistic = "norm"
    roles: list[str] = []
    query: str = ""
    first_step: int | None = None
    last_step: int | None = None
    columns: Columns = 500


class WatchedTensorRequest(DebugSourceRequest):
    """A tensor of a recording, by its row in the layout."""

    tensor: int


class RowsRequest(DebugSourceRequest):
    """Rows of executions or of graph execution traces.

    ``query`` is a part of the type or name of an operation; ``op_name`` and ``graph`` select the
    traces of one operation. ``locate`` is the index of an event whose position is wanted.
    """

    query: str = ""
    graph: str = ""
    op_name: str = ""
    only_non_finite: bool = False
    locate: Offset | None = None
    offset: Offset = 0
    limit: Limit = 200


class ExecutionTimelineRequest(DebugSourceRequest):
    """Executions and traces counted in intervals of time, in seconds since the start."""

    start_s: float | None = None
    end_s: float | None = None
    columns: Columns = 500


class DebugEventRequest(DebugSourceRequest):
    """An execution or a graph execution trace of a dump, and a part of one of its tensors."""

    kind: Literal["execution", "graph_execution"] = "execution"
    index: Offset = 0
    slot: Offset = 0
    first_row: Offset = 0


class StoredValueRequest(DebugSourceRequest):
    """A tensor that a recording stored when a value became non-finite."""

    name: str
    first_row: Offset = 0


class OpRequest(DebugSourceRequest):
    """An operation of a graph."""

    graph: str
    op_name: str


class TensorHistogramRequest(DebugSourceRequest):
    """A tensor of a graph, in the executions up to that with the index ``last``."""

    graph: str
    op_name: str
    last: Offset
    slot: Offset = 0


class SourceFileRequest(DebugSourceRequest):
    """A source file of a dump or recording."""

    path: str
    host: str | None = None


class CompareSourcesRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Two recordings or two dumps.

    Values that differ by less than ``tolerance``, relatively, are equal.
    """

    first: str
    second: str
    tolerance: Annotated[float, msgspec.Meta(ge=0)] = 1e-3


class AlertExportRequest(DebugSourceRequest):
    """All alerts as a file."""

    format: Literal["csv", "json"] = "csv"


class DebugSourceRow(msgspec.Struct):
    """A dump or recording of the log."""

    name: str
    run: str
    kind: Literal["dump", "recording"]
    framework: str
    version: str
    problem_step: int | None = None
    """The step of the root cause of a recording; None if another rank has the cause."""
    problem_time: float | None = None
    """The wall time of the root cause of a recording, or of the first NaN or Inf of a dump."""
    problem: Problem | None = None


class DebugSourcesResponse(msgspec.Struct):
    """All dumps and recordings."""

    cursor: str
    sources: list[DebugSourceRow]


class DumpDamageRow(msgspec.Struct):
    """A part of a dump that is missing or cannot be read."""

    file: str
    offset: int
    bytes: int
    reason: Sentence


class StatCurve(msgspec.Struct):
    """A statistic of one tensor over the steps, or the loss scale (``loss_scale``)."""

    stat: str
    step: Int64
    value: Float32


class DebugOverviewResponse(msgspec.Struct):
    """What went wrong. Counts of a recording are 0 where they belong to dumps, and vice versa."""

    cursor: str
    source: DebugSourceRow
    root_cause: RootCause | None
    alerts: int
    kinds: dict[str, int]
    executions: int
    graph_executions: int
    graphs: int
    source_files: list[tuple[str, str]]
    """Host and path."""
    steps: int
    tensors: int
    notes: list[Sentence]
    damage: list[DumpDamageRow]
    curve: StatCurve | None
    """What to look at, for the root cause of a recording."""
    values: list[str]
    """Tensors that were stored when a value became non-finite."""
    random_states: list[str]
    """Random number generators whose state was stored then."""


class DebugAlertsResponse(msgspec.Struct):
    """Some of the alerts that match; ``indexes`` are their positions among all alerts."""

    cursor: str
    total: int
    indexes: Int64
    alerts: list[HealthAlert]


class WatchedTensorRow(msgspec.Struct):
    """A watched tensor."""

    tensor: int
    name: str
    role: str
    type: str
    dtype: str
    size: int
    shape: tuple[int, ...]
    source: SourceLine | None


class HeatmapResponse(msgspec.Struct):
    """``values`` are the rows of a matrix, one after another.

    It has a row for each of ``tensors`` and a column for each interval of steps. Intervals of
    several steps hold the largest value. NaN means not computed.
    """

    cursor: str
    tensors: list[WatchedTensorRow]
    first_step: Int64
    last_step: Int64
    values: Float32


class NeighborhoodNode(msgspec.Struct):
    """A node of a part of a graph: an operation of a dump, or a tensor of a recording."""

    name: str
    type: str
    role: str
    """What the tensor of a recording is; empty for an operation."""
    health: int
    """0 unknown, 1 finite, 2 non-finite."""
    tensor: int | None = None
    """Row of the tensor of a recording."""


class NeighborhoodGraph(msgspec.Struct):
    """The part of a graph around its first node; edges are pairs of indexes of nodes."""

    nodes: list[NeighborhoodNode]
    edges: list[tuple[int, int]]
    is_truncated: bool


class WatchedTensorHistogram(msgspec.Struct):
    """Histograms of a tensor over the steps, from a sample of its finite values.

    ``shares`` are the rows of a matrix, one after another, with a row for each of ``step``;
    255 is all values.
    """

    step: Int64
    edges: Float64
    """Of the bins; one more than there are bins."""
    shares: NDArray[np.uint8]


class WatchedTensorResponse(msgspec.Struct):
    """All statistics of one tensor over the steps."""

    cursor: str
    tensor: WatchedTensorRow
    inputs: list[WatchedTensorRow]
    consumers: list[WatchedTensorRow]
    step: Int64
    wall_time: Float64
    stats: dict[str, Float32]
    stack: list[SourceLine]
    histogram: WatchedTensorHistogram | None
    neighborhood: NeighborhoodGraph
    """Marked by the health at the step of the root cause, or at the last step."""


class EventColumns(msgspec.Struct):
    """Rows of executions or traces. ``health`` is 0 unknown, 1 finite, 2 non-finite."""

    cursor: str
    total: int
    index: Int64
    wall_time: Float64
    op_type: list[str]
    op_name: list[str]
    slot: Int32
    graph: list[str]
    health: NDArray[np.uint8]
    position: int | None = None
    """Where the event of ``locate`` is, or would be, among the rows that match."""


class ExecutionTimelineResponse(msgspec.Struct):
    """Counts per interval of the same width. Times are in seconds since the start."""

    cursor: str
    start_s: float
    end_s: float
    executions: Int64
    graph_executions: Int64
    non_finite: Int64
    first_execution: int = 0
    """Number of executions before the first interval."""
    first_graph_execution: int = 0
    origin: float = 0.0
    """The start as a wall time."""
    duration_s: float = 0.0
    """Time between the first and the last event."""


class TensorSummaryRow(msgspec.Struct):
    """What a dump contains of a tensor. Unknown numbers are null."""

    mode: str
    dtype: str | None
    rank: int | None
    size: int | None
    shape: list[int | None] | None
    nan: int | None
    neg_inf: int | None
    pos_inf: int | None
    negative: int | None
    zero: int | None
    positive: int | None
    has_non_finite: bool | None
    min: float | None
    max: float | None
    values: Float64 | None
    """Some rows of the tensor as a table, one after another, in mode FULL_TENSOR."""
    rows: int
    """Rows of the whole table; its columns are the last dimension of the tensor."""
    columns: int = 0
    """Columns in ``values``, which may be fewer than the tensor has."""


class DebugEventResponse(msgspec.Struct):
    """One execution or trace."""

    cursor: str
    kind: str
    index: int
    wall_time: float
    op_type: str
    op_name: str
    graphs: list[str]
    device: str
    execution: int | None
    """For a trace, the execution during which it was recorded."""
    graph_executions: tuple[int, int] | None
    """For an execution of a function, the first and the last trace that it recorded."""
    inputs: list[str]
    input_executions: list[int | None]
    """For an execution, those that produced its inputs."""
    tensors: list[TensorSummaryRow]
    stack: list[SourceLine]


class StoredValueResponse(msgspec.Struct):
    """A stored tensor of a recording."""

    cursor: str
    name: str
    step: int
    tensor: TensorSummaryRow


class OpNeighborRow(msgspec.Struct):
    """An operation next to another one."""

    op_name: str
    op_type: str
    slot: int
    health: int
    """Of its last trace: 0 unknown, 1 finite, 2 non-finite."""


class OpResponse(msgspec.Struct):
    """An operation with what it is computed from and what uses it."""

    cursor: str
    graph: str
    graph_names: list[str]
    op_name: str
    op_type: str
    inputs: list[OpNeighborRow]
    consumers: list[OpNeighborRow]
    neighborhood: NeighborhoodGraph
    traces: int
    stack: list[SourceLine]


class TensorHistogramResponse(msgspec.Struct):
    """Histograms of the finite values of a tensor, one per execution, in mode FULL_TENSOR.

    ``counts`` are the rows of a matrix, one after another, with a row for each of ``index``.
    """

    cursor: str
    index: Int64
    """The graph executions."""
    edges: Float64
    """Of the bins; one more than there are bins."""
    counts: Float32
    non_finite: Int64


class SourceFileResponse(msgspec.Struct):
    """The lines of a source file; null if it was not stored."""

    path: str
    lines: list[str] | None


class CompareRecordingsResponse(msgspec.Struct):
    """Where two recordings first differ; ``step`` is null if they do not."""

    cursor: str
    step: int | None
    tensor: WatchedTensorRow | None
    stat: str
    first: float | None
    second: float | None
    only_first: list[str]
    only_second: list[str]
    shared_steps: int
    """Number of steps that both recorded, with tensors of the same name."""
    message: str


class DumpDifferenceRow(msgspec.Struct):
    """An event of the first dump, and how its counterpart in the second differs."""

    event: Literal["execution", "graph_execution"]
    index: int
    other_index: int
    op_type: str
    op_name: str
    slot: int
    kind: DifferenceKind
    first: str
    second: str
    element: list[int] | None
    """Position of the first value that differs."""


class CompareDumpsResponse(msgspec.Struct):
    """Where two dumps first differ."""

    cursor: str
    difference: DumpDifferenceRow | None
    compared: int
    """Number of tensors that both dumps have, in the same mode."""
    is_limited: bool
    """Whether only the first values were compared."""
    only_first: list[str]
    only_second: list[str]
