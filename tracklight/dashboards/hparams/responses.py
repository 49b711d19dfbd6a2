"""Build the responses of the HParams dashboard: the table, importance and sparklines.

`SessionTable` is the common input: the sessions of all studies or of one, or groups of repeats,
with their columns. Exports use it as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tracklight.analysis.experiments import Points, Study
from tracklight.analysis.experiments.columns import (
    MAX_HPARAMS,
    Aggregation,
    CellState,
    HParamColumn,
    Metric,
    MetricReduction,
    SessionGroups,
    aggregate_metric,
    get_finite_range,
    group_sessions,
    should_use_log_scale,
)
from tracklight.analysis.experiments.importance import (
    MIN_SESSIONS,
    HParamImportance,
    ImportanceResult,
    compute_importance,
)
from tracklight.analysis.experiments.session_store import SessionSnapshot, SessionStore
from tracklight.analysis.experiments.sessions import Session
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
    StudyInfo,
)
from tracklight.errors import LogError, Message, UsageError
from tracklight.formats.hparams import Status
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.plugin import Context, Problem
from tracklight.types import Bool, Float32, Float64, Int32, Int64

#: Metrics that are sent without being requested.
MAX_METRICS = 100

_MAX_PROBLEMS = 10
_REVISION = re.compile(r"[0-9]{1,18}")

_GOOD_R2, _FAIR_R2 = 0.6, 0.3
#: With fewer sessions, an importance is not fully trusted: anything can explain a few of them.
_GOOD_SESSIONS = 20
#: With a larger standard error of the largest share, neither.
_MAX_GOOD_DEVIATION = 0.15
#: Smaller shares are not mentioned in the summary.
_MIN_NAMED_SHARE = 0.05
_MAX_NAMED = 3

_MAX_SPARKLINES = 1000


# ---- table


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """A metric and its value in each row."""

    metric: Metric
    values: Float64
    steps: Float64
    deviation: Float64 | None


class SessionTable:
    """A snapshot whose rows are sessions, or groups of repeats.

    Args:
        store: The sessions.
        reduction: How curves become numbers.
        aggregation: How repeats are aggregated; None if each row is a session.
        study: Name of the study; None for all studies.
    """

    def __init__(
        self,
        store: SessionStore,
        reduction: MetricReduction,
        aggregation: Aggregation | None,
        study: str | None = None,
    ) -> None:
        self._all = store.get_snapshot()
        self.snapshot = self._all if study is None else self._all.select_study(study)
        self.aggregation = aggregation
        self.groups: SessionGroups = group_sessions(self.snapshot.sessions)
        self._store = store
        self._reduction = reduction

    def is_of(self, snapshot: SessionSnapshot) -> bool:
        """Return whether this is a table of a snapshot of all studies."""
        return self._all is snapshot

    @property
    def sessions(self) -> Sequence[Session]:
        return self.snapshot.sessions

    @property
    def all_sessions(self) -> Sequence[Session]:
        """The sessions of all studies."""
        return self._all.sessions

    def list_studies(self, rows: Int64) -> list[Study]:
        """Return the studies of some rows."""
        names = {self.sessions[row].study for row in self.first_sessions[rows].tolist()}
        return [study for study in self.snapshot.studies if study.name in names]

    @property
    def first_sessions(self) -> Int64:
        """For each row, the session whose hyperparameters it shows."""
        if self.aggregation is None:
            return np.arange(len(self.sessions))
        return self.groups.first_sessions

    @cached_property
    def names(self) -> list[str]:
        if self.aggregation is not None:
            return self.groups.names
        return [session.name for session in self.sessions]

    def get_labels(self) -> list[str]:
        """Return short names of the rows; a group of one session has the label of the session."""
        return self._labels

    @cached_property
    def _labels(self) -> list[str]:
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
        return self.read([*chosen.values()])

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
        return self.read([metric])[0]

    def read(self, metrics: Sequence[Metric]) -> list[MetricColumn]:
        """Return the values of some metrics."""
        in_all = {metric.key: metric for metric in self._all.metrics}
        chosen = [in_all[metric.key] for metric in metrics]
        columns = self._store.read_metrics(self._all, chosen, self._reduction)
        rows = self.snapshot.rows
        return [
            self._make_column(metric, values[rows], steps[rows])
            for metric, (values, steps) in zip(metrics, columns, strict=True)
        ]

    def _make_column(self, metric: Metric, values: Float64, steps: Float64) -> MetricColumn:
        if self.aggregation is None:
            return MetricColumn(metric, values, steps, None)
        aggregated = aggregate_metric(self.groups, values, steps, self.aggregation)
        return MetricColumn(metric, aggregated.values, aggregated.steps, aggregated.deviation)

    def get_statuses(self) -> list[int]:
        """Return the status of each row; 0 (unknown) for groups whose sessions disagree."""
        return self._statuses

    @cached_property
    def _statuses(self) -> list[int]:
        statuses = [int(session.status) for session in self.sessions]
        if self.aggregation is None:
            return statuses
        distinct = (
            {statuses[session] for session in members} for members in self.groups.list_members()
        )
        return [own.pop() if len(own) == 1 else 0 for own in distinct]

    @cached_property
    def is_rankable(self) -> Bool:
        """Which rows can be the best: those that are completed, and not infeasible."""
        return np.isin(self._statuses, (Status.UNKNOWN, Status.SUCCESS))

    @cached_property
    def is_completed(self) -> Bool:
        """Which rows have a result: not those that were pruned, failed or still run.

        A row without a status counts.
        """
        return np.isin(self._statuses, (Status.UNKNOWN, Status.SUCCESS, Status.INFEASIBLE))

    def get_times(self) -> tuple[Float64, Float64, Float64]:
        """Return when each row started, ended and last logged a value; NaN if unknown."""
        return self._times

    @cached_property
    def _times(self) -> tuple[Float64, Float64, Float64]:
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


def make_sessions_response(store: SessionStore, request: SessionsRequest) -> SessionsResponse:
    """Return the table, or the rows that changed since the requested revision."""
    table = SessionTable(store, request.get_reduction(), request.aggregation, request.study)
    snapshot = table.snapshot
    since = _find_revision(store, request.since, snapshot.epoch)
    if since is None:
        rows = np.arange(len(table.names))
    else:
        rows = np.flatnonzero(table.get_row_revisions() > since)
    metrics = table.read_metrics(request.metrics)
    sessions = table.first_sessions[rows]
    return SessionsResponse(
        revision=f"{store.token}.{snapshot.epoch}.{snapshot.revision}",
        since=None if since is None else request.since,
        studies=_list_studies(table.all_sessions, snapshot.studies),
        rows=_make_rows(table, rows),
        hparams=[_make_hparam_cells(column, sessions) for column in table.get_hparam_columns()],
        metrics=[_make_metric_cells(column, rows) for column in metrics],
        notes=[Sentence.make(note) for note in table.get_notes()],
        repeats=len(snapshot.sessions) - len(table.groups.names),
    )


def make_table_response(
    table: SessionTable,
    rows: Int64,
    keys: Collection[str],
    metrics: Sequence[Metric],
    columns: Sequence[MetricColumn],
) -> SessionsResponse:
    """Return some rows of the table.

    Args:
        table: The table.
        rows: The indices of the rows.
        keys: Hyperparameters without one of these keys have no cells.
        metrics: The metrics of the response; those that are not among ``columns`` have no cells.
        columns: The values of some metrics.
    """
    snapshot, no_rows = table.snapshot, rows[:0]
    by_key = {column.metric.key: column for column in columns}
    sessions = table.first_sessions[rows]
    cells = _make_rows(table, rows)
    used, cells.groups = _renumber(cells.groups)
    cells.group_names = [cells.group_names[group] for group in used.tolist()]
    return SessionsResponse(
        revision="",
        since=None,
        studies=_list_studies(table.all_sessions, snapshot.studies),
        rows=cells,
        hparams=[
            _keep_used_categories(
                _make_hparam_cells(column, sessions if f"hparam:{column.name}" in keys else no_rows)
            )
            for column in table.get_hparam_columns()
        ],
        metrics=[
            _make_metric_cells(by_key[metric.key], rows)
            if metric.key in by_key
            else _make_metric_cells(MetricColumn(metric, np.zeros(0), np.zeros(0), None), no_rows)
            for metric in metrics
        ],
        notes=[Sentence.make(note) for note in table.get_notes()],
        repeats=len(snapshot.sessions) - len(table.groups.names),
    )


def _renumber(numbers: Int32) -> tuple[Int32, Int32]:
    """Return the distinct numbers, and for each number its index among them."""
    distinct, indices = np.unique(numbers, return_inverse=True)
    return distinct, indices.astype(np.int32)


def _keep_used_categories(cells: HParamCells) -> HParamCells:
    """Leave out the categories that no row has: a column may have a different text in each row."""
    if cells.states is None or not cells.categories:
        return cells
    is_text = cells.states == CellState.TEXT
    used, indices = _renumber(cells.values[is_text].astype(np.int32))
    cells.categories = [cells.categories[at] for at in used.tolist()]
    cells.values[is_text] = indices  # a copy: the rows were chosen by their indices
    return cells


def _list_studies(sessions: Iterable[Session], studies: Iterable[Study]) -> list[StudyInfo]:
    counts = Counter(session.study for session in sessions)
    return [StudyInfo(study.name, study.label, counts[study.name]) for study in studies]


def _find_revision(store: SessionStore, since: str | None, epoch: int) -> int | None:
    """Return the client's revision; None if it is of another process or epoch."""
    token, _, rest = (since or "").partition(".")
    since_epoch, _, revision = rest.partition(".")
    if token != store.token or since_epoch != str(epoch):
        return None
    return int(revision) if _REVISION.fullmatch(revision) else None


