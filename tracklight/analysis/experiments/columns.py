"""Columns of the table of sessions: hyperparameters and metrics as numbers, and repeats.

Cells of hyperparameters are encoded as numbers, which a page can filter and sort
(`build_hparam_columns`). A metric is a scalar series in the runs of sessions (`list_metrics`);
whether it is minimized belongs to the study. A `MetricReduction` turns each curve into one number,
such as its last or its best value. Sessions of the same group are repeats of a trial;
`aggregate_metric` combines their numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments import Points, StoredTrial, Study
from tracklight.analysis.experiments.sessions import PARENT_GROUP, Session, SessionRun
from tracklight.analysis.source import Context, Source
from tracklight.errors import LogError
from tracklight.formats.hparams import Experiment, HParam, HParamValue, Interval
from tracklight.formats.hparams import Metric as DeclaredMetric
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.logdir import natural_key
from tracklight.types import Float64, Int64, Point, SeriesSummary

# ---- hyperparameters

#: Further hyperparameters are not shown.
MAX_HPARAMS = 1000

#: Smallest ratio of the highest to the lowest value for a logarithmic axis.
_MIN_LOG_RATIO = 50

_NONE = type(None)

HParamType = Literal["number", "bool", "string", "mixed"]


class CellState(IntEnum):
    """The meaning of a cell's number."""

    NUMBER = 0
    MISSING = 1
    TEXT = 2
    """An index into the categories of the column."""
    BOOL = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class CellColumn:
    """Cells of several types, encoded as numbers, which can be filtered and sorted at once."""

    values: Float64
    states: NDArray[np.uint8] | None
    """The `CellState` of each row; None if all are numbers."""
    categories: list[str]
    """In natural order."""

    def is_missing(self) -> NDArray[np.bool_]:
        """Return a mask of the rows without a value."""
        if self.states is None:
            return np.zeros(len(self.values), np.bool_)
        return np.asarray(self.states == CellState.MISSING)

    def numbers(self) -> Float64:
        """Return the values of the cells that are numbers."""
        return self.values if self.states is None else self.values[self.states == CellState.NUMBER]

    def get_value(self, row: int) -> HParamValue | None:
        """Return the decoded value of a row; None if it is missing."""
        state = CellState.NUMBER if self.states is None else self.states[row]
        if state == CellState.MISSING:
            return None
        value = float(self.values[row])
        if state == CellState.TEXT:
            return self.categories[int(value)]
        return bool(value) if state == CellState.BOOL else value


@dataclass(frozen=True, eq=False, kw_only=True)
class HParamColumn(CellColumn):
    """A hyperparameter and its value in each session."""

    name: str
    label: str
    description: str
    type: HParamType
    is_declared: bool
    distinct_count: int

    @property
    def differs(self) -> bool:
        return self.distinct_count > 1

    @property
    def is_mostly_numbers(self) -> bool:
        """Whether most values are numbers; a page shows such a column on an axis of numbers."""
        if self.states is None:
            return True
        numbers = int(np.count_nonzero(self.states == CellState.NUMBER))
        return 2 * numbers > len(self.states) - int(np.count_nonzero(self.is_missing()))


def encode_cells(cells: list[HParamValue | None]) -> CellColumn:
    """Encode cells of any types as a column."""
    values, states, categories = _encode(cells, set(map(type, cells)))
    return CellColumn(values=values, states=states, categories=categories)


def build_hparam_columns(
    sessions: Sequence[Session], experiments: Iterable[Experiment]
) -> list[HParamColumn]:
    """Return all declared and observed hyperparameters.

    Those that differ between sessions come first, then those that most sessions have.
    """
    declared = _merge_declared(experiments)
    observed = dict.fromkeys(name for session in sessions for name in session.hparams)
    names = [*dict.fromkeys([*declared, *observed])][:MAX_HPARAMS]
    columns = [
        _build_column(name, declared.get(name), [session.hparams.get(name) for session in sessions])
        for name in names
    ]
    return sorted(columns, key=_sort_column_key)


