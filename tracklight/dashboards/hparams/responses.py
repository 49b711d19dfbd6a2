"""Build the responses of the HParams dashboard: the table, importance and sparklines.

`SessionTable` is the common input: the sessions of a study, or groups of repeats, with their
columns. `export` uses it as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

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
from tracklight.analysis.source import Sentence
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
from tracklight.errors import LogError, Message, UsageError
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.plugin import Context, Problem
from tracklight.types import Float32, Float64, Int64

#: Metrics that are sent without being requested.
MAX_METRICS = 100

_MAX_PROBLEMS = 10
_REVISION = re.compile(r"[0-9]{1,18}")

_GOOD_R2, _FAIR_R2 = 0.6, 0.3
#: With fewer sessions, an importance is not fully trusted: anything can explain a few of them.
_GOOD_SESSIONS = 20
#: Smaller shares are not mentioned in the summary.
_MIN_NAMED_SHARE = 0.05
_MAX_NAMED = 3

_MAX_SPARKLINES = 1000


# ---- Table


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """A metric and its value in each row."""

    metric: Metric
    values: Float64
    steps: Float64
    deviation: Float64 | None


class SessionTable:
    """A snapshot of a study whose rows are sessions, or groups of repeats.

    Args:
        study: The sessions.
        reduction: How curves become numbers.
        aggregation: How repeats are aggregated; None if each row is a session.
    """

    def __init__(
        self, study: Study, reduction: MetricReduction, aggregation: Aggregation | None
    ) -> None:
        self.snapshot = study.get_snapshot()
        self.aggregation = aggregation
        self.groups: SessionGroups = group_sessions(self.snapshot.sessions)
        self._study = study
        self._reduction = reduction

    @property
    def sessions(self) -> Sequence[Session]:
        return self.snapshot.sessions

    @property
    def first_sessions(self) -> Int64:
        """For each row, the session whose hyperparameters it shows."""
        if self.aggregation is None:
            return np.arange(len(self.sessions))
        return self.groups.first_sessions

    @property
    def names(self) -> list[str]:
        if self.aggregation is not None:
            return self.groups.names
        return [session.name for session in self.sessions]

    def get_labels(self) -> list[str]:
        """Return short names of the rows; a group of one session has the label of the session."""
        labels = self.snapshot.labels
        if self.aggregation is None:
            return labels
        groups = zip(self.groups.names, self.groups.list_members(), strict=True)
        return [labels[members[0]] if len(members) == 1 else name for name, members in groups]

    def get_row_revisions(self) -> Int64:
        """Return the revision in which each row last changed."""
        if self.aggregation is None:
            return self.snapshot.row_revisions
        revisions = np.zeros(len(self.groups.names), np.int64)
        np.maximum.at(revisions, self.groups.group_of, self.snapshot.row_revisions)
        return revisions

    def get_hparam_columns(self) -> list[HParamColumn]:
        return self.snapshot.hparams

    def read_metrics(self, keys: Iterable[str]) -> list[MetricColumn]:
        """Return the first metrics, and those with the given keys."""
        chosen = {metric.key: metric for metric in self.snapshot.metrics[:MAX_METRICS]}
        for key in keys:
            chosen.setdefault(key, self.get_metric(key))
        return self._read([*chosen.values()])

    def get_metric(self, key: str) -> Metric:
        """Return a metric by its key.

        Raises:
            UsageError: No session has this metric.
        """
        metric = self.snapshot.find_metric(key)
        if metric is None:
            raise UsageError(
                "hparams.unknown_metric",
                'no session has the metric "{key}"; metrics are named GROUP|TAG',
                key=key,
            )
        return metric

    def read_metric(self, metric: Metric) -> MetricColumn:
        return self._read([metric])[0]

    def _read(self, metrics: list[Metric]) -> list[MetricColumn]:
        columns = self._study.read_metrics(self.snapshot, metrics, self._reduction)
        return [
            self._make_column(metric, values, steps)
            for metric, (values, steps) in zip(metrics, columns, strict=True)
        ]

    def _make_column(self, metric: Metric, values: Float64, steps: Float64) -> MetricColumn:
        if self.aggregation is None:
            return MetricColumn(metric, values, steps, None)
        aggregated = aggregate_metric(self.groups, values, steps, self.aggregation)
        return MetricColumn(metric, aggregated.values, aggregated.steps, aggregated.deviation)

    def get_statuses(self) -> list[int]:
        """Return the status of each row; 0 (unknown) for groups whose sessions disagree."""
        statuses = [int(session.status) for session in self.sessions]
        if self.aggregation is None:
            return statuses
        distinct = (
            {statuses[session] for session in members} for members in self.groups.list_members()
        )
        return [own.pop() if len(own) == 1 else 0 for own in distinct]

    def get_times(self) -> tuple[Float64, Float64, Float64]:
        """Return when each row started, ended and last logged a value; NaN if unknown."""
        times = [self.snapshot.get_times(session) for session in self.sessions]
        start, end, last = np.array(times, np.float64).reshape(-1, 3).T
        if self.aggregation is None:
            return start, end, last
        count = len(self.groups.names)
        group_start, group_end, group_last = (np.full(count, np.nan) for _ in range(3))
        np.fmin.at(group_start, self.groups.group_of, start)
        np.fmax.at(group_end, self.groups.group_of, end)
        np.fmax.at(group_last, self.groups.group_of, last)
        return group_start, group_end, group_last

    def get_notes(self) -> list[Message]:
        """Return messages about unreadable files and hidden columns."""
        notes = [*self.snapshot.problems[:_MAX_PROBLEMS]]
        hidden = len(self.snapshot.metrics) - MAX_METRICS
        if hidden > 0:
            notes.append(
                Message.format(
                    "hparams.hidden_metrics",
                    "Showing {max_metrics} metrics; {hidden:,} more are hidden.",
                    max_metrics=MAX_METRICS,
                    hidden=hidden,
                )
            )
        if len(self.snapshot.hparams) == MAX_HPARAMS:
            notes.append(
                Message.format(
                    "hparams.hidden_hparams",
                    "Showing the first {max_hparams:,} hyperparameters.",
                    max_hparams=MAX_HPARAMS,
                )
            )
        return notes


def select_rows(table: SessionTable, names: list[str] | None) -> Int64:
    """Return the indices of rows by name, in the given order; all rows if None."""
    if names is None:
        return np.arange(len(table.names))
    index_of = {name: index for index, name in enumerate(table.names)}
    return np.array([index_of[name] for name in names if name in index_of], np.int64)


def make_sessions_response(study: Study, request: SessionsRequest) -> SessionsResponse:
    """Return the table, or the rows that changed since the requested revision."""
    table = SessionTable(study, request.get_reduction(), request.aggregation)
    snapshot = table.snapshot
    since = _find_revision(study, request.since, snapshot.epoch)
    if since is None:
        rows = np.arange(len(table.names))
    else:
        rows = np.flatnonzero(table.get_row_revisions() > since)
    metrics = table.read_metrics(request.metrics)
    sessions = table.first_sessions[rows]
    return SessionsResponse(
        revision=f"{study.token}.{snapshot.epoch}.{snapshot.revision}",
        since=None if since is None else request.since,
        rows=_make_rows(table, rows),
        hparams=[_make_hparam_cells(column, sessions) for column in table.get_hparam_columns()],
        metrics=[_make_metric_cells(column, rows) for column in metrics],
        notes=[Sentence.make(note) for note in table.get_notes()],
        repeats=len(snapshot.sessions) - len(table.groups.names),
    )


def _find_revision(study: Study, since: str | None, epoch: int) -> int | None:
    """Return the client's revision; None if it is of another process or epoch."""
    token, _, rest = (since or "").partition(".")
    since_epoch, _, revision = rest.partition(".")
    if token != study.token or since_epoch != str(epoch):
        return None
    return int(revision) if _REVISION.fullmatch(revision) else None


