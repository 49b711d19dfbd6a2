"""Finds points by their labels."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.projector.opened import Opened
from tracklight.embeddings.columns import Column, make_column
from tracklight.embeddings.haystack import Haystack, Words, find_words
from tracklight.media.expressions import match_lines
from tracklight.types import Bool
from tracklight.util.lru_cache import LruCache

_KEPT_BYTES = 512 << 20
_IDLE_S = 600.0


class Searcher:
    """Searches columns, which are put together for it when they are first looked through."""

    def __init__(self) -> None:
        self._haystacks: LruCache[int, tuple[Column, Haystack]] = LruCache(
            max_bytes=_KEPT_BYTES, idle_s=_IDLE_S
        )

    def find(self, opened: Opened, query: str, regex: bool, column: str | None) -> Bool:
        """Which rows hold a text in a column, or in any of them; small letters are as large."""
        if not query:
            return np.zeros(opened.rows, np.bool_)
        chosen = opened.columns if column is None else [opened.get_column(column)]
        if not chosen:
            chosen = [make_column("row", [str(row) for row in range(opened.rows)])]
        found = np.zeros(opened.rows, np.bool_)
        words = find_words(query) if regex else Words([query])
        for one in chosen:
            haystack = self._get_haystack(one)
            values = (
                haystack.find(words)
                if words
                else match_lines(query, haystack.text, len(one.values))
            )
            found |= one.spread(values)
        return found

    def _get_haystack(self, column: Column) -> Haystack:
        # The column stays with its haystack, so that no other can get its number meanwhile.
        return self._haystacks.get_or_build(
            id(column), lambda: (column, Haystack(column.values)), lambda it: 3 * len(it[1].text)
        )[1]
