"""The table of all sessions of a log, kept up to date incrementally.

A `Study` hands out immutable snapshots. Rows keep their indices as long as no session disappears,
and every row has the revision in which it last changed, so that a client needs only changed rows.
"""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from tracklight.analysis.experiments.hparam_columns import HParamColumn, build_hparam_columns
from tracklight.analysis.experiments.metrics import (
    Metric,
    MetricReduction,
    list_metrics,
    read_metric_values,
)
from tracklight.analysis.experiments.sessions import (
    Session,
    SessionRun,
    assign_runs,
    get_session_reader,
)
from tracklight.analysis.source import Context
from tracklight.errors import Message
from tracklight.formats.hparams import Experiment
from tracklight.types import Float64, Int64, RunInfo

#: Cached columns of metrics; each takes 160 kB for 10,000 sessions.
_MAX_CACHED_COLUMNS = 400


@dataclass(frozen=True, eq=False)
class StudySnapshot:
    """The table at one moment. It never changes."""

    epoch: int
    """Changes when rows move or columns change, so that rows of older epochs are useless."""
    revision: int
    """Increases with every snapshot."""
    sessions: tuple[Session, ...]
    labels: list[str]
    """The names of the sessions without their common directories."""
    experiments: tuple[Experiment, ...]
    problems: tuple[Message, ...]
    hparams: list[HParamColumn]
    metrics: list[Metric]
    runs: Mapping[str, RunInfo]
    session_runs: Mapping[str, Sequence[str]]
    """The runs of each session."""
    row_revisions: Int64
    """For each session, the revision in which it last changed."""

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


_EMPTY = StudySnapshot(0, 0, (), [], (), (), [], [], {}, {}, np.zeros(0, np.int64))


@dataclass(eq=False)
class _MetricValues:
    """The values of a reduced metric for all sessions, as of a revision."""

    epoch: int
    revision: int
    values: Float64
    steps: Float64


class Study:
    """Keeps the table of a log up to date. Thread-safe.

    Example:
        >>> study = Study(context)
        >>> snapshot = study.get_snapshot()
        >>> [(values, steps)] = study.read_metrics(
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
        self._cache: dict[tuple[str, MetricReduction], _MetricValues] = {}

    def get_snapshot(self) -> StudySnapshot:
        """Return the current table; the same object as before if the log has not changed."""
        with self._lock:
            cursor = self._context.cursor()
            if cursor != self._cursor:
                self._cursor, self._snapshot = cursor, self._update(self._snapshot)
            return self._snapshot

    def read_metrics(
        self, snapshot: StudySnapshot, metrics: Sequence[Metric], reduction: MetricReduction
    ) -> list[tuple[Float64, Float64]]:
        """Return the values and steps of some metrics for all sessions, NaN if there are none.

        Values are cached; only those of changed sessions are read again.
        """
        with self._lock:
            columns = [self._take_cached(snapshot, metric, reduction) for metric in metrics]
            self._update_stale(columns, snapshot, metrics, reduction)
            for metric, column in zip(metrics, columns, strict=True):
                self._cache[metric.key, reduction] = column
            while len(self._cache) > _MAX_CACHED_COLUMNS:
                del self._cache[next(iter(self._cache))]
            return [(column.values, column.steps) for column in columns]

    def _take_cached(
        self, snapshot: StudySnapshot, metric: Metric, reduction: MetricReduction
    ) -> _MetricValues:
        """Remove a metric from the cache, or start a new one, extended to all sessions."""
        cached = self._cache.pop((metric.key, reduction), None)
        if cached is None or cached.epoch != snapshot.epoch or cached.revision > snapshot.revision:
            cached = _MetricValues(snapshot.epoch, -1, np.zeros(0), np.zeros(0))
        padding = np.full(len(snapshot.sessions) - len(cached.values), np.nan)
        values, steps = np.append(cached.values, padding), np.append(cached.steps, padding)
        return _MetricValues(cached.epoch, cached.revision, values, steps)

    def _update_stale(
        self,
        columns: Sequence[_MetricValues],
        snapshot: StudySnapshot,
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
        if stale:
            keys = [(metric.runs[names[row]], metric.tag) for row, metric, _ in stale]
            values, steps = read_metric_values(self._context.log, keys, reduction)
            for (row, _, column), value, step in zip(stale, values, steps, strict=True):
                column.values[row], column.steps[row] = value, step
        for column in columns:
            column.revision = snapshot.revision

    def _update(self, before: StudySnapshot) -> StudySnapshot:
        listed = self._reader.read()
        runs = {info.name: info for info in self._context.log.runs()}
        assigned = assign_runs((session.name for session in listed.sessions), runs)
        session_runs = _group_runs(assigned)
        # A static export contains records of runs that it does not show.
        shown = [session for session in listed.sessions if session.name in session_runs]
        sessions, has_kept_rows = _append_new_sessions(before.sessions, shown)
        hparams = before.hparams
        if (sessions, listed.experiments) != (before.sessions, before.experiments):
            hparams = _keep_order(
                before.hparams, build_hparam_columns(sessions, listed.experiments)
            )
        metrics = list_metrics(self._context, assigned, listed.experiments)
        labels = strip_common_directories([session.name for session in sessions])
        is_same_epoch = (
            has_kept_rows
            and before.labels == labels[: len(before.labels)]
            and _describe_columns(before.hparams, before.metrics)
            == _describe_columns(hparams, metrics)
        )
        revision = before.revision + 1
        row_revisions = np.full(len(sessions), revision, np.int64)
        if is_same_epoch:
            row_revisions = _update_row_revisions(before, sessions, runs, session_runs, revision)
        return StudySnapshot(
            before.epoch + (not is_same_epoch),
            revision,
            sessions,
            labels,
            listed.experiments,
            listed.problems,
            hparams,
            metrics,
            runs,
            session_runs,
            row_revisions,
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
    before: StudySnapshot,
    sessions: Sequence[Session],
    runs: Mapping[str, RunInfo],
    session_runs: Mapping[str, Sequence[str]],
    revision: int,
) -> Int64:
    """Return the revision of each row: the old one if neither session nor runs have changed."""
    row_revisions = np.full(len(sessions), revision, np.int64)
    changed_runs = {run for run, info in runs.items() if before.runs.get(run) != info}
    for row, old in enumerate(before.sessions):
        own = session_runs.get(old.name, ())
        is_same = old == sessions[row] and len(own) == len(before.session_runs.get(old.name, ()))
        if is_same and changed_runs.isdisjoint(own):
            row_revisions[row] = before.row_revisions[row]
    return row_revisions