def _make_rows(table: SessionTable, rows: Int64) -> SessionRows:
    indices = rows.tolist()
    names, labels, statuses = table.names, table.get_labels(), table.get_statuses()
    start, end, last = (column[rows] for column in table.get_times())
    sessions = [table.sessions[index] for index in table.first_sessions[rows].tolist()]
    is_grouped = table.aggregation is not None
    counts = table.groups.counts[rows] if is_grouped else np.ones(len(rows))
    experiments = [
        *dict.fromkeys(session.experiment for session in table.sessions if session.experiment)
    ]
    experiment_of = {name: index for index, name in enumerate(experiments)}
    return SessionRows(
        indices=rows.astype(np.int32),
        names=[names[index] for index in indices],
        labels=[labels[index] for index in indices],
        groups=(rows if is_grouped else table.groups.group_of[rows]).astype(np.int32),
        group_names=table.groups.names,
        counts=counts.astype(np.int32),
        sessions=_list_members(table, indices) if is_grouped else None,
        status=np.array([statuses[index] for index in indices], np.uint8),
        start=start,
        end=end,
        last_logged=last,
        source=np.array([session.source for session in sessions], np.uint8),
        experiments=np.array(
            [experiment_of.get(session.experiment, -1) for session in sessions], np.int32
        ),
        experiment_names=experiments,
        links={
            index: SessionLinks(session.model_uri, session.monitor_url)
            for index, session in zip(indices, sessions, strict=True)
            if session.model_uri or session.monitor_url
        },
    )


