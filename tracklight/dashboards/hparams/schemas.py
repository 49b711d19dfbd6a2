"""What can be asked about sessions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.hparam_columns import HParamType
from tracklight.analysis.experiments.metrics import (
    Aggregation,
    Goal,
    MetricReduction,
    ReductionKind,
    make_reduction,
)
from tracklight.plugin import Problem
from tracklight.types import Float32, Float64, Int32

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

Step = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]

SessionNames = Annotated[list[str], msgspec.Meta(max_length=100_000)]

ExportFormat = Literal["csv", "json", "latex", "markdown"]


class ReductionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """How curves become numbers.

    ``how`` is the last value, the lowest, the highest, the mean of the last ``n``, or the one at
    ``step``, which is the last that was logged up to there. With ``over``, repeats of a trial are
    one row.
    """

    how: ReductionKind = "last"
    over: Aggregation | None = None
    n: PositiveInt = 10
    step: Step = 0

    def get_reduction(self) -> MetricReduction:
        return make_reduction(self.how, self.n, self.step)


class SessionsRequest(ReductionRequest):
    """All sessions, or what is new since a revision; ``metric`` asks for more metrics."""

    since: str | None = None
    metric: Annotated[list[str], msgspec.Meta(max_length=1000)] = []


class ImportanceRequest(ReductionRequest, kw_only=True):
    """What made the difference for a metric, among all rows or those of these names."""

    metric: str
    sessions: SessionNames | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] = 0


class SparklinesRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of a metric, in a few points each; without ``sessions``, of the first thousand."""

    metric: str
    sessions: Annotated[list[str], msgspec.Meta(max_length=1000)] | None = None
    points: Annotated[int, msgspec.Meta(ge=4, le=1000)] = 40


class ExportRequest(ReductionRequest, kw_only=True):
    """Columns by key, in their order, of all rows or of these names in their order.

    Keys are ``name``, ``group``, ``status``, ``start``, ``end``, ``duration``, ``hparam:NAME`` and
    ``metric:KEY``; without any, all columns there are.
    """

    format: ExportFormat
    columns: Annotated[list[str], msgspec.Meta(max_length=3000)] = []
    sessions: SessionNames | None = None


# What the HParams dashboard answers with: sessions as columns.

UInt8 = NDArray[np.uint8]


class SessionLinks(msgspec.Struct):
    """Where a session's model is, and who watches it."""

    model: str
    monitor: str


class SessionRows(msgspec.Struct):
    """Sessions, or groups of them; times are seconds, NaN where unknown.

    ``at`` are their places in the table. ``groups`` are places in ``group_names``. ``status`` is 0
    where nothing is known, 1 for success, 2 for failure, 3 while running; ``source`` is 0 for
    records and 1 for a file of settings. ``experiments`` are places in ``experiment_names``, -1 for
    sessions that are of none. ``last`` is when the newest point was logged. ``sessions``
    are those of each group, null where each row is a session.
    """

    at: Int32
    names: list[str]
    labels: list[str]
    groups: Int32
    group_names: list[str]
    counts: Int32
    sessions: list[list[str]] | None
    status: UInt8
    start: Float64
    end: Float64
    last: Float64
    source: UInt8
    experiments: Int32
    experiment_names: list[str]
    links: dict[int, SessionLinks]


class HParamCells(msgspec.Struct):
    """A hyperparameter and its value in each row.

    ``states`` say what ``values`` mean: 0 a number, 1 missing, 2 a place in ``words``, 3 a bool;
    null means numbers throughout.
    """

    name: str
    key: str
    label: str
    description: str
    type: HParamType
    declared: bool
    distinct: int
    differs: bool
    low: float | None
    high: float | None
    log: bool
    words: list[str]
    values: Float64
    states: UInt8 | None


class MetricCells(msgspec.Struct):
    """A metric and its value in each row; a row whose step is NaN has none.

    ``goal`` is guessed from its name. ``deviation`` is that of repeats.
    """

    key: str
    group: str
    tag: str
    label: str
    description: str
    declared: bool
    goal: Goal
    low: float | None
    high: float | None
    log: bool
    values: Float64
    steps: Float64
    deviation: Float64 | None


class SessionsResponse(msgspec.Struct):
    """The table, or what is new in it since ``base``.

    Columns hold the rows that are told, everything else is told in full. ``repeats`` counts
    sessions that are not the first of their group.
    """

    revision: str
    base: str | None
    rows: SessionRows
    hparams: list[HParamCells]
    metrics: list[MetricCells]
    notes: list[str]
    repeats: int


class ImportanceTrust(msgspec.Struct):
    """How far to believe an importance: ``r2`` is the part of the differences that is explained."""

    level: Literal["good", "fair", "poor", "none"]
    r2: float
    sessions: int
    sentence: str


class ImportanceBar(msgspec.Struct):
    """One hyperparameter's share; ``direction`` is 1 where higher values are better, -1 lower.

    ``best`` says what the best sessions have of it.
    """

    name: str
    label: str
    importance: float
    deviation: float
    direction: int
    best: str | None


class HParamInteraction(msgspec.Struct):
    """Two hyperparameters of which one matters more or less depending on the other."""

    first: str
    second: str
    importance: float


class ImportanceResponse(msgspec.Struct):
    """What made the difference, the greatest share first; ``problem`` where nothing can be said."""

    metric: str
    sentence: str
    trust: ImportanceTrust
    bars: list[ImportanceBar]
    pairs: list[HParamInteraction]
    problem: Problem | None


class Sparkline(msgspec.Struct):
    """A curve in a few points; ``odd`` counts values that are not finite."""

    session: str
    x: Float32
    y: Float32
    odd: int


class SparklinesResponse(msgspec.Struct):
    """In the order asked; sessions without the metric are left out."""

    lines: list[Sparkline]
