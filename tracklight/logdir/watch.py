"""Wait until something below the log directories may have changed.

The kernel reports changes of local directories within a fraction of a second (`FileEvents`, based
on watchfiles). Network file systems and URLs are polled, less often the longer a poll takes: other
machines change them without the local kernel noticing. The same holds for folders that a virtual
machine or a container shares with its host. Local directories are polled as well, but rarely, in
case an event was lost.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from types import TracebackType

import msgspec
from watchfiles import Change as Event
from watchfiles import watch
from watchfiles.main import FileChange

from tracklight.logdir.access import Root, is_url
from tracklight.logdir.discover import (
    PROJECTOR_CONFIG,
    is_capture,
    is_event_file,
    is_study_file,
    is_tensor_file,
)

# ---- network file systems

_MOUNT_TABLE = "/proc/self/mounts"

_NETWORK_TYPES = {
    "9p",
    "acfs",
    "afs",
    "afp",
    "autofs",
    "beegfs",
    "ceph",
    "cifs",
    "davfs",
    "drvfs",
    "fakeowner",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "panfs",
    "prl_fs",
    "pvfs2",
    "smb2",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
    "weka",
    "wekafs",
}

_ESCAPE = re.compile(r"\\([0-7]{3})")


def is_network_path(path: str) -> bool:
    """Return whether other machines may change a directory without the local kernel noticing."""
    if sys.platform == "win32":
        return _is_windows_share(path)
    return _is_network_type(find_mount_type(path, _read_mounts()))


def find_mount_type(path: str, mounts: Iterable[str]) -> str | None:
    """Return the type of the file system of a path, from the lines of a mount table."""
    real = os.path.realpath(path)
    longest, mount_type = -1, None
    for line in mounts:
        fields = line.split(" ")
        point = _unescape(fields[1]).rstrip("/")
        # A later mount hides an earlier one at the same mount point.
        if len(point) >= longest and f"{real}/".startswith(f"{point}/"):
            longest, mount_type = len(point), fields[2]
    return mount_type


def _is_network_type(mount_type: str | None) -> bool:
    if mount_type is None:
        return False
    # fuseblk is a local disk, such as NTFS; other FUSE file systems may be remote.
    return mount_type in _NETWORK_TYPES or mount_type == "fuse" or mount_type.startswith("fuse.")


def _read_mounts() -> list[str]:
    try:
        with open(_MOUNT_TABLE, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except OSError:  # not Linux: rely on the regular polling of local directories
        return []


def _unescape(point: str) -> str:
    """Decode blanks, tabs, newlines and backslashes, which the mount table writes in octal."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), point)


def _is_windows_share(path: str) -> bool:
    import ctypes

    drive = os.path.splitdrive(os.path.realpath(path))[0]
    # getattr because type checkers only know this attribute on Windows.
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009
    remote = 4
    return drive.startswith("\\\\") or bool(kernel.GetDriveTypeW(f"{drive}\\") == remote)


# ---- watching

_log = logging.getLogger(__name__)

#: Polling may take this share of the time, as long as the delay stays below the maximum.
_MAX_POLL_SHARE = 0.1
_MAX_POLL_DELAY_S = 60.0
#: A root with a new directory is listed again after this time, or the time that listing takes:
#: files that were created before the kernel watched the directory cause no event.
_NEW_DIRECTORY_DELAY_S = 0.5

#: Events are collected until none came for a step, but not longer than the debounce time.
_STEP_MS = 25
_DEBOUNCE_MS = 200
_WAIT_MS = 100

#: Consecutive failures, for reasons that may be temporary, until watching is given up.
_MAX_FAILURES = 5

#: Files and directories to watch, with device and inode. If another file or directory replaces one
#: at its path, it has to be watched again to get its events.
WatchedPaths = Mapping[str, tuple[int, int]]


class Changes(msgspec.Struct, frozen=True):
    """What may have changed; false if nothing did."""

    #: Event files that were written to. If one of them is unknown, its root has to be listed.
    files: frozenset[str] = frozenset()
    #: Roots to be listed, because files were added or removed or because they are polled.
    roots: frozenset[Root] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.files or self.roots)


class PollIntervals(msgspec.Struct, frozen=True):
    """After how many seconds without an event a root is listed again."""

    local_s: float = 5.0
    network_s: float = 1.0
    remote_s: float = 5.0


