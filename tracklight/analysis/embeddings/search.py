"""Search the labels of points, a million of them in some hundredths of a second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings import LoadedEmbedding
from tracklight.analysis.embeddings.metadata import (
    LabelColumn,
    find_label_column,
    make_label_column,
)
from tracklight.analysis.media.time_limits import match_lines
from tracklight.types import Bool, Int32, Int64
from tracklight.util.memory import LruCache

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


class LabelSearcher:
    """Searches label columns. The indexes of recently searched columns are cached."""

    def __init__(self) -> None:
        self._indexes: LruCache[int, tuple[LabelColumn, LabelIndex]] = LruCache(
            max_bytes=_MAX_CACHE_BYTES, idle_s=_IDLE_S
        )

    def search(
        self, embedding: LoadedEmbedding, query: str, regex: bool, column: str | None
    ) -> Bool:
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

    def search_text(self, embedding: LoadedEmbedding, text: str) -> Int32:
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
            id(column), lambda: (column, LabelIndex(column.values)), lambda it: 3 * len(it[1].text)
        )[1]
