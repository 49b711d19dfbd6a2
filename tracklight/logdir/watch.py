"""Waits until something may have changed below the roots.

The kernel reports changes of local directories a moment after they happen. Where it cannot, on
network file systems and for URLs, the answer is to look again every now and then, and more rarely
the longer a look takes. Local roots are looked at again as well, rarely, in case a report was lost.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

from watchfiles import Change as Event
from watchfiles.main import FileChange

from tracklight.logdir.captures import is_capture
from tracklight.logdir.discover import is_event_file
from tracklight.logdir.mounts import is_shared
from tracklight.logdir.reports import Places, Reports
from tracklight.logdir.roots import Root, is_url
from tracklight.logdir.tensors import PROJECTOR_CONFIG, is_tensor_file

#: Looking at a root may take this part of the time, as long as the pause is bearable.
_LOOKING_SHARE = 0.1
_LONGEST_PAUSE_S = 60.0


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
class Intervals:
    """After how many seconds a root is looked at again though nothing was reported."""

    local_s: float = 5.0
    shared_s: float = 1.0
    remote_s: float = 5.0


class Watcher:
    """Watches roots for one thread that calls `wait` in a loop; `stop` may come from any thread.

    The time between two calls of `wait` is taken for what a look at the roots costs. Of the last
    two such times the shorter one counts, because a look that found much to read says little. With
    ``once`` nothing is watched: all roots are given a first time, and never again.
    """

    def __init__(
        self, roots: Iterable[Root], intervals: Intervals | None = None, *, once: bool = False
    ) -> None:
        self._intervals = intervals or Intervals()
        self._once = once
        self._watched = {root: _WatchedRoot(root) for root in roots}
        self._stopped = threading.Event()
        self._reports = Reports(self._stopped)
        self._looked_at: frozenset[Root] = frozenset()
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
            return self._give_once(timeout_s)
        now_s = time.monotonic()
        self._schedule(now_s, cost_s=now_s - self._returned_s)
        changes = self._wait_until(now_s + timeout_s)
        self._looked_at = changes.roots
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
        self._reports.close()

    def _give_once(self, timeout_s: float) -> Changes:
        if not self._looked_at:
            self._looked_at = frozenset(self._watched)
            return Changes(roots=self._looked_at)
        self._stopped.wait(None if timeout_s == float("inf") else timeout_s)
        return Changes()

    def _wait_until(self, deadline_s: float) -> Changes:
        while not self._stopped.is_set():
            self._watch_places()
            now_s = time.monotonic()
            due = frozenset(root for root, it in self._watched.items() if it.due_s <= now_s)
            if due:
                return Changes(roots=due)
            if now_s >= deadline_s:
                break
            next_s = min((deadline_s, *(it.due_s for it in self._watched.values())))
            changes = self._interpret(self._reports.wait(next_s - now_s))
            if changes:
                return changes
        return Changes()

    def _schedule(self, now_s: float, cost_s: float) -> None:
        pause_s = min(min(cost_s, self._last_cost_s) / _LOOKING_SHARE, _LONGEST_PAUSE_S)
        if self._looked_at:
            self._last_cost_s = cost_s
        for root in self._looked_at:
            it = self._watched[root]
            interval_s = it.get_interval_s(self._intervals, self._reports.is_complete)
            it.due_s = now_s + max(interval_s, pause_s)

    def _watch_places(self) -> None:
        places: dict[str, tuple[int, int]] = {}
        for it in self._watched.values():
            places.update(it.find_places())
        if self._reports.follow(places):
            for it in self._watched.values():
                if not it.is_remote:
                    it.due_s = 0.0

    def _interpret(self, reports: Iterable[FileChange]) -> Changes:
        files: set[str] = set()
        roots: set[Root] = set()
        for event, path in reports:
            name = os.path.basename(path)
            is_event = is_event_file(name)
            if event is Event.modified and is_event and not self._any_linked():
                files.add(path)
            elif is_event or event is Event.deleted or os.path.isdir(path):
                roots.update(self._iter_roots(path))
            # A large one is written for long: what it became is seen when the root is due.
            elif event is Event.added and (is_capture(name) or is_tensor_file(name)):
                roots.update(self._iter_roots(path))
            elif name == PROJECTOR_CONFIG:
                roots.update(self._iter_roots(path))
        return Changes(frozenset(files), frozenset(roots))

    def _any_linked(self) -> bool:
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
        self._linked_places: Places = {}
        self._places: Places = {}
        self._watchable: Places = {}

    def follow(self, linked: frozenset[str]) -> None:
        self.linked = linked
        self._linked_places = dict(_iter_places(linked))

    def find_places(self) -> Places:
        """Find what there is to be watched now, leaving out what the kernel cannot report on."""
        own = {} if self.is_remote else dict(_iter_places([self.root.path]))
        places = {**self._linked_places, **own}
        if places != self._places:
            self._places = places
            self._watchable = {path: at for path, at in places.items() if _is_watchable(path)}
        return self._watchable

    def get_interval_s(self, intervals: Intervals, reports_complete: bool) -> float:
        if self.is_remote:
            return intervals.remote_s
        # Windows tells of a file that grows when it is closed, which may be hours later.
        is_told = reports_complete and os.name != "nt"
        is_covered = is_told and self._watchable == self._places
        return intervals.local_s if is_covered else intervals.shared_s


def _iter_places(paths: Iterable[str]) -> Iterator[tuple[str, tuple[int, int]]]:
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
    return not is_shared(path)