def get_finite_range(values: Float64) -> tuple[float | None, float | None]:
    """Return the lowest and the highest finite value; None if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (None, None)


def should_use_log_scale(values: Float64) -> bool:
    """Return whether positive values span so many magnitudes that a logarithmic axis is better."""
    low, high = get_finite_range(values)
    return low is not None and high is not None and 0 < low and low * _MIN_LOG_RATIO <= high


def _sort_column_key(column: HParamColumn) -> tuple[object, ...]:
    missing = int(np.count_nonzero(column.is_missing()))
    return not column.differs, missing, not column.is_declared, natural_key(column.name)


def _merge_declared(experiments: Iterable[Experiment]) -> dict[str, HParam]:
    """Return the first declaration of each hyperparameter that has a name or a description."""
    declared: dict[str, HParam] = {}
    for experiment in experiments:
        for hparam in experiment.hparams:
            known = declared.setdefault(hparam.name, hparam)
            if not (known.display_name or known.description):
                declared[hparam.name] = hparam
    return declared


def _build_column(
    name: str, declared: HParam | None, cells: list[HParamValue | None]
) -> HParamColumn:
    kinds = set(map(type, cells))
    values, states, categories = _encode(cells, kinds)
    return HParamColumn(
        name=name,
        label=(declared and declared.display_name) or name,
        description=declared.description if declared else "",
        type=_get_type(kinds - {_NONE}, declared),
        is_declared=declared is not None,
        distinct_count=_count_distinct(values, states),
        categories=categories,
        values=values,
        states=states,
    )


def _encode(
    cells: list[HParamValue | None], kinds: set[type]
) -> tuple[Float64, NDArray[np.uint8] | None, list[str]]:
    """Encode cells as numbers, states and categories; columns of one type at once."""
    categories = sorted({cell for cell in cells if type(cell) is str}, key=natural_key)
    if len(kinds - {_NONE}) > 1:
        index_of = {text: index for index, text in enumerate(categories)}
        pairs = [_encode_cell(cell, index_of) for cell in cells]
        numbers, states = zip(*pairs, strict=True)
        return np.array(numbers, np.float64), np.array(states, np.uint8), categories
    if categories:
        codes: dict[object, float] = {text: index for index, text in enumerate(categories)}
        values = np.array([codes.get(cell, math.nan) for cell in cells], np.float64)
    else:
        values = np.array(cells, np.float64)
    state = CellState.TEXT if categories else CellState.BOOL if bool in kinds else CellState.NUMBER
    if state is CellState.NUMBER and _NONE not in kinds:
        return values, None, categories
    missing = np.array([cell is None for cell in cells], np.bool_)
    return values, np.where(missing, np.uint8(CellState.MISSING), np.uint8(state)), categories


def _encode_cell(cell: HParamValue | None, index_of: dict[str, int]) -> tuple[float, CellState]:
    if cell is None:
        return math.nan, CellState.MISSING
    if isinstance(cell, str):
        return index_of[cell], CellState.TEXT
    return float(cell), CellState.BOOL if isinstance(cell, bool) else CellState.NUMBER


def _count_distinct(values: Float64, states: NDArray[np.uint8] | None) -> int:
    """Count distinct values by state, so that True and 1 differ; all NaN are the same."""
    if states is None:
        return len(np.unique(values))
    kinds = (CellState.NUMBER, CellState.TEXT, CellState.BOOL)
    return sum(len(np.unique(values[states == kind])) for kind in kinds)


def _get_type(kinds: set[type], declared: HParam | None) -> HParamType:
    names: dict[Any, HParamType] = {float: "number", int: "number", bool: "bool", str: "string"}
    found = {names[kind] for kind in kinds}
    if len(found) == 1:
        return found.pop()
    if found:
        return "mixed"
    return "number" if declared and isinstance(declared.domain, Interval) else "string"


def format_number(value: float) -> str:
    """Return a number as JavaScript does.

    Example:
        >>> [format_number(value) for value in (2.0, 1e-05, 1e-07, 1e21)]
        ['2', '0.00001', '1e-7', '1e+21']
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = f"{Decimal(repr(value)):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent):+d}"


