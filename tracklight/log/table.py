"""Points of many series as one long table, for the libraries that work on tables."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import MissingExtra
from tracklight.types import Int32, Series

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars
    import pyarrow  # type: ignore[import-untyped]


class Table:
    """Columns of one length: ``run``, ``tag``, ``step``, ``wall_time`` and ``value``.

    With overwritten points among them there is a sixth, ``overwritten``. Names are held once, and
    a number for each row says which is meant.
    """

    def __init__(self, series: Sequence[Series], *, overwritten: bool = False) -> None:
        lengths = [len(one) for one in series]
        self._names = {
            "run": _Names([one.run for one in series], lengths),
            "tag": _Names([one.tag for one in series], lengths),
        }
        self._numbers: dict[str, NDArray[Any]] = {
            "step": _join([one.step for one in series], np.int64),
            "wall_time": _join([one.wall_time for one in series], np.float64),
            "value": _join_values([one.value for one in series]),
        }
        if overwritten:
            self._numbers["overwritten"] = _join([one.overwritten for one in series], np.bool_)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self._names, *self._numbers)

    def __len__(self) -> int:
        return len(self._numbers["step"])

    def __getitem__(self, column: str) -> NDArray[Any]:
        """One column as an array; ``run`` and ``tag`` as strings."""
        if column in self._names:
            return self._names[column].expand()
        return self._numbers[column]

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} points: {', '.join(self.columns)}>"

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame in which run and tag are categories."""
        pd = _import("pandas", "a pandas table", "pandas")
        names = {
            column: pd.Categorical.from_codes(it.codes, it.names)
            for column, it in self._names.items()
        }
        return pd.DataFrame({**names, **self._numbers}, copy=False)

    def to_polars(self) -> polars.DataFrame:
        """A data frame in which run and tag are enums."""
        pl = _import("polars", "a Polars table", "polars")
        names = {
            column: pl.Series(it.names, dtype=pl.Enum(it.names)).gather(it.codes)
            for column, it in self._names.items()
        }
        frame: polars.DataFrame = pl.DataFrame({**names, **self._numbers})
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table in which run and tag are dictionary-encoded."""
        pa = _import("pyarrow", "an Arrow table", "arrow")
        names = {
            column: pa.DictionaryArray.from_arrays(it.codes, pa.array(it.names, pa.string()))
            for column, it in self._names.items()
        }
        return pa.table({**names, **self._numbers})


class _Names:
    """A column that repeats few names: each once, and which of them every row has."""

    def __init__(self, names: Sequence[str], lengths: Sequence[int]) -> None:
        number: Mapping[str, int] = {name: at for at, name in enumerate(dict.fromkeys(names))}
        self.names = list(number)
        self.codes: Int32 = np.repeat(np.array([number[n] for n in names], np.int32), lengths)

    def expand(self) -> NDArray[np.object_]:
        return np.array(self.names, object)[self.codes]


def _join(columns: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(columns) if columns else np.empty(0, kind)


def _join_values(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Integers stay what they are as long as no other kind of number is beside them."""
    columns = [column for column in columns if len(column)]
    kind = np.float64 if len({column.dtype for column in columns}) != 1 else columns[0].dtype.type
    return _join([column.astype(kind, copy=False) for column in columns], kind)


def _import(module: str, what: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(what, extra) from error
