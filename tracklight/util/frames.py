"""Tables: `Frame`, columns that convert to pandas, Polars and Arrow, and small tables as files.

Every table of the public API is a `Frame`. Wall times are seconds as NumPy arrays and become
timezone-aware datetimes (UTC) in the other libraries. `write_table` formats the tables that the
page exports for reports and spreadsheets, as CSV, JSON, LaTeX or Markdown.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import import_optional, list_similar_names
from tracklight.types import Float64, Int32, get_preview_indexes, to_datetimes
from tracklight.util import html
from tracklight.util.files import to_json_number

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars
    import pyarrow  # type: ignore[import-untyped]

_MAX_HTML_COLUMNS = 20


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A column with few distinct strings: the categories, and the code of every row."""

    categories: list[str]
    codes: Int32

    @classmethod
    def repeat(cls, names: Sequence[str], lengths: Sequence[int]) -> CategoryColumn:
        """Repeat each name as often as its length says."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        codes = np.array([numbers[name] for name in names], np.int32)
        return cls(list(numbers), np.repeat(codes, lengths))

    def to_unicode(self) -> list[str]:
        """Return the categories as valid Unicode; directory names may hold any bytes."""
        return [
            name.encode("utf-8", "backslashreplace").decode("utf-8") for name in self.categories
        ]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """A column of wall times in seconds; missing values are NaN."""

    seconds: Float64

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True, eq=False)
class ObjectColumn:
    """A column of Python values; missing values are None."""

    values: list[Any]
    type: Literal["bool", "string", "mixed"]

    def __len__(self) -> int:
        return len(self.values)

    def to_text(self) -> list[str | None]:
        """Convert a mixed column to strings, for libraries that need one type per column."""
        return [None if value is None else str(value) for value in self.values]


Column = CategoryColumn | TimeColumn | ObjectColumn | NDArray[Any]


class Frame:
    """Columns of one length, by name."""

    #: Name of a row in ``repr``.
    _noun = "row"

    def __init__(self, columns: Mapping[str, Column], index: Sequence[str] = ()) -> None:
        self._columns = dict(columns)
        self._index = tuple(index)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return one column as an array; names as strings and wall times in seconds.

        Raises:
            KeyError: There is no such column; the message names the most similar one.
        """
        try:
            return _to_array(self._columns[column])
        except KeyError:
            nearest = list_similar_names(str(column), self._columns)
            hint = f'; did you mean "{nearest[0]}"?' if nearest else ""
            raise KeyError(f'no column "{column}"{hint}') from None

    def __repr__(self) -> str:
        columns = [*self.columns[:10], *(["…"] if len(self.columns) > 10 else [])]
        name = type(self).__name__
        count = html.format_count(len(self), self._noun)
        return f"<{name} of {count}: {', '.join(columns)}>"

    def _repr_html_(self) -> str:
        names = self.columns[:_MAX_HTML_COLUMNS]
        hidden = len(self.columns) - len(names)
        shown = get_preview_indexes(len(self))
        rows = [
            ["…"] * len(names)
            if at is None
            else [_get_cell(self._columns[name], at) for name in names]
            for at in shown
        ]
        return html.render_block(
            f"{type(self).__name__}: {html.format_count(len(self), self._noun)}",
            html.render_table(names, rows),
            html.render_note(html.format_count(hidden, "more column")) if hidden else "",
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Convert to a pandas data frame.

        Returns:
            A frame in which names are categories and wall times are datetimes in UTC.

        Raises:
            MissingDependencyError: pandas is not installed.

        Example:
            >>> frame = log.scalars(tag="loss").to_pandas()
            >>> frame.groupby("run", observed=True)["value"].min()
        """
        pd = import_optional("pandas", "a pandas table", "pandas")
        columns = {name: _to_pandas(pd, column) for name, column in self._columns.items()}
        frame = pd.DataFrame(columns, copy=False)
        return frame.set_index(list(self._index)) if self._index else frame

    def to_polars(self) -> polars.DataFrame:
        """Convert to a Polars data frame.

        Returns:
            A frame in which names are enums and wall times are datetimes in UTC.

        Raises:
            MissingDependencyError: Polars is not installed.

        Example:
            >>> log.scalars(tag="loss").to_polars().group_by("run").agg(pl.col("value").min())
        """
        pl = import_optional("polars", "a Polars table", "polars")
        frame: polars.DataFrame = pl.DataFrame(
            {name: _to_polars(pl, column) for name, column in self._columns.items()}
        )
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Convert to an Arrow table.

        Returns:
            A table in which names are dictionary-encoded and wall times are timestamps in UTC.

        Raises:
            MissingDependencyError: pyarrow is not installed.

        Example:
            >>> pyarrow.parquet.write_table(log.scalars().to_arrow(), "scalars.parquet")
        """
        pa = import_optional("pyarrow", "an Arrow table", "arrow")
        return pa.table({name: _to_arrow(pa, column) for name, column in self._columns.items()})


def _to_array(column: Column) -> NDArray[Any]:
    if isinstance(column, CategoryColumn):
        return np.array(column.categories, object)[column.codes]
    if isinstance(column, TimeColumn):
        return column.seconds
    if isinstance(column, ObjectColumn):
        array = np.empty(len(column), object)
        array[:] = column.values
        return array
    return column


def _get_cell(column: Column, row: int) -> object:
    if isinstance(column, CategoryColumn):
        return column.categories[column.codes[row]]
    if isinstance(column, TimeColumn):
        return html.format_time(float(column.seconds[row]))
    if isinstance(column, ObjectColumn):
        return column.values[row]
    return column[row].item()


def _to_pandas(pd: Any, column: Column) -> Any:
    if isinstance(column, CategoryColumn):
        return pd.Categorical.from_codes(column.codes, column.categories)
    if isinstance(column, TimeColumn):
        return pd.Series(to_datetimes(column.seconds)).dt.tz_localize("UTC").array
    if isinstance(column, ObjectColumn):
        if column.type == "bool":
            return pd.array(column.values, dtype="boolean")
        return pd.Series(column.values, dtype=object).array
    return column


def _to_polars(pl: Any, column: Column) -> Any:
    if isinstance(column, CategoryColumn):
        names = column.to_unicode()
        return pl.Series(names, dtype=pl.Enum(names)).gather(column.codes)
    if isinstance(column, TimeColumn):
        return pl.Series(to_datetimes(column.seconds)).dt.replace_time_zone("UTC")
    if isinstance(column, ObjectColumn):
        if column.type == "bool":
            return pl.Series(column.values, dtype=pl.Boolean)
        return pl.Series(column.to_text(), dtype=pl.String)
    return column


def _to_arrow(pa: Any, column: Column) -> Any:
    if isinstance(column, CategoryColumn):
        return pa.DictionaryArray.from_arrays(
            column.codes, pa.array(column.to_unicode(), pa.string())
        )
    if isinstance(column, TimeColumn):
        return pa.array(to_datetimes(column.seconds)).cast(pa.timestamp("us", tz="UTC"))
    if isinstance(column, ObjectColumn):
        if column.type == "bool":
            return pa.array(column.values, pa.bool_())
        return pa.array(column.to_text(), pa.string())
    return column


# ---- tables as files

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


class FormattedTable(NamedTuple):
    """A table, written in one of the formats."""

    content: bytes
    media_type: str
    filename: str


def write_table(table: ExportTable, file_format: ExportFormat, name: str) -> FormattedTable:
    """Return the table as a file with this name and the extension of the format."""
    write, media_type, extension = _WRITERS[file_format]
    content = write(table).encode()
    return FormattedTable(content, f"{media_type}; charset=utf-8", f"{name}.{extension}")


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
