"""Labels of points: columns of text, with as many rows as there are vectors."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats.checkpoints.tables import make_column_names
from tracklight.formats.checkpoints.tensor_file import get_file_size
from tracklight.types import Float32, Int32

_MAX_METADATA_BYTES = 1 << 30

_SINGLE_COLUMN = "label"


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
    if get_file_size(file) > _MAX_METADATA_BYTES:
        raise FormatError(
            f"labels of more than {_MAX_METADATA_BYTES >> 20} MiB, the most that is read"
        )
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
    return Metadata(_transpose(rows, names, count), tuple(_list_problems(rows, len(names), count)))


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
        return [_SINGLE_COLUMN]
    return make_column_names(cells if has_names else [""] * len(cells))


def _transpose(rows: list[list[str]], names: list[str], count: int) -> dict[str, list[str]]:
    """Columns of exactly ``count`` cells."""
    width = len(names)
    full = [(row + [""] * width)[:width] if len(row) != width else row for row in rows[:count]]
    full += [[""] * width] * (count - len(full))
    columns = zip(*full, strict=True)
    return {name: list(cells) for name, cells in zip(names, columns, strict=False)}


def _list_problems(rows: list[list[str]], width: int, count: int) -> list[str]:
    problems = []
    if len(rows) != count:
        what = "those at the end have none" if len(rows) < count else "the last are not used"
        problems.append(f"there are {len(rows)} rows of labels for {count} vectors; {what}")
    odd = sum(len(row) != width for row in rows)
    if odd:
        problems.append(f"{odd} rows of labels do not have {width} cells")
    return problems


def parse_numbers(cells: Sequence[str]) -> list[float] | None:
    """A column as numbers, where each cell is one or missing; None for one of text."""
    try:
        numbers = [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        return None
    return numbers if any(cells) else None


# Columns of labels as they are searched, coloured by and sent: each distinct text once.

#: Columns that say which point follows a point, as TensorBoard calls them.
SEQUENCE_COLUMNS = ("__seq_next__", "__next__")

#: More colours than that tell nothing apart.
_MAX_COLORS = 50


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """Values, and which of them each row has; without codes, one for each row."""

    name: str
    values: Sequence[str]
    codes: Int32 | None
    distinct_count: int
    """How many different texts there are, the empty one included."""

    @property
    def row_count(self) -> int:
        return len(self.values) if self.codes is None else len(self.codes)

    def get_text(self, row: int) -> str:
        return self.values[row if self.codes is None else int(self.codes[row])]

    def get_codes(self) -> Int32:
        """A whole number for each row, the same where the text is."""
        return np.arange(self.row_count, dtype=np.int32) if self.codes is None else self.codes

    def get_texts(self) -> Sequence[str]:
        """The text of every row."""
        if self.codes is None:
            return self.values
        return [self.values[code] for code in self.codes.tolist()]

    def expand(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What is true of values, told of rows."""
        spread: NDArray[np.bool_] = mask if self.codes is None else mask[self.codes]
        return spread

    @cached_property
    def numbers(self) -> Float32 | None:
        """A number for each row, NaN where there is none; None for a column of text."""
        numbers = parse_numbers(self.values)
        if numbers is None:
            return None
        # What is too large for float32 is shown at infinity rather than not at all.
        with np.errstate(over="ignore"):
            column = np.array(numbers, np.float32)
        return column if self.codes is None else column[self.codes]

    @cached_property
    def missing_count(self) -> int:
        """How many rows have no text."""
        if self.codes is None or "" not in self.values:
            return self.values.count("")
        return int(self.count_values()[self.values.index("")])

    def count_values(self) -> Int32:
        """How many rows have each value; one where every row has its own."""
        if self.codes is None:
            return np.ones(len(self.values), np.int32)
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int32)


def make_label_column(name: str, cells: Sequence[str]) -> LabelColumn:
    values = dict.fromkeys(cells)
    if len(values) > len(cells) / 2:
        return LabelColumn(name, cells, None, len(values))
    places = {value: place for place, value in enumerate(values)}
    codes = np.fromiter(map(places.__getitem__, cells), np.int32, len(cells))
    return LabelColumn(name, list(values), codes, len(values))


def find_label_column(columns: Sequence[LabelColumn]) -> str | None:
    """What points are best called by: the first column of text, else the first at all."""
    shown = [column for column in columns if column.name not in SEQUENCE_COLUMNS]
    texts = (column.name for column in shown if column.numbers is None)
    return next(texts, shown[0].name if shown else None)


def find_color_column(columns: Sequence[LabelColumn]) -> str | None:
    """What points are best coloured by: a few texts, else numbers."""
    shown = [column for column in columns if column.name not in SEQUENCE_COLUMNS]
    few = [column.name for column in shown if 1 < column.distinct_count <= _MAX_COLORS]
    numbers = [column.name for column in shown if column.numbers is not None]
    return next(iter([*few, *numbers]), None)


def find_sequence_column(columns: Sequence[LabelColumn]) -> str | None:
    return next((column.name for column in columns if column.name in SEQUENCE_COLUMNS), None)


# Names for groups of points: the words in their labels that others have seldom.

_WORD = re.compile(r"[^\W_]{2,}")

_MAX_WORDS = 3

_NAMING_SAMPLE_SIZE = 50_000

#: A word that more than this share of a group has says all that there is to say.
_DOMINANT_SHARE = 0.6

_MIN_LIFT = 1.3


def name_clusters(
    clusters: Int32, columns: Sequence[LabelColumn], central_labels: Sequence[Sequence[str]]
) -> list[list[str]]:
    """A few words for each group; ``central`` are the labels of the points in its middle.

    Those stand in where no two points of a group have a word in common.
    """
    rows = np.flatnonzero(clusters >= 0)
    if len(rows) > _NAMING_SAMPLE_SIZE:
        rows = np.random.default_rng(0).choice(rows, _NAMING_SAMPLE_SIZE, replace=False)
    texts = [column for column in columns if column.numbers is None]
    counts = _count_words(clusters, rows, texts, len(central_labels))
    sizes = np.bincount(clusters[rows], minlength=len(central_labels)).tolist()
    everywhere: Counter[str] = Counter()
    for some in counts:
        everywhere.update(some)
    return [
        _choose_words(some, size, everywhere, len(rows)) or list(labels)[:_MAX_WORDS]
        for some, size, labels in zip(counts, sizes, central_labels, strict=True)
    ]


def _count_words(
    groups: Int32, rows: Iterable[int], columns: Sequence[LabelColumn], count: int
) -> list[Counter[str]]:
    counts: list[Counter[str]] = [Counter() for _ in range(count)]
    for row in rows:
        words: set[str] = set()
        for column in columns:
            words.update(_WORD.findall(column.get_text(int(row))))
        counts[groups[row]].update(words)
    return counts


def _choose_words(
    counts: Counter[str], size: int, everywhere: Counter[str], total: int
) -> list[str]:
    scored = []
    for word, count in counts.items():
        share, usual = count / size, everywhere[word] / total
        if count > 1 and share / usual >= _MIN_LIFT and not word.isdigit():
            scored.append((share * math.log2(share / usual), count, word))
    scored.sort(key=lambda item: (-item[0], item[2]))
    if scored and scored[0][1] >= _DOMINANT_SHARE * size:
        return [scored[0][2]]
    return [word for _, _, word in scored[:_MAX_WORDS]]