def _make_rows(table: SessionTable, rows: Int64) -> SessionRows:
    indices = rows.tolist()
    names, labels, statuses = table.names, table.get_labels(), table.get_statuses()
    start, end, last = (column[rows] for column in table.get_times())
    sessions = [table.sessions[index] for index in table.first_sessions[rows].tolist()]
    is_grouped = table.aggregation is not None
    counts = table.groups.counts[rows] if is_grouped else np.ones(len(rows))
    study_index = {study.name: index for index, study in enumerate(table.snapshot.studies)}
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
        studies=np.array([study_index[session.study] for session in sessions], np.int32),
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
        numeric=column.is_mostly_numbers,
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
        goal_declared=metric.is_goal_declared,
        min=low,
        max=high,
        log_scale=should_use_log_scale(column.values),
        values=column.values[rows],
        steps=column.steps[rows],
        deviation=None if column.deviation is None else column.deviation[rows],
    )


# ---- importance


def make_importance_response(
    table: SessionTable, request: ImportanceRequest, rows: Int64
) -> ImportanceResponse:
    """Return the importance of every hyperparameter that differs between the rows.

    As in Optuna, trials that were pruned, failed or are still running do not count, and those that
    violate a constraint do.
    """
    column = table.read_metric(table.get_metric(request.metric))
    rows = rows[~np.isnan(column.steps[rows]) & table.is_completed[rows]]
    studies = table.list_studies(rows)
    problem = None
    if len(studies) > 1:
        result = ImportanceResult(len(rows))
        problem = _make_studies_problem(len(studies))
    else:
        sign = 1 if column.metric.goal == "max" else -1
        result = compute_importance(
            table.snapshot.hparams,
            table.first_sessions[rows],
            column.values[rows],
            sign,
            request.seed,
        )
        problem = None if result.shares else _make_problem(result)
    is_only_study = len(table.snapshot.studies) == 1
    trust = _assess_trust(result)
    return ImportanceResponse(
        metric=request.metric,
        summary=Sentence.make(
            _summarize(column.metric, result, None if is_only_study else studies)
        ),
        trust=trust,
        bars=[
            ImportanceBar(share.name, share.label, share.share, share.deviation, share.direction)
            for share in result.shares
        ],
        # They are differences of small shares, so noise has some as well.
        interactions=[
            HParamInteraction(*pair) for pair in result.pairs if trust.level in ("good", "fair")
        ],
        problem=problem,
    )


