"""Gathers what events of a trace in Chrome's form say of themselves, one key after the other."""

from __future__ import annotations

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


class Saying:
    def __init__(self) -> None:
        self.texts = Words()
        nothing = np.empty(0, np.int64)
        self._parts = [Said(nothing, nothing.astype(np.int32), nothing.astype(np.uint8), nothing)]

    def add(self, events: Int64, args: list[Args]) -> None:
        """Take the arguments of some events."""
        for key, (get, absent) in enumerate(_GETTERS):
            values = list(map(get, args))
            present = [
                at for at, value in enumerate(values) if value is not None and value is not absent
            ]
            if present:
                kind, bits = self._encode([values[at] for at in present])
                keys = np.full(len(present), key, np.int32)
                self._parts.append(Said(events[present], keys, kind, bits))

    def make(self) -> Said:
        return Said(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))

    def _encode(self, values: list[Any]) -> tuple[NDArray[np.uint8], Int64]:
        """Of each value which kind it is, and its bits; mostly all are of one type."""
        types = set(map(type, values))
        if types == {Raw}:
            return self._encode_texts([bytes(value).decode("utf-8", "replace") for value in values])
        if types == {str}:
            return self._encode_texts(values)
        if types == {float}:
            return _all(REAL, len(values)), np.array(values, np.float64).view(np.int64)
        if types == {int} and min(values) in _INT64 and max(values) in _INT64:
            return _all(WHOLE, len(values)), np.array(values, np.int64)
        pairs = [self._encode_one(value) for value in values]
        return np.array([kind for kind, _ in pairs], np.uint8), np.array(
            [bits for _, bits in pairs]
        )

    def _encode_texts(self, texts: list[str]) -> tuple[NDArray[np.uint8], Int64]:
        bits = np.fromiter(map(self.texts.__getitem__, texts), np.int64, len(texts))
        return _all(TEXT, len(texts)), bits

    def _encode_one(self, value: Any) -> tuple[int, int]:
        if type(value) is Raw:
            value = bytes(value).decode("utf-8", "replace")
        if isinstance(value, int) and value in _INT64:
            return WHOLE, int(value)
        if isinstance(value, float):
            return REAL, int(np.float64(value).view(np.int64))
        return TEXT, self.texts[str(value)]


def _all(kind: int, count: int) -> NDArray[np.uint8]:
    return np.full(count, kind, np.uint8)