Goal = Literal["min", "max"]
ReductionKind = Literal["last", "min", "max", "mean", "step"]
Aggregation = Literal["mean", "median", "min", "max"]

#: A run and a tag.
SeriesKey = tuple[str, str]

#: A value and its step; both NaN if there is none.
ValueAtStep = tuple[float, float]
NO_VALUE: ValueAtStep = (float("nan"), float("nan"))

_LOWER_IS_BETTER = re.compile(
    r"loss|err|perplexity|ppl|\b(mse|mae|rmse|nll|wer|cer|fid|bpc|bpd)\b|cost|entropy|regret"
    r"|distance|latency|time|seconds|duration|memory|bytes",
    re.IGNORECASE,
)
_GOAL_IN_DESCRIPTION = re.compile(r"\b(minimize|maximize)\b", re.IGNORECASE)
#: Scalars that are logged with training but do not measure its quality.
_BOOKKEEPING_TAG = re.compile(
    r"(^|/|_)(epoch|step|lr|learning_rate|hp_metric)\b|^lr-", re.IGNORECASE
)

_AGGREGATIONS: dict[Aggregation, Callable[[Float64], float]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}


# ---- metrics


@dataclass(frozen=True, eq=False)
class Metric:
    """A scalar of sessions: the series ``tag`` in the run ``<session>/<group>``."""

    group: str
    tag: str
    display_name: str = ""
    description: str = ""
    is_declared: bool = False
    goal: Goal | None = None
    """Whether lower or higher values are better; None if studies disagree."""
    is_goal_declared: bool = False
    """Whether the study says so; otherwise it is guessed from the name."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """The run that has the series, by session."""

    @property
    def key(self) -> str:
        """Identifies the metric in requests: ``GROUP|TAG``."""
        return f"{self.group}|{self.tag}"

    @property
    def label(self) -> str:
        if self.display_name or not self.group:
            return self.display_name or self.tag
        return f"{self.tag} ({'parent run' if self.group == PARENT_GROUP else self.group})"


MetricName = tuple[str, str]
"""Group and tag."""
MetricRuns = Mapping[MetricName, Mapping[str, str]]
"""For each metric, the run that has the series, by session."""


def list_metric_runs(context: Context, session_runs: Mapping[str, SessionRun]) -> MetricRuns:
    """Return all scalars of sessions.

    Args:
        context: The log.
        session_runs: The session of each run; see `sessions.assign_runs`.
    """
    found: dict[MetricName, dict[str, str]] = {}
    for tag in context.scalar_tags():
        for run in context.runs_with(tag):
            session_run = session_runs.get(run)
            if session_run is not None:
                found.setdefault((session_run.group, tag), {})[session_run.session] = run
    return found


def add_stored_metrics(runs: MetricRuns, stored: Mapping[str, StoredTrial]) -> MetricRuns:
    """Return the metrics of runs and of the trials of study files.

    A trial stands for the run of its own metrics: it has the same name as the session.
    """
    found = {name: dict(own) for name, own in runs.items()}
    for session, trial in stored.items():
        for tag in trial.curves:
            found.setdefault(("", tag), {}).setdefault(session, session)
    return found


def list_study_metrics(
    runs: MetricRuns, study: Study, sessions: Container[str] | None = None
) -> list[Metric]:
    """Return the metrics of a study.

    Declared metrics come first, in the order of their declaration, then all other scalars.

    Args:
        runs: The result of `list_metric_runs`.
        study: The study, whose experiments declare metrics.
        sessions: The sessions of the study; None if it has all sessions of the log.
    """
    declared = _list_declared([study])
    metrics = []
    for name in dict.fromkeys([*declared, *runs]):
        own = runs.get(name, {})
        if sessions is not None:
            own = {session: run for session, run in own.items() if session in sessions}
        if own or name in declared:
            metrics.append(_make_metric(name, declared.get(name), own))
    return sorted(metrics, key=_sort_metric_key)


def list_metrics(
    runs: MetricRuns, studies: Sequence[Study], study_of: Mapping[str, str]
) -> list[Metric]:
    """Return the metrics of all studies; without a goal where studies disagree about it.

    Args:
        runs: The result of `list_metric_runs`.
        studies: The studies.
        study_of: The name of the study of each session.
    """
    declared = _list_declared(studies)
    by_study = {study.name: _list_declared([study]) for study in studies}
    metrics = []
    for name in dict.fromkeys([*declared, *runs]):
        own = runs.get(name, {})
        metric = _make_metric(name, declared.get(name), own)
        goals = {
            _guess_goal(name, by_study[study].get(name))
            for study in dict.fromkeys(study_of[session] for session in own)
        }
        metrics.append(metric if len(goals) < 2 else replace(metric, goal=None))
    return sorted(metrics, key=_sort_metric_key)


def _list_declared(studies: Iterable[Study]) -> dict[MetricName, DeclaredMetric]:
    """Return the first declaration of each metric."""
    declared: dict[MetricName, DeclaredMetric] = {}
    for study in studies:
        for experiment in study.experiments:
            for metric in experiment.metrics:
                declared.setdefault((metric.group, metric.tag), metric)
    return declared


def _make_metric(
    name: MetricName, declared: DeclaredMetric | None, runs: Mapping[str, str]
) -> Metric:
    goal = _guess_goal(name, declared)
    if declared is None:
        return Metric(*name, goal=goal, runs=runs)
    texts = (declared.display_name, declared.description)
    is_goal_declared = _GOAL_IN_DESCRIPTION.search(declared.description) is not None
    return Metric(*name, *texts, True, goal, is_goal_declared, runs)


def _guess_goal(name: MetricName, declared: DeclaredMetric | None) -> Goal:
    """Guess from the description and the name whether lower or higher values are better."""
    if declared and (match := _GOAL_IN_DESCRIPTION.search(declared.description)):
        return "min" if match[0].lower() == "minimize" else "max"
    title = f"{declared.display_name if declared else ''} {name[1]}"
    return "min" if _LOWER_IS_BETTER.search(title) else "max"


def _sort_metric_key(metric: Metric) -> tuple[object, ...]:
    if metric.is_declared:
        return (0,)  # the sort is stable and keeps their order
    is_bookkeeping = _BOOKKEEPING_TAG.search(metric.tag) is not None
    return 1, is_bookkeeping, natural_key(metric.tag), natural_key(metric.group)


# ---- values


@dataclass(frozen=True)
class MetricReduction:
    """How a curve becomes one number.

    ``mean`` is the mean of the last ``count`` values, ``step`` the last value up to ``step``.
    """

    kind: ReductionKind = "last"
    count: int = 10
    step: int = 0

    def __call__(self, curve: Curve) -> ValueAtStep:
        """Reduce a whole curve; for the kinds ``mean`` and ``step``, which need one."""
        rows = len(curve)
        if self.kind == "step":
            rows = int(np.searchsorted(curve.step, self.step, side="right"))
        if not rows:
            return NO_VALUE
        first = max(0, rows - self.count) if self.kind == "mean" else rows - 1
        return float(np.mean(curve.value[first:rows])), float(curve.step[rows - 1])


def make_reduction(kind: ReductionKind, count: int, step: int) -> MetricReduction:
    """Return a reduction; parameters that its kind ignores are cleared, so that it can be a key."""
    return MetricReduction(kind, count if kind == "mean" else 0, step if kind == "step" else 0)


def read_metric_values(
    log: Source, keys: Sequence[SeriesKey], reduction: MetricReduction
) -> tuple[Float64, Float64]:
    """Return the values and steps of some series; NaN for series that do not exist."""
    if reduction.kind == "last":
        pairs = [_from_point(point) for point in log.last_points(keys)]
    elif reduction.kind in ("min", "max"):
        pairs = [_from_summary(summary, reduction.kind) for summary in log.summaries(keys)]
    else:
        pairs = _reduce_series(log, keys, reduction)
    columns = np.array(pairs, np.float64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def reduce_points(points: Points, reduction: MetricReduction) -> ValueAtStep:
    """Return the value and step of the curve of a stored trial."""
    if reduction.kind in ("min", "max"):
        finite = [point for point in points if math.isfinite(point[1])]
        if finite:
            step, value = (min if reduction.kind == "min" else max)(
                finite, key=lambda item: item[1]
            )
            return value, float(step)
    elif reduction.kind == "step":
        points = tuple(point for point in points if point[0] <= reduction.step)
    elif reduction.kind == "mean" and points:
        last = [value for _, value in points[-reduction.count :]]
        return sum(last) / len(last), float(points[-1][0])
    return (points[-1][1], float(points[-1][0])) if points else NO_VALUE


def _from_point(point: Point | None) -> ValueAtStep:
    return NO_VALUE if point is None else (point.value, float(point.step))


def _from_summary(summary: SeriesSummary | None, kind: ReductionKind) -> ValueAtStep:
    if summary is None:
        return NO_VALUE
    # A curve without a finite value has no extremes; its last value shows that it is not missing.
    return _from_point((summary.min if kind == "min" else summary.max) or summary.last)


def _reduce_series(
    log: Source, keys: Sequence[SeriesKey], reduction: MetricReduction
) -> list[ValueAtStep]:
    try:
        return log.query(keys, SeriesQuery(), reduction)
    except LogError:  # a run was deleted meanwhile
        return [_reduce_one_series(log, key, reduction) for key in keys]


def _reduce_one_series(log: Source, key: SeriesKey, reduction: MetricReduction) -> ValueAtStep:
    try:
        return log.query([key], SeriesQuery(), reduction)[0]
    except LogError:
        return NO_VALUE


# ---- repeats


@dataclass(frozen=True, eq=False)
class SessionGroups:
    """Groups of sessions, in the order of their first sessions."""

    names: list[str]
    group_of: Int64
    """For each session, the index of its group."""

    @property
    def counts(self) -> Int64:
        return np.bincount(self.group_of, minlength=len(self.names))

    @property
    def first_sessions(self) -> Int64:
        """The first session of each group, whose hyperparameters are those of the group."""
        return np.unique(self.group_of, return_index=True)[1]

    def list_members(self) -> list[list[int]]:
        """Return the sessions of each group."""
        members: list[list[int]] = [[] for _ in self.names]
        for session, group in enumerate(self.group_of.tolist()):
            members[group].append(session)
        return members


def group_sessions(sessions: Sequence[Session]) -> SessionGroups:
    """Group the sessions of each study by their group names.

    TensorBoard does so for the whole log, which merges trials of searches that number them alike.
    """
    keys = dict.fromkeys((session.study, session.group) for session in sessions)
    index_of = {key: index for index, key in enumerate(keys)}
    group_of = np.array([index_of[item.study, item.group] for item in sessions], np.int64)
    counts = Counter(group for _, group in keys)
    names = [group if counts[group] == 1 else f"{study}/{group}" for study, group in keys]
    return SessionGroups(names, group_of)


@dataclass(frozen=True, eq=False)
class AggregatedMetric:
    """A metric of each group; the step is NaN if no session of a group has the metric."""

    values: Float64
    steps: Float64
    deviation: Float64
    """The standard deviation of repeats, zero for a single session."""


def aggregate_metric(
    groups: SessionGroups, values: Float64, steps: Float64, aggregation: Aggregation
) -> AggregatedMetric:
    """Aggregate the values of the sessions of each group; sessions with a NaN step are ignored."""
    count = len(groups.names)
    result = AggregatedMetric(
        np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan)
    )
    sessions = np.flatnonzero(~np.isnan(steps))
    if len(sessions) == 0:
        return result
    order = sessions[np.argsort(groups.group_of[sessions], kind="stable")]
    present, starts = np.unique(groups.group_of[order], return_index=True)
    with np.errstate(all="ignore"):  # values may be infinite
        for group, members in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            own = values[members]
            if len(own) == 1:
                result.values[group], result.steps[group] = own[0], steps[members[0]]
                result.deviation[group] = 0.0
                continue
            result.values[group] = _AGGREGATIONS[aggregation](own)
            result.steps[group] = np.floor(np.mean(steps[members]))
            result.deviation[group] = np.std(own, ddof=1)
    return result
