"""Tells the table, or what is new in it since a page was told."""

from __future__ import annotations

import re

import numpy as np

from tracklight.dashboards.hparams.answers import (
    HParamCells,
    Links,
    MetricCells,
    Rows,
    SessionsAnswer,
)
from tracklight.dashboards.hparams.asks import SessionsAsk
from tracklight.dashboards.hparams.table import MetricColumn, Table
from tracklight.sessions.columns import HParamColumn, find_extent, suits_log
from tracklight.sessions.study import Study
from tracklight.types import Int64

_NUMBER = re.compile(r"[0-9]{1,18}")


def tell(study: Study, ask: SessionsAsk) -> SessionsAnswer:
    """Rows and columns as of now."""
    table = Table(study, ask.get_reading(), ask.over)
    state = table.state
    since = _find_revision(study, ask.since, state.epoch)
    rows = np.arange(len(table.names)) if since is None else np.flatnonzero(table.stamps() > since)
    metrics = table.read_metrics(ask.metric)
    firsts = table.firsts[rows]
    return SessionsAnswer(
        revision=f"{study.token}.{state.epoch}.{state.revision}",
        base=None if since is None else ask.since,
        rows=_tell_rows(table, rows),
        hparams=[_tell_hparam(column, firsts) for column in table.hparam_columns()],
        metrics=[_tell_metric(column, rows) for column in metrics],
        notes=table.notes(),
        repeats=len(state.sessions) - len(table.groups.names),
    )


def _find_revision(study: Study, since: str | None, epoch: int) -> int | None:
    """The revision that a page has, if this table can be told as what came after it."""
    token, _, place = (since or "").partition(".")
    known, _, revision = place.partition(".")
    if token != study.token or known != str(epoch):
        return None
    return int(revision) if _NUMBER.fullmatch(revision) else None


def _tell_rows(table: Table, rows: Int64) -> Rows:
    chosen = rows.tolist()
    names, labels, statuses = table.names, table.labels(), table.statuses()
    start, end, last = (column[rows] for column in table.times())
    firsts = [table.sessions[at] for at in table.firsts[rows].tolist()]
    is_grouped = table.over is not None
    experiments = [*dict.fromkeys(it.experiment for it in table.sessions if it.experiment)]
    places = {name: place for place, name in enumerate(experiments)}
    return Rows(
        at=rows.astype(np.int32),
        names=[names[row] for row in chosen],
        labels=[labels[row] for row in chosen],
        groups=(rows if is_grouped else table.groups.of[rows]).astype(np.int32),
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
            row: Links(session.model_uri, session.monitor_url)
            for row, session in zip(chosen, firsts, strict=True)
            if session.model_uri or session.monitor_url
        },
    )


def _list_members(table: Table, rows: list[int]) -> list[list[str]]:
    members = table.groups.members()
    return [[table.sessions[at].name for at in members[row]] for row in rows]


def _tell_hparam(column: HParamColumn, sessions: Int64) -> HParamCells:
    numbers = column.numbers()
    low, high = find_extent(numbers)
    return HParamCells(
        name=column.name,
        key=f"hparam:{column.name}",
        label=column.label,
        description=column.description,
        type=column.type,
        declared=column.declared,
        distinct=column.distinct,
        differs=column.differs,
        low=low,
        high=high,
        log=suits_log(numbers),
        words=column.words,
        values=column.values[sessions],
        states=None if column.states is None else column.states[sessions],
    )


def _tell_metric(column: MetricColumn, rows: Int64) -> MetricCells:
    metric = column.metric
    low, high = find_extent(column.values)
    return MetricCells(
        key=metric.key,
        group=metric.group,
        tag=metric.tag,
        label=metric.label,
        description=metric.description,
        declared=metric.declared,
        goal=metric.goal,
        low=low,
        high=high,
        log=suits_log(column.values),
        values=column.values[rows],
        steps=column.steps[rows],
        deviation=None if column.deviation is None else column.deviation[rows],
    )
