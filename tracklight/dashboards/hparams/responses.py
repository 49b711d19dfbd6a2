"""Puts the rows and columns of the table together, for sessions or for groups of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.analysis.experiments.hparam_columns import (
    MAX_HPARAMS,
    HParamColumn,
    get_finite_range,
    should_use_log_scale,
)
from tracklight.analysis.experiments.importance import (
    MIN_SESSIONS,
    HParamImportance,
    ImportanceResult,
    compute_importance,
)
from tracklight.analysis.experiments.metrics import (
    Aggregation,
    Metric,
    MetricReduction,
    SessionGroups,
    aggregate_metric,
    group_sessions,
)
from tracklight.analysis.experiments.sessions import Session
from tracklight.analysis.experiments.study import Study
from tracklight.dashboards.hparams.schemas import (
    HParamCells,
    HParamInteraction,
    ImportanceBar,
    ImportanceRequest,
    ImportanceResponse,
    ImportanceTrust,
    MetricCells,
    SessionLinks,
    SessionRows,
    SessionsRequest,
    SessionsResponse,
    Sparkline,
    SparklinesRequest,
    SparklinesResponse,
)
from tracklight.errors import LogError, UsageError
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.plugin import Context, Problem
from tracklight.types import Float32, Float64, Int64

#: Metrics that are told without being asked for.
MAX_METRICS = 100


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """A metric and its number for each row."""

    metric: Metric
    values: Float64
    steps: Float64
    deviation: Float64 | None


class SessionTable:
    """A study as one ask sees it: its rows are sessions, or groups where ``over`` says how."""

    def __init__(
        self, study: Study, reduction: MetricReduction, aggregation: Aggregation | None
    ) -> None:
        self.snapshot = study.get_snapshot()
        self.aggregation = aggregation
        self.groups: SessionGroups = group_sessions(self.snapshot.sessions)
        self._study = study
        self._reading = reduction

    @property
    def sessions(self) -> Sequence[Session]:
        return self.snapshot.sessions

    @property
    def first_sessions(self) -> Int64:
        """For each row the session whose hyperparameters it shows."""
        return (
            np.arange(len(self.sessions))
            if self.aggregation is None
            else self.groups.first_sessions
        )

    @property
    def names(self) -> list[str]:
        if self.aggregation is not None:
            return self.groups.names
        return [session.name for session in self.sessions]

    def get_labels(self) -> list[str]:
        """Names without what all of them begin with; a group of one is called by its session."""
        short = self.snapshot.labels
        if self.aggregation is None:
            return short
        pairs = zip(self.groups.names, self.groups.list_members(), strict=True)
        return [short[own[0]] if len(own) == 1 else name for name, own in pairs]

    def get_row_revisions(self) -> Int64:
        """In which revision each row last changed."""
        if self.aggregation is None:
            return self.snapshot.row_revisions
        stamps = np.zeros(len(self.groups.names), np.int64)
        np.maximum.at(stamps, self.groups.group_of, self.snapshot.row_revisions)
        return stamps

    def get_hparam_columns(self) -> list[HParamColumn]:
        return self.snapshot.hparams

    def read_metrics(self, keys: Iterable[str]) -> list[MetricColumn]:
        """The first metrics and those of these keys."""
        chosen = {metric.key: metric for metric in self.snapshot.metrics[:MAX_METRICS]}
        for key in keys:
            chosen.setdefault(key, self.get_metric(key))
        return self._read([*chosen.values()])

    def get_metric(self, key: str) -> Metric:
        metric = self.snapshot.find_metric(key)
        if metric is None:
            raise UsageError(f'no session has the metric "{key}"; a metric is GROUP|TAG')
        return metric

    def read_metric(self, metric: Metric) -> MetricColumn:
        return self._read([metric])[0]

    def _read(self, metrics: list[Metric]) -> list[MetricColumn]:
        found = self._study.read_metrics(self.snapshot, metrics, self._reading)
        return [
            self._make_column(metric, *column)
            for metric, column in zip(metrics, found, strict=True)
        ]

    def _make_column(self, metric: Metric, values: Float64, steps: Float64) -> MetricColumn:
        if self.aggregation is None:
            return MetricColumn(metric, values, steps, None)
        merged = aggregate_metric(self.groups, values, steps, self.aggregation)
        return MetricColumn(metric, merged.values, merged.steps, merged.deviation)

    def get_statuses(self) -> list[int]:
        """Of a group, what its sessions agree on."""
        own = [int(session.status) for session in self.sessions]
        if self.aggregation is None:
            return own
        agreed = ({own[row] for row in rows} for rows in self.groups.list_members())
        return [status.pop() if len(status) == 1 else 0 for status in agreed]

    def get_times(self) -> tuple[Float64, Float64, Float64]:
        """When each row began, ended, and last logged something."""
        own = np.array([self.snapshot.get_times(session) for session in self.sessions], np.float64)
        start, end, last = own.reshape(-1, 3).T
        if self.aggregation is None:
            return start, end, last
        count = len(self.groups.names)
        first, ended, newest = (np.full(count, np.nan) for _ in range(3))
        np.fmin.at(first, self.groups.group_of, start)
        np.fmax.at(ended, self.groups.group_of, end)
        np.fmax.at(newest, self.groups.group_of, last)
        return first, ended, newest

    def get_notes(self) -> list[str]:
        """What there is to be said about the table, in sentences."""
        notes = [*self.snapshot.problems[:10]]
        hidden = len(self.snapshot.metrics) - MAX_METRICS
        if hidden > 0:
            notes.append(f"{hidden:,} more metrics are there than the {MAX_METRICS} shown.")
        if len(self.snapshot.hparams) == MAX_HPARAMS:
            notes.append(f"Only the first {MAX_HPARAMS:,} hyperparameters are shown.")
        return notes


# Tells the table, or what is new in it since a page was told.

_NUMBER = re.compile(r"[0-9]{1,18}")


def make_sessions_response(study: Study, ask: SessionsRequest) -> SessionsResponse:
    """Rows and columns as of now."""
    table = SessionTable(study, ask.get_reduction(), ask.over)
    state = table.snapshot
    since = _find_revision(study, ask.since, state.epoch)
    rows = (
        np.arange(len(table.names))
        if since is None
        else np.flatnonzero(table.get_row_revisions() > since)
    )
    metrics = table.read_metrics(ask.metric)
    firsts = table.first_sessions[rows]
    return SessionsResponse(
        revision=f"{study.token}.{state.epoch}.{state.revision}",
        base=None if since is None else ask.since,
        rows=_make_rows(table, rows),
        hparams=[_make_hparam_cells(column, firsts) for column in table.get_hparam_columns()],
        metrics=[_make_metric_cells(column, rows) for column in metrics],
        notes=table.get_notes(),
        repeats=len(state.sessions) - len(table.groups.names),
    )


def _find_revision(study: Study, since: str | None, epoch: int) -> int | None:
    """The revision that a page has, if this table can be told as what came after it."""
    token, _, place = (since or "").partition(".")
    known, _, revision = place.partition(".")
    if token != study.token or known != str(epoch):
        return None
    return int(revision) if _NUMBER.fullmatch(revision) else None


def _make_rows(table: SessionTable, rows: Int64) -> SessionRows:
    chosen = rows.tolist()
    names, labels, statuses = table.names, table.get_labels(), table.get_statuses()
    start, end, last = (column[rows] for column in table.get_times())
    firsts = [table.sessions[at] for at in table.first_sessions[rows].tolist()]
    is_grouped = table.aggregation is not None
    experiments = [*dict.fromkeys(it.experiment for it in table.sessions if it.experiment)]
    places = {name: place for place, name in enumerate(experiments)}
    return SessionRows(
        at=rows.astype(np.int32),
        names=[names[row] for row in chosen],
        labels=[labels[row] for row in chosen],
        groups=(rows if is_grouped else table.groups.group_of[rows]).astype(np.int32),
        group_names=table.groups.names,
        counts=(table.groups.counts[rows] if is_grouped else np.ones(len(rows))).astype(np.int32),
        sessions=_list_members(table, chosen) if is_grouped else None,
        status=np.array([statuses[row] for row in chosen], np.uint8),
        start=start,
        end=end,
        last=last,
        source=np.array([session.origin for session in firsts], np.uint8),
        experiments=np.array([places.get(it.experiment, -1) for it in firsts], np.int32),
        experiment_names=experiments,
        links={
            row: SessionLinks(session.model_uri, session.monitor_url)
            for row, session in zip(chosen, firsts, strict=True)
            if session.model_uri or session.monitor_url
        },
    )


def _list_members(table: SessionTable, rows: list[int]) -> list[list[str]]:
    members = table.groups.list_members()
    return [[table.sessions[at].name for at in members[row]] for row in rows]


def _make_hparam_cells(column: HParamColumn, sessions: Int64) -> HParamCells:
    numbers = column.numbers()
    low, high = get_finite_range(numbers)
    return HParamCells(
        name=column.name,
        key=f"hparam:{column.name}",
        label=column.label,
        description=column.description,
        type=column.type,
        declared=column.is_declared,
        distinct=column.distinct_count,
        differs=column.differs,
        low=low,
        high=high,
        log=should_use_log_scale(numbers),
        words=column.categories,
        values=column.values[sessions],
        states=None if column.states is None else column.states[sessions],
    )


def _make_metric_cells(column: MetricColumn, rows: Int64) -> MetricCells:
    metric = column.metric
    low, high = get_finite_range(column.values)
    return MetricCells(
        key=metric.key,
        group=metric.group,
        tag=metric.tag,
        label=metric.label,
        description=metric.description,
        declared=metric.is_declared,
        goal=metric.goal,
        low=low,
        high=high,
        log=should_use_log_scale(column.values),
        values=column.values[rows],
        steps=column.steps[rows],
        deviation=None if column.deviation is None else column.deviation[rows],
    )


# Says what made the difference for a metric, in numbers and in plain sentences.

_GOOD_R2, _FAIR_R2 = 0.6, 0.3

_GOOD_SESSIONS = 20

#: Smaller shares are not worth a word.
_MIN_NAMED_SHARE = 0.05

_MAX_NAMED = 3


def make_importance_response(study: Study, ask: ImportanceRequest) -> ImportanceResponse:
    """The importance of every hyperparameter that is not the same everywhere."""
    table = SessionTable(study, ask.get_reduction(), ask.over)
    column = table.read_metric(table.get_metric(ask.metric))
    rows = select_rows(table, ask.sessions)
    rows = rows[~np.isnan(column.steps[rows])]
    sign = 1 if column.metric.goal == "max" else -1
    found = compute_importance(
        table.snapshot.hparams, table.first_sessions[rows], column.values[rows], sign, ask.seed
    )
    return ImportanceResponse(
        metric=ask.metric,
        sentence=_summarize(column.metric, found),
        trust=_assess_trust(found),
        bars=[_make_bar(share) for share in found.shares],
        pairs=[HParamInteraction(*pair) for pair in found.pairs],
        problem=None if found.shares else _make_problem(found),
    )


def _make_bar(it: HParamImportance) -> ImportanceBar:
    return ImportanceBar(it.name, it.label, it.share, it.deviation, it.direction, it.best)


def select_rows(table: SessionTable, names: list[str] | None) -> Int64:
    """The places of rows by their names, in the order of these; all of them if none are given."""
    if names is None:
        return np.arange(len(table.names))
    places = {name: place for place, name in enumerate(table.names)}
    return np.array([places[name] for name in names if name in places], np.int64)


def _summarize(metric: Metric, found: ImportanceResult) -> str:
    named = [it for it in found.shares if it.share >= _MIN_NAMED_SHARE][:_MAX_NAMED]
    if not named or found.r2 < _FAIR_R2 / 2:
        return f"What makes a difference for {metric.label} cannot be told from these sessions."
    parts = _enumerate([f"{it.label} ({it.share:.0%})" for it in named])
    where = [said for said in map(_describe_best, named) if said]
    ending = f" It is best with {_enumerate(where)}." if where else ""
    return f"{metric.label} depends mostly on {parts}.{ending}"


def _describe_best(share: HParamImportance) -> str:
    if share.best is None:
        return ""
    trend = {1: "high ", -1: "low "}.get(share.direction, "")
    if share.best in ("true", "false"):
        return f"{share.label} {share.best}"
    return f"{trend}{share.label} ({share.best})"


def _assess_trust(found: ImportanceResult) -> ImportanceTrust:
    """A few sessions can be explained by anything, so they are never trusted fully."""
    share = f"{max(found.r2, 0):.0%}"
    if not found.shares:
        return ImportanceTrust("none", 0.0, found.sessions, "Nothing can be told.")
    told = f"On sessions that it has not seen, the model explains {share} of the differences"
    if found.r2 >= _GOOD_R2 and found.sessions >= _GOOD_SESSIONS:
        return ImportanceTrust(
            "good", found.r2, found.sessions, f"{told}: these shares can be relied on."
        )
    if found.r2 >= _FAIR_R2:
        return ImportanceTrust(
            "fair", found.r2, found.sessions, f"{told}: take the order, not the numbers."
        )
    return ImportanceTrust(
        "poor", found.r2, found.sessions, f"{told}: more sessions are needed to tell."
    )


def _make_problem(found: ImportanceResult) -> Problem:
    if found.sessions < MIN_SESSIONS:
        what = f"Only {found.sessions} sessions have this metric."
        return Problem(what, f"From {MIN_SESSIONS} sessions on it can be told what matters.")
    return Problem(
        "All of these sessions have the same hyperparameters, or the same result.",
        "Choose another metric, or sessions that differ.",
    )


def _enumerate(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# Curves of a metric, small enough to stand in the cells of a table.

_MAX_LINES = 1000


@dataclass(frozen=True)
class SparklineSampler:
    """Sees about so many points of a curve, of each stretch the lowest and the highest."""

    points: int

    def __call__(self, curve: Curve) -> tuple[Float32, Float32, int]:
        finite = np.flatnonzero(np.isfinite(curve.value))
        rows = finite if len(finite) <= self.points else self._choose(curve, finite)
        odd = len(curve) - len(finite)
        return curve.step[rows].astype(np.float32), curve.value[rows].astype(np.float32), odd

    def _choose(self, curve: Curve, finite: Int64) -> Int64:
        kept = [finite[0], finite[-1]]
        for stretch in np.array_split(finite, max(1, self.points // 2 - 1)):
            values = curve.value[stretch]
            kept += [stretch[np.argmin(values)], stretch[np.argmax(values)]]
        return np.unique(kept)


def make_sparklines_response(
    context: Context, study: Study, ask: SparklinesRequest
) -> SparklinesResponse:
    """The curve of each session that has one."""
    state = study.get_snapshot()
    metric = state.find_metric(ask.metric)
    if metric is None:
        return SparklinesResponse([])
    names = ask.sessions
    if names is None:
        names = [session.name for session in state.sessions[:_MAX_LINES]]
    found = (_make_sparkline(context, metric, name, SparklineSampler(ask.points)) for name in names)
    return SparklinesResponse([line for line in found if line is not None])


def _make_sparkline(
    context: Context, metric: Metric, session: str, sketch: SparklineSampler
) -> Sparkline | None:
    run = metric.runs.get(session)
    if run is None:
        return None
    try:
        (seen,) = context.log.query([(run, metric.tag)], SeriesQuery(), sketch)
    except LogError:  # it has gone meanwhile
        return None
    return Sparkline(session, *seen)
