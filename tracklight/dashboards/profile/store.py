"""The captures that were looked at last, ready for the next ask, and what was found out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from tracklight.dashboards.profile.asks import CaptureAsk, ask_before
from tracklight.dashboards.profile.listing import Listing
from tracklight.dashboards.profile.opened import Opened, open_file
from tracklight.dashboards.profile.results import Results
from tracklight.errors import TracklightError
from tracklight.plugin import Context, Problem
from tracklight.types import CaptureFile
from tracklight.util.lru_cache import LruCache

#: What traces take in memory, together.
_KEPT_BYTES = 1 << 30
_IDLE_S = 600.0

Answer = TypeVar("Answer")


class Opening(msgspec.Struct):
    """How far the reading of a capture has come; ``share`` is null where that is not known."""

    state: str
    share: float | None
    what: str
    problem: Problem | None


class Store:
    """May be asked from any thread; a capture is read by one of them, and others wait for it."""

    def __init__(self, context: Context) -> None:
        self.listing = Listing(context)
        self._context = context
        folder = context.log.cache_folder
        self._results = Results(folder / "profiles" if folder else None)
        self._opened: LruCache[str, Opened] = LruCache(
            max_bytes=_KEPT_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._shares: dict[str, float] = {}
        self._problems: dict[str, Problem] = {}

    def open(self, ask: CaptureAsk) -> Opened:
        """The trace of one host of a capture, read if it is not at hand."""
        file = self.listing.get_file(ask.capture, ask.host)
        return self._opened.get_or_build(
            _key(file), lambda: self._read(file), lambda opened: opened.bytes
        )

    def open_before(self, ask: CaptureAsk) -> Opened | None:
        """The same of the capture that is compared with, if there is one."""
        return self.open(ask_before(ask)) if ask.before else None

    def find(
        self, ask: CaptureAsk, what: str, kind: type[Answer], make: Callable[[Opened], Answer]
    ) -> Answer:
        """What was made of a capture before, by this process or another; else it is made now.

        ``what`` has to tell this answer from all others of the same capture.
        """
        file = self.listing.get_file(ask.capture, ask.host)
        key = f"{_key(file)} {what} {ask.marker} {ask.rules} {ask.thresholds}"
        return self._results.find(key, kind, lambda: make(self.open(ask)))

    @contextmanager
    def fetch(self, ask: CaptureAsk) -> Iterator[Path]:
        """The file itself, as one on this machine."""
        file = self.listing.get_file(ask.capture, ask.host)
        with self._context.log.fetch_capture(file) as path:
            yield path

    def tell_opening(self, ask: CaptureAsk) -> Opening:
        file = self.listing.get_file(ask.capture, ask.host)
        key = _key(file)
        share, problem = self._shares.get(key), self._problems.get(key)
        if share is not None:
            return Opening("opening", share, f"reading {file.bytes / 1e6:,.0f} MB", None)
        if problem is not None:
            return Opening("failed", None, problem.what, problem)
        is_ready = self._opened.find(key) is not None
        return Opening("ready" if is_ready else "idle", None, "", None)

    def _read(self, file: CaptureFile) -> Opened:
        key = _key(file)

        def tell(share: float) -> None:
            self._shares[key] = share

        tell(0.0)
        try:
            with self._context.log.fetch_capture(file) as path:
                opened = open_file(file, path, tell)
            self._problems.pop(key, None)
            return opened
        except (TracklightError, OSError) as error:
            self._problems[key] = self._context.explain(error)
            raise
        finally:
            del self._shares[key]


def _key(file: CaptureFile) -> str:
    return f"{file.path} {file.state}"
