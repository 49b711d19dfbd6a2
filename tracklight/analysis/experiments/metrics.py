"""Which metrics sessions have, and in which runs their curves are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tracklight.analysis.experiments.sessions import Session, SessionRun
from tracklight.analysis.source import Context, Source
from tracklight.errors import LogError
from tracklight.formats.hparams import Experiment
from tracklight.formats.hparams import Metric as Declared
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.logdir.names import natural_key
from tracklight.types import Float64, Int64, Point, SeriesSummary

Goal = Literal["min", "max"]

_LOWER_IS_BETTER = re.compile(
    r"loss|err|perplexity|ppl|\b(mse|mae|rmse|nll|wer|cer|fid|bpc|bpd)\b|cost|entropy|regret"
    r"|distance|latency|time|seconds|duration|memory|bytes",
    re.IGNORECASE,
)

_GOAL_IN_DESCRIPTION = re.compile(r"\b(minimize|maximize)\b", re.IGNORECASE)

#: What is logged along with training but is no measure of how good it was.
_BOOKKEEPING_TAG = re.compile(
    r"(^|/|_)(epoch|step|lr|learning_rate|hp_metric)\b|^lr-", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Metric:
    """A scalar in the runs of sessions: ``tag`` in the run ``<session>/<group>``."""

    group: str
    tag: str
    display_name: str = ""
    description: str = ""
    is_declared: bool = False
    runs: dict[str, str] = field(default_factory=dict)
    """By session, the run that has it."""

    @property
    def key(self) -> str:
        return f"{self.group}|{self.tag}"

    @property
    def label(self) -> str:
        if self.display_name or not self.group:
            return self.display_name or self.tag
        return f"{self.tag} ({'above' if self.group == '..' else self.group})"

    @property
    def goal(self) -> Goal:
        """Whether more or less of it is wanted, as far as its name and description tell."""
        if said := _GOAL_IN_DESCRIPTION.search(self.description):
            return "min" if said[0].lower() == "minimize" else "max"
        return "min" if _LOWER_IS_BETTER.search(f"{self.display_name} {self.tag}") else "max"


def list_metrics(
    context: Context, session_runs: Mapping[str, SessionRun], experiments: Iterable[Experiment]
) -> list[Metric]:
    """Those that were declared, in that order, then all other scalars of the sessions' runs."""
    metrics: dict[tuple[str, str], Metric] = {}
    for one in _iter_declared(experiments):
        names = one.display_name, one.description
        metrics.setdefault((one.group, one.tag), Metric(one.group, one.tag, *names, True))
    for tag in context.scalar_tags():
        _add_tag(metrics, tag, context.runs_with(tag), session_runs)
    return sorted(metrics.values(), key=_rank)


def _add_tag(
    metrics: dict[tuple[str, str], Metric],
    tag: str,
    runs: Sequence[str],
    places: Mapping[str, SessionRun],
) -> None:
    by_group: dict[str, dict[str, str]] = {}
    for run in runs:
        place = places.get(run)
        if place is not None:
            by_group.setdefault(place.group, {})[place.session] = run
    for group, own in by_group.items():
        metrics.setdefault((group, tag), Metric(group, tag)).runs.update(own)


def _iter_declared(experiments: Iterable[Experiment]) -> Iterable[Declared]:
    return (metric for experiment in experiments for metric in experiment.metrics)


def _rank(metric: Metric) -> tuple[object, ...]:
    """Sorting keeps the order of those that were declared."""
    if metric.is_declared:
        return (0,)
    is_dull = _BOOKKEEPING_TAG.search(metric.tag) is not None
    return 1, is_dull, natural_key(metric.tag), natural_key(metric.group)


# How a curve becomes one number: its last value, its best, or what it was somewhere.

ReductionKind = Literal["last", "min", "max", "mean", "step"]

SeriesKey = tuple[str, str]

#: A value and its step; both NaN where there is none.
ValueAtStep = tuple[float, float]

NO_VALUE: ValueAtStep = (float("nan"), float("nan"))


@dataclass(frozen=True)
class MetricReduction:
    """``mean`` is that of ``count`` values at the end, ``step`` the last value up to that step."""

    kind: ReductionKind = "last"
    count: int = 10
    step: int = 0

    def __call__(self, curve: Curve) -> ValueAtStep:
        """Of a whole curve, for those readings that need one."""
        rows = len(curve)
        if self.kind == "step":
            rows = int(np.searchsorted(curve.step, self.step, side="right"))
        if not rows:
            return NO_VALUE
        first = max(0, rows - self.count) if self.kind == "mean" else rows - 1
        return float(np.mean(curve.value[first:rows])), float(curve.step[rows - 1])


