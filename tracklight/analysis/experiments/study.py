"""Short names for sessions."""

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
from tracklight.formats.hparams import Experiment
from tracklight.types import Float64, Int64, RunInfo


def strip_common_directories(names: Sequence[str]) -> list[str]:
    """Names of runs without the directories that all of them are in."""
    if len(names) < 2:
        return list(names)
    # What the first and the last in order begin with, all do.
    first, last = (name.split("/")[:-1] for name in (min(names), max(names)))
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = sum(len(part) + 1 for part, _ in shared)
    return [name[start:] for name in names]


# All sessions of a log as a table that grows: what is in it now, and which rows are new.
#
# Rows keep their places as long as no session goes away, so that a page which has the table only
# needs the rows that changed since.

#: Columns of metrics that are remembered; each takes 160 kB for 10,000 sessions.
_MAX_CACHED_COLUMNS = 400


@dataclass(frozen=True, eq=False)
class StudySnapshot:
    """The table at one moment; nothing in it ever changes."""

    epoch: int
    """Another one whenever rows have other places or columns are others than before."""
    revision: int
    sessions: tuple[Session, ...]
    labels: list[str]
    """Their names without what all of them begin with."""
    experiments: tuple[Experiment, ...]
    problems: tuple[str, ...]
    hparams: list[HParamColumn]
    metrics: list[Metric]
    runs: Mapping[str, RunInfo]
    session_runs: Mapping[str, Sequence[str]]
    """By session, its runs."""
    row_revisions: Int64
    """For each session the revision in which it last changed."""

    def find_metric(self, key: str) -> Metric | None:
        return next((metric for metric in self.metrics if metric.key == key), None)

    def get_times(self, session: Session) -> tuple[float, float, float]:
        """Return when a session started, ended, and last logged a value; NaN where unknown.

        A session without a recorded start has started with the first event of its runs.
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
    """A metric by one reading, as of a revision."""

    epoch: int
    revision: int
    values: Float64
    steps: Float64


class Study:
    """Keeps the table up to date when somebody asks for it."""

    def __init__(self, context: Context) -> None:
        self.token = uuid.uuid4().hex[:8]
        """Tells this table from that of another process."""
        self._context = context
        self._reader = get_session_reader(context.log)
        self._lock = threading.Lock()
        self._snapshot = _EMPTY
        self._cursor = ""
        self._cache: dict[tuple[str, MetricReduction], _MetricValues] = {}

    def get_snapshot(self) -> StudySnapshot:
        """The table as it is now."""
        with self._lock:
            cursor = self._context.cursor()
            if cursor != self._cursor:
                self._cursor, self._snapshot = cursor, self._advance(self._snapshot)
            return self._snapshot

    def read_metrics(
        self, snapshot: StudySnapshot, metrics: Sequence[Metric], reduction: MetricReduction
    ) -> list[tuple[Float64, Float64]]:
        """Values and steps of some metrics for all sessions, read again only where runs grew."""
        with self._lock:
            known = [self._take_cached(snapshot, metric, reduction) for metric in metrics]
            self._update_stale(known, snapshot, metrics, reduction)
            for metric, column in zip(metrics, known, strict=True):
                self._cache[metric.key, reduction] = column
            while len(self._cache) > _MAX_CACHED_COLUMNS:
                del self._cache[next(iter(self._cache))]
            return [(column.values, column.steps) for column in known]

    def _take_cached(
        self, state: StudySnapshot, metric: Metric, reading: MetricReduction
    ) -> _MetricValues:
        """What is known of a metric, with room for all sessions."""
        known = self._cache.pop((metric.key, reading), None)
        if known is None or known.epoch != state.epoch or known.revision > state.revision:
            known = _MetricValues(state.epoch, -1, np.zeros(0), np.zeros(0))
        room = np.full(len(state.sessions) - len(known.values), np.nan)
        values, steps = np.append(known.values, room), np.append(known.steps, room)
        return _MetricValues(known.epoch, known.revision, values, steps)

    def _update_stale(
        self,
        known: Sequence[_MetricValues],
        state: StudySnapshot,
        metrics: Sequence[Metric],
        reading: MetricReduction,
    ) -> None:
        """All that is stale at once, session by session, which is how the index is quickest."""
        oldest = min((column.revision for column in known), default=0)
        stamps = state.row_revisions.tolist()
        cells = [
            (row, metric, column)
            for row in np.flatnonzero(state.row_revisions > oldest).tolist()
            for metric, column in zip(metrics, known, strict=True)
            if stamps[row] > column.revision and state.sessions[row].name in metric.runs
        ]
        if cells:
            names = [session.name for session in state.sessions]
            keys = [(metric.runs[names[row]], metric.tag) for row, metric, _ in cells]
            found = zip(cells, *read_metric_values(self._context.log, keys, reading), strict=True)
            for (row, _, column), value, step in found:
                column.values[row], column.steps[row] = value, step
        for column in known:
            column.revision = state.revision

    def _advance(self, before: StudySnapshot) -> StudySnapshot:
        found = self._reader.read()
        runs = {info.name: info for info in self._context.log.runs()}
        places = assign_runs((session.name for session in found.sessions), runs)
        runs_of = _group_runs(places)
        # A copy of a board knows the records of runs that it does not show.
        shown = [session for session in found.sessions if session.name in runs_of]
        sessions, kept = _append_new_sessions(before.sessions, shown)
        columns = before.hparams
        if (sessions, found.experiments) != (before.sessions, before.experiments):
            columns = _keep_order(before.hparams, build_hparam_columns(sessions, found.experiments))
        metrics = list_metrics(self._context, places, found.experiments)
        labels = strip_common_directories([session.name for session in sessions])
        same = (
            kept
            and before.labels == labels[: len(before.labels)]
            and _describe_columns(before.hparams, before.metrics)
            == _describe_columns(columns, metrics)
        )
        revision = before.revision + 1
        stamps = np.full(len(sessions), revision, np.int64)
        if same:
            stamps = _update_row_revisions(before, sessions, runs, runs_of, revision)
        return StudySnapshot(
            before.epoch + (not same),
            revision,
            sessions,
            labels,
            found.experiments,
            found.problems,
            columns,
            metrics,
            runs,
            runs_of,
            stamps,
        )


def _append_new_sessions(
    before: Sequence[Session], now: Sequence[Session]
) -> tuple[tuple[Session, ...], bool]:
    """New sessions after those that were there; whether all of these still are."""
    found = {session.name: session for session in now}
    known = {session.name: None for session in before}
    if not known.keys() <= found.keys():
        return tuple(now), False
    return tuple(found[name] for name in [*known, *(n for n in found if n not in known)]), True


def _keep_order(before: Sequence[HParamColumn], now: Sequence[HParamColumn]) -> list[HParamColumn]:
    """Columns stay where they are while sessions come in, as long as there are no others."""
    names = [column.name for column in before]
    by_name = {column.name: column for column in now}
    return [by_name[name] for name in names] if names and by_name.keys() == {*names} else [*now]


def _group_runs(places: Mapping[str, SessionRun]) -> dict[str, list[str]]:
    runs: dict[str, list[str]] = {}
    for run, place in places.items():
        runs.setdefault(place.session, []).append(run)
    return runs


def _describe_columns(hparams: Sequence[HParamColumn], metrics: Sequence[Metric]) -> object:
    columns = [(it.name, it.label, it.type, it.states is None) for it in hparams]
    return columns, [(metric.key, metric.label) for metric in metrics]


def _update_row_revisions(
    before: StudySnapshot,
    sessions: Sequence[Session],
    runs: Mapping[str, RunInfo],
    runs_of: Mapping[str, Sequence[str]],
    revision: int,
) -> Int64:
    stamps = np.full(len(sessions), revision, np.int64)
    grown = {run for run, info in runs.items() if before.runs.get(run) != info}
    for row, was in enumerate(before.sessions):
        own = runs_of.get(was.name, ())
        is_same = was == sessions[row] and len(own) == len(before.session_runs.get(was.name, ()))
        if is_same and grown.isdisjoint(own):
            stamps[row] = before.row_revisions[row]
    return stamps
