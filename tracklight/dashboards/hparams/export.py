"""The table as columns of plain values, as a file has them."""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
from collections.abc import Callable, Container
from dataclasses import dataclass

import msgspec
import numpy as np

from tracklight.analysis.experiments.metrics import make_reduction
from tracklight.analysis.experiments.study import Study
from tracklight.dashboards.hparams.responses import SessionTable, select_rows
from tracklight.dashboards.hparams.schemas import ExportFormat, ExportRequest
from tracklight.errors import UsageError
from tracklight.formats.hparams import HParamValue, Status
from tracklight.plugin import Blob, Context
from tracklight.types import Float64, Int64
from tracklight.util.json_number import to_json_number

ExportCell = HParamValue | None

_SESSION_COLUMNS = ("name", "group", "status", "start", "end", "duration")


@dataclass(frozen=True)
class ExportTable:
    """A heading for each column, and the cells of each row."""

    headings: list[str]
    rows: list[list[ExportCell]]


def make_export_table(study: Study, ask: ExportRequest) -> ExportTable:
    """All that was asked for, and not only what fits on a page."""
    table = SessionTable(study, ask.get_reduction(), ask.over)
    rows = select_rows(table, ask.sessions)
    columns = _ColumnBuilder(table, rows)
    keys = ask.columns or _list_all(table)
    made = [columns.make(key) for key in keys]
    cells = (own for _, own in made)
    return ExportTable(
        [heading for heading, _ in made], [list(row) for row in zip(*cells, strict=True)]
    )


def make_wide_table(
    context: Context, runs: Container[str] | None, tags: Container[str] | None
) -> ExportTable:
    """Return one row for each session, with columns ``hparams.NAME`` and ``metrics.NAME``.

    Args:
        context: The log.
        runs: Only sessions that have one of these runs; None for all.
        tags: Only metrics of these tags; None for all.
    """
    study = Study(context)
    table = SessionTable(study, make_reduction("last", 1, 0), None)
    state = table.snapshot
    chosen = [
        place
        for place, session in enumerate(state.sessions)
        if runs is None
        or session.name in runs
        or any(run in runs for run in state.session_runs.get(session.name, ()))
    ]
    columns = _ColumnBuilder(table, np.array(chosen, np.int64))
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
    return ExportTable([heading for heading, _ in made], rows)


def _list_all(table: SessionTable) -> list[str]:
    keys = ["name", "group", "status", "start", "end"]
    keys += [f"hparam:{column.name}" for column in table.snapshot.hparams]
    return keys + [f"metric:{metric.key}" for metric in table.snapshot.metrics]


class _ColumnBuilder:
    """Makes columns by their keys."""

    def __init__(self, table: SessionTable, rows: Int64) -> None:
        self._table = table
        self._rows = rows
        self._firsts = table.first_sessions[rows].tolist()
        self._times = dict(zip(("start", "end", "last"), table.get_times(), strict=True))

    def make(self, key: str) -> tuple[str, list[ExportCell]]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            return self._make_hparam(name)
        if kind == "metric":
            return self._make_metric(name)
        if key not in _SESSION_COLUMNS:
            raise UsageError(
                f'"{key}" is no column: {", ".join(_SESSION_COLUMNS)}, hparam:NAME, metric:KEY'
            )
        return key, self._make_plain(key)

    def _make_plain(self, key: str) -> list[ExportCell]:
        table, rows = self._table, self._rows.tolist()
        if key == "name":
            return [table.names[row] for row in rows]
        if key == "group":
            return [table.sessions[at].group for at in self._firsts]
        if key == "status":
            statuses = table.get_statuses()
            return [Status(statuses[row]).name.lower() for row in rows]
        if key == "duration":
            return _numbers((self._times["end"] - self._times["start"])[self._rows])
        return [_format_time(wall) for wall in self._times[key][self._rows].tolist()]

    def _make_hparam(self, name: str) -> tuple[str, list[ExportCell]]:
        column = next((it for it in self._table.snapshot.hparams if it.name == name), None)
        if column is None:
            raise UsageError(f'no session has the hyperparameter "{name}"')
        return column.label, [column.get_value(at) for at in self._firsts]

    def _make_metric(self, key: str) -> tuple[str, list[ExportCell]]:
        column = self._table.read_metric(self._table.get_metric(key))
        values, steps = column.values[self._rows], column.steps[self._rows]
        cells = zip(values.tolist(), np.isnan(steps).tolist(), strict=True)
        return column.metric.label, [None if missing else value for value, missing in cells]


