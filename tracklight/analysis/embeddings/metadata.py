"""Labels of points (TensorBoard's "metadata"): parsing, columns, search, and names for clusters.

A search of the labels of a million points takes some hundredths of a second.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.time_limits import match_lines
from tracklight.errors import FormatError, Message
from tracklight.formats.checkpoints import make_column_names
from tracklight.formats.checkpoints.tensor_file import get_file_size
from tracklight.types import Bool, Float32, Int32, Int64
from tracklight.util.memory import LruCache

_MAX_METADATA_BYTES = 1 << 30

#: Name of the column of a file that has only one, without a header.
_SINGLE_COLUMN = "label"

#: Columns that hold the row of the next point in a sequence, as TensorBoard names them.
SEQUENCE_COLUMNS = ("__seq_next__", "__next__")

#: Columns with more values are not suggested for coloring.
_MAX_COLORS = 50

_WORD = re.compile(r"[^\W_]{2,}")
_MAX_WORDS = 3
_NAMING_SAMPLE_SIZE = 50_000
#: A word that is in at least this share of a cluster is its whole name.
_DOMINANT_SHARE = 0.6
#: Words must be this much more frequent in a cluster than in all.
_MIN_LIFT = 1.3
#: The probability that any word of a cluster is a part of its name by chance.
_MAX_FALSE_PROBABILITY = 0.05


@dataclass(frozen=True, slots=True)
class Metadata:
    """Columns by name, with empty strings for missing cells, and messages about what is wrong."""

    columns: dict[str, list[str]]
    problems: tuple[Message, ...] = ()


def read_metadata(file: BinaryIO, count: int) -> Metadata:
    """Read the labels of ``count`` points from tab-separated values.

    By convention, a file with several columns has a header and a file with one column has none.
    The number of lines decides where it says otherwise.

    Raises:
        FormatError: The file is too large.
    """
    if get_file_size(file) > _MAX_METADATA_BYTES:
        raise FormatError(
            "embeddings.labels_too_large",
            "label files over {limit_mib} MiB are not read",
            limit_mib=_MAX_METADATA_BYTES >> 20,
        )
    file.seek(0)
    data = file.read().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    regular = _split_regular(data)
    if regular is not None and len(regular[0]) in (count, count + 1):
        has_header = len(regular[0]) == count + 1
        names = _name_columns([column[0] for column in regular], has_header)
        columns = (column[1:] if has_header else column for column in regular)
        return Metadata(dict(zip(names, columns, strict=True)))
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    rows = [line.split("\t") for line in text.split("\n") if line.strip()]
    if not rows:
        return Metadata({}, (Message("embeddings.labels_empty", "the label file is empty"),))
    has_header = len(rows) == count + 1 or (len(rows[0]) > 1 and len(rows) != count)
    names = _name_columns(rows[0], has_header)
    rows = rows[1:] if has_header else rows
    return Metadata(_transpose(rows, names, count), tuple(_list_problems(rows, len(names), count)))


def _split_regular(data: bytes) -> list[list[str]] | None:
    """Return the columns if all lines have the same number of cells and none is blank.

    Splitting a million lines at once is ten times as fast as line by line.
    """
    data = data.removesuffix(b"\n")
    if b"\r" in data:
        return None
    characters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    tabs = np.flatnonzero(characters == ord("\t"))
    tabs_per_line = np.diff(np.searchsorted(tabs, ends), prepend=0, append=len(tabs))
    starts = np.concatenate([[0], ends + 1])
    is_regular = starts[-1] < len(characters) and (tabs_per_line == tabs_per_line[0]).all()
    if not is_regular or not np.logical_or.reduceat(characters > ord(" "), starts).all():
        return None
    width = int(tabs_per_line[0]) + 1
    cells = data.replace(b"\n", b"\t").decode("utf-8", "replace").split("\t")
    return [cells[column::width] for column in range(width)]


def _name_columns(cells: Sequence[str], has_header: bool) -> list[str]:
    if len(cells) == 1 and not has_header:
        return [_SINGLE_COLUMN]
    return make_column_names(cells if has_header else [""] * len(cells))


def _transpose(rows: list[list[str]], names: list[str], count: int) -> dict[str, list[str]]:
    """Return columns of exactly ``count`` cells; missing ones are empty."""
    width = len(names)
    padded = [(row + [""] * width)[:width] if len(row) != width else row for row in rows[:count]]
    padded += [[""] * width] * (count - len(padded))
    columns = zip(*padded, strict=True)
    return {name: list(cells) for name, cells in zip(names, columns, strict=False)}


def _list_problems(rows: list[list[str]], width: int, count: int) -> list[Message]:
    problems = []
    if len(rows) < count:
        problems.append(
            Message.format(
                "embeddings.too_few_labels",
                "there are {rows} rows of labels for {count} vectors; the last vectors have none",
                rows=len(rows),
                count=count,
            )
        )
    elif len(rows) > count:
        problems.append(
            Message.format(
                "embeddings.too_many_labels",
                "there are {rows} rows of labels for {count} vectors; the last rows are ignored",
                rows=len(rows),
                count=count,
            )
        )
    irregular = sum(len(row) != width for row in rows)
    if irregular:
        problems.append(
            Message.format(
                "embeddings.irregular_labels",
                "{rows} rows of labels do not have {width} cells",
                rows=irregular,
                width=width,
            )
        )
    return problems


def parse_numbers(cells: Sequence[str]) -> list[float] | None:
    """Return a column as numbers, NaN for empty cells; None if a cell is not a number."""
    try:
        numbers = [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        return None
    return numbers if any(cells) else None


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """A column of labels, dictionary-encoded if values repeat.

    Row ``i`` has the text ``values[codes[i]]``; without codes, ``values[i]``.
    """

    name: str
    values: Sequence[str]
    codes: Int32 | None
    distinct_count: int
    """Number of different texts, including the empty one."""

    @property
    def row_count(self) -> int:
        return len(self.values) if self.codes is None else len(self.codes)

    def get_text(self, row: int) -> str:
        return self.values[row if self.codes is None else int(self.codes[row])]

    def get_codes(self) -> Int32:
        """Return an integer for each row, equal where the texts are equal."""
        return np.arange(self.row_count, dtype=np.int32) if self.codes is None else self.codes

    def get_texts(self) -> Sequence[str]:
        """Return the text of every row."""
        if self.codes is None:
            return self.values
        return [self.values[code] for code in self.codes.tolist()]

    def expand(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Expand a mask of `values` to a mask of rows."""
        expanded: NDArray[np.bool_] = mask if self.codes is None else mask[self.codes]
        return expanded

    @cached_property
    def numbers(self) -> Float32 | None:
        """The number of each row, NaN if it has none; None for a column of texts."""
        numbers = parse_numbers(self.values)
        if numbers is None:
            return None
        # Numbers beyond float32 become infinite.
        with np.errstate(over="ignore"):
            column = np.array(numbers, np.float32)
        return column if self.codes is None else column[self.codes]

    def match_range(self, low: float, high: float) -> NDArray[np.bool_]:
        """Return which rows have a number in a range, both ends included."""
        if self.numbers is None:
            return np.zeros(self.row_count, np.bool_)
        # The page compares the same float32 numbers with the ends as they are.
        is_inside: NDArray[np.bool_] = self.numbers >= np.float64(low)
        is_inside &= self.numbers <= np.float64(high)
        return is_inside

    def match_values(self, texts: Collection[str]) -> NDArray[np.bool_]:
        """Return which rows have one of some texts."""
        known = frozenset(texts)
        return self.expand(
            np.fromiter((value in known for value in self.values), np.bool_, len(self.values))
        )

    @cached_property
    def _order(self) -> tuple[Int32, int]:
        """All rows in ascending order, those without a value last, and how many have one."""
        if self.numbers is not None:
            order = np.argsort(self.numbers, kind="stable").astype(np.int32)
            return order, int(np.count_nonzero(~np.isnan(self.numbers)))
        by_text = sorted(range(len(self.values)), key=self.values.__getitem__)
        # The empty text is the lowest; a column without codes may have it several times.
        empty = sum(1 for _ in takewhile(lambda value: not self.values[value], by_text))
        by_text = by_text[empty:] + by_text[:empty]
        if self.codes is None:
            return np.array(by_text, np.int32), len(by_text) - empty
        rank = np.empty(len(by_text), np.int32)
        rank[by_text] = np.arange(len(by_text), dtype=np.int32)
        ranks = rank[self.codes]
        known = int(np.count_nonzero(ranks < len(by_text) - empty))
        return np.argsort(ranks, kind="stable").astype(np.int32), known

    def sort_rows(self, descending: bool) -> Int32:
        """Return all rows by their numbers or texts; those without a value are last."""
        order, known = self._order
        return np.concatenate([order[:known][::-1], order[known:]]) if descending else order

    @cached_property
    def missing_count(self) -> int:
        """Number of rows without a text."""
        if self.codes is None or "" not in self.values:
            return self.values.count("")
        return int(self.count_values()[self.values.index("")])

    def count_values(self) -> Int32:
        """Return the number of rows of each value."""
        if self.codes is None:
            return np.ones(len(self.values), np.int32)
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int32)