def make_reduction(kind: ReductionKind, count: int, step: int) -> MetricReduction:
    """Readings that do not look at a number are the same whatever it is."""
    return MetricReduction(kind, count if kind == "mean" else 0, step if kind == "step" else 0)


def read_metric_values(
    log: Source, keys: Sequence[SeriesKey], reduction: MetricReduction
) -> tuple[Float64, Float64]:
    """Values and steps of some series, each a run and a tag."""
    if reduction.kind == "last":
        found = [_from_point(point) for point in log.last_points(keys)]
    elif reduction.kind in ("min", "max"):
        found = [_from_digest(digest, reduction.kind) for digest in log.summaries(keys)]
    else:
        found = _reduce_series(log, keys, reduction)
    columns = np.array(found, np.float64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def _from_point(point: Point | None) -> ValueAtStep:
    return NO_VALUE if point is None else (point.value, float(point.step))


def _from_digest(digest: SeriesSummary | None, how: ReductionKind) -> ValueAtStep:
    """A curve without a finite value has a last one, so that it is not taken for missing."""
    if digest is None:
        return NO_VALUE
    return _from_point((digest.min if how == "min" else digest.max) or digest.last)


def _reduce_series(
    log: Source, keys: Sequence[SeriesKey], reading: MetricReduction
) -> list[ValueAtStep]:
    try:
        return log.query(keys, SeriesQuery(), reading)
    except LogError:  # a run that has gone meanwhile
        return [_reduce_one_series(log, key, reading) for key in keys]


def _reduce_one_series(log: Source, key: SeriesKey, reading: MetricReduction) -> ValueAtStep:
    try:
        return log.query([key], SeriesQuery(), reading)[0]
    except LogError:
        return NO_VALUE


# Repeats of one trial as one row, with the mean, median, lowest or highest of each metric.

Aggregation = Literal["mean", "median", "min", "max"]


@dataclass(frozen=True, eq=False)
class SessionGroups:
    """Names of groups in the order of their first sessions, and the group of each session."""

    names: list[str]
    group_of: Int64
    """For each session, the place of its group."""

    @property
    def counts(self) -> Int64:
        return np.bincount(self.group_of, minlength=len(self.names))

    @property
    def first_sessions(self) -> Int64:
        """The first session of each group, whose hyperparameters are those of the group."""
        return np.unique(self.group_of, return_index=True)[1]

    def list_members(self) -> list[list[int]]:
        """The sessions of each group."""
        own: list[list[int]] = [[] for _ in self.names]
        for row, group in enumerate(self.group_of.tolist()):
            own[group].append(row)
        return own


def group_sessions(sessions: Sequence[Session]) -> SessionGroups:
    """As the sessions say, which is as TensorBoard groups them."""
    names = {name: place for place, name in enumerate(dict.fromkeys(s.group for s in sessions))}
    return SessionGroups([*names], np.array([names[s.group] for s in sessions], np.int64))


@dataclass(frozen=True, eq=False)
class AggregatedMetric:
    """A metric of each group: NaN steps where no session has it."""

    values: Float64
    steps: Float64
    deviation: Float64
    """How far repeats lie apart: their standard deviation, zero for a single one."""


def aggregate_metric(
    groups: SessionGroups, values: Float64, steps: Float64, aggregation: Aggregation
) -> AggregatedMetric:
    """Sessions without the metric do not count."""
    count = len(groups.names)
    merged = AggregatedMetric(
        np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan)
    )
    there = np.flatnonzero(~np.isnan(steps))
    if len(there) == 0:
        return merged
    order = there[np.argsort(groups.group_of[there], kind="stable")]
    places, starts = np.unique(groups.group_of[order], return_index=True)
    with np.errstate(all="ignore"):  # logs hold infinities
        for place, rows in zip(places.tolist(), np.split(order, starts[1:]), strict=True):
            own = values[rows]
            if len(own) == 1:
                merged.values[place], merged.steps[place] = own[0], steps[rows[0]]
                merged.deviation[place] = 0.0
                continue
            merged.values[place] = _REDUCTIONS[aggregation](own)
            merged.steps[place] = np.floor(np.mean(steps[rows]))
            merged.deviation[place] = np.std(own, ddof=1)
    return merged


_REDUCTIONS: dict[Aggregation, Callable[[Float64], float]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}
