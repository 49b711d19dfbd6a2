"""What changed in the log since a client last looked, put together once for all clients."""

from __future__ import annotations

import threading

from tracklight.server.history import History
from tracklight.server.overview import Overview
from tracklight.server.recent import Recent, TagNews
from tracklight.server.source import Source
from tracklight.server.wire import RunRow
from tracklight.types import Delta


class DeltaEvent(TagNews):
    """Runs that came, went or grew since the cursor before, and which of their tags did."""

    cursor: str
    added: list[RunRow]
    removed: list[str]
    changed: list[RunRow]


class News:
    """The changes of the log, as rows."""

    def __init__(self, source: Source, overview: Overview) -> None:
        self.history = History(source.version)
        self._overview = overview
        self._recent = Recent(source)
        self._lock = threading.Lock()
        self._known: tuple[str, str, DeltaEvent] | None = None

    def add(self, delta: Delta) -> None:
        # In this order, as who finds a change in the history then looks for its tags.
        self._recent.note(delta)
        self.history.add(delta)

    def find_since(self, cursor: str) -> tuple[str, DeltaEvent | None]:
        """The cursor to go on with and what is new.

        That is None where nothing is, in which case the cursor stays the same, and where it is no
        longer known, in which case the client has to ask for everything anew.
        """
        now, delta = self.history.find_since(cursor)
        if delta is None or now == cursor:
            return now, None
        # Streams wake up together and mostly stand at the same cursor.
        with self._lock:
            if self._known is None or self._known[:2] != (cursor, now):
                self._known = cursor, now, self._make(cursor, now, delta)
            return now, self._known[2]

    def _make(self, cursor: str, now: str, delta: Delta) -> DeltaEvent:
        rows = self._overview.runs()
        news = self._recent.find_since(self.history.version_of(cursor), delta)
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
