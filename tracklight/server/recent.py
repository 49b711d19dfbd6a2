"""Which tags of which runs came or grew lately, so that a change can say it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tracklight.errors import UnknownRun
from tracklight.formats.json_number import Number, json_number
from tracklight.server.source import Source
from tracklight.types import Delta, Kind, TagInfo

MOST_TAGS = 1000
MOST_POINTS = 2000
_MOST_REMEMBERED = 20_000

#: Step, wall time and value of the last point of a tag, and how many points it has.
LastPoint = tuple[int, Number, Number, int]


class NewTag(msgspec.Struct):
    """A tag that a run did not have before, or may not have had."""

    run: str
    tag: str
    kind: str
    plugin: str


class TagNews(msgspec.Struct):
    """The tags that came and the last points of the scalars that grew.

    Where there are too many, or it is not known which they were, ``tags_more`` or ``points_more``
    says that there is more to ask for.
    """

    tags: list[NewTag]
    tags_more: bool
    points: dict[str, dict[str, LastPoint]]
    points_more: bool


class _Mark(NamedTuple):
    """One tag as it was last seen, and at which versions it came and last grew."""

    born: int
    grown: int
    info: TagInfo


class Recent:
    """Remembers the tags of runs that change; a run that rests takes no memory."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._runs: dict[str, dict[str, _Mark]] = {}  # those that changed last come last
        self._large: set[str] = set()  # runs with more tags than are worth listing each time

    def note(self, delta: Delta) -> None:
        """Take down what the tags of the runs that came or changed are like now.

        Where that would be very many they are forgotten instead, which makes all of their tags news
        when the runs are next looked at: telling too much does no harm.
        """
        names = (*delta.added, *delta.changed)
        with self._lock:
            known = {name: self._runs.pop(name, {}) for name in names}
            seen = dict(self._iter_seen(names))
            for name in delta.removed:
                self._runs.pop(name, None)
                self._large.discard(name)
            for name, infos in seen.items():
                self._runs[name] = _mark(infos, known[name], delta.version)
            self._forget_oldest()

    def find_since(self, version: int, delta: Delta) -> TagNews:
        """What is new in the runs of ``delta`` for who knows everything up to ``version``."""
        marks, known = self._find_marks(version, (*delta.added, *delta.changed))
        born = [
            NewTag(r, m.info.tag, str(m.info.kind), m.info.plugin)
            for r, m in marks
            if m.born > version
        ]
        grown = [(r, m.info) for r, m in marks if m.info.kind is Kind.SCALAR]
        too_many = len(grown) > MOST_POINTS
        return TagNews(
            tags=born[:MOST_TAGS],
            tags_more=not known or len(born) > MOST_TAGS,
            points={} if too_many else self._last_points(grown),
            points_more=not known or too_many,
        )

    def _find_marks(
        self, version: int, runs: Iterable[str]
    ) -> tuple[list[tuple[str, _Mark]], bool]:
        with self._lock:
            tables = [(name, self._runs.get(name)) for name in runs]
        marks = [
            (name, mark)
            for name, table in tables
            for mark in (table or {}).values()
            if mark.grown > version
        ]
        return marks, all(table is not None for _, table in tables)

    def _last_points(self, grown: list[tuple[str, TagInfo]]) -> dict[str, dict[str, LastPoint]]:
        found: dict[str, dict[str, LastPoint]] = {}
        points = self._source.last_points([(run, info.tag) for run, info in grown])
        for (run, info), point in zip(grown, points, strict=True):
            if point is not None:
                last = (
                    point.step,
                    json_number(point.wall_time),
                    json_number(point.value),
                    info.count,
                )
                found.setdefault(run, {})[info.tag] = last
        return found

    def _iter_seen(self, names: Iterable[str]) -> Iterator[tuple[str, tuple[TagInfo, ...]]]:
        room = MOST_POINTS
        for name in names:
            if name in self._large:
                continue
            try:
                infos = self._source.tags(name)
            except UnknownRun:  # gone again; the next change tells
                continue
            if len(infos) > MOST_POINTS:
                self._large.add(name)
                continue
            room -= len(infos)
            if room < 0:
                return
            yield name, infos

    def _forget_oldest(self) -> None:
        total = sum(map(len, self._runs.values()))
        while total > _MOST_REMEMBERED:
            total -= len(self._runs.pop(next(iter(self._runs))))


def _mark(infos: Iterable[TagInfo], known: dict[str, _Mark], version: int) -> dict[str, _Mark]:
    marks = {}
    for info in infos:
        before = known.get(info.tag)
        if before is None:
            marks[info.tag] = _Mark(version, version, info)
        elif before.info != info:
            marks[info.tag] = _Mark(before.born, version, info)
        else:
            marks[info.tag] = before
    return marks
