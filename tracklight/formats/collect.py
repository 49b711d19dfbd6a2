"""Gathers the values of events, one after another, into the columns of a `Batch`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracklight.formats.batch import (
    Batch,
    Damage,
    Float64,
    Found,
    Int64,
    Large,
    Number,
    Points,
    References,
    no_points,
    no_references,
)
from tracklight.formats.dissect import Event, names_plugin
from tracklight.formats.scalar import Scalar


class Series:
    """What a scanner remembers of a file's series between batches."""

    def __init__(self, tags: Iterable[bytes], described: Iterable[int]) -> None:
        self.ids = {tag: number for number, tag in enumerate(tags)}
        self.described = set(described)  # metadata with a plugin's name was met
        self.hinted: set[int] = set()  # only metadata without one


class Collector:
    """The batch under way."""

    def __init__(self, series: Series) -> None:
        self._series = series
        self._tags: list[bytes] = []
        self._contents: list[int] = []
        self._metadata: list[tuple[int, bytes]] = []
        self._points: dict[int, list[Found]] = {}
        self._references: dict[int, list[Found]] = {}
        self._session_start: int | None = None
        self._file_version: bytes | None = None
        self._writer: bytes | None = None
        self.records = 0
        self.damage: list[Damage] = []
        self.large: Large | None = None

    def take(self, event: Event) -> None:
        self.take_values(event.values)
        if event.starts_session:
            self._session_start = event.step
        if event.file_version is not None:
            self._file_version = event.file_version
        if event.writer is not None:
            self._writer = event.writer

    def take_values(self, values: Iterable[Found]) -> None:
        self.records += 1
        for value in values:
            series = self._identify(value)
            rows = self._references if value.scalar is None else self._points
            rows.setdefault(series, []).append(value)
            if value.metadata:
                self._describe(series, value.metadata)

    def finish(self) -> Batch:
        return Batch(
            points=_to_points(self._points),
            references=_to_references(self._references),
            records=self.records,
            tags=self._tags,
            contents=self._contents,
            metadata=self._metadata,
            session_start=self._session_start,
            damage=self.damage,
            large=self.large,
            file_version=self._file_version,
            writer=self._writer,
        )

    def _identify(self, value: Found) -> int:
        ids = self._series.ids
        series = ids.get(value.tag)
        if series is None:
            series = ids[value.tag] = len(ids)
            self._tags.append(value.tag)
            self._contents.append(int(value.content))
        return series

    def _describe(self, series: int, metadata: bytes) -> None:
        """Report metadata that says more of a series than what was reported before."""
        known = self._series
        if series in known.described:
            return
        if names_plugin(metadata):
            known.described.add(series)
        elif series in known.hinted:
            return
        else:
            known.hinted.add(series)
        self._metadata.append((series, metadata))


def _to_points(rows: dict[int, list[Found]]) -> Points:
    if not rows:
        return no_points()
    series = sorted(rows)
    columns = [_to_column([row.scalar for row in rows[id_] if row.scalar]) for id_ in series]
    ordered = [row for id_ in series for row in rows[id_]]
    return Points(
        series=np.array(series, np.int32),
        starts=_to_starts([len(rows[id_]) for id_ in series]),
        number=np.array([number for number, _ in columns], np.uint8),
        step=np.array([row.step for row in ordered], np.int64),
        wall=np.array([row.wall for row in ordered], np.float64),
        value=np.concatenate([values for _, values in columns]),
    )


def _to_column(scalars: list[Scalar]) -> tuple[Number, Float64]:
    """Give the values of one series one common type."""
    numbers = {number for number, _ in scalars}
    number = numbers.pop() if len(numbers) == 1 else Number.FLOAT
    return number, np.array([value for _, value in scalars], number.dtype).view(np.float64)


def _to_references(rows: dict[int, list[Found]]) -> References:
    if not rows:
        return no_references()
    series = sorted(rows)
    ordered = [row for id_ in series for row in rows[id_]]
    return References(
        series=np.array(series, np.int32),
        starts=_to_starts([len(rows[id_]) for id_ in series]),
        step=np.array([row.step for row in ordered], np.int64),
        wall=np.array([row.wall for row in ordered], np.float64),
        record=np.array([row.record for row in ordered], np.int64),
        start=np.array([row.start for row in ordered], np.int64),
        size=np.array([row.size for row in ordered], np.int64),
        content=np.array([row.content for row in ordered], np.uint8),
    )


def _to_starts(counts: list[int]) -> Int64:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
