"""Write small tables to CSV, JSON, LaTeX or Markdown files, for reports and spreadsheets."""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from tracklight.analysis.source import Blob
from tracklight.util.files import to_json_number

ExportCell = bool | int | float | str | None
ExportFormat = Literal["csv", "json", "latex", "markdown"]

_LATEX_SPECIAL = re.compile(r"[\\{}$&#%_^~]")
_LATEX_COMMANDS = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
#: Spreadsheet programs evaluate cells that begin with these characters as formulas.
_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class ExportTable:
    """The headings of the columns, and the cells of each row."""

    headings: list[str]
    rows: list[list[ExportCell]]


def write_table(table: ExportTable, file_format: ExportFormat, name: str) -> Blob:
    """Return the table as a file with this name and the extension of the format."""
    write, media_type, extension = _WRITERS[file_format]
    return Blob(write(table).encode(), f"{media_type}; charset=utf-8", f"{name}.{extension}")


def _write_csv(table: ExportTable) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_escape_formula, table.headings))
    writer.writerows([_format_cell(cell, _escape_formula) for cell in row] for row in table.rows)
    return file.getvalue()


def _write_json(table: ExportTable) -> str:
    rows = [
        [to_json_number(cell) if isinstance(cell, float) else cell for cell in row]
        for row in table.rows
    ]
    return msgspec.json.encode({"header": table.headings, "rows": rows}).decode()


def _write_markdown(table: ExportTable) -> str:
    lines = [map(_escape_markdown, table.headings), ["---"] * len(table.headings)]
    lines += [[_format_cell(cell, _escape_markdown) for cell in row] for row in table.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _write_latex(table: ExportTable) -> str:
    lines = [
        r"\begin{table}[tbp]",
        rf"\begin{{tabular}}{{{'l' * len(table.headings)}}}",
        rf"{' & '.join(map(_escape_latex, table.headings))} \\ \hline",
        *(rf"{' & '.join(map(_format_latex_cell, row))} \\" for row in table.rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _format_latex_cell(cell: ExportCell) -> str:
    if not isinstance(cell, float):
        return "-" if cell is None else _format_cell(cell, _escape_latex)
    if math.isnan(cell):
        return r"$\mathrm{NaN}$"
    if math.isinf(cell):
        return r"$\infty$" if cell > 0 else r"$-\infty$"
    mantissa, _, exponent = f"{cell:.4g}".partition("e")
    return rf"${mantissa}\cdot 10^{{{int(exponent)}}}$" if exponent else f"${mantissa}$"


def _format_cell(cell: ExportCell, escape: Callable[[str], str]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return escape(cell)
    return repr(int(cell)) if float(cell).is_integer() and abs(cell) < 1e15 else repr(cell)


def _escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_PREFIXES) else text


def _escape_markdown(text: str) -> str:
    one_line = " ".join(text.split())
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", one_line)


def _escape_latex(text: str) -> str:
    one_line = " ".join(text.split())
    return _LATEX_SPECIAL.sub(
        lambda match: _LATEX_COMMANDS.get(match[0], f"\\{match[0]}"), one_line
    )


_WRITERS: dict[ExportFormat, tuple[Callable[[ExportTable], str], str, str]] = {
    "csv": (_write_csv, "text/csv", "csv"),
    "json": (_write_json, "application/json", "json"),
    "latex": (_write_latex, "application/x-latex", "tex"),
    "markdown": (_write_markdown, "text/markdown", "md"),
}


def format_iso_time(time_s: float) -> str | None:
    """Return a time as ISO 8601 in UTC; None if it is no valid time."""
    if not math.isfinite(time_s):
        return None
    try:
        moment = datetime.datetime.fromtimestamp(time_s, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):  # outside of the years 1 to 9999
        return None
    return moment.isoformat(timespec="seconds")
