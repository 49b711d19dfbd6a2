"""The table of all sessions of a log, kept up to date incrementally.

A `SessionStore` hands out immutable snapshots. Rows keep their indices as long as no session
disappears, and every row has the revision in which it last changed, so that a client needs only
changed rows.
"""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

import numpy as np

from tracklight.analysis.experiments import StoredTrial, Study
from tracklight.analysis.experiments.columns import (
    HParamColumn,
    Metric,
    MetricReduction,
    MetricRuns,
    add_stored_metrics,
    build_hparam_columns,
    list_metric_runs,
    list_metrics,
    list_study_metrics,
    read_metric_values,
    reduce_points,
)
from tracklight.analysis.experiments.sessions import (
    Session,
    SessionRun,
    assign_runs,
    get_session_reader,
)
from tracklight.analysis.source import Context
from tracklight.errors import Message
from tracklight.types import Float64, Int64, RunInfo
from tracklight.util.memory import LruCache

#: Cached columns of metrics; each takes 160 kB for 10,000 sessions.
_MAX_CACHED_COLUMNS = 400


@dataclass(frozen=True, eq=False)
class SessionSnapshot:
    """The table at one moment. It never changes."""

    epoch: int
    """Changes when rows move or columns change, so that rows of older epochs are useless."""
    revision: int
    """Increases with every snapshot."""
    sessions: tuple[Session, ...]
    labels: list[str]
    """The names of the sessions without their common directories."""
    studies: tuple[Study, ...]
    """All studies of the log, also in the snapshot of one of them."""
    problems: tuple[Message, ...]
    hparams: list[HParamColumn]
    metrics: list[Metric]
    runs: Mapping[str, RunInfo]
    stored: Mapping[str, StoredTrial]
    """The trials of study files by session."""
    session_runs: Mapping[str, Sequence[str]]
    """The runs of each session."""
    row_revisions: Int64
    """For each session, the revision in which it last changed."""
    metric_runs: MetricRuns
    rows: Int64
    """The row of each session in the table of all sessions."""
    _selected: dict[str, SessionSnapshot] = field(default_factory=dict, repr=False)

    def select_study(self, name: str) -> SessionSnapshot:
        """Return the table of one study; it is empty if there is no such study."""
        if name not in self._selected:
            self._selected[name] = self._make_selection(name)
        return self._selected[name]

    def _make_selection(self, name: str) -> SessionSnapshot:
        study = next((study for study in self.studies if study.name == name), None)
        rows = [row for row, session in enumerate(self.sessions) if session.study == name]
        sessions = tuple(self.sessions[row] for row in rows)
        names = [session.name for session in sessions]
        metrics = [] if study is None else list_study_metrics(self.metric_runs, study, {*names})
        experiments = () if study is None else study.experiments
        folder = name.removesuffix(".").rstrip("/")
        return replace(
            self,
            sessions=sessions,
            labels=[item.removeprefix(f"{folder}/") for item in names],
            hparams=build_hparam_columns(sessions, experiments),
            metrics=metrics,
            row_revisions=self.row_revisions[rows],
            rows=np.array(rows, np.int64),
            _selected={},
        )

    def find_metric(self, key: str) -> Metric | None:
        return next((metric for metric in self.metrics if metric.key == key), None)

    def get_times(self, session: Session) -> tuple[float, float, float]:
        """Return when a session started, ended and last logged a value; NaN if unknown.

        Without a record of its start, a session starts with the first event of its runs.
        """
        infos = [self.runs[run] for run in self.session_runs.get(session.name, ())]
        starts = [info.start_wall for info in infos if info.start_wall is not None]
        lasts = [info.last_wall for info in infos if info.last_wall is not None]
        return (
            min(starts, default=math.nan) if session.start_time is None else session.start_time,
            math.nan if session.end_time is None else session.end_time,
            max(lasts, default=math.nan),
        )


_NO_ROWS = np.zeros(0, np.int64)
_EMPTY = SessionSnapshot(0, 0, (), [], (), (), [], [], {}, {}, {}, _NO_ROWS, {}, _NO_ROWS)


@dataclass(eq=False)
class _MetricValues:
    """The values of a reduced metric for all sessions, as of a revision."""

    epoch: int
    revision: int
    values: Float64
    steps: Float64