def _summarize(
    metric: Metric, result: ImportanceResult, studies: Sequence[Study] | None
) -> Message:
    """Return what the metric depends on, in how many trials, and in which study if given."""
    scope = Message.format("hparams.scope", "{count:,} trials", count=result.sessions)
    if studies and studies[0].label:
        scope = Message.format(
            "hparams.scope_of_study",
            "{count:,} trials of {study}",
            count=result.sessions,
            study=studies[0].label,
        )
    named = [share for share in result.shares if _is_named(share)][:_MAX_NAMED]
    if not named or result.r2 < _FAIR_R2 / 2:
        return Message.format(
            "hparams.no_effect",
            "{scope} are too few or too noisy to tell how much {metric} depends on each "
            "hyperparameter.",
            scope=scope,
            metric=metric.label,
        )
    causes = [
        Message.format(
            "hparams.share",
            "{hparam} ({share} \N{PLUS-MINUS SIGN} {deviation} %)",
            hparam=item.label,
            share=f"{100 * item.share:.0f}",
            deviation=f"{max(1, 100 * item.deviation):.0f}",
        )
        for item in named
    ]
    return Message.format(
        "hparams.depends_on",
        "In {scope}, {metric} depends most clearly on {causes}.",
        scope=scope,
        metric=metric.label,
        causes=_join_messages(causes),
    )


