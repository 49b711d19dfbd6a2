"""A sheet as a file: CSV, JSON, LaTeX or Markdown."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable

import msgspec

from tracklight.dashboards.hparams.asks import Format
from tracklight.dashboards.hparams.sheet import Cell, Sheet
from tracklight.formats.json_number import json_number
from tracklight.plugin import Blob

_LATEX_SPECIAL = re.compile(r"[\\{}$&#%_^~]")
_LATEX_WORDS = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
#: A program that opens tables would run a cell that begins like a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def make_file(sheet: Sheet, kind: Format) -> Blob:
    write, media_type, ending = _FORMATS[kind]
    return Blob(write(sheet).encode(), f"{media_type}; charset=utf-8", f"hparams.{ending}")


def _write_csv(sheet: Sheet) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_defuse, sheet.headings))
    writer.writerows([_as_text(cell, _defuse) for cell in row] for row in sheet.rows)
    return file.getvalue()


def _write_json(sheet: Sheet) -> str:
    rows = [
        [json_number(cell) if isinstance(cell, float) else cell for cell in row]
        for row in sheet.rows
    ]
    return msgspec.json.encode({"header": sheet.headings, "rows": rows}).decode()


def _write_markdown(sheet: Sheet) -> str:
    lines = [map(_escape_markdown, sheet.headings), ["---"] * len(sheet.headings)]
    lines += [[_as_text(cell, _escape_markdown) for cell in row] for row in sheet.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _write_latex(sheet: Sheet) -> str:
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


def _write_latex_cell(cell: Cell) -> str:
    if not isinstance(cell, float):
        return "-" if cell is None else _as_text(cell, _escape_latex)
    if math.isnan(cell):
        return r"$\mathrm{NaN}$"
    if math.isinf(cell):
        return r"$\infty$" if cell > 0 else r"$-\infty$"
    digits, _, exponent = f"{cell:.4g}".partition("e")
    return rf"${digits}\cdot 10^{{{int(exponent)}}}$" if exponent else f"${digits}$"


def _as_text(cell: Cell, escape: Callable[[str], str]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return escape(cell)
    return repr(int(cell)) if float(cell).is_integer() and abs(cell) < 1e15 else repr(cell)


def _defuse(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _escape_markdown(text: str) -> str:
    one_line = " ".join(text.split())
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", one_line)


def _escape_latex(text: str) -> str:
    one_line = " ".join(text.split())
    return _LATEX_SPECIAL.sub(lambda it: _LATEX_WORDS.get(it[0], f"\\{it[0]}"), one_line)


_FORMATS: dict[Format, tuple[Callable[[Sheet], str], str, str]] = {
    "csv": (_write_csv, "text/csv", "csv"),
    "json": (_write_json, "application/json", "json"),
    "latex": (_write_latex, "application/x-latex", "tex"),
    "markdown": (_write_markdown, "text/markdown", "md"),
}