class SessionStore:
    """Keeps the table of a log up to date. Thread-safe.

    Example:
        >>> store = SessionStore(context)
        >>> snapshot = store.get_snapshot()
        >>> [(values, steps)] = store.read_metrics(
        ...     snapshot, snapshot.metrics[:1], MetricReduction()
        ... )
    """

    def __init__(self, context: Context) -> None:
        self.token = uuid.uuid4().hex[:8]
        """Distinguishes the revisions of this table from those of another process."""
        self._context = context
        self._reader = get_session_reader(context.log)
        self._lock = threading.Lock()
        self._snapshot = _EMPTY
        self._cursor = ""
        self._cache = LruCache[tuple[str, MetricReduction], _MetricValues](
            max_items=_MAX_CACHED_COLUMNS
        )

    def get_snapshot(self) -> SessionSnapshot:
        """Return the current table; the same object as before if the log has not changed."""
        with self._lock:
            cursor = self._context.cursor()
            if cursor != self._cursor:
                self._cursor, self._snapshot = cursor, self._update(self._snapshot)
            return self._snapshot

    def read_metrics(
        self, snapshot: SessionSnapshot, metrics: Sequence[Metric], reduction: MetricReduction
    ) -> list[tuple[Float64, Float64]]:
        """Return the values and steps of some metrics for all sessions, NaN if there are none.

        Values are cached; only those of changed sessions are read again. The snapshot is that of
        all studies.
        """
        with self._lock:
            columns = [self._get_values(snapshot, metric, reduction) for metric in metrics]
            self._update_stale(columns, snapshot, metrics, reduction)
            for metric, column in zip(metrics, columns, strict=True):
                self._cache.put((metric.key, reduction), column)
            return [(column.values, column.steps) for column in columns]

    def _get_values(
        self, snapshot: SessionSnapshot, metric: Metric, reduction: MetricReduction
    ) -> _MetricValues:
        """Return a metric from the cache, or start a new one, extended to all sessions."""
        cached = self._cache.find((metric.key, reduction))
        if cached is None or cached.epoch != snapshot.epoch or cached.revision > snapshot.revision:
            cached = _MetricValues(snapshot.epoch, -1, np.zeros(0), np.zeros(0))
        padding = np.full(len(snapshot.sessions) - len(cached.values), np.nan)
        values, steps = np.append(cached.values, padding), np.append(cached.steps, padding)
        return _MetricValues(cached.epoch, cached.revision, values, steps)

    def _update_stale(
        self,
        columns: Sequence[_MetricValues],
        snapshot: SessionSnapshot,
        metrics: Sequence[Metric],
        reduction: MetricReduction,
    ) -> None:
        """Read all stale values at once, session by session, which is fastest for the index."""
        oldest = min((column.revision for column in columns), default=0)
        row_revisions = snapshot.row_revisions.tolist()
        names = [session.name for session in snapshot.sessions]
        stale = [
            (row, metric, column)
            for row in np.flatnonzero(snapshot.row_revisions > oldest).tolist()
            for metric, column in zip(metrics, columns, strict=True)
            if row_revisions[row] > column.revision and names[row] in metric.runs
        ]
        stored = snapshot.stored
        for row, metric, column in stale:
            if names[row] in stored and metric.runs[names[row]] == names[row]:
                points = stored[names[row]].curves.get(metric.tag, ())
                column.values[row], column.steps[row] = reduce_points(points, reduction)
        stale = [
            (row, metric, column)
            for row, metric, column in stale
            if names[row] not in stored or metric.runs[names[row]] != names[row]
        ]
        if stale:
            keys = [(metric.runs[names[row]], metric.tag) for row, metric, _ in stale]
            values, steps = read_metric_values(self._context.log, keys, reduction)
            for (row, _, column), value, step in zip(stale, values, steps, strict=True):
                column.values[row], column.steps[row] = value, step
        for column in columns:
            column.revision = snapshot.revision

    def _update(self, before: SessionSnapshot) -> SessionSnapshot:
        listed = self._reader.read()
        runs = {info.name: info for info in self._context.log.runs()}
        assigned = assign_runs((session.name for session in listed.sessions), runs)
        session_runs = _group_runs(assigned)
        # A static export contains records of runs that it does not show.
        shown = [
            session
            for session in listed.sessions
            if session.name in session_runs or session.name in listed.stored
        ]
        sessions, has_kept_rows = _append_new_sessions(before.sessions, shown)
        hparams = before.hparams
        study_of = {session.name: session.study for session in sessions}
        used = {*study_of.values()}
        studies = tuple(study for study in listed.studies if study.name in used)
        if (sessions, studies) != (before.sessions, before.studies):
            experiments = [experiment for study in studies for experiment in study.experiments]
            hparams = _keep_order(before.hparams, build_hparam_columns(sessions, experiments))
        metric_runs = add_stored_metrics(list_metric_runs(self._context, assigned), listed.stored)
        metrics = list_metrics(metric_runs, studies, study_of)
        labels = strip_common_directories([session.name for session in sessions])
        is_same_epoch = (
            has_kept_rows
            and before.studies == studies
            and all(
                old.study == new.study for old, new in zip(before.sessions, sessions, strict=False)
            )
            and before.labels == labels[: len(before.labels)]
            and _describe_columns(before.hparams, before.metrics)
            == _describe_columns(hparams, metrics)
        )
        revision = before.revision + 1
        row_revisions = np.full(len(sessions), revision, np.int64)
        if is_same_epoch:
            row_revisions = _update_row_revisions(
                before, sessions, runs, session_runs, listed.stored, revision
            )
        return SessionSnapshot(
            before.epoch + (not is_same_epoch),
            revision,
            sessions,
            labels,
            studies,
            listed.problems,
            hparams,
            metrics,
            runs,
            listed.stored,
            session_runs,
            row_revisions,
            metric_runs,
            np.arange(len(sessions)),
        )


