"""Gathers what events of a trace in Chrome's form say of themselves, one key after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from tracklight.formats.chrome_trace import Args
from tracklight.profiles.reading.words import Words
from tracklight.profiles.trace import REAL, TEXT, WHOLE, Said
from tracklight.types import Int64

KEYS = Args.__struct_fields__
#: How to get each key's value, and what stands in its place where there is none.
_GETTERS = [(attrgetter(key), getattr(Args(), key)) for key in KEYS]
_INT64 = range(-(1 << 63), 1 << 63)


class _Decoded(dict[bytes, int]):
    """The number of a text by its bytes, so that one that comes again is not decoded again."""

    def __init__(self, texts: Words) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, content: bytes) -> int:
        place = self[content] = self._texts[content.decode("utf-8", "replace")]
        return place


class Saying:
    def __init__(self) -> None:
        self.texts = Words()
        self._decoded = _Decoded(self.texts)
        nothing = np.empty(0, np.int64)
        self._parts = [Said(nothing, nothing.astype(np.int32), nothing.astype(np.uint8), nothing)]

    def add(self, events: Int64, args: list[Args]) -> None:
        """Take the arguments of some events."""
        for key, (get, absent) in enumerate(_GETTERS):
            mine, values = _keep_present(events, list(map(get, args)), absent)
            if values:
                kind, bits = self._encode(values)
                self._parts.append(Said(mine, np.full(len(mine), key, np.int32), kind, bits))

    def make(self) -> Said:
        return Said(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))

    def _encode(self, values: list[Any]) -> tuple[NDArray[np.uint8], Int64]:
        """Of each value which kind it is, and its bits; mostly all are of one type."""
        types = set(map(type, values))
        if types == {Raw}:
            return _all(TEXT, len(values)), _look_up(self._decoded, map(bytes, values), len(values))
        if types == {str}:
            return _all(TEXT, len(values)), _look_up(self.texts, values, len(values))
        if types == {float}:
            return _all(REAL, len(values)), np.array(values, np.float64).view(np.int64)
        if types == {int} and min(values) in _INT64 and max(values) in _INT64:
            return _all(WHOLE, len(values)), np.array(values, np.int64)
        pairs = [self._encode_one(value) for value in values]
        return np.array([kind for kind, _ in pairs], np.uint8), np.array(
            [bits for _, bits in pairs]
        )

    def _encode_one(self, value: Any) -> tuple[int, int]:
        if type(value) is Raw:
            return TEXT, self._decoded[bytes(value)]
        if isinstance(value, int) and value in _INT64:
            return WHOLE, int(value)
        if isinstance(value, float):
            return REAL, int(np.float64(value).view(np.int64))
        return TEXT, self.texts[str(value)]


def _keep_present(events: Int64, column: list[Any], absent: object) -> tuple[Int64, list[Any]]:
    """The events of which something is said, and what; mostly that is all of them or none."""
    missing = column.count(absent)
    if not missing:
        return events, column
    if missing == len(column):
        return events[:0], []
    there = [value is not absent for value in column]
    return events[there], list(compress(column, there))


def _look_up(places: Mapping[Any, int], keys: Iterable[Any], count: int) -> Int64:
    return np.fromiter(map(places.__getitem__, keys), np.int64, count)


def _all(kind: int, count: int) -> NDArray[np.uint8]:
    return np.full(count, kind, np.uint8)
