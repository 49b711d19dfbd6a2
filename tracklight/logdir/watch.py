"""What the kernel reports about some directories, through watchfiles, as long as it can."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType

from watchfiles import Change as Event
from watchfiles import watch
from watchfiles.main import FileChange

from tracklight.logdir.discover import PROJECTOR_CONFIG, is_capture, is_event_file, is_tensor_file
from tracklight.logdir.mounts import is_network_path
from tracklight.logdir.roots import Root, is_url

_log = logging.getLogger(__name__)

#: Reports are gathered until none came for a step, but never for longer than the debounce time.
_STEP_MS = 25

_DEBOUNCE_MS = 200

_WAIT_MS = 100

#: How often in a row it may fail for a reason that may pass.
_MAX_FAILURES = 5

#: Files and directories to watch, each with its device and inode: a path may come to mean
#: something else, of which nothing would be reported.
WatchedPaths = Mapping[str, tuple[int, int]]


class FileEvents:
    """The reports on some places, which may be exchanged for others."""

    def __init__(self, stopped: threading.Event) -> None:
        #: Whether everything that happens in the places is reported.
        self.is_complete = True
        self._is_usable = True
        self._stopped = stopped
        self._paths: WatchedPaths = {}
        self._events: Generator[set[FileChange], None, None] | None = None
        self._pending: set[FileChange] = set()
        self._failures = 0

    def watch(self, paths: WatchedPaths) -> bool:
        """Watch just these places; whether that made a new start, which may have missed reports."""
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
                # A tree that cannot be watched is polled for by looking at it, not by watchfiles.
                force_polling=False,
                # Then it leaves out more than that, without a word, so only if it must be.
                ignore_permission_denied=not self.is_complete,
            )
            # Watching only begins with the first wait.
            self._pending = self._read()
        return True

    def wait(self, timeout_s: float) -> set[FileChange]:
        """Give the reports that came, or none after a tenth of a second, or what is asked."""
        if self._pending:
            early, self._pending = self._pending, set()
            return early
        if self._events is None:
            self._stopped.wait(min(timeout_s, _WAIT_MS / 1000))
            return set()
        return self._read()

    def close(self) -> None:
        if self._events is not None:
            # Another thread may be waiting for one just now; it ends when it sees that it should.
            with contextlib.suppress(ValueError):
                self._events.close()
        self._events, self._paths, self._pending = None, {}, set()

    def _read(self) -> set[FileChange]:
        assert self._events is not None
        try:
            reports = next(self._events, set())
        except (FileNotFoundError, RuntimeError) as error:
            # A place that has just gone; or a name that is no UTF-8, which watchfiles cannot tell.
            self._restart(error)
        except PermissionError as error:
            self._ignore_denied(error)
        except OSError as error:
            self._disable(f"{error}; on Linux a higher fs.inotify.max_user_watches may help")
        else:
            self._failures = 0
            return reports
        return set()

    def _restart(self, error: Exception) -> None:
        self.close()  # which forgets the places, so that they will be new ones
        self._failures += 1
        if self._failures > _MAX_FAILURES:
            self._disable(str(error))
        else:
            self._stopped.wait(_WAIT_MS / 1000)

    def _ignore_denied(self, error: PermissionError) -> None:
        """Go on with what may be watched; what is left out must be found by polling."""
        if not self.is_complete:
            self._disable(str(error))
            return
        self.close()
        self.is_complete = False
        _log.warning("log directories are polled too, because not all can be watched: %s", error)

    def _disable(self, reason: str) -> None:
        self.close()
        self.is_complete = self._is_usable = False
        _log.warning("log directories are polled, because they cannot be watched: %s", reason)


# Waits until something may have changed below the roots.
#
# The kernel reports changes of local directories a moment after they happen. Where it cannot, on
# network file systems and for URLs, the answer is to look again every now and then, and more rarely
# the longer a look takes. Local roots are looked at again as well, rarely, in case a report was lost.

#: Looking at a root may take this part of the time, as long as the pause is bearable.
_MAX_POLL_SHARE = 0.1

_MAX_POLL_DELAY_S = 60.0


@dataclass(frozen=True, slots=True)
class Changes:
    """What may have changed; false if nothing did."""

    #: Event files that were written to. One that is not known calls for a look at its root.
    files: frozenset[str] = frozenset()
    #: Roots to be looked at as a whole: something came or went there, or nothing is known.
    roots: frozenset[Root] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.files or self.roots)


@dataclass(frozen=True, slots=True)
class PollIntervals:
    """After how many seconds a root is looked at again though nothing was reported."""

    local_s: float = 5.0
    network_s: float = 1.0
    remote_s: float = 5.0


class Watcher:
    """Watches roots for one thread that calls `wait` in a loop; `stop` may come from any thread.

    The time between two calls of `wait` is taken for what a look at the roots costs. Of the last
    two such times the shorter one counts, because a look that found much to read says little. With
    ``once`` nothing is watched: all roots are given a first time, and never again.
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
        """Watch also the real places that links below a root lead to (see `Found.linked`)."""
        self._watched[root].follow(linked)

    def wait(self, timeout_s: float = float("inf")) -> Changes:
        """Block until something may have changed, the time is over, or `stop` is called.

        The first call gives all roots at once: they may have changed before it began to watch.
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
        """End `wait`, now and for good."""
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
            due = frozenset(root for root, it in self._watched.items() if it.due_s <= now_s)
            if due:
                return Changes(roots=due)
            if now_s >= deadline_s:
                break
            next_s = min((deadline_s, *(it.due_s for it in self._watched.values())))
            changes = self._to_changes(self._events.wait(next_s - now_s))
            if changes:
                return changes
        return Changes()

    def _schedule(self, now_s: float, cost_s: float) -> None:
        pause_s = min(min(cost_s, self._last_cost_s) / _MAX_POLL_SHARE, _MAX_POLL_DELAY_S)
        if self._last_roots:
            self._last_cost_s = cost_s
        for root in self._last_roots:
            it = self._watched[root]
            interval_s = it.get_interval_s(self._intervals, self._events.is_complete)
            it.due_s = now_s + max(interval_s, pause_s)

    def _update_watches(self) -> None:
        places: dict[str, tuple[int, int]] = {}
        for it in self._watched.values():
            places.update(it.list_watchable())
        if self._events.watch(places):
            for it in self._watched.values():
                if not it.is_remote:
                    it.due_s = 0.0

    def _to_changes(self, reports: Iterable[FileChange]) -> Changes:
        files: set[str] = set()
        roots: set[Root] = set()
        for event, path in reports:
            name = os.path.basename(path)
            is_event = is_event_file(name)
            if event is Event.modified and is_event and not self._has_links():
                files.add(path)
            elif is_event or event is Event.deleted or os.path.isdir(path):
                roots.update(self._iter_roots(path))
            # A large one is written for long: what it became is seen when the root is due.
            elif event is Event.added and (is_capture(name) or is_tensor_file(name)):
                roots.update(self._iter_roots(path))
            elif name == PROJECTOR_CONFIG:
                roots.update(self._iter_roots(path))
        return Changes(frozenset(files), frozenset(roots))

    def _has_links(self) -> bool:
        # The kernel names a file by one of the paths that lead to it, and any may be meant.
        return any(it.linked for it in self._watched.values())

    def _iter_roots(self, path: str) -> Iterator[Root]:
        """Give the roots that a path may be part of: through links, that may be all of them."""
        local = [it for it in self._watched.values() if not it.is_remote]
        within = [it for it in local if path.startswith(it.root.path)]
        for it in local:
            if it in within or it.linked or not within:
                yield it.root


class _WatchedRoot:
    """A root, and what of it can be watched."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.is_remote = is_url(root.path)
        self.linked: frozenset[str] = frozenset()
        #: When to look at it again, whatever is reported; at first that is now.
        self.due_s = 0.0
        self._linked_paths: WatchedPaths = {}
        self._paths: WatchedPaths = {}
        self._watchable: WatchedPaths = {}

    def follow(self, linked: frozenset[str]) -> None:
        self.linked = linked
        self._linked_paths = dict(_iter_identities(linked))

    def list_watchable(self) -> WatchedPaths:
        """Find what there is to be watched now, leaving out what the kernel cannot report on."""
        own = {} if self.is_remote else dict(_iter_identities([self.root.path]))
        places = {**self._linked_paths, **own}
        if places != self._paths:
            self._paths = places
            self._watchable = {path: at for path, at in places.items() if _is_watchable(path)}
        return self._watchable

    def get_interval_s(self, intervals: PollIntervals, reports_complete: bool) -> float:
        if self.is_remote:
            return intervals.remote_s
        # Windows tells of a file that grows when it is closed, which may be hours later.
        is_told = reports_complete and os.name != "nt"
        is_covered = is_told and self._watchable == self._paths
        return intervals.local_s if is_covered else intervals.network_s


def _iter_identities(paths: Iterable[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            continue
        yield path, (found.st_dev, found.st_ino)


def _is_watchable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # watchfiles takes nothing else
        return False
    return not is_network_path(path)