def strip_common_directories(names: Sequence[str]) -> list[str]:
    """Return the names without the directories that all of them are in."""
    if len(names) < 2:
        return list(names)
    # A prefix of the smallest and the largest name is a prefix of all.
    first, last = (name.split("/")[:-1] for name in (min(names), max(names)))
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = sum(len(part) + 1 for part, _ in shared)
    return [name[start:] for name in names]


def _append_new_sessions(
    before: Sequence[Session], now: Sequence[Session]
) -> tuple[tuple[Session, ...], bool]:
    """Return the sessions with new ones at the end, and whether all old ones are still there."""
    by_name = {session.name: session for session in now}
    old_names = [session.name for session in before]
    if not set(old_names) <= by_name.keys():
        return tuple(now), False
    names = dict.fromkeys([*old_names, *by_name])
    return tuple(by_name[name] for name in names), True


def _keep_order(before: Sequence[HParamColumn], now: Sequence[HParamColumn]) -> list[HParamColumn]:
    """Return the columns in their old order if they have the same names as before."""
    names = [column.name for column in before]
    by_name = {column.name: column for column in now}
    return [by_name[name] for name in names] if names and by_name.keys() == {*names} else [*now]


def _group_runs(assigned: Mapping[str, SessionRun]) -> dict[str, list[str]]:
    runs: dict[str, list[str]] = {}
    for run, session_run in assigned.items():
        runs.setdefault(session_run.session, []).append(run)
    return runs


def _describe_columns(hparams: Sequence[HParamColumn], metrics: Sequence[Metric]) -> object:
    columns = [
        (column.name, column.label, column.type, column.states is None) for column in hparams
    ]
    return columns, [(metric.key, metric.label) for metric in metrics]


def _update_row_revisions(
    before: SessionSnapshot,
    sessions: Sequence[Session],
    runs: Mapping[str, RunInfo],
    session_runs: Mapping[str, Sequence[str]],
    stored: Mapping[str, StoredTrial],
    revision: int,
) -> Int64:
    """Return the revision of each row: the old one if neither session nor runs have changed."""
    row_revisions = np.full(len(sessions), revision, np.int64)
    changed_runs = {run for run, info in runs.items() if before.runs.get(run) != info}
    for row, old in enumerate(before.sessions):
        own = session_runs.get(old.name, ())
        is_same = old == sessions[row] and len(own) == len(before.session_runs.get(old.name, ()))
        is_same = is_same and before.stored.get(old.name) == stored.get(old.name)
        if is_same and changed_runs.isdisjoint(own):
            row_revisions[row] = before.row_revisions[row]
    return row_revisions
