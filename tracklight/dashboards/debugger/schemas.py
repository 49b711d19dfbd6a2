"""Requests and responses of the Debugger dashboard; arrays are sent as columns."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger.alerts import Alert, RootCause, SourceLine
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


class SourceRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A dump or recording by its name."""

    source: str


class AlertsRequest(SourceRequest):
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


class HeatmapRequest(SourceRequest):
    """A statistic of all tensors over the steps of a recording."""

    stat: Statistic = "norm"
    roles: list[str] = []
    query: str = ""
    first_step: int | None = None
    last_step: int | None = None
    columns: Columns = 500


class TensorRequest(SourceRequest):
    """A tensor of a recording, by its row in the layout."""

    tensor: int


class RowsRequest(SourceRequest):
    """Rows of executions or of graph execution traces.

    ``query`` is a part of the type or name of an operation; ``op_name`` and ``graph`` select the
    traces of one operation.
    """

    query: str = ""
    graph: str = ""
    op_name: str = ""
    only_non_finite: bool = False
    offset: Offset = 0
    limit: Limit = 200


class TimelineRequest(SourceRequest):
    """Executions and traces counted in intervals of time, in seconds since the start."""

    start_s: float | None = None
    end_s: float | None = None
    columns: Columns = 500


class EventRequest(SourceRequest):
    """An execution or a graph execution trace of a dump, and a part of one of its tensors."""

    kind: Literal["execution", "graph_execution"] = "execution"
    index: Offset = 0
    slot: Offset = 0
    first_row: Offset = 0


class OpRequest(SourceRequest):
    """An operation of a graph."""

    graph: str
    op_name: str


class SourceFileRequest(SourceRequest):
    """A source file of a dump."""

    path: str
    host: str | None = None


class CompareRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Two recordings; values that differ by less than ``tolerance``, relatively, are equal."""

    first: str
    second: str
    tolerance: Annotated[float, msgspec.Meta(ge=0)] = 1e-3


class ExportRequest(SourceRequest):
    """All alerts as a file."""

    format: Literal["csv", "json"] = "csv"


class SourceRow(msgspec.Struct):
    """A dump or recording of the log."""

    name: str
    run: str
    kind: Literal["dump", "recording"]
    framework: str
    version: str
    problem: Problem | None = None


class SourcesResponse(msgspec.Struct):
    """All dumps and recordings."""

    cursor: str
    sources: list[SourceRow]


class DamageRow(msgspec.Struct):
    """A part of a dump that is missing or cannot be read."""

    file: str
    offset: int
    bytes: int
    reason: str


class OverviewResponse(msgspec.Struct):
    """What went wrong. Counts of a recording are 0 where they belong to dumps, and vice versa."""

    cursor: str
    source: SourceRow
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
    notes: list[str]
    damage: list[DamageRow]


class AlertsResponse(msgspec.Struct):
    """Some of the alerts that match; ``indexes`` are their positions among all alerts."""

    cursor: str
    total: int
    indexes: Int64
    alerts: list[Alert]


class TensorRow(msgspec.Struct):
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
    """``values`` has a row for each of ``tensors`` and a column for each interval of steps.

    Intervals of several steps hold the largest value. NaN means not computed.
    """

    cursor: str
    tensors: list[TensorRow]
    first_step: Int64
    last_step: Int64
    values: Float32


class TensorResponse(msgspec.Struct):
    """All statistics of one tensor over the steps."""

    cursor: str
    tensor: TensorRow
    inputs: list[TensorRow]
    consumers: list[TensorRow]
    step: Int64
    wall_time: Float64
    stats: dict[str, Float32]


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


class TimelineResponse(msgspec.Struct):
    """Counts per interval; all intervals have the same width."""

    cursor: str
    start_s: float
    end_s: float
    executions: Int64
    graph_executions: Int64
    non_finite: Int64


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
    """Some rows of the tensor as a table, in mode FULL_TENSOR."""
    rows: int


class EventResponse(msgspec.Struct):
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
    inputs: list[str]
    input_executions: list[int | None]
    """For an execution, those that produced its inputs."""
    tensors: list[TensorSummaryRow]
    stack: list[SourceLine]


class NeighborRow(msgspec.Struct):
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
    inputs: list[NeighborRow]
    consumers: list[NeighborRow]
    traces: int
    stack: list[SourceLine]


class SourceFileResponse(msgspec.Struct):
    """The lines of a source file; null if the dump does not contain it."""

    path: str
    lines: list[str] | None


class CompareResponse(msgspec.Struct):
    """Where two recordings first differ; ``step`` is null if they do not."""

    cursor: str
    step: int | None
    tensor: TensorRow | None
    stat: str
    first: float | None
    second: float | None
    only_first: list[str]
    only_second: list[str]
    message: str
