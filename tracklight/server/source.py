"""The log as the server sees it: how it is kept up to date, and the rows that every page asks for.

`LogSource` and `LogWatcher` say what the server needs from `tracklight.index` and
`tracklight.logdir`. `Refresher` reads new data in a background thread. `LogOverview` caches the
lists of runs and tags, and the row structs are their JSON form.

JSON has no NaN or Infinity, and logs are full of them. A `JsonNumber` is a JSON number or one of
the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which ``Number()`` in JavaScript and
``float()`` in Python both parse; null means that there is no number at all.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from tracklight.analysis.source import Sentence, Source
from tracklight.errors import Message, find_message
from tracklight.index.tags import make_shared_tag
from tracklight.logdir.access import Root
from tracklight.logdir.watch import Changes
from tracklight.types import Delta, FileInfo, Kind, Progress, RunInfo, SharedTag, Stamp
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
