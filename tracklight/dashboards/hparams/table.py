"""Puts the rows and columns of the table together, for sessions or for groups of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.errors import UsageError
from tracklight.sessions.columns import MOST_HPARAMS, HParamColumn
from tracklight.sessions.groups import Groups, Over, find_groups, merge
from tracklight.sessions.metrics import Metric
from tracklight.sessions.readings import Reading
from tracklight.sessions.session import Session
from tracklight.sessions.study import Study
from tracklight.types import Float64, Int64

#: Metrics that are told without being asked for.
MOST_METRICS = 100


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """A metric and its number for each row."""

    metric: Metric
    values: Float64
    steps: Float64
    deviation: Float64 | None


class Table:
    """A study as one ask sees it: its rows are sessions, or groups where ``over`` says how."""

    def __init__(self, study: Study, reading: Reading, over: Over | None) -> None:
        self.state = study.get()
        self.over = over
        self.groups: Groups = find_groups(self.state.sessions)
        self._study = study
        self._reading = reading

    @property
    def sessions(self) -> Sequence[Session]:
        return self.state.sessions

    @property
    def firsts(self) -> Int64:
        """For each row the session whose hyperparameters it shows."""
        return np.arange(len(self.sessions)) if self.over is None else self.groups.firsts

    @property
    def names(self) -> list[str]:
        if self.over is not None:
            return self.groups.names
        return [session.name for session in self.sessions]

    def labels(self) -> list[str]:
        """Names without what all of them begin with; a group of one is called by its session."""
        short = self.state.labels
        if self.over is None:
            return short
        pairs = zip(self.groups.names, self.groups.members(), strict=True)
        return [short[own[0]] if len(own) == 1 else name for name, own in pairs]

    def stamps(self) -> Int64:
        """In which revision each row last changed."""
        if self.over is None:
            return self.state.stamps
        stamps = np.zeros(len(self.groups.names), np.int64)
        np.maximum.at(stamps, self.groups.of, self.state.stamps)
        return stamps

    def hparam_columns(self) -> list[HParamColumn]:
        return self.state.hparams

    def read_metrics(self, keys: Iterable[str]) -> list[MetricColumn]:
        """The first metrics and those of these keys."""
        chosen = {metric.key: metric for metric in self.state.metrics[:MOST_METRICS]}
        for key in keys:
            chosen.setdefault(key, self.get_metric(key))
        return self._read([*chosen.values()])

    def get_metric(self, key: str) -> Metric:
        metric = self.state.find_metric(key)
        if metric is None:
            raise UsageError(f'no session has the metric "{key}"; a metric is GROUP|TAG')
        return metric

    def read_metric(self, metric: Metric) -> MetricColumn:
        return self._read([metric])[0]

    def _read(self, metrics: list[Metric]) -> list[MetricColumn]:
        found = self._study.read(self.state, metrics, self._reading)
        return [
            self._make_column(metric, *column)
            for metric, column in zip(metrics, found, strict=True)
        ]

    def _make_column(self, metric: Metric, values: Float64, steps: Float64) -> MetricColumn:
        if self.over is None:
            return MetricColumn(metric, values, steps, None)
        merged = merge(self.groups, values, steps, self.over)
        return MetricColumn(metric, merged.values, merged.steps, merged.deviation)

    def statuses(self) -> list[int]:
        """Of a group, what its sessions agree on."""
        own = [int(session.status) for session in self.sessions]
        if self.over is None:
            return own
        agreed = ({own[row] for row in rows} for rows in self.groups.members())
        return [status.pop() if len(status) == 1 else 0 for status in agreed]

    def times(self) -> tuple[Float64, Float64, Float64]:
        """When each row began, ended, and last logged something."""
        own = np.array([self.state.find_times(session) for session in self.sessions], np.float64)
        start, end, last = own.reshape(-1, 3).T
        if self.over is None:
            return start, end, last
        count = len(self.groups.names)
        first, ended, newest = (np.full(count, np.nan) for _ in range(3))
        np.fmin.at(first, self.groups.of, start)
        np.fmax.at(ended, self.groups.of, end)
        np.fmax.at(newest, self.groups.of, last)
        return first, ended, newest

    def notes(self) -> list[str]:
        """What there is to be said about the table, in sentences."""
        notes = [*self.state.problems[:10]]
        hidden = len(self.state.metrics) - MOST_METRICS
        if hidden > 0:
            notes.append(f"{hidden:,} more metrics are there than the {MOST_METRICS} shown.")
        if len(self.state.hparams) == MOST_HPARAMS:
            notes.append(f"Only the first {MOST_HPARAMS:,} hyperparameters are shown.")
        return notes
