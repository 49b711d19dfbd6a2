"""`Frame`: columns of one length that convert to pandas, Polars and Arrow.

Every table of the public API is a `Frame`. Wall times are seconds as NumPy arrays and become
timezone-aware datetimes (UTC) in the other libraries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import import_optional, list_similar_names
from tracklight.types import Float64, Int32, get_preview_indexes, to_datetimes
from tracklight.util import html

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