def _list_members(table: SessionTable, rows: list[int]) -> list[list[str]]:
    members = table.groups.list_members()
    return [[table.sessions[session].name for session in members[row]] for row in rows]


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
        varies=column.differs,
        min=low,
        max=high,
        log_scale=should_use_log_scale(numbers),
        categories=column.categories,
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
        min=low,
        max=high,
        log_scale=should_use_log_scale(column.values),
        values=column.values[rows],
        steps=column.steps[rows],
        deviation=None if column.deviation is None else column.deviation[rows],
    )


# ---- Importance


def make_importance_response(study: Study, request: ImportanceRequest) -> ImportanceResponse:
    """Return the importance of every hyperparameter that differs between the rows."""
    table = SessionTable(study, request.get_reduction(), request.aggregation)
    column = table.read_metric(table.get_metric(request.metric))
    rows = select_rows(table, request.sessions)
    rows = rows[~np.isnan(column.steps[rows])]
    sign = 1 if column.metric.goal == "max" else -1
    result = compute_importance(
        table.snapshot.hparams, table.first_sessions[rows], column.values[rows], sign, request.seed
    )
    return ImportanceResponse(
        metric=request.metric,
        summary=Sentence.make(_summarize(column.metric, result)),
        trust=_assess_trust(result),
        bars=[
            ImportanceBar(
                share.name,
                share.label,
                share.share,
                share.deviation,
                share.direction,
                share.best,
            )
            for share in result.shares
        ],
        interactions=[HParamInteraction(*pair) for pair in result.pairs],
        problem=None if result.shares else _make_problem(result),
    )


def _summarize(metric: Metric, result: ImportanceResult) -> Message:
    named = [share for share in result.shares if share.share >= _MIN_NAMED_SHARE][:_MAX_NAMED]
    if not named or result.r2 < _FAIR_R2 / 2:
        return Message.format(
            "hparams.no_effect",
            "These trials do not show which hyperparameters affect {metric}.",
            metric=metric.label,
        )
    causes = _join_messages(
        [
            Message.format(
                "hparams.share", "{hparam} ({share})", hparam=it.label, share=f"{it.share:.0%}"
            )
            for it in named
        ]
    )
    best = [_describe_best(share.best, share) for share in named if share.best is not None]
    if not best:
        return Message.format(
            "hparams.depends_on",
            "{metric} depends mostly on {causes}.",
            metric=metric.label,
            causes=causes,
        )
    return Message.format(
        "hparams.depends_on_best",
        "{metric} depends mostly on {causes}. It is best with {best}.",
        metric=metric.label,
        causes=causes,
        best=_join_messages(best),
    )


def _describe_best(best: str, share: HParamImportance) -> Message:
    if best in ("true", "false"):
        return Message.format("hparams.best_flag", "{hparam} {best}", hparam=share.label, best=best)
    if share.direction > 0:
        return Message.format(
            "hparams.best_high", "high {hparam} ({best})", hparam=share.label, best=best
        )
    if share.direction < 0:
        return Message.format(
            "hparams.best_low", "low {hparam} ({best})", hparam=share.label, best=best
        )
    return Message.format("hparams.best_range", "{hparam} ({best})", hparam=share.label, best=best)


