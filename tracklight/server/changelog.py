"""What changed in the log since a client's cursor, for live updates.

`ChangeHistory` keeps the latest changes of the index and merges those after a cursor. `TagTracker`
knows which tags of the changed runs are new or have grown. `ChangeLog` combines both into the
`DeltaEvent` that clients get.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tracklight.errors import RunNotFoundError, UnavailableError
from tracklight.server.source import LogOverview, LogSource, RunRow
from tracklight.types import Delta, Kind, TagInfo
from tracklight.util.files import JsonNumber, to_json_number

MAX_TAGS = 1000
MAX_POINTS = 2000
_MAX_DELTAS = 256
_MAX_TRACKED_TAGS = 20_000


class LastPoint(NamedTuple):
    """The last point of a tag, and how many points it has; an array in JSON."""

    step: int
    wall_time: JsonNumber
    value: JsonNumber
    point_count: int


class NewTag(msgspec.Struct):
    """A tag that is new in a run; it may be reported more than once."""

    run: str
    tag: str
    kind: str
    plugin: str


class TagChanges(msgspec.Struct):
    """New tags, and the last points of scalars that have grown.

    With ``tags_truncated`` or ``points_truncated`` the list is incomplete, and the client has to
    fetch tags or points.
    """

    tags: list[NewTag]
    tags_truncated: bool
    points: dict[str, dict[str, LastPoint]]
    """By run and tag."""
    points_truncated: bool


class DeltaEvent(TagChanges):
    """Runs that were added, removed or changed since the previous cursor, and their tags."""

    cursor: str
    added: list[RunRow]
    removed: list[str]
    changed: list[RunRow]


class ChangeLog:
    """Build the changes since a cursor, once for all clients at the same cursor."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self.history = ChangeHistory(source.version)
        self._overview = overview
        self._tag_tracker = TagTracker(source)
        self._lock = threading.Lock()
        self._last_event: tuple[str, str, DeltaEvent] | None = None

    def add(self, delta: Delta) -> None:
        # In this order: a client that finds a change in the history looks for its tags next.
        self._tag_tracker.record(delta)
        self.history.add(delta)

    def get_since(self, cursor: str) -> tuple[str, DeltaEvent | None]:
        """Return the current cursor and what changed since ``cursor``.

        The changes are None if there are none, and then the cursor is the same; or if they are no
        longer known, and then the client has to fetch everything again.
        """
        now, delta = self.history.get_since(cursor)
        if delta is None or now == cursor:
            return now, None
        # Streams wake up together and mostly have the same cursor.
        with self._lock:
            if self._last_event is None or self._last_event[:2] != (cursor, now):
                self._last_event = cursor, now, self._build_event(cursor, now, delta)
            return now, self._last_event[2]

    def _build_event(self, cursor: str, now: str, delta: Delta) -> DeltaEvent:
        rows = self._overview.runs()
        changes = self._tag_tracker.get_changes(self.history.parse_version(cursor), delta)
        return DeltaEvent(
            tags=changes.tags,
            tags_truncated=changes.tags_truncated,
            points=changes.points,
            points_truncated=changes.points_truncated,
            cursor=now,
            added=[rows[name] for name in delta.added if name in rows],
            removed=list(delta.removed),
            changed=[rows[name] for name in delta.changed if name in rows],
        )


class ChangeHistory:
    """The latest changes of the index. A cursor is ``<process>.<version>``."""

    def __init__(self, version: int) -> None:
        # Versions of different processes are unrelated, so a cursor names its process.
        self.process = secrets.token_hex(4)
        self.version = version
        self._lock = threading.Lock()
        self._deltas: deque[Delta] = deque(maxlen=_MAX_DELTAS)
        self._oldest_version = version

    def add(self, delta: Delta) -> None:
        with self._lock:
            if len(self._deltas) == _MAX_DELTAS:
                self._oldest_version = self._deltas[0].version
            self._deltas.append(delta)
            self.version = delta.version

    def cursor(self) -> str:
        with self._lock:
            return self._make_cursor()

    def get_since(self, cursor: str) -> tuple[str, Delta | None]:
        """Return the current cursor and all later changes as one; None if no longer known."""
        process, _, version = cursor.partition(".")
        with self._lock:
            is_known = process == self.process and version.isdecimal()
            if not is_known or int(version) < self._oldest_version:
                return self._make_cursor(), None
            later = [delta for delta in self._deltas if delta.version > int(version)]
            return self._make_cursor(), _merge_deltas(later, self.version)

    @staticmethod
    def parse_version(cursor: str) -> int:
        """Return the version in a cursor that `get_since` has accepted."""
        return int(cursor.partition(".")[2])

    def _make_cursor(self) -> str:
        return f"{self.process}.{self.version}"


