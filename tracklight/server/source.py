"""The log as the server sees it: how it is kept up to date, its rows, and its changes.

`LogSource` and `LogWatcher` say what the server needs from `tracklight.index` and
`tracklight.logdir`. `Refresher` reads new data in a background thread. `LogOverview` caches the
lists of runs and tags, and the row structs are their JSON form.

JSON has no NaN or Infinity, and logs are full of them. A `JsonNumber` is a JSON number or one of
the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which ``Number()`` in JavaScript and
``float()`` in Python both parse; null means that there is no number at all.

For live updates, `ChangeHistory` keeps the latest changes of the index and merges those after a
client's cursor. `TagTracker` knows which tags of the changed runs are new or have grown.
`ChangeLog` combines both into the `DeltaEvent` that clients get.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from tracklight.analysis.source import Sentence, Source
from tracklight.errors import Message, RunNotFoundError, UnavailableError, find_message
from tracklight.index.tags import make_shared_tag
from tracklight.logdir.access import Root
from tracklight.logdir.watch import Changes
from tracklight.types import Delta, FileInfo, Kind, Progress, RunInfo, SharedTag, Stamp, TagInfo
from tracklight.util.files import JsonNumber, to_json_number

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Times beyond are no dates in a browser; event files may contain any.
_MAX_TIME_S = 8.64e12
_RETRY_DELAY_S = 5.0
_LONG_REFRESH_S = 1.0
_STOP_TIMEOUT_S = 0.5


class LogSource(Source, Protocol):
    """A log that can be refreshed; `tracklight.index.catalog.Catalog` implements it.

    All methods except ``refresh`` may be called from any thread, also during a refresh.
    """

    @property
    def progress(self) -> Progress: ...

    @property
    def problems(self) -> Sequence[Message]: ...

    @property
    def linked(self) -> Mapping[Root, frozenset[str]]:
        """Directories outside of the roots that symbolic links lead to."""

    def refresh(self, changes: Changes | None = None) -> Delta: ...

    def files(self, run: str) -> tuple[FileInfo, ...]: ...


class LogWatcher(Protocol):
    """Reports what may have changed in the log directories; everything, the first time."""

    def wait(self, timeout_s: float = ...) -> Changes: ...

    def follow(self, root: Root, linked: frozenset[str]) -> None: ...

    def stop(self) -> None: ...


# ---- keeping the log up to date


class Refresher:
    """Refresh the log in a background thread whenever the watcher reports changes.

    Attributes:
        failure: Why the last refresh failed, or None. Failed refreshes are retried.
        listeners: Called in the refresher's thread: with None when a refresh begins or has
            failed, and with the changes when it has ended.
    """

    def __init__(self, source: LogSource, watcher: LogWatcher) -> None:
        self.failure: Message | None = None
        self.listeners: list[Callable[[Delta | None], None]] = []
        self._source = source
        self._watcher = watcher
        self._thread = threading.Thread(target=self._run, name="tracklight-refresh", daemon=True)
        self._stop = threading.Event()
        self._started_s: float | None = None
        self._has_refreshed = False

    @property
    def is_loading(self) -> bool:
        """True during the first refresh, and during a later one that takes long."""
        started_s = self._started_s
        if not self._has_refreshed:
            return True
        return started_s is not None and time.monotonic() - started_s > _LONG_REFRESH_S

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; do not wait for a long refresh to end."""
        self._stop.set()
        self._watcher.stop()
        self._thread.join(_STOP_TIMEOUT_S)

    def refresh(self, changes: Changes | None = None) -> None:
        """Read what is new and notify the listeners.

        The thread calls this; tests call it directly instead of starting the thread.

        Args:
            changes: What may have changed; None checks everything.
        """
        self._started_s = time.monotonic()
        self._notify(None)
        delta = None
        try:
            delta = self._source.refresh(changes)
            for root, linked in self._source.linked.items():
                self._watcher.follow(root, linked)
            self.failure = None
        except Exception as error:
            if self._stop.is_set():
                return
            # A network share may be unavailable for a minute only, so keep trying.
            log.exception("reading the log failed")
            self.failure = Message.format(
                "log.refresh_failed",
                "reading the log failed: {error}",
                error=find_message(error) or str(error) or type(error).__name__,
            )
        self._started_s = None
        self._has_refreshed = True
        self._notify(delta)

    def _run(self) -> None:
        while not self._stop.is_set():
            changes = self._watcher.wait()
            if changes:
                self.refresh(changes)
            while self.failure is not None and not self._stop.wait(_RETRY_DELAY_S):
                self.refresh()

    def _notify(self, delta: Delta | None) -> None:
        for listener in self.listeners:
            listener(delta)


