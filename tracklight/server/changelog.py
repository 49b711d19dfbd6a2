"""What changed in the index, for who comes back with a cursor of some time ago."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tracklight.errors import RunNotFoundError
from tracklight.server.source import LogOverview, LogSource, RunRow
from tracklight.types import Delta, Kind, TagInfo
from tracklight.util.json_number import JsonNumber, to_json_number

_MAX_DELTAS = 256


class ChangeHistory:
    """The latest changes of the index, joined on demand."""

    def __init__(self, version: int) -> None:
        # Versions of two processes mean different things, so a cursor says whose it is.
        self.process = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._deltas: deque[Delta] = deque(maxlen=_MAX_DELTAS)
        self._oldest = version
        self.version = version

    def add(self, delta: Delta) -> None:
        with self._lock:
            if len(self._deltas) == _MAX_DELTAS:
                self._oldest = self._deltas[0].version
            self._deltas.append(delta)
            self.version = delta.version

    def cursor(self) -> str:
        with self._lock:
            return self._cursor()

    def get_since(self, cursor: str) -> tuple[str, Delta | None]:
        """The cursor to go on with and what changed; None when that is no longer known."""
        process, _, version = cursor.partition(".")
        with self._lock:
            known = process == self.process and version.isdecimal()
            if not known or int(version) < self._oldest:
                return self._cursor(), None
            later = [delta for delta in self._deltas if delta.version > int(version)]
            return self._cursor(), _merge_deltas(later, self.version)

    @staticmethod
    def parse_version(cursor: str) -> int:
        """The version in a cursor for which there was an answer."""
        return int(cursor.partition(".")[2])

    def _cursor(self) -> str:
        return f"{self.process}.{self.version}"


def _merge_deltas(deltas: list[Delta], version: int) -> Delta:
    """One change with the effect of all: a run that came and went again is not spoken of."""
    added: dict[str, None] = {}
    removed: dict[str, None] = {}
    changed: dict[str, None] = {}
    for delta in deltas:
        for name in delta.removed:
            if name in added:
                del added[name]
            else:
                removed[name] = None
            changed.pop(name, None)
        for name in delta.added:
            if removed.pop(name, added) is None:
                changed[name] = None
            else:
                added[name] = None
        changed.update((name, None) for name in delta.changed if name not in added)
    return Delta(version, tuple(added), tuple(removed), tuple(changed))


# Which tags of which runs came or grew lately, so that a change can say it.

MAX_TAGS = 1000

MAX_POINTS = 2000

_MAX_TRACKED_TAGS = 20_000

#: Step, wall time and value of the last point of a tag, and how many points it has.
LastPoint = tuple[int, JsonNumber, JsonNumber, int]


class NewTag(msgspec.Struct):
    """A tag that a run did not have before, or may not have had."""

    run: str
    tag: str
    kind: str
    plugin: str


class TagChanges(msgspec.Struct):
    """The tags that came and the last points of the scalars that grew.

    Where there are too many, or it is not known which they were, ``tags_more`` or ``points_more``
    says that there is more to ask for.
    """

    tags: list[NewTag]
    tags_more: bool
    points: dict[str, dict[str, LastPoint]]
    points_more: bool


class _TagState(NamedTuple):
    """One tag as it was last seen, and at which versions it came and last grew."""

    created_version: int
    changed_version: int
    info: TagInfo


class TagTracker:
    """Remembers the tags of runs that change; a run that rests takes no memory."""

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._runs: dict[str, dict[str, _TagState]] = {}  # those that changed last come last
        self._large_runs: set[str] = set()  # runs with more tags than are worth listing each time

    def record(self, delta: Delta) -> None:
        """Take down what the tags of the runs that came or changed are like now.

        Where that would be very many they are forgotten instead, which makes all of their tags news
        when the runs are next looked at: telling too much does no harm.
        """
        names = (*delta.added, *delta.changed)
        with self._lock:
            known = {name: self._runs.pop(name, {}) for name in names}
            seen = dict(self._iter_current_tags(names))
            for name in delta.removed:
                self._runs.pop(name, None)
                self._large_runs.discard(name)
            for name, infos in seen.items():
                self._runs[name] = _update_states(infos, known[name], delta.version)
            self._evict_oldest()

    def get_changes(self, version: int, delta: Delta) -> TagChanges:
        """What is new in the runs of ``delta`` for who knows everything up to ``version``."""
        marks, known = self._collect_states(version, (*delta.added, *delta.changed))
        born = [
            NewTag(r, m.info.tag, str(m.info.kind), m.info.plugin)
            for r, m in marks
            if m.created_version > version
        ]
        grown = [(r, m.info) for r, m in marks if m.info.kind is Kind.SCALAR]
        too_many = len(grown) > MAX_POINTS
        return TagChanges(
            tags=born[:MAX_TAGS],
            tags_more=not known or len(born) > MAX_TAGS,
            points={} if too_many else self._read_last_points(grown),
            points_more=not known or too_many,
        )

    def _collect_states(
        self, version: int, runs: Iterable[str]
    ) -> tuple[list[tuple[str, _TagState]], bool]:
        with self._lock:
            tables = [(name, self._runs.get(name)) for name in runs]
        marks = [
            (name, mark)
            for name, table in tables
            for mark in (table or {}).values()
            if mark.changed_version > version
        ]
        return marks, all(table is not None for _, table in tables)

    def _read_last_points(
        self, grown: list[tuple[str, TagInfo]]
    ) -> dict[str, dict[str, LastPoint]]:
        found: dict[str, dict[str, LastPoint]] = {}
        points = self._source.last_points([(run, info.tag) for run, info in grown])
        for (run, info), point in zip(grown, points, strict=True):
            if point is not None:
                last = (
                    point.step,
                    to_json_number(point.wall_time),
                    to_json_number(point.value),
                    info.count,
                )
                found.setdefault(run, {})[info.tag] = last
        return found

    def _iter_current_tags(self, names: Iterable[str]) -> Iterator[tuple[str, tuple[TagInfo, ...]]]:
        room = MAX_POINTS
        for name in names:
            if name in self._large_runs:
                continue
            try:
                infos = self._source.tags(name)
            except RunNotFoundError:  # gone again; the next change tells
                continue
            if len(infos) > MAX_POINTS:
                self._large_runs.add(name)
                continue
            room -= len(infos)
            if room < 0:
                return
            yield name, infos

    def _evict_oldest(self) -> None:
        total = sum(map(len, self._runs.values()))
        while total > _MAX_TRACKED_TAGS:
            total -= len(self._runs.pop(next(iter(self._runs))))


def _update_states(
    infos: Iterable[TagInfo], known: dict[str, _TagState], version: int
) -> dict[str, _TagState]:
    marks = {}
    for info in infos:
        before = known.get(info.tag)
        if before is None:
            marks[info.tag] = _TagState(version, version, info)
        elif before.info != info:
            marks[info.tag] = _TagState(before.created_version, version, info)
        else:
            marks[info.tag] = before
    return marks


# What changed in the log since a client last looked, put together once for all clients.


class DeltaEvent(TagChanges):
    """Runs that came, went or grew since the cursor before, and which of their tags did."""

    cursor: str
    added: list[RunRow]
    removed: list[str]
    changed: list[RunRow]


class ChangeLog:
    """The changes of the log, as rows."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self.history = ChangeHistory(source.version)
        self._overview = overview
        self._tag_tracker = TagTracker(source)
        self._lock = threading.Lock()
        self._last_event: tuple[str, str, DeltaEvent] | None = None

    def add(self, delta: Delta) -> None:
        # In this order, as who finds a change in the history then looks for its tags.
        self._tag_tracker.record(delta)
        self.history.add(delta)

    def get_since(self, cursor: str) -> tuple[str, DeltaEvent | None]:
        """The cursor to go on with and what is new.

        That is None where nothing is, in which case the cursor stays the same, and where it is no
        longer known, in which case the client has to ask for everything anew.
        """
        now, delta = self.history.get_since(cursor)
        if delta is None or now == cursor:
            return now, None
        # Streams wake up together and mostly stand at the same cursor.
        with self._lock:
            if self._last_event is None or self._last_event[:2] != (cursor, now):
                self._last_event = cursor, now, self._build_event(cursor, now, delta)
            return now, self._last_event[2]

    def _build_event(self, cursor: str, now: str, delta: Delta) -> DeltaEvent:
        rows = self._overview.runs()
        news = self._tag_tracker.get_changes(self.history.parse_version(cursor), delta)
        return DeltaEvent(
            tags=news.tags,
            tags_more=news.tags_more,
            points=news.points,
            points_more=news.points_more,
            cursor=now,
            added=[rows[name] for name in delta.added if name in rows],
            removed=list(delta.removed),
            changed=[rows[name] for name in delta.changed if name in rows],
        )
