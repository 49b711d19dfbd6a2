"""`Table` and `WideTable`: the tables of scalars that `Log.scalars` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.types import Int64, Series
from tracklight.util.frames import CategoryColumn, Column, Frame, TimeColumn


def check_one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise UsageError if the value of an argument is not allowed."""
    if value not in allowed:
        options = ", ".join(f'"{option}"' for option in allowed)
        raise UsageError(f'{name}="{value}" is not one of {options}')


WideColumns = Literal["tag", "run", "run/tag"]


class Table(Frame):
    """Points of many series, one row per point.

    The columns are ``run``, ``tag``, ``step``, ``wall_time`` and ``value``, and ``overwritten`` if
    overwritten points are included.

    Example:
        >>> table = log.scalars(run="resnet/*", tag="loss")
        >>> table.columns
        ('run', 'tag', 'step', 'wall_time', 'value')
        >>> table["value"].min(), len(table)
        (0.031, 2000)
    """

    _noun = "point"

    def __init__(self, series: Sequence[Series], *, overwritten: bool = False) -> None:
        lengths = [len(one) for one in series]
        columns: dict[str, Column] = {
            "run": CategoryColumn.repeat([one.run for one in series], lengths),
            "tag": CategoryColumn.repeat([one.tag for one in series], lengths),
            "step": _join([one.step for one in series], np.int64),
            "wall_time": TimeColumn(_join([one.wall_time for one in series], np.float64)),
            "value": _join_values([one.value for one in series]),
        }
        if overwritten:
            columns["overwritten"] = _join([one.overwritten for one in series], np.bool_)
        super().__init__(columns)
        self._series = tuple(series)

    def to_wide(self, columns: WideColumns = "tag") -> WideTable:
        """Pivot to one row per step, with a column per tag, per run, or per run and tag.

        Overwritten points are left out. Steps at which a series has no value are NaN. If several
        writers logged the same step of one series, the value written last is used.

        Args:
            columns: ``"tag"`` gives a row per run and step with one column per tag;
                ``"run/tag"`` gives a row per step with one column per series, named
                ``<run>/<tag>``; ``"run"`` does so for a single tag, with the bare run names.

        Returns:
            A table that converts to pandas, Polars and Arrow like this one.

        Raises:
            UsageError: ``columns="run"`` was given for a table of several tags.

        Example:
            >>> log.scalars(run="resnet/train").to_wide().to_pandas()[["loss", "accuracy"]].plot()
        """
        check_one_of("columns", columns, ("tag", "run", "run/tag"))
        series = [one.without_overwritten() for one in self._series]
        tags = list(dict.fromkeys(one.tag for one in series))
        if columns == "run" and len(tags) > 1:
            raise UsageError(
                f'columns="run" needs a table of one tag, and this one has {len(tags):,}; '
                'use columns="run/tag"'
            )
        labels = {
            "tag": [one.tag for one in series],
            "run": [one.run for one in series],
            "run/tag": _name_series(series),
        }[columns]
        return _pivot(series, labels, by_run=columns == "tag")


class WideTable(Frame):
    """Scalars with one row per step, or per run and step, and one column per series or tag.

    In pandas the columns ``run`` and ``step`` are the index, so that ``plot()`` works directly.
    """


def _pivot(series: Sequence[Series], labels: Sequence[str], *, by_run: bool) -> WideTable:
    lengths = [len(one) for one in series]
    all_steps = _join([one.step for one in series], np.int64)
    steps, step_codes = np.unique(all_steps, return_inverse=True)
    runs = CategoryColumn.repeat([one.run for one in series], lengths)
    keys = step_codes.reshape(-1)
    if by_run:
        keys = runs.codes.astype(np.int64) * max(len(steps), 1) + keys
    rows, row_of = np.unique(keys, return_inverse=True)
    row_of = row_of.reshape(-1)
    index: dict[str, Column] = {}
    if by_run:
        index["run"] = CategoryColumn(
            runs.categories, (rows // max(len(steps), 1)).astype(np.int32)
        )
        rows = rows % max(len(steps), 1)
    index["step"] = steps[rows] if len(rows) else np.empty(0, np.int64)
    cells = _fill(series, labels, row_of, len(rows))
    named = {f"{name} (tag)" if name in index else name: cell for name, cell in cells.items()}
    return WideTable({**index, **named}, index=tuple(index))


def _fill(
    series: Sequence[Series], labels: Sequence[str], row_of: Int64, rows: int
) -> dict[str, NDArray[Any]]:
    """Return one column per label; integers stay integers where no row is missing."""
    parts_by_label: dict[str, list[tuple[Int64, NDArray[Any]]]] = {}
    bounds = pairwise(accumulate((len(one) for one in series), initial=0))
    for label, one, (start, stop) in zip(labels, series, bounds, strict=True):
        parts_by_label.setdefault(label, []).append((row_of[start:stop], one.value))
    cells: dict[str, NDArray[Any]] = {}
    for label, parts in parts_by_label.items():
        values = _join_values([value for _, value in parts])
        where = np.concatenate([rows_of for rows_of, _ in parts])
        is_full = len(np.unique(where)) == rows
        cell = np.zeros(rows, values.dtype) if is_full else np.full(rows, np.nan)
        cell[where] = values
        cells[label] = cell
    return cells


def _name_series(series: Sequence[Series]) -> list[str]:
    """Return ``run/tag``, or ``run: tag`` where that is ambiguous: ``a/b/c`` has two readings."""
    names = [f"{one.run}/{one.tag}" for one in series]
    counts = Counter(names)
    pairs = zip(series, names, strict=True)
    return [name if counts[name] == 1 else f"{one.run}: {one.tag}" for one, name in pairs]


def _join(columns: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(columns) if columns else np.empty(0, kind)


def _join_values(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join columns of values; they become float64 unless all have the same type."""
    columns = [column for column in columns if len(column)]
    kind = np.float64 if len({column.dtype for column in columns}) != 1 else columns[0].dtype.type
    return _join([column.astype(kind, copy=False) for column in columns], kind)