class Watcher:
    """Watch roots for one thread that calls `wait` in a loop and lists the roots it returns.

    The time between two calls of `wait` is the cost of listing the roots. The polling delay follows
    the lower cost of the last two, because one that also read much new data is not representative.

    Args:
        roots: The log directories.
        intervals: How often to poll.
        once: Do not watch: the first `wait` returns all roots, later ones return nothing.

    Example:
        >>> with Watcher(roots) as watcher:
        ...     while True:
        ...         catalog.refresh(watcher.wait())
    """

    def __init__(
        self, roots: Iterable[Root], intervals: PollIntervals | None = None, *, once: bool = False
    ) -> None:
        self._intervals = intervals or PollIntervals()
        self._once = once
        self._watched = {root: _WatchedRoot(root) for root in roots}
        self._stopped = threading.Event()
        self._events = FileEvents(self._stopped)
        self._last_roots: frozenset[Root] = frozenset()
        self._last_cost_s = 0.0
        self._returned_s = time.monotonic()

    def follow(self, root: Root, linked: frozenset[str]) -> None:
        """Also watch the targets of links below a root (see `Discovery.linked`)."""
        self._watched[root].follow(linked)

    def wait(self, timeout_s: float = float("inf")) -> Changes:
        """Block until something may have changed, the timeout has passed, or `stop` is called.

        The first call returns all roots, which may have changed before they were watched.
        """
        if self._once:
            return self._wait_once(timeout_s)
        now_s = time.monotonic()
        self._schedule(now_s, cost_s=now_s - self._returned_s)
        changes = self._wait_until(now_s + timeout_s)
        self._last_roots = changes.roots
        self._returned_s = time.monotonic()
        return changes

    def stop(self) -> None:
        """Make the current and all later calls of `wait` return; may be called from any thread."""
        self._stopped.set()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._events.close()

    def _wait_once(self, timeout_s: float) -> Changes:
        if not self._last_roots:
            self._last_roots = frozenset(self._watched)
            return Changes(roots=self._last_roots)
        self._stopped.wait(None if timeout_s == float("inf") else timeout_s)
        return Changes()

    def _wait_until(self, deadline_s: float) -> Changes:
        while not self._stopped.is_set():
            self._update_watches()
            now_s = time.monotonic()
            due = frozenset(root for root, item in self._watched.items() if item.due_s <= now_s)
            if due:
                return Changes(roots=due)
            if now_s >= deadline_s:
                break
            next_s = min((deadline_s, *(item.due_s for item in self._watched.values())))
            changes = self._to_changes(self._events.wait(next_s - now_s))
            if changes:
                return changes
        return Changes()

    def _schedule(self, now_s: float, cost_s: float) -> None:
        """Set the next poll of the roots that were listed since the last call of `wait`."""
        delay_s = min(min(cost_s, self._last_cost_s) / _MAX_POLL_SHARE, _MAX_POLL_DELAY_S)
        if self._last_roots:
            self._last_cost_s = cost_s
        for root in self._last_roots:
            watched = self._watched[root]
            interval_s = watched.get_interval_s(self._intervals, self._events.is_complete)
            watched.due_s = now_s + max(interval_s, delay_s)
            if watched.has_new_directory:
                watched.has_new_directory = False
                soon_s = now_s + max(_NEW_DIRECTORY_DELAY_S, cost_s)
                watched.due_s = min(watched.due_s, soon_s)

    def _update_watches(self) -> None:
        paths: dict[str, tuple[int, int]] = {}
        for watched in self._watched.values():
            paths.update(watched.list_watchable())
        if self._events.watch(paths):
            for watched in self._watched.values():
                if not watched.is_remote:
                    watched.due_s = 0.0

    def _to_changes(self, events: Iterable[FileChange]) -> Changes:
        files: set[str] = set()
        roots: set[Root] = set()
        for event, path in events:
            name = os.path.basename(path)
            is_log = is_event_file(name)
            if event is Event.modified and is_log and not self._has_links():
                files.add(path)
            elif is_log or event is Event.deleted:
                roots.update(self._iter_roots(path))
            elif os.path.isdir(path):
                above = [*self._iter_roots(path)]
                roots.update(above)
                for root in above:
                    self._watched[root].has_new_directory |= event is Event.added
            # Only when it is created: writing a large file takes long, and the next poll sees the
            # result.
            elif event is Event.added and (is_capture(name) or is_tensor_file(name)):
                roots.update(self._iter_roots(path))
            elif name == PROJECTOR_CONFIG or is_study_file(name):
                roots.update(self._iter_roots(path))
        return Changes(frozenset(files), frozenset(roots))

    def _has_links(self) -> bool:
        # With links a file has several paths, and the kernel reports any one of them.
        return any(watched.linked for watched in self._watched.values())

    def _iter_roots(self, path: str) -> Iterator[Root]:
        """Yield the roots that a path may be below; through links, that may be all of them."""
        local = [watched for watched in self._watched.values() if not watched.is_remote]
        above = [watched for watched in local if path.startswith(watched.root.path)]
        for watched in local:
            if watched in above or watched.linked or not above:
                yield watched.root


