"""What is said of an opened embedding, of its columns and of one point."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.projector.answers import (
    About,
    Cell,
    ColumnAnswer,
    ColumnRow,
    PointAnswer,
    ValueRow,
)
from tracklight.dashboards.projector.library import Found
from tracklight.dashboards.projector.opened import Opened
from tracklight.dashboards.projector.sprites import lay_tiles
from tracklight.embeddings.columns import Column, find_colour, find_label, find_sequence
from tracklight.errors import UsageError

_MOST_VALUES = 200
#: Vectors of that many numbers and more are mostly those of words or of layers, whose lengths say
#: little.
_MANY_DIMENSIONS = 50


def tell_about(found: Found, opened: Opened) -> About:
    rows, dimensions = opened.vectors.values.shape
    usable = opened.vectors.usable
    return About(
        id=found.id,
        index=found.index,
        step=found.step,
        mark=found.mark,
        rows=rows,
        dimensions=dimensions,
        revision=opened.revision,
        problems=list(opened.problems),
        usable=None if usable.all() else usable,
        columns=[_tell_column(column) for column in opened.columns],
        label=find_label(opened.columns),
        colour=find_colour(opened.columns),
        sequence=find_sequence(opened.columns),
        sprite=lay_tiles(opened.sprite, rows) if opened.sprite else None,
        spherize=dimensions >= _MANY_DIMENSIONS,
    )


def _tell_column(column: Column) -> ColumnRow:
    numbers = column.numbers
    finite = numbers[np.isfinite(numbers)] if numbers is not None else np.empty(0)
    return ColumnRow(
        name=column.name,
        kind="text" if numbers is None else "number",
        distinct=column.distinct - (column.missing > 0),
        missing=column.missing,
        min=float(finite.min()) if len(finite) else None,
        max=float(finite.max()) if len(finite) else None,
        values=[] if column.codes is None else _list_values(column),
    )


def _list_values(column: Column) -> list[ValueRow]:
    """The most frequent first; of equally frequent ones the one that came first."""
    counts = column.count_values()
    order = np.argsort(-counts, kind="stable")[:_MOST_VALUES]
    return [ValueRow(column.values[place], int(counts[place])) for place in order]


def tell_column(column: Column) -> ColumnAnswer:
    """A column as it is sent: all values as one text."""
    encoded = [value.encode() for value in column.values]
    ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    if len(ends) and ends[-1] > np.iinfo(np.int32).max:
        raise UsageError(f'the labels "{column.name}" are too long to be shown')
    numbers = column.numbers
    return ColumnAnswer(
        name=column.name,
        kind="text" if numbers is None else "number",
        numbers=numbers,
        codes=column.codes,
        text=np.frombuffer(b"".join(encoded), np.uint8),
        ends=ends.astype(np.int32),
    )


def tell_point(opened: Opened, row: int) -> PointAnswer:
    if row >= opened.rows:
        raise UsageError(f"there is no point {row} among {opened.rows}")
    vector = opened.vectors.values[row]
    cells = [Cell(column.name, column.get_text(row)) for column in opened.columns]
    length = float(np.sqrt(np.vdot(vector, vector)))
    return PointAnswer(row, cells, vector, length)