# ---- rows


class StampRow(msgspec.Struct):
    """The step and time at which a value was logged."""

    step: int
    wall_time: JsonNumber


class RunRow(msgspec.Struct, gc=False):
    """A run with its counts."""

    name: str
    start_wall: JsonNumber | None
    last_wall: JsonNumber | None
    files: int
    bytes: int
    tags: int
    points: int
    damaged: int


class RunTotals(msgspec.Struct):
    """The number of runs, their points and damaged records, and the time of the last point."""

    runs: int
    points: int
    damaged: int
    last_wall: float | None


class TagRow(msgspec.Struct):
    """A tag of one run, or of all runs; ``runs`` is the number of runs that have it."""

    tag: str
    plugin: str
    kind: str
    runs: int
    count: int
    overwritten: int
    first: StampRow | None
    last: StampRow | None
    display_name: str
    description: str


class DamageRow(NamedTuple):
    """A damaged region of an event file, in bytes; an array in JSON."""

    offset: int
    size: int
    reason: Sentence


class FileRow(msgspec.Struct):
    """An event file; ``damage`` has the first of its damaged regions, ``damaged`` counts all."""

    run: str
    path: str
    bytes: int
    records: int
    damaged: int
    damage: list[DamageRow]


class ProgressRow(msgspec.Struct):
    """Progress of the current refresh."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


def make_run_row(info: RunInfo) -> RunRow:
    return RunRow(
        name=info.name,
        start_wall=None if info.start_wall is None else to_json_number(info.start_wall),
        last_wall=None if info.last_wall is None else to_json_number(info.last_wall),
        files=info.files,
        bytes=info.bytes,
        tags=info.tags,
        points=info.points,
        damaged=info.damaged,
    )


def sum_runs(rows: Sequence[RunRow]) -> RunTotals:
    walls = (float(row.last_wall) for row in rows if row.last_wall is not None)
    return RunTotals(
        runs=len(rows),
        points=sum(row.points for row in rows),
        damaged=sum(row.damaged for row in rows),
        last_wall=max((wall for wall in walls if abs(wall) < _MAX_TIME_S), default=None),
    )


def make_tag_row(shared: SharedTag) -> TagRow:
    return TagRow(
        tag=shared.tag,
        plugin=shared.plugin,
        kind=str(shared.kind),
        runs=len(shared.runs),
        count=shared.count,
        overwritten=shared.overwritten,
        first=make_stamp_row(shared.first),
        last=make_stamp_row(shared.last),
        display_name=shared.display_name,
        description=shared.description,
    )


def make_stamp_row(stamp: Stamp | None) -> StampRow | None:
    return None if stamp is None else StampRow(stamp.step, to_json_number(stamp.wall_time))


def make_file_row(run: str, info: FileInfo) -> FileRow:
    damage = [
        DamageRow(region.offset, region.size, Sentence(region.code, region.reason, {}))
        for region in info.damage
    ]
    return FileRow(run, to_valid_unicode(info.path), info.bytes, info.records, info.damaged, damage)


def make_progress_row(progress: Progress) -> ProgressRow:
    return ProgressRow(
        progress.files_done, progress.files_total, progress.bytes_done, progress.bytes_total
    )


def to_valid_unicode(path: str) -> str:
    r"""Escape bytes of a file name that are not UTF-8 as ``\xNN``, so that JSON can hold it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