class _WatchedRoot:
    """A root, the paths of it that can be watched, and when it is polled next."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.is_remote = is_url(root.path)
        self.linked: frozenset[str] = frozenset()
        #: When to list it again, with or without an event; the first time is now.
        self.due_s = 0.0
        #: Whether an event was about a new directory since the root was listed.
        self.has_new_directory = False
        self._linked_paths: WatchedPaths = {}
        self._paths: WatchedPaths = {}
        self._watchable: WatchedPaths = {}

    def follow(self, linked: frozenset[str]) -> None:
        self.linked = linked
        self._linked_paths = dict(_iter_identities(linked))

    def list_watchable(self) -> WatchedPaths:
        """Return the existing paths of the root for which the kernel reports all changes."""
        own_paths = {} if self.is_remote else dict(_iter_identities([self.root.path]))
        paths = {**self._linked_paths, **own_paths}
        if paths != self._paths:
            self._paths = paths
            self._watchable = {
                path: identity for path, identity in paths.items() if _is_watchable(path)
            }
        return self._watchable

    def get_interval_s(self, intervals: PollIntervals, events_complete: bool) -> float:
        if self.is_remote:
            return intervals.remote_s
        # Windows reports that a file has grown only when it is closed, which may be hours later.
        is_reported = events_complete and os.name != "nt"
        is_covered = is_reported and self._watchable == self._paths
        return intervals.local_s if is_covered else intervals.network_s


class FileEvents:
    """Changes of a set of paths as reported by the kernel; the paths may be replaced."""

    def __init__(self, stopped: threading.Event) -> None:
        #: Whether all changes of the paths are reported.
        self.is_complete = True
        self._is_usable = True
        self._stopped = stopped
        self._paths: WatchedPaths = {}
        self._events: Generator[set[FileChange], None, None] | None = None
        self._pending: set[FileChange] = set()
        self._failures = 0

    def watch(self, paths: WatchedPaths) -> bool:
        """Watch these paths only; return whether watching restarted and may have lost events."""
        if paths == self._paths or not self._is_usable:
            return False
        self.close()
        self._paths = paths
        if paths:
            self._events = watch(
                *paths,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                rust_timeout=_WAIT_MS,
                yield_on_timeout=True,
                stop_event=self._stopped,
                # What cannot be watched is polled by listing the root, not by watchfiles.
                force_polling=False,
                # With this option watchfiles silently skips more than the denied paths.
                ignore_permission_denied=not self.is_complete,
            )
            # Watching starts with the first read.
            self._pending = self._read()
        return True

    def wait(self, timeout_s: float) -> set[FileChange]:
        """Return new events, or none after ``timeout_s`` or 0.1 s, whichever is shorter."""
        if self._pending:
            pending, self._pending = self._pending, set()
            return pending
        if self._events is None:
            self._stopped.wait(min(timeout_s, _WAIT_MS / 1000))
            return set()
        return self._read()

    def close(self) -> None:
        if self._events is not None:
            # ValueError: another thread is waiting for an event; it returns when it sees the stop.
            with contextlib.suppress(ValueError):
                self._events.close()
        self._events, self._paths, self._pending = None, {}, set()

    def _read(self) -> set[FileChange]:
        assert self._events is not None
        try:
            events = next(self._events, set())
        except (FileNotFoundError, RuntimeError) as error:
            # A path was just deleted, or a name is not valid UTF-8, which watchfiles cannot report.
            self._restart(error)
        except PermissionError as error:
            self._ignore_denied(error)
        except OSError as error:
            self._disable(f"{error}; on Linux a higher fs.inotify.max_user_watches may help")
        else:
            self._failures = 0
            return events
        return set()

    def _restart(self, error: Exception) -> None:
        self.close()  # clears the paths, so that the next `watch` starts again
        self._failures += 1
        if self._failures > _MAX_FAILURES:
            self._disable(str(error))
        else:
            self._stopped.wait(_WAIT_MS / 1000)

    def _ignore_denied(self, error: PermissionError) -> None:
        """Watch without the paths that access is denied to; changes there are found by polling."""
        if not self.is_complete:
            self._disable(str(error))
            return
        self.close()
        self.is_complete = False
        _log.warning("polling the log directories, because some cannot be watched: %s", error)

    def _disable(self, reason: str) -> None:
        self.close()
        self.is_complete = self._is_usable = False
        _log.warning("polling the log directories, because they cannot be watched: %s", reason)


def _iter_identities(paths: Iterable[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    for path in paths:
        try:
            stat = os.stat(path)
        except OSError:
            continue
        yield path, (stat.st_dev, stat.st_ino)


def _is_watchable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # watchfiles accepts only UTF-8
        return False
    return not is_network_path(path)