def make_label_column(name: str, cells: Sequence[str]) -> LabelColumn:
    """Return a column; it is dictionary-encoded if at most half of the texts are distinct."""
    values = dict.fromkeys(cells)
    if len(values) > len(cells) / 2:
        return LabelColumn(name, cells, None, len(values))
    code_of = {value: code for code, value in enumerate(values)}
    codes = np.fromiter(map(code_of.__getitem__, cells), np.int32, len(cells))
    return LabelColumn(name, list(values), codes, len(values))


def find_label_column(columns: Sequence[LabelColumn]) -> str | None:
    """Return the column to name points by: the first column of texts, else the first of all."""
    shown = [column for column in columns if column.name not in SEQUENCE_COLUMNS]
    texts = (column.name for column in shown if column.numbers is None)
    return next(texts, shown[0].name if shown else None)


def find_color_column(columns: Sequence[LabelColumn]) -> str | None:
    """Return the column to color points by: one with few values, else one of numbers."""
    shown = [column for column in columns if column.name not in SEQUENCE_COLUMNS]
    few = [
        column.name
        for column in shown
        # A column without codes is a name of each point.
        if column.codes is not None and 1 < column.distinct_count <= _MAX_COLORS
    ]
    numbers = [column.name for column in shown if column.numbers is not None]
    return next(iter([*few, *numbers]), None)


