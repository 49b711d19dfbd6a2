"""What the HParams dashboard answers with: sessions as columns."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.plugin import Problem
from tracklight.sessions.columns import Type
from tracklight.sessions.metrics import Goal
from tracklight.types import Float32, Float64, Int32

UInt8 = NDArray[np.uint8]


class Links(msgspec.Struct):
    """Where a session's model is, and who watches it."""

    model: str
    monitor: str


class Rows(msgspec.Struct):
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
    links: dict[int, Links]


class HParamCells(msgspec.Struct):
    """A hyperparameter and its value in each row.

    ``states`` say what ``values`` mean: 0 a number, 1 missing, 2 a place in ``words``, 3 a bool;
    null means numbers throughout.
    """

    name: str
    key: str
    label: str
    description: str
    type: Type
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


class SessionsAnswer(msgspec.Struct):
    """The table, or what is new in it since ``base``.

    Columns hold the rows that are told, everything else is told in full. ``repeats`` counts
    sessions that are not the first of their group.
    """

    revision: str
    base: str | None
    rows: Rows
    hparams: list[HParamCells]
    metrics: list[MetricCells]
    notes: list[str]
    repeats: int


class Trust(msgspec.Struct):
    """How far to believe an importance: ``r2`` is the part of the differences that is explained."""

    level: Literal["good", "fair", "poor", "none"]
    r2: float
    sessions: int
    sentence: str


class Bar(msgspec.Struct):
    """One hyperparameter's share; ``direction`` is 1 where higher values are better, -1 lower.

    ``best`` says what the best sessions have of it.
    """

    name: str
    label: str
    importance: float
    deviation: float
    direction: int
    best: str | None


class Pair(msgspec.Struct):
    """Two hyperparameters of which one matters more or less depending on the other."""

    first: str
    second: str
    importance: float


class ImportanceAnswer(msgspec.Struct):
    """What made the difference, the greatest share first; ``problem`` where nothing can be said."""

    metric: str
    sentence: str
    trust: Trust
    bars: list[Bar]
    pairs: list[Pair]
    problem: Problem | None


class Sparkline(msgspec.Struct):
    """A curve in a few points; ``odd`` counts values that are not finite."""

    session: str
    x: Float32
    y: Float32
    odd: int


class SparklinesAnswer(msgspec.Struct):
    """In the order asked; sessions without the metric are left out."""

    lines: list[Sparkline]
