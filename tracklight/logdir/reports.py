"""What the kernel reports about some directories, through watchfiles, as long as it can."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Generator, Mapping

from watchfiles import watch
from watchfiles.main import FileChange

_log = logging.getLogger(__name__)

#: Reports are gathered until none came for a step, but never for longer than the debounce time.
_STEP_MS = 25
_DEBOUNCE_MS = 200
_WAIT_MS = 100

#: How often in a row it may fail for a reason that may pass.
_MOST_FAILURES = 5

#: Files and directories to watch, each with its device and inode: a path may come to mean
#: something else, of which nothing would be reported.
Places = Mapping[str, tuple[int, int]]


class Reports:
    """The reports on some places, which may be exchanged for others."""

    def __init__(self, stopped: threading.Event) -> None:
        #: Whether everything that happens in the places is reported.
        self.is_complete = True
        self._is_usable = True
        self._stopped = stopped
        self._places: Places = {}
        self._events: Generator[set[FileChange], None, None] | None = None
        self._early: set[FileChange] = set()
        self._failures = 0

    def follow(self, places: Places) -> bool:
        """Watch just these places; whether that made a new start, which may have missed reports."""
        if places == self._places or not self._is_usable:
            return False
        self.close()
        self._places = places
        if places:
            self._events = watch(
                *places,
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
            self._early = self._read()
        return True

    def wait(self, timeout_s: float) -> set[FileChange]:
        """Give the reports that came, or none after a tenth of a second, or what is asked."""
        if self._early:
            early, self._early = self._early, set()
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
        self._events, self._places, self._early = None, {}, set()

    def _read(self) -> set[FileChange]:
        assert self._events is not None
        try:
            reports = next(self._events, set())
        except (FileNotFoundError, RuntimeError) as error:
            # A place that has just gone; or a name that is no UTF-8, which watchfiles cannot tell.
            self._start_anew(error)
        except PermissionError as error:
            self._make_do(error)
        except OSError as error:
            self._give_up(f"{error}; on Linux a higher fs.inotify.max_user_watches may help")
        else:
            self._failures = 0
            return reports
        return set()

    def _start_anew(self, error: Exception) -> None:
        self.close()  # which forgets the places, so that they will be new ones
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            self._give_up(str(error))
        else:
            self._stopped.wait(_WAIT_MS / 1000)

    def _make_do(self, error: PermissionError) -> None:
        """Go on with what may be watched; what is left out must be found by polling."""
        if not self.is_complete:
            self._give_up(str(error))
            return
        self.close()
        self.is_complete = False
        _log.warning("log directories are polled too, because not all can be watched: %s", error)

    def _give_up(self, reason: str) -> None:
        self.close()
        self.is_complete = self._is_usable = False
        _log.warning("log directories are polled, because they cannot be watched: %s", reason)