def find_sequence_column(columns: Sequence[LabelColumn]) -> str | None:
    return next((column.name for column in columns if column.name in SEQUENCE_COLUMNS), None)


def name_clusters(
    clusters: Int32, columns: Sequence[LabelColumn], central_labels: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Return a few words for each cluster that are frequent in its labels and rare elsewhere.

    A cluster without such words has no name: words are in most of its labels, or significantly
    more frequent than in all.

    Args:
        clusters: The cluster of each row, -1 for none.
        columns: The labels.
        central_labels: For each cluster, the labels of its most central points. They are used if
            no two points of a cluster share a word.
    """
    rows = np.flatnonzero(clusters >= 0)
    if len(rows) > _NAMING_SAMPLE_SIZE:
        rows = np.random.default_rng(0).choice(rows, _NAMING_SAMPLE_SIZE, replace=False)
    texts = [column for column in columns if column.numbers is None]
    counts = _count_words(clusters, rows, texts, len(central_labels))
    sizes = np.bincount(clusters[rows], minlength=len(central_labels)).tolist()
    all_counts: Counter[str] = Counter()
    for cluster_counts in counts:
        all_counts.update(cluster_counts)
    return [
        _choose_words(cluster_counts, size, all_counts, len(rows))
        if _has_shared_words(cluster_counts)
        else list(labels)[:_MAX_WORDS]
        for cluster_counts, size, labels in zip(counts, sizes, central_labels, strict=True)
    ]


def _has_shared_words(counts: Counter[str]) -> bool:
    return any(count > 1 and not word.isdigit() for word, count in counts.items())


def _count_words(
    clusters: Int32, rows: Iterable[int], columns: Sequence[LabelColumn], count: int
) -> list[Counter[str]]:
    """Return, for each cluster, in how many rows each word occurs."""
    counts: list[Counter[str]] = [Counter() for _ in range(count)]
    for row in rows:
        words: set[str] = set()
        for column in columns:
            words.update(_WORD.findall(column.get_text(int(row))))
        counts[clusters[row]].update(words)
    return counts


def _choose_words(
    counts: Counter[str], size: int, all_counts: Counter[str], total: int
) -> list[str]:
    """Return the words with the highest share times log-lift."""
    min_evidence = math.log(max(1, len(counts)) / _MAX_FALSE_PROBABILITY)
    scored = []
    for word, count in counts.items():
        share, overall_share = count / size, all_counts[word] / total
        lift = share / overall_share
        if count < 2 or lift < _MIN_LIFT or word.isdigit():
            continue
        is_dominant = share >= _DOMINANT_SHARE
        # Chernoff's bound of the probability that so many points of a random cluster have it.
        if is_dominant or size * _compute_divergence(share, overall_share) >= min_evidence:
            scored.append((share * math.log2(lift), count, word))
    scored.sort(key=lambda item: (-item[0], item[2]))
    if scored and scored[0][1] >= _DOMINANT_SHARE * size:
        return [scored[0][2]]
    return [word for _, _, word in scored[:_MAX_WORDS]]


def _compute_divergence(share: float, expected: float) -> float:
    """Return the Kullback-Leibler divergence of two shares, in nats."""
    rest, expected_rest = 1 - share, 1 - expected
    divergence = share * math.log(share / expected)
    return divergence + rest * math.log(rest / expected_rest) if rest > 0 else divergence


# ---- search

#: Regular expressions that are literal texts: alternatives, optionally anchored.
_LITERALS = re.compile(
    r"(\^?)(\(?)([^\W_][\w ,:;@#%&='\"<>/~-]*(?:\|[\w ,:;@#%&='\"<>/~-]+)*)(\)?)(\$?)"
)

_MAX_CACHE_BYTES = 512 << 20
_IDLE_S = 600.0


class LiteralPattern(NamedTuple):
    """Texts of which a label must contain one, optionally at its start or end."""

    texts: Sequence[str]
    at_start: bool = False
    at_end: bool = False


def find_literal_pattern(expression: str) -> LiteralPattern | None:
    """Return the literal texts of a regular expression; None if it is more than that."""
    match = _LITERALS.fullmatch(expression)
    if match is None:
        return None
    start, opening, alternatives, closing, end = match.groups()
    is_balanced = bool(opening) == bool(closing)
    texts = alternatives.split("|")
    # Without parentheses an anchor belongs to the first or last alternative only.
    if not is_balanced or ((start or end) and len(texts) > 1 and not opening):
        return None
    return LiteralPattern(texts, bool(start), bool(end))


class LabelIndex:
    """The values of a column as one lower-case byte string, for vectorized substring search."""

    def __init__(self, values: Sequence[str]) -> None:
        joined = "\n".join(values)
        if joined.count("\n") >= len(values):
            joined = "\n".join(value.replace("\n", " ") for value in values)
        self.text = joined
        self._bytes = np.frombuffer(joined.lower().encode() + b"\n", np.uint8)
        self._ends = np.flatnonzero(self._bytes == ord("\n"))
        self._starts = np.concatenate([[0], self._ends[:-1] + 1])

    def match(self, pattern: LiteralPattern) -> Bool:
        """Return a mask of the values that contain one of the texts, ignoring case."""
        matches = np.zeros(len(self._ends), np.bool_)
        for text in pattern.texts:
            needle = text.lower().encode()
            offsets = self._locate_offsets(needle)
            values = np.searchsorted(self._ends, offsets)
            is_match = np.ones(len(offsets), np.bool_)
            if pattern.at_start:
                is_match &= self._starts[values] == offsets
            if pattern.at_end:
                is_match &= self._ends[values] == offsets + len(needle)
            matches[values[is_match]] = True
        return matches

    def _locate_offsets(self, needle: bytes) -> Int64:
        """Return all offsets of a text by narrowing down candidates byte by byte."""
        if not needle:
            return self._starts
        end = max(len(self._bytes) - len(needle) + 1, 0)
        characters: NDArray[np.uint8] = np.frombuffer(needle, np.uint8)
        offsets = np.flatnonzero(self._bytes[:end] == characters[0])
        for shift in range(1, len(characters)):
            offsets = offsets[self._bytes[offsets + shift] == characters[shift]]
        return offsets


class LabeledPoints(Protocol):
    """What a search needs of a `LoadedEmbedding`."""

    @property
    def row_count(self) -> int: ...
    @property
    def columns(self) -> Sequence[LabelColumn]: ...
    def get_column(self, name: str) -> LabelColumn: ...


class LabelSearcher:
    """Searches label columns. The indexes of recently searched columns are cached."""

    def __init__(self) -> None:
        self._indexes: LruCache[int, tuple[LabelColumn, LabelIndex]] = LruCache(
            max_bytes=_MAX_CACHE_BYTES, idle_s=_IDLE_S
        )

    def search(self, embedding: LabeledPoints, query: str, regex: bool, column: str | None) -> Bool:
        """Return a mask of the rows whose labels match, ignoring case.

        Args:
            embedding: The labeled points. Points without labels are searched by row number.
            query: A text or a regular expression; an empty one matches nothing.
            regex: Whether the query is a regular expression.
            column: The column to search; None for all.

        Raises:
            UsageError: The column does not exist, or the expression is invalid or too slow.
        """
        if not query:
            return np.zeros(embedding.row_count, np.bool_)
        columns = embedding.columns if column is None else [embedding.get_column(column)]
        if not columns:
            columns = [make_label_column("row", [str(row) for row in range(embedding.row_count)])]
        pattern = find_literal_pattern(query) if regex else LiteralPattern([query])
        rows = np.zeros(embedding.row_count, np.bool_)
        for labels in columns:
            index = self._get_index(labels)
            if pattern:
                matches = index.match(pattern)
            else:
                matches = match_lines(query, index.text, len(labels.values))
            rows |= labels.expand(matches)
        return rows

    def search_text(self, embedding: LabeledPoints, text: str) -> Int32:
        """Return the points that stand for a text, ignoring case.

        These are the points with this label; without any, those whose labels are words of the
        text; without any, those whose labels contain it.
        """
        text = text.strip()
        label_column = find_label_column(embedding.columns)
        if not text or label_column is None:
            return np.empty(0, np.int32)
        index = self._get_index(embedding.get_column(label_column))
        labels = embedding.get_column(label_column)
        for texts in ([text], text.split()):
            pattern = LiteralPattern(texts, at_start=True, at_end=True)
            rows = np.flatnonzero(labels.expand(index.match(pattern)))
            if len(rows):
                return rows.astype(np.int32)
        return np.flatnonzero(self.search(embedding, text, False, None)).astype(np.int32)

    def _get_index(self, column: LabelColumn) -> LabelIndex:
        # The cached entry holds the column, so that its id() is not reused meanwhile.
        return self._indexes.get_or_build(
            id(column),
            lambda: (column, LabelIndex(column.values)),
            lambda item: 3 * len(item[1].text),
        )[1]