def _numbers(values: Float64) -> list[ExportCell]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _format_time(wall: float) -> str | None:
    if not math.isfinite(wall):
        return None
    try:
        moment = datetime.datetime.fromtimestamp(wall, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):  # no time that a calendar has
        return None
    return moment.isoformat(timespec="seconds")


# A sheet as a file: CSV, JSON, LaTeX or Markdown.

_LATEX_SPECIAL = re.compile(r"[\\{}$&#%_^~]")

_LATEX_WORDS = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}

#: A program that opens tables would run a cell that begins like a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_table(sheet: ExportTable, kind: ExportFormat) -> Blob:
    write, media_type, ending = _FORMATS[kind]
    return Blob(write(sheet).encode(), f"{media_type}; charset=utf-8", f"hparams.{ending}")


def _write_csv(sheet: ExportTable) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_escape_formula, sheet.headings))
    writer.writerows([_as_text(cell, _escape_formula) for cell in row] for row in sheet.rows)
    return file.getvalue()


def _write_json(sheet: ExportTable) -> str:
    rows = [
        [to_json_number(cell) if isinstance(cell, float) else cell for cell in row]
        for row in sheet.rows
    ]
    return msgspec.json.encode({"header": sheet.headings, "rows": rows}).decode()


def _write_markdown(sheet: ExportTable) -> str:
    lines = [map(_escape_markdown, sheet.headings), ["---"] * len(sheet.headings)]
    lines += [[_as_text(cell, _escape_markdown) for cell in row] for row in sheet.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _write_latex(sheet: ExportTable) -> str:
    lines = [
        r"\begin{table}[tbp]",
        rf"\begin{{tabular}}{{{'l' * len(sheet.headings)}}}",
        rf"{' & '.join(map(_escape_latex, sheet.headings))} \\ \hline",
        *(rf"{' & '.join(map(_write_latex_cell, row))} \\" for row in sheet.rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _write_latex_cell(cell: ExportCell) -> str:
    if not isinstance(cell, float):
        return "-" if cell is None else _as_text(cell, _escape_latex)
    if math.isnan(cell):
        return r"$\mathrm{NaN}$"
    if math.isinf(cell):
        return r"$\infty$" if cell > 0 else r"$-\infty$"
    digits, _, exponent = f"{cell:.4g}".partition("e")
    return rf"${digits}\cdot 10^{{{int(exponent)}}}$" if exponent else f"${digits}$"


def _as_text(cell: ExportCell, escape: Callable[[str], str]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return escape(cell)
    return repr(int(cell)) if float(cell).is_integer() and abs(cell) < 1e15 else repr(cell)


def _escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _escape_markdown(text: str) -> str:
    one_line = " ".join(text.split())
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", one_line)


def _escape_latex(text: str) -> str:
    one_line = " ".join(text.split())
    return _LATEX_SPECIAL.sub(lambda it: _LATEX_WORDS.get(it[0], f"\\{it[0]}"), one_line)


_FORMATS: dict[ExportFormat, tuple[Callable[[ExportTable], str], str, str]] = {
    "csv": (_write_csv, "text/csv", "csv"),
    "json": (_write_json, "application/json", "json"),
    "latex": (_write_latex, "application/x-latex", "tex"),
    "markdown": (_write_markdown, "text/markdown", "md"),
}
