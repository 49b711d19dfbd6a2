"""What the server needs of the index and of the watcher, and nothing more."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from tracklight.analysis import source
from tracklight.index.tags import make_shared_tag
from tracklight.logdir.roots import Root
from tracklight.logdir.watch import Changes
from tracklight.types import Delta, FileInfo, Kind, Progress, RunInfo, SharedTag, Stamp
from tracklight.util.json_number import JsonNumber, to_json_number


class LogSource(source.Source, Protocol):
    """The catalog as the server sees it, which also keeps it fresh.

    All but ``refresh`` may be called from any thread, also while ``refresh`` runs in another.
    """

    @property
    def progress(self) -> Progress: ...

    @property
    def problems(self) -> Sequence[str]: ...

    @property
    def linked(self) -> Mapping[Root, frozenset[str]]: ...

    def refresh(self, changes: Changes | None = None) -> Delta: ...

    def files(self, run: str) -> tuple[FileInfo, ...]: ...


class LogWatcher(Protocol):
    """Says what may have changed under the log directories; at first that is everything."""

    def wait(self, timeout_s: float = ...) -> Changes: ...

    def follow(self, root: Root, linked: frozenset[str]) -> None: ...

    def stop(self) -> None: ...


# Keeps what takes long to put together until the index has changed.

T = TypeVar("T")


class VersionedCache(Generic[T]):
    """A value that is made anew only when the index has changed."""

    def __init__(self, source: LogSource, compute: Callable[[], T]) -> None:
        self._source = source
        self._compute = compute
        self._lock = threading.Lock()
        self._cached: tuple[tuple[int, Progress], T] | None = None

    def get(self) -> T:
        with self._lock:
            # The version grows at the end of a refresh, but runs do so all the while.
            state = self._source.version, self._source.progress
            if self._cached is None or self._cached[0] != state:
                self._cached = state, self._compute()
            return self._cached[1]


# The JSON that the server speaks.
#
# JSON has no word for numbers that are not finite, and logs are full of them. Wherever a field is a
# ``Number`` it is a JSON number or one of the strings ``"NaN"``, ``"Infinity"``, ``"-Infinity"``,
# which JavaScript's ``Number()`` and Python's ``float()`` both read back. ``null`` means that there
# is no number at all.


def to_valid_unicode(path: str) -> str:
    """Text from the file system, whose bytes need not be Unicode, as text that JSON can hold."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class StampRow(msgspec.Struct):
    """When a value was logged."""

    step: int
    wall_time: JsonNumber


class RunRow(msgspec.Struct):
    """One line of the list of runs."""

    name: str
    start_wall: JsonNumber | None
    last_wall: JsonNumber | None
    files: int
    bytes: int
    tags: int
    points: int
    damaged: int


class TagRow(msgspec.Struct):
    """One tag, of one run or of all runs together; ``runs`` says of how many."""

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


class FileRow(msgspec.Struct):
    """One event file; ``damage`` holds (offset, size, flaw) of the first damaged places."""

    run: str
    path: str
    bytes: int
    records: int
    damaged: int
    damage: list[tuple[int, int, str]]


class ProgressRow(msgspec.Struct):
    """How far the reading under way has come."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


def make_stamp_row(stamp: Stamp | None) -> StampRow | None:
    return None if stamp is None else StampRow(stamp.step, to_json_number(stamp.wall_time))


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


def make_file_row(run: str, info: FileInfo) -> FileRow:
    damage = [(place.offset, place.size, place.reason) for place in info.damage]
    return FileRow(run, to_valid_unicode(info.path), info.bytes, info.records, info.damaged, damage)


def make_progress_row(progress: Progress) -> ProgressRow:
    return ProgressRow(
        progress.files_done, progress.files_total, progress.bytes_done, progress.bytes_total
    )


# The runs and the tags of all runs, put together once for each state of the index.

SharedTags = dict[tuple[str, Kind], SharedTag]


class LogOverview:
    """What is asked for again and again by every open page."""

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._rows = VersionedCache(
            source, lambda: {run.name: make_run_row(run) for run in source.runs()}
        )
        self._tags = VersionedCache(source, self._merge_tags)

    def runs(self) -> dict[str, RunRow]:
        """All runs by name, in natural order; not to be changed."""
        return self._rows.get()

    def tags(self) -> Iterable[SharedTag]:
        return self._tags.get().values()

    def list_run_tags(self, run: str) -> list[TagRow]:
        """The tags of one run, in the form in which those of all runs come."""
        return [make_tag_row(make_shared_tag(run, info)) for info in self._source.tags(run)]

    def scalar_tags(self) -> list[str]:
        return [tag for tag, kind in self._tags.get() if kind is Kind.SCALAR]

    def runs_with_scalar(self, tag: str) -> Sequence[str]:
        """Names of the runs that have a scalar called ``tag``, in natural order."""
        shared = self._tags.get().get((tag, Kind.SCALAR))
        return shared.runs if shared else ()

    def _merge_tags(self) -> SharedTags:
        return {(tag.tag, tag.kind): tag for tag in self._source.shared_tags([*self.runs()])}


# A background thread that keeps the index up to date while the server handles requests.

log = logging.getLogger(__name__)

_RETRY_DELAY_S = 5.0

_LONG_REFRESH_S = 1.0

_STOP_TIMEOUT_S = 0.5


class Refresher:
    """Refresh the source whenever the watch reports changes, until it is stopped.

    ``listeners`` are called in the follower's thread: with None when a refresh begins, and with
    what changed when it ends.
    """

    def __init__(self, source: LogSource, watch: LogWatcher) -> None:
        self._source = source
        self._watch = watch
        self._thread = threading.Thread(target=self._run, name="tracklight-follow", daemon=True)
        self._stop = threading.Event()
        self._started_s: float | None = None
        self._has_refreshed = False
        self.failure: str | None = None
        self.listeners: list[Callable[[Delta | None], None]] = []

    @property
    def is_loading(self) -> bool:
        """True during the first refresh, and during a later one that takes long."""
        began_s = self._started_s
        if not self._has_refreshed:
            return True
        return began_s is not None and time.monotonic() - began_s > _LONG_REFRESH_S

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; do not wait for a long refresh to end."""
        self._stop.set()
        self._watch.stop()
        self._thread.join(_STOP_TIMEOUT_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            changes = self._watch.wait()
            if changes:
                self.refresh(changes)
            while self.failure is not None and not self._stop.wait(_RETRY_DELAY_S):
                self.refresh()

    def refresh(self, changes: Changes | None = None) -> None:
        """Read what is new and notify the listeners; None looks at everything.

        The thread calls this; tests call it directly instead of starting the thread.
        """
        self._started_s = time.monotonic()
        self._notify(None)
        delta = None
        try:
            delta = self._source.refresh(changes)
            for root, linked in self._source.linked.items():
                self._watch.follow(root, linked)
            self.failure = None
        except Exception as error:
            if self._stop.is_set():
                return
            # A network share may be gone for a minute only, so keep trying.
            log.exception("reading the log failed")
            self.failure = f"reading the log failed: {error or type(error).__name__}"
        self._started_s = None
        self._has_refreshed = True
        self._notify(delta)

    def _notify(self, delta: Delta | None) -> None:
        for listener in self.listeners:
            listener(delta)
