"""A column of labels made to be searched: a million of them in some hundredths of a second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Bool, Int64

#: Expressions that are no more than words, maybe several of them and maybe at the ends of a label.
_PLAIN = re.compile(
    r"(\^?)(\(?)([^\W_][\w ,:;@#%&='\"<>/~-]*(?:\|[\w ,:;@#%&='\"<>/~-]+)*)(\)?)(\$?)"
)


class Words(NamedTuple):
    """Texts of which one has to be in a label, at its beginning or at its end if so said."""

    texts: Sequence[str]
    at_start: bool = False
    at_end: bool = False


def find_words(expression: str) -> Words | None:
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
    return Words(texts, bool(start), bool(end))


class Haystack:
    """All values one after another, in small letters."""

    def __init__(self, values: Sequence[str]) -> None:
        joined = "\n".join(values)
        if joined.count("\n") >= len(values):
            joined = "\n".join(value.replace("\n", " ") for value in values)
        self.text = joined
        self._bytes = np.frombuffer(joined.lower().encode() + b"\n", np.uint8)
        self._ends = np.flatnonzero(self._bytes == ord("\n"))
        self._starts = np.concatenate([[0], self._ends[:-1] + 1])

    def find(self, words: Words) -> Bool:
        """Which values hold one of the words."""
        found = np.zeros(len(self._ends), np.bool_)
        for text in words.texts:
            needle = text.lower().encode()
            places = self._find_places(needle)
            values = np.searchsorted(self._ends, places)
            fits = np.ones(len(places), np.bool_)
            if words.at_start:
                fits &= self._starts[values] == places
            if words.at_end:
                fits &= self._ends[values] == places + len(needle)
            found[values[fits]] = True
        return found

    def _find_places(self, needle: bytes) -> Int64:
        """Where a text begins: letter by letter, among ever fewer places."""
        if not needle:
            return self._starts
        last = max(len(self._bytes) - len(needle) + 1, 0)
        letters: NDArray[np.uint8] = np.frombuffer(needle, np.uint8)
        places = np.flatnonzero(self._bytes[:last] == letters[0])
        for offset in range(1, len(letters)):
            places = places[self._bytes[places + offset] == letters[offset]]
        return places
