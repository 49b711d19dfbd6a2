"""Columns of labels as they are searched, coloured by and sent: each distinct text once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tracklight.embeddings.metadata import find_numbers
from tracklight.types import Float32, Int32

#: Columns that say which point follows a point, as TensorBoard calls them.
SEQUENCES = ("__seq_next__", "__next__")
#: More colours than that tell nothing apart.
_MOST_COLOURS = 50


@dataclass(frozen=True, eq=False)
class Column:
    """Values, and which of them each row has; without codes, one for each row."""

    name: str
    values: Sequence[str]
    codes: Int32 | None
    distinct: int
    """How many different texts there are, the empty one included."""

    @property
    def rows(self) -> int:
        return len(self.values) if self.codes is None else len(self.codes)

    def get_text(self, row: int) -> str:
        return self.values[row if self.codes is None else int(self.codes[row])]

    def get_codes(self) -> Int32:
        """A whole number for each row, the same where the text is."""
        return np.arange(self.rows, dtype=np.int32) if self.codes is None else self.codes

    def iter_texts(self) -> Sequence[str]:
        """The text of every row."""
        if self.codes is None:
            return self.values
        return [self.values[code] for code in self.codes.tolist()]

    def spread(self, found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What is true of values, told of rows."""
        spread: NDArray[np.bool_] = found if self.codes is None else found[self.codes]
        return spread

    @cached_property
    def numbers(self) -> Float32 | None:
        """A number for each row, NaN where there is none; None for a column of text."""
        numbers = find_numbers(self.values)
        if numbers is None:
            return None
        # What is too large for float32 is shown at infinity rather than not at all.
        with np.errstate(over="ignore"):
            column = np.array(numbers, np.float32)
        return column if self.codes is None else column[self.codes]

    @cached_property
    def missing(self) -> int:
        """How many rows have no text."""
        if self.codes is None or "" not in self.values:
            return self.values.count("")
        return int(self.count_values()[self.values.index("")])

    def count_values(self) -> Int32:
        """How many rows have each value; one where every row has its own."""
        if self.codes is None:
            return np.ones(len(self.values), np.int32)
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int32)


def make_column(name: str, cells: Sequence[str]) -> Column:
    values = dict.fromkeys(cells)
    if len(values) > len(cells) / 2:
        return Column(name, cells, None, len(values))
    places = {value: place for place, value in enumerate(values)}
    codes = np.fromiter(map(places.__getitem__, cells), np.int32, len(cells))
    return Column(name, list(values), codes, len(values))


def find_label(columns: Sequence[Column]) -> str | None:
    """What points are best called by: the first column of text, else the first at all."""
    shown = [column for column in columns if column.name not in SEQUENCES]
    texts = (column.name for column in shown if column.numbers is None)
    return next(texts, shown[0].name if shown else None)


def find_colour(columns: Sequence[Column]) -> str | None:
    """What points are best coloured by: a few texts, else numbers."""
    shown = [column for column in columns if column.name not in SEQUENCES]
    few = [column.name for column in shown if 1 < column.distinct <= _MOST_COLOURS]
    numbers = [column.name for column in shown if column.numbers is not None]
    return next(iter([*few, *numbers]), None)


def find_sequence(columns: Sequence[Column]) -> str | None:
    return next((column.name for column in columns if column.name in SEQUENCES), None)