def _join_messages(parts: list[Message]) -> Message:
    """Return up to three messages as one list."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return Message.format(
            "hparams.list_of_two", "{first} and {second}", first=parts[0], second=parts[1]
        )
    return Message.format(
        "hparams.list_of_three",
        "{first}, {second} and {third}",
        first=parts[0],
        second=parts[1],
        third=parts[2],
    )


def _assess_trust(result: ImportanceResult) -> ImportanceTrust:
    level: Literal["good", "fair", "poor", "none"]
    explained = f"{max(result.r2, 0):.0%}"
    if not result.shares:
        level, message = "none", Message("hparams.trust_none", "Importance cannot be computed.")
    elif result.r2 >= _GOOD_R2 and result.sessions >= _GOOD_SESSIONS:
        level = "good"
        message = Message.format(
            "hparams.trust_good",
            "The model explains {explained} of the variance of unseen trials. "
            "The shares are reliable.",
            explained=explained,
        )
    elif result.r2 >= _FAIR_R2:
        level = "fair"
        message = Message.format(
            "hparams.trust_fair",
            "The model explains {explained} of the variance of unseen trials. "
            "Rely on the order, not on the numbers.",
            explained=explained,
        )
    else:
        level = "poor"
        message = Message.format(
            "hparams.trust_poor",
            "The model explains only {explained} of the variance of unseen trials. "
            "More trials are needed.",
            explained=explained,
        )
    return ImportanceTrust(level, result.r2, result.sessions, Sentence.make(message))


def _make_problem(result: ImportanceResult) -> Problem:
    if result.sessions < MIN_SESSIONS:
        return Problem.make(
            Message.format(
                "hparams.too_few_sessions",
                "Only {count} trials have this metric; at least {min_count} are needed.",
                count=result.sessions,
                min_count=MIN_SESSIONS,
            ),
            Message("hints.more_sessions", "Log this metric in more trials."),
        )
    return Problem.make(
        Message(
            "hparams.no_variance",
            "All of these trials have the same hyperparameters or the same result.",
        ),
        Message("hints.other_metric", "Choose another metric or other trials."),
    )


# ---- Sparklines


@dataclass(frozen=True)
class SparklineSampler:
    """Downsamples a curve to about ``points`` points: the minimum and maximum of each bucket."""

    points: int

    def __call__(self, curve: Curve) -> tuple[Float32, Float32, int]:
        """Return steps, values and the number of values that are not finite."""
        finite = np.flatnonzero(np.isfinite(curve.value))
        rows = finite if len(finite) <= self.points else self._sample(curve, finite)
        non_finite = len(curve) - len(finite)
        return (
            curve.step[rows].astype(np.float32),
            curve.value[rows].astype(np.float32),
            non_finite,
        )

    def _sample(self, curve: Curve, finite: Int64) -> Int64:
        rows = [finite[0], finite[-1]]
        for bucket in np.array_split(finite, max(1, self.points // 2 - 1)):
            values = curve.value[bucket]
            rows += [bucket[np.argmin(values)], bucket[np.argmax(values)]]
        return np.unique(rows)


def make_sparklines_response(
    context: Context, study: Study, request: SparklinesRequest
) -> SparklinesResponse:
    """Return the downsampled curve of each session that has the metric."""
    snapshot = study.get_snapshot()
    metric = snapshot.find_metric(request.metric)
    if metric is None:
        return SparklinesResponse([])
    names = request.sessions
    if names is None:
        names = [session.name for session in snapshot.sessions[:_MAX_SPARKLINES]]
    sampler = SparklineSampler(request.points)
    lines = (_make_sparkline(context, metric, name, sampler) for name in names)
    return SparklinesResponse([line for line in lines if line is not None])


def _make_sparkline(
    context: Context, metric: Metric, session: str, sampler: SparklineSampler
) -> Sparkline | None:
    run = metric.runs.get(session)
    if run is None:
        return None
    try:
        ((steps, values, non_finite),) = context.log.query(
            [(run, metric.tag)], SeriesQuery(), sampler
        )
    except LogError:  # the run was deleted meanwhile
        return None
    return Sparkline(session, steps, values, non_finite)
