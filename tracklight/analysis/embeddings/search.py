"""A column of labels made to be searched: a million of them in some hundredths of a second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.embeddings.loading import LoadedEmbedding
from tracklight.analysis.embeddings.metadata import LabelColumn, make_label_column
from tracklight.analysis.media.time_limits import match_lines
from tracklight.types import Bool, Int64
from tracklight.util.lru_cache import LruCache

#: Expressions that are no more than words, maybe several of them and maybe at the ends of a label.
_PLAIN = re.compile(
    r"(\^?)(\(?)([^\W_][\w ,:;@#%&='\"<>/~-]*(?:\|[\w ,:;@#%&='\"<>/~-]+)*)(\)?)(\$?)"
)


class LiteralPattern(NamedTuple):
    """Texts of which one has to be in a label, at its beginning or at its end if so said."""

    texts: Sequence[str]
    at_start: bool = False
    at_end: bool = False


def find_literal_pattern(expression: str) -> LiteralPattern | None:
    """The words that an expression asks for, if it asks for nothing else."""
    plain = _PLAIN.fullmatch(expression)
    if plain is None:
        return None
    start, opening, words, closing, end = plain.groups()
    is_whole = bool(opening) == bool(closing)
    texts = words.split("|")
    # Without brackets an end belongs to the first or the last word only.
    if not is_whole or ((start or end) and len(texts) > 1 and not opening):
        return None
    return LiteralPattern(texts, bool(start), bool(end))


class LabelIndex:
    """All values one after another, in small letters."""

    def __init__(self, values: Sequence[str]) -> None:
        joined = "\n".join(values)
        if joined.count("\n") >= len(values):
            joined = "\n".join(value.replace("\n", " ") for value in values)
        self.text = joined
        self._bytes = np.frombuffer(joined.lower().encode() + b"\n", np.uint8)
        self._ends = np.flatnonzero(self._bytes == ord("\n"))
        self._starts = np.concatenate([[0], self._ends[:-1] + 1])

    def match(self, pattern: LiteralPattern) -> Bool:
        """Which values hold one of the words."""
        found = np.zeros(len(self._ends), np.bool_)
        for text in pattern.texts:
            needle = text.lower().encode()
            places = self._find_offsets(needle)
            values = np.searchsorted(self._ends, places)
            fits = np.ones(len(places), np.bool_)
            if pattern.at_start:
                fits &= self._starts[values] == places
            if pattern.at_end:
                fits &= self._ends[values] == places + len(needle)
            found[values[fits]] = True
        return found

    def _find_offsets(self, needle: bytes) -> Int64:
        """Where a text begins: letter by letter, among ever fewer places."""
        if not needle:
            return self._starts
        last = max(len(self._bytes) - len(needle) + 1, 0)
        letters: NDArray[np.uint8] = np.frombuffer(needle, np.uint8)
        places = np.flatnonzero(self._bytes[:last] == letters[0])
        for offset in range(1, len(letters)):
            places = places[self._bytes[places + offset] == letters[offset]]
        return places


# Finds points by their labels.

_MAX_CACHE_BYTES = 512 << 20

_IDLE_S = 600.0


class LabelSearcher:
    """Searches columns, which are put together for it when they are first looked through."""

    def __init__(self) -> None:
        self._indexes: LruCache[int, tuple[LabelColumn, LabelIndex]] = LruCache(
            max_bytes=_MAX_CACHE_BYTES, idle_s=_IDLE_S
        )

    def search(
        self, embedding: LoadedEmbedding, query: str, regex: bool, column: str | None
    ) -> Bool:
        """Which rows hold a text in a column, or in any of them; small letters are as large."""
        if not query:
            return np.zeros(embedding.row_count, np.bool_)
        chosen = embedding.columns if column is None else [embedding.get_column(column)]
        if not chosen:
            chosen = [make_label_column("row", [str(row) for row in range(embedding.row_count)])]
        found = np.zeros(embedding.row_count, np.bool_)
        words = find_literal_pattern(query) if regex else LiteralPattern([query])
        for one in chosen:
            haystack = self._get_index(one)
            values = (
                haystack.match(words)
                if words
                else match_lines(query, haystack.text, len(one.values))
            )
            found |= one.expand(values)
        return found

    def _get_index(self, column: LabelColumn) -> LabelIndex:
        # The column stays with its haystack, so that no other can get its number meanwhile.
        return self._indexes.get_or_build(
            id(column), lambda: (column, LabelIndex(column.values)), lambda it: 3 * len(it[1].text)
        )[1]