# ---- cached lists of runs and tags


class VersionedCache(Generic[T]):
    """A value that is computed again only when the log has changed."""

    def __init__(self, source: LogSource, compute: Callable[[], T]) -> None:
        self._source = source
        self._compute = compute
        self._lock = threading.Lock()
        self._cached: tuple[tuple[int, Progress], T] | None = None

    def find(self) -> T | None:
        """Return the value if it was computed for the current log."""
        cached = self._cached
        if cached is None or cached[0] != (self._source.version, self._source.progress):
            return None
        return cached[1]

    def get(self) -> T:
        with self._lock:
            # The version grows at the end of a refresh, but runs already grow during it.
            state = self._source.version, self._source.progress
            if self._cached is None or self._cached[0] != state:
                self._cached = state, self._compute()
            return self._cached[1]


class LogOverview:
    """The runs of a log, and the tags of all runs merged; computed once per state of the log."""

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._rows = VersionedCache(source, self._list_rows)
        self._known: dict[str, tuple[RunInfo, RunRow]] = {}
        self._tags = VersionedCache(source, self._merge_tags)

    def runs(self) -> dict[str, RunRow]:
        """Return all runs by name, in natural order. Do not modify the result."""
        return self._rows.get()

    def tags(self) -> Iterable[SharedTag]:
        return self._tags.get().values()

    def list_run_tags(self, run: str) -> list[TagRow]:
        """Return the tags of one run as rows of the same form as those of all runs."""
        return [make_tag_row(make_shared_tag(run, info)) for info in self._source.tags(run)]

    def scalar_tags(self) -> list[str]:
        return [tag for tag, kind in self._tags.get() if kind is Kind.SCALAR]

    def runs_with_scalar(self, tag: str) -> Sequence[str]:
        """Return the names of the runs that have the scalar ``tag``, in natural order."""
        shared = self._tags.get().get((tag, Kind.SCALAR))
        return shared.runs if shared else ()

    def _list_rows(self) -> dict[str, RunRow]:
        """Return the rows of all runs; those of runs that have not changed are the same objects."""
        before, self._known = self._known, {}
        for info in self._source.runs():
            known = before.get(info.name)
            if known is None or known[0] != info:
                known = info, make_run_row(info)
            self._known[info.name] = known
        return {name: row for name, (_, row) in self._known.items()}

    def _merge_tags(self) -> dict[tuple[str, Kind], SharedTag]:
        return {(tag.tag, tag.kind): tag for tag in self._source.shared_tags([*self.runs()])}


# ---- changes

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
        with self._lock:
            since = self._find_version(cursor)
            if since is None:
                return self._make_cursor(), None
            later = [delta for delta in self._deltas if delta.version > since]
            return self._make_cursor(), _merge_deltas(later, self.version)

    def find_changed_runs(self, cursor: str, version: int) -> frozenset[str] | None:
        """Return the runs that have changed from a cursor to a version of the log.

        Returns None if that is not known: after changes that name no run, such as that of a shard
        that is available again.
        """
        with self._lock:
            since = self._find_version(cursor)
            if since is None or self.version != version:
                return None
            later = [delta for delta in self._deltas if delta.version > since]
        names = [(*delta.added, *delta.removed, *delta.changed) for delta in later]
        versions = [delta.version for delta in later]
        if not all(names) or versions != [*range(since + 1, version + 1)]:
            return None
        return frozenset(chain.from_iterable(names))

    @staticmethod
    def parse_version(cursor: str) -> int:
        """Return the version in a cursor that `get_since` has accepted."""
        return int(cursor.partition(".")[2])

    def _find_version(self, cursor: str) -> int | None:
        """Return the version of a cursor; None if not all changes since then are known."""
        process, _, version = cursor.partition(".")
        if process != self.process or not version.isdecimal():
            return None
        return int(version) if int(version) >= self._oldest_version else None

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
