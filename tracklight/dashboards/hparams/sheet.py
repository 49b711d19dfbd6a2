"""The table as columns of plain values, as a file has them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.hparams.asks import ExportAsk
from tracklight.dashboards.hparams.explaining import find_rows
from tracklight.dashboards.hparams.table import Table
from tracklight.errors import UsageError
from tracklight.formats.hparam_names import HParamValue
from tracklight.formats.hparams import Status
from tracklight.plugin import Context
from tracklight.sessions.readings import make_reading
from tracklight.sessions.study import Study
from tracklight.types import Float64, Int64

Cell = HParamValue | None

_PLAIN = ("name", "group", "status", "start", "end", "duration")


@dataclass(frozen=True)
class Sheet:
    """A heading for each column, and the cells of each row."""

    headings: list[str]
    rows: list[list[Cell]]


def make_sheet(study: Study, ask: ExportAsk) -> Sheet:
    """All that was asked for, and not only what fits on a page."""
    table = Table(study, ask.get_reading(), ask.over)
    rows = find_rows(table, ask.sessions)
    columns = _Columns(table, rows)
    keys = ask.columns or _list_all(table)
    made = [columns.make(key) for key in keys]
    cells = (own for _, own in made)
    return Sheet([heading for heading, _ in made], [list(row) for row in zip(*cells, strict=True)])


def make_wide_sheet(
    context: Context, runs: Container[str] | None, tags: Container[str] | None
) -> Sheet:
    """Return one row for each session, with columns ``hparams.NAME`` and ``metrics.NAME``.

    Args:
        context: The log.
        runs: Only sessions that have one of these runs; None for all.
        tags: Only metrics of these tags; None for all.
    """
    study = Study(context)
    table = Table(study, make_reading("last", 1, 0), None)
    state = table.state
    chosen = [
        place
        for place, session in enumerate(state.sessions)
        if runs is None
        or session.name in runs
        or any(run in runs for run in state.runs_of.get(session.name, ()))
    ]
    columns = _Columns(table, np.array(chosen, np.int64))
    made = [("run", columns.make("name")[1])]
    made += [columns.make(key) for key in ("group", "status", "start", "end")]
    for column in state.hparams:
        made.append((f"hparams.{column.name}", columns.make(f"hparam:{column.name}")[1]))
    for metric in state.metrics:
        if tags is None or metric.tag in tags:
            name = f"{metric.group}/{metric.tag}" if metric.group else metric.tag
            made.append((f"metrics.{name}", columns.make(f"metric:{metric.key}")[1]))
    made = [it for it in made if it[0] == "run" or any(cell is not None for cell in it[1])]
    rows = [list(row) for row in zip(*(cells for _, cells in made), strict=True)]
    return Sheet([heading for heading, _ in made], rows)


def _list_all(table: Table) -> list[str]:
    keys = ["name", "group", "status", "start", "end"]
    keys += [f"hparam:{column.name}" for column in table.state.hparams]
    return keys + [f"metric:{metric.key}" for metric in table.state.metrics]


class _Columns:
    """Makes columns by their keys."""

    def __init__(self, table: Table, rows: Int64) -> None:
        self._table = table
        self._rows = rows
        self._firsts = table.firsts[rows].tolist()
        self._times = dict(zip(("start", "end", "last"), table.times(), strict=True))

    def make(self, key: str) -> tuple[str, list[Cell]]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            return self._make_hparam(name)
        if kind == "metric":
            return self._make_metric(name)
        if key not in _PLAIN:
            raise UsageError(f'"{key}" is no column: {", ".join(_PLAIN)}, hparam:NAME, metric:KEY')
        return key, self._make_plain(key)

    def _make_plain(self, key: str) -> list[Cell]:
        table, rows = self._table, self._rows.tolist()
        if key == "name":
            return [table.names[row] for row in rows]
        if key == "group":
            return [table.sessions[at].group for at in self._firsts]
        if key == "status":
            statuses = table.statuses()
            return [Status(statuses[row]).name.lower() for row in rows]
        if key == "duration":
            return _numbers((self._times["end"] - self._times["start"])[self._rows])
        return [_write_time(wall) for wall in self._times[key][self._rows].tolist()]

    def _make_hparam(self, name: str) -> tuple[str, list[Cell]]:
        column = next((it for it in self._table.state.hparams if it.name == name), None)
        if column is None:
            raise UsageError(f'no session has the hyperparameter "{name}"')
        return column.label, [column.get_value(at) for at in self._firsts]

    def _make_metric(self, key: str) -> tuple[str, list[Cell]]:
        column = self._table.read_metric(self._table.get_metric(key))
        values, steps = column.values[self._rows], column.steps[self._rows]
        cells = zip(values.tolist(), np.isnan(steps).tolist(), strict=True)
        return column.metric.label, [None if missing else value for value, missing in cells]


def _numbers(values: Float64) -> list[Cell]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _write_time(wall: float) -> str | None:
    if not math.isfinite(wall):
        return None
    try:
        moment = datetime.datetime.fromtimestamp(wall, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):  # no time that a calendar has
        return None
    return moment.isoformat(timespec="seconds")
