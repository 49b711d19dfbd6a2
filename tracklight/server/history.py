"""What changed in the index, for who comes back with a cursor of some time ago."""

from __future__ import annotations

import secrets
import threading
from collections import deque

from tracklight.types import Delta

_HISTORY = 256


class History:
    """The latest changes of the index, joined on demand."""

    def __init__(self, version: int) -> None:
        # Versions of two processes mean different things, so a cursor says whose it is.
        self.process = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._deltas: deque[Delta] = deque(maxlen=_HISTORY)
        self._oldest = version
        self.version = version

    def add(self, delta: Delta) -> None:
        with self._lock:
            if len(self._deltas) == _HISTORY:
                self._oldest = self._deltas[0].version
            self._deltas.append(delta)
            self.version = delta.version

    def cursor(self) -> str:
        with self._lock:
            return self._cursor()

    def find_since(self, cursor: str) -> tuple[str, Delta | None]:
        """The cursor to go on with and what changed; None when that is no longer known."""
        process, _, version = cursor.partition(".")
        with self._lock:
            known = process == self.process and version.isdecimal()
            if not known or int(version) < self._oldest:
                return self._cursor(), None
            later = [delta for delta in self._deltas if delta.version > int(version)]
            return self._cursor(), _join(later, self.version)

    @staticmethod
    def version_of(cursor: str) -> int:
        """The version in a cursor for which there was an answer."""
        return int(cursor.partition(".")[2])

    def _cursor(self) -> str:
        return f"{self.process}.{self.version}"


def _join(deltas: list[Delta], version: int) -> Delta:
    """One change with the effect of all: a run that came and went again is not spoken of."""
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
            if removed.pop(name, added) is None:
                changed[name] = None
            else:
                added[name] = None
        changed.update((name, None) for name in delta.changed if name not in added)
    return Delta(version, tuple(added), tuple(removed), tuple(changed))
