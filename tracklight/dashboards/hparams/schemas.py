"""Requests and responses of the HParams dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.columns import (
    Aggregation,
    Goal,
    HParamType,
    MetricReduction,
    ReductionKind,
    make_reduction,
)
from tracklight.analysis.source import GroupQuery, Sentence
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64, Int32
from tracklight.util.frames import ExportFormat

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Step = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
SessionNames = Annotated[list[str], msgspec.Meta(max_length=100_000)]
AxisScale = Literal["linear", "log", "quantile"]
UInt8 = NDArray[np.uint8]


# ---- requests


class ReductionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """How each curve is reduced to one number.

    ``reduction`` is the last value, the lowest, the highest, the mean of the last ``count`` values,
    or the last value up to ``step``. With ``aggregation``, repeats of a trial are aggregated to one
    row. ``study`` selects the sessions of one study by its name; null means all studies.
    """

    reduction: ReductionKind = "last"
    aggregation: Aggregation | None = None
    count: PositiveInt = 10
    step: Step = 0
    study: str | None = None

    def get_reduction(self) -> MetricReduction:
        return make_reduction(self.reduction, self.count, self.step)


class SessionsRequest(ReductionRequest):
    """All sessions, or the changes since a revision. ``metrics`` requests additional metrics."""

    since: str | None = None
    metrics: Annotated[list[str], msgspec.Meta(max_length=1000)] = []


class TrialFilter(msgspec.Struct, forbid_unknown_fields=True):
    """A condition on the column ``key``. All parts that are not null have to hold.

    ``range`` is inclusive, ``values`` are accepted values as text, and ``pattern`` is a regular
    expression. ``blank`` accepts rows without a value, or with a text in a column of numbers.
    """

    key: str
    range: tuple[float, float] | None = None
    values: Annotated[list[str], msgspec.Meta(max_length=10_000)] | None = None
    pattern: Annotated[str, msgspec.Meta(max_length=1000)] | None = None
    blank: bool = False


class TrialQuery(ReductionRequest, kw_only=True):
    """Which rows of the table, in which order.

    ``runs`` describes the runs of which a trial must have one; trials of study files always
    match. ``sort`` are column keys, the most important first, with a minus for descending order.
    Without keys, the best rows for ``objective`` come first if all are of one study. Without an
    objective, it is the first declared metric, else one of validation data, else the first.
    """

    filters: Annotated[list[TrialFilter], msgspec.Meta(max_length=100)] = []
    runs: GroupQuery | None = None
    sort: Annotated[list[str], msgspec.Meta(max_length=8)] = []
    objective: str | None = None
    goal: Goal | None = None


class TrialsRequest(TrialQuery, kw_only=True):
    """One page of the rows, and a random sample of the rows for plots.

    The sample has up to ``sample`` rows that match and up to ``others`` that do not. Cells are sent
    of the columns with the given keys, of the first hyperparameters that vary, the first metrics
    and the objective; all other columns have no cells.
    """

    columns: Annotated[list[str], msgspec.Meta(max_length=500)] = []
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 200
    sample: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    others: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0


class FacetRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A column, and the scale of the axis that its bins divide into equal parts."""

    key: str
    scale: AxisScale = "linear"


class FacetsRequest(TrialQuery, kw_only=True):
    """The distributions of some columns over all rows, and over those that match."""

    columns: Annotated[list[FacetRequest], msgspec.Meta(max_length=200)]
    bins: Annotated[int, msgspec.Meta(ge=1, le=200)] = 32


class ImportanceRequest(ReductionRequest, kw_only=True):
    """The importance of hyperparameters for a metric.

    It is computed for all rows, for those with the names ``sessions``, or for those that match
    ``query``.
    """

    metric: str
    sessions: SessionNames | None = None
    query: TrialQuery | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] = 0


class SparklinesRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Downsampled curves of a metric; of the first thousand sessions if none are given."""

    metric: str
    sessions: Annotated[list[str], msgspec.Meta(max_length=1000)] | None = None
    points: Annotated[int, msgspec.Meta(ge=4, le=1000)] = 40


class ExportRequest(ReductionRequest, kw_only=True):
    """The table as a file, with the given columns and rows in the given order.

    Column keys are ``name``, ``study``, ``group``, ``status``, ``start``, ``end``, ``duration``,
    ``hparam:NAME`` and ``metric:KEY``. Without keys, all columns are exported. Rows are those with
    the names ``sessions``, those that match ``query`` in its order, or all.
    """

    format: ExportFormat
    columns: Annotated[list[str], msgspec.Meta(max_length=3000)] = []
    sessions: SessionNames | None = None
    query: TrialQuery | None = None


# ---- responses


class StudyInfo(msgspec.Struct):
    """Sessions that can be compared: they share an experiment declaration or a directory.

    ``name`` is the run that declares the experiment, or the directory. ``label`` is the name of the
    experiment or the directory, empty for the log directory itself. ``sessions`` is the number of
    its sessions.
    """

    name: str
    label: str
    sessions: int


class SessionLinks(msgspec.Struct):
    """URLs of a session's model and of its monitoring page."""

    model: str
    monitor: str


