"""The texts that are searched, newest first, and how they are read without reading one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.errors import TracklightError
from tracklight.formats.values import Text, decode_value
from tracklight.media.steps import make_marks
from tracklight.plugin import Context
from tracklight.types import Int32, Int64, Located

#: What is read at once: many texts, unless they are long.
_MOST_AT_ONCE = 64
_MOST_BYTES = 8 << 20


@dataclass(frozen=True)
class Place:
    """A text in one of the series."""

    series: Located
    index: int

    @property
    def mark(self) -> int:
        return int(make_marks(self.series)[self.index])

    @property
    def size_bytes(self) -> int:
        return int(self.series.size[self.index])


class Places:
    """All texts of some tags and runs, in the order in which they were logged, the last first."""

    def __init__(self, context: Context, tags: Sequence[str], runs: Sequence[str] | None) -> None:
        self._log = context.log
        self._series = [
            context.log.located(run, tag)
            for tag in tags
            for run in context.log.plugin_data(tag)
            if runs is None or run in runs
        ]
        self._number, self._index = _sort(self._series)

    def __len__(self) -> int:
        return len(self._index)

    def iter_texts(self, skip: int) -> Iterator[tuple[Place, Text | None]]:
        """Each with its place; None for one that cannot be read."""
        for part in self._iter_parts(skip):
            yield from zip(part, self._read(part), strict=True)

    def _iter_parts(self, skip: int) -> Iterator[list[Place]]:
        part: list[Place] = []
        for number, index in zip(self._number[skip:], self._index[skip:], strict=True):
            part.append(Place(self._series[number], int(index)))
            if len(part) == _MOST_AT_ONCE or sum(at.size_bytes for at in part) > _MOST_BYTES:
                yield part
                part = []
        if part:
            yield part

    def _read(self, part: list[Place]) -> list[Text | None]:
        """Series by series, as values that stand in one file are read together."""
        found: dict[int, Text | None] = {}
        for series in {id(place.series): place.series for place in part}.values():
            own = [at for at, place in enumerate(part) if place.series is series]
            found.update(
                zip(own, self._read_series(series, [part[at].index for at in own]), strict=True)
            )
        return [found[at] for at in range(len(part))]

    def _read_series(self, series: Located, indexes: list[int]) -> list[Text | None]:
        try:
            values = self._log.read_many(series, indexes)
        except TracklightError:
            if len(indexes) == 1:
                return [None]
            # One of them is damaged: which one is found out by reading each.
            return [text for index in indexes for text in self._read_series(series, [index])]
        return [_decode(data, series) for data in values]


def _sort(series: Sequence[Located]) -> tuple[Int32, Int64]:
    """Which series, and which of its values, each text is."""
    kept = [np.flatnonzero(~one.overwritten) for one in series]
    if not kept:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    number = np.repeat(np.arange(len(series), dtype=np.int32), [len(rows) for rows in kept])
    step = np.concatenate([one.step[rows] for one, rows in zip(series, kept, strict=True)])
    wall = np.concatenate([one.wall_time[rows] for one, rows in zip(series, kept, strict=True)])
    order = np.lexsort((step, np.nan_to_num(wall)))[::-1]
    return number[order], np.concatenate(kept)[order]


def _decode(data: bytes, series: Located) -> Text | None:
    try:
        value = decode_value(data, series.kind)
    except TracklightError:
        return None
    return value if isinstance(value, Text) else None