def _merge_deltas(deltas: list[Delta], version: int) -> Delta:
    """Merge changes into one. Runs that were added and removed in between are left out."""
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
            if name in removed:
                del removed[name]
                changed[name] = None
            else:
                added[name] = None
        changed.update((name, None) for name in delta.changed if name not in added)
    return Delta(version, tuple(added), tuple(removed), tuple(changed))


class _TagState(NamedTuple):
    """A tag as it was last seen, and the versions at which it was created and last changed."""

    created_version: int
    changed_version: int
    info: TagInfo


class TagTracker:
    """Remember the tags of runs that change. Runs that do not change take no memory."""

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        #: By run; the runs that changed last come last.
        self._runs: dict[str, dict[str, _TagState]] = {}
        #: Runs with too many tags to list them at every change.
        self._large_runs: set[str] = set()

    def record(self, delta: Delta) -> None:
        """Record the current tags of the runs that were added or changed.

        If there are too many, they are forgotten instead. All of their tags then count as new at
        the next change, which is harmless.
        """
        names = (*delta.added, *delta.changed)
        with self._lock:
            before = {name: self._runs.pop(name, {}) for name in names}
            current = dict(self._iter_current_tags(names))
            for name in delta.removed:
                self._runs.pop(name, None)
                self._large_runs.discard(name)
            for name, infos in current.items():
                self._runs[name] = _update_states(infos, before[name], delta.version)
            self._evict_oldest()

    def get_changes(self, version: int, delta: Delta) -> TagChanges:
        """Return what is new in the runs of ``delta`` since ``version``."""
        states, is_complete = self._collect_states(version, (*delta.added, *delta.changed))
        new = [
            NewTag(run, state.info.tag, str(state.info.kind), state.info.plugin)
            for run, state in states
            if state.created_version > version
        ]
        grown = [(run, state.info) for run, state in states if state.info.kind is Kind.SCALAR]
        too_many = len(grown) > MAX_POINTS
        return TagChanges(
            tags=new[:MAX_TAGS],
            tags_truncated=not is_complete or len(new) > MAX_TAGS,
            points={} if too_many else self._read_last_points(grown),
            points_truncated=not is_complete or too_many,
        )

    def _collect_states(
        self, version: int, runs: Iterable[str]
    ) -> tuple[list[tuple[str, _TagState]], bool]:
        """Return the tags that changed after ``version``, and whether all runs are tracked."""
        with self._lock:
            tracked = [(name, self._runs.get(name)) for name in runs]
        states = [
            (name, state)
            for name, tags in tracked
            for state in (tags or {}).values()
            if state.changed_version > version
        ]
        return states, all(tags is not None for _, tags in tracked)

    def _read_last_points(
        self, grown: list[tuple[str, TagInfo]]
    ) -> dict[str, dict[str, LastPoint]]:
        last_points: dict[str, dict[str, LastPoint]] = {}
        points = self._source.last_points([(run, info.tag) for run, info in grown])
        for (run, info), point in zip(grown, points, strict=True):
            if point is not None:
                last_points.setdefault(run, {})[info.tag] = LastPoint(
                    point.step,
                    to_json_number(point.wall_time),
                    to_json_number(point.value),
                    info.count,
                )
        return last_points

    def _iter_current_tags(self, names: Iterable[str]) -> Iterator[tuple[str, tuple[TagInfo, ...]]]:
        """Yield runs with their tags until there are `MAX_POINTS` tags."""
        tags_left = MAX_POINTS
        for name in names:
            if name in self._large_runs:
                continue
            try:
                infos = self._source.tags(name)
            except (RunNotFoundError, UnavailableError):
                continue  # removed meanwhile, or restarting; the next change reports it
            if len(infos) > MAX_POINTS:
                self._large_runs.add(name)
                continue
            tags_left -= len(infos)
            if tags_left < 0:
                return
            yield name, infos

    def _evict_oldest(self) -> None:
        total = sum(map(len, self._runs.values()))
        while total > _MAX_TRACKED_TAGS:
            total -= len(self._runs.pop(next(iter(self._runs))))


def _update_states(
    infos: Iterable[TagInfo], before: dict[str, _TagState], version: int
) -> dict[str, _TagState]:
    states = {}
    for info in infos:
        known = before.get(info.tag)
        if known is None:
            states[info.tag] = _TagState(version, version, info)
        elif known.info != info:
            states[info.tag] = _TagState(known.created_version, version, info)
        else:
            states[info.tag] = known
    return states