class SessionRows(msgspec.Struct):
    """Sessions, or groups of sessions. Times are in seconds since 1970, NaN if unknown.

    ``indices`` are the indices of the rows in the table. ``groups`` are indices into
    ``group_names``. ``status`` is 0 for unknown, 1 for success, 2 for failure, 3 for running,
    4 for pruned and 5 for infeasible. ``source`` is 0 for records, 1 for a settings file and 2 for
    a study file, as of Optuna, whose trials may have no runs. ``studies`` are indices into the
    studies of the response. ``last_logged`` is the time of the newest point. ``sessions`` are the
    members of each group, null if each row is a session.
    """

    indices: Int32
    names: list[str]
    labels: list[str]
    groups: Int32
    group_names: list[str]
    counts: Int32
    sessions: list[list[str]] | None
    status: UInt8
    start: Float64
    end: Float64
    last_logged: Float64
    source: UInt8
    studies: Int32
    links: dict[int, SessionLinks]


class HParamCells(msgspec.Struct):
    """A hyperparameter and its value in each row.

    ``states`` give the meaning of ``values``: 0 a number, 1 missing, 2 an index into
    ``categories``, 3 a bool. Null means that all are numbers. ``numeric`` tells that most are
    numbers, so that others are exceptions on an axis of numbers. ``log_scale`` suggests a
    logarithmic axis.
    """

    name: str
    key: str
    label: str
    description: str
    type: HParamType
    declared: bool
    distinct: int
    varies: bool
    numeric: bool
    min: float | None
    max: float | None
    log_scale: bool
    categories: list[str]
    values: Float64
    states: UInt8 | None


class MetricCells(msgspec.Struct):
    """A metric and its value in each row. Rows with a NaN step have no value.

    ``goal`` is that of the study if ``goal_declared``, and guessed from the name otherwise; null if
    studies disagree. ``deviation`` is the standard deviation of repeats.
    """

    key: str
    group: str
    tag: str
    label: str
    description: str
    declared: bool
    goal: Goal | None
    goal_declared: bool
    min: float | None
    max: float | None
    log_scale: bool
    values: Float64
    steps: Float64
    deviation: Float64 | None


class SessionsResponse(msgspec.Struct):
    """The table, or the rows that changed since the revision ``since``.

    Columns hold only the rows of this response; everything else is complete. ``studies`` are all
    studies of the log. ``notes`` are about
    unreadable files and hidden columns. ``repeats`` is the number of sessions that are not the
    first of their group.
    """

    revision: str
    since: str | None
    studies: list[StudyInfo]
    rows: SessionRows
    hparams: list[HParamCells]
    metrics: list[MetricCells]
    notes: list[Sentence]
    repeats: int


class TrialsResponse(msgspec.Struct):
    """Some rows of the table.

    ``table`` has the rows of the page and of the sample, each once, with their indices in the
    whole table. ``page``, ``sample`` and ``best`` are such indices; ``sample`` has only rows that
    match, ``others`` only rows that do not. ``total`` is the number of all rows, ``matched`` the
    number of those that match.
    """

    table: SessionsResponse
    total: int
    matched: int
    page: Int32
    sample: Int32
    others: Int32
    best: int | None


class Facet(msgspec.Struct):
    """The distribution of a column: numbers of rows in equal parts of its axis, or by category.

    ``low`` and ``high`` are the ends of the axis, null if there are categories or no numbers.
    ``categories`` is null for columns of numbers; of many categories, only the most frequent ones
    are listed. ``blank`` is the number of rows without a value, or with a text among numbers.
    """

    key: str
    low: float | None
    high: float | None
    categories: list[str] | None
    counts: Int32
    matching: Int32
    blank: int


class FacetsResponse(msgspec.Struct):
    """The facets in the requested order, without columns that do not exist."""

    total: int
    matched: int
    facets: list[Facet]


class ImportanceTrust(msgspec.Struct):
    """How reliable an importance is. ``r2`` is the share of the variance that is explained."""

    level: Literal["good", "fair", "poor", "none"]
    r2: float
    sessions: int
    summary: Sentence


class ImportanceBar(msgspec.Struct):
    """The importance of one hyperparameter: its share of all, and the standard error of that.

    ``direction`` is 1 if higher values are better, -1 if lower values are, 0 if unclear.
    """

    name: str
    label: str
    importance: float
    deviation: float
    direction: int


class HParamInteraction(msgspec.Struct):
    """Two hyperparameters whose effects depend on each other."""

    first: str
    second: str
    importance: float


class ImportanceResponse(msgspec.Struct):
    """The importance of each hyperparameter within one study, the largest first.

    ``problem`` says why there is none, for example because the rows are of several studies.
    """

    metric: str
    summary: Sentence
    trust: ImportanceTrust
    bars: list[ImportanceBar]
    interactions: list[HParamInteraction]
    problem: Problem | None


class Sparkline(msgspec.Struct):
    """A downsampled curve. ``nonfinite_count`` is the number of NaN and infinite values."""

    session: str
    x: Float32
    y: Float32
    nonfinite_count: int


class SparklinesResponse(msgspec.Struct):
    """Curves in the requested order, without sessions that do not have the metric."""

    lines: list[Sparkline]