def _is_named(share: HParamImportance) -> bool:
    """Return whether a share is large and certain enough for the summary."""
    return share.share >= _MIN_NAMED_SHARE and share.share > 2 * share.deviation


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
    elif (
        result.r2 >= _GOOD_R2
        and result.sessions >= _GOOD_SESSIONS
        and result.shares[0].deviation <= _MAX_GOOD_DEVIATION
    ):
        level = "good"
        message = Message.format(
            "hparams.trust_good",
            "The model explains {explained} of the variance of unseen trials. "
            "\N{PLUS-MINUS SIGN} is the standard error of a share.",
            explained=explained,
        )
    elif result.r2 >= _FAIR_R2 and any(map(_is_named, result.shares)):
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


def _make_studies_problem(count: int) -> Problem:
    return Problem.make(
        Message.format(
            "hparams.several_studies",
            "These trials are of {count} studies. Importance is computed within one study.",
            count=count,
        ),
        Message("hints.choose_study", "Choose a study."),
    )


def _make_problem(result: ImportanceResult) -> Problem:
    if result.sessions < MIN_SESSIONS:
        return Problem.make(
            Message.format(
                "hparams.too_few_sessions",
                "Only {count} completed trials have this metric; at least {min_count} are needed.",
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


# ---- sparklines


@dataclass(frozen=True)
class SparklineSampler:
    """Downsamples a curve to about ``points`` points: the minimum and maximum of each bucket."""

    points: int

    def __call__(self, curve: Curve) -> tuple[Float32, Float32, int]:
        """Return steps, values and the number of values that are not finite."""
        return self.sample(curve.step, curve.value)

    def sample(self, steps: Int64, values: Float64) -> tuple[Float32, Float32, int]:
        """Do the same with columns."""
        finite = np.flatnonzero(np.isfinite(values))
        rows = finite if len(finite) <= self.points else self._choose(values, finite)
        return (
            steps[rows].astype(np.float32),
            values[rows].astype(np.float32),
            len(values) - len(finite),
        )

    def _choose(self, values: Float64, finite: Int64) -> Int64:
        rows = [finite[0], finite[-1]]
        for bucket in np.array_split(finite, max(1, self.points // 2 - 1)):
            rows += [bucket[np.argmin(values[bucket])], bucket[np.argmax(values[bucket])]]
        return np.unique(rows)


def make_sparklines_response(
    context: Context, store: SessionStore, request: SparklinesRequest
) -> SparklinesResponse:
    """Return the downsampled curve of each session that has the metric."""
    snapshot = store.get_snapshot()
    metric = snapshot.find_metric(request.metric)
    if metric is None:
        return SparklinesResponse([])
    names = request.sessions
    if names is None:
        names = [session.name for session in snapshot.sessions[:_MAX_SPARKLINES]]
    sampler = SparklineSampler(request.points)
    lines = (
        _make_stored_sparkline(name, snapshot.stored[name].curves[metric.tag], sampler)
        if metric.runs.get(name) == name and name in snapshot.stored
        else _make_sparkline(context, metric, name, sampler)
        for name in names
    )
    return SparklinesResponse([line for line in lines if line is not None])


def _make_stored_sparkline(session: str, points: Points, sampler: SparklineSampler) -> Sparkline:
    steps = np.array([step for step, _ in points], np.int64)
    values = np.array([value for _, value in points], np.float64)
    return Sparkline(session, *sampler.sample(steps, values))


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
