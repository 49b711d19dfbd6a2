"""Labels of points: columns of text, with as many rows as there are vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from tracklight.errors import FormatError
from tracklight.tensorfiles.place import measure
from tracklight.tensorfiles.rows import name_columns

_MAX_BYTES = 1 << 30
_ONLY = "label"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Columns by their names, a missing cell empty, and sentences on what does not fit."""

    columns: dict[str, list[str]]
    problems: tuple[str, ...] = ()


def read_metadata(file: BinaryIO, count: int) -> Metadata:
    """The labels of ``count`` points, as a text of cells between tabs.

    A first line with a tab is one of names. Where the number of lines says otherwise, they are
    believed: one column may have a name above it, and several may have none.
    """
    if measure(file) > _MAX_BYTES:
        raise FormatError(f"labels of more than {_MAX_BYTES >> 20} MiB, the most that is read")
    file.seek(0)
    data = file.read().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    even = _split_evenly(data)
    if even is not None and len(even[0]) in (count, count + 1):
        has_names = len(even[0]) == count + 1
        names = _name_columns([column[0] for column in even], has_names)
        columns = (column[1:] if has_names else column for column in even)
        return Metadata(dict(zip(names, columns, strict=True)))
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    rows = [line.split("\t") for line in text.split("\n") if line.strip()]
    if not rows:
        return Metadata({}, ("the file of labels has nothing in it",))
    has_names = len(rows) == count + 1 or (len(rows[0]) > 1 and len(rows) != count)
    names = _name_columns(rows[0], has_names)
    rows = rows[1:] if has_names else rows
    return Metadata(_turn(rows, names, count), tuple(_iter_problems(rows, len(names), count)))


def _split_evenly(data: bytes) -> list[list[str]] | None:
    """The columns of a text in which every line has as many cells, none is blank; else None.

    A million lines are split at once, ten times as fast as one after the other.
    """
    data = data.removesuffix(b"\n")
    if b"\r" in data:
        return None
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    tabs = np.flatnonzero(letters == ord("\t"))
    per_line = np.diff(np.searchsorted(tabs, ends), prepend=0, append=len(tabs))
    starts = np.concatenate([[0], ends + 1])
    is_even = starts[-1] < len(letters) and (per_line == per_line[0]).all()
    if not is_even or not np.logical_or.reduceat(letters > ord(" "), starts).all():
        return None
    width = int(per_line[0]) + 1
    cells = data.replace(b"\n", b"\t").decode("utf-8", "replace").split("\t")
    return [cells[place::width] for place in range(width)]


def _name_columns(cells: Sequence[str], has_names: bool) -> list[str]:
    if len(cells) == 1 and not has_names:
        return [_ONLY]
    return name_columns(cells if has_names else [""] * len(cells))


def _turn(rows: list[list[str]], names: list[str], count: int) -> dict[str, list[str]]:
    """Columns of exactly ``count`` cells."""
    width = len(names)
    full = [(row + [""] * width)[:width] if len(row) != width else row for row in rows[:count]]
    full += [[""] * width] * (count - len(full))
    columns = zip(*full, strict=True)
    return {name: list(cells) for name, cells in zip(names, columns, strict=False)}


def _iter_problems(rows: list[list[str]], width: int, count: int) -> list[str]:
    problems = []
    if len(rows) != count:
        what = "those at the end have none" if len(rows) < count else "the last are not used"
        problems.append(f"there are {len(rows)} rows of labels for {count} vectors; {what}")
    odd = sum(len(row) != width for row in rows)
    if odd:
        problems.append(f"{odd} rows of labels do not have {width} cells")
    return problems


def find_numbers(cells: Sequence[str]) -> list[float] | None:
    """A column as numbers, where each cell is one or missing; None for one of text."""
    try:
        numbers = [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        return None
    return numbers if any(cells) else None
