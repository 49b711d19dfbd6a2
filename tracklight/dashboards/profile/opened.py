"""A trace that is at hand, with what was derived from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar, cast

from tracklight.profiles.captures import open_capture
from tracklight.profiles.findings.advice import Framework
from tracklight.profiles.steps.division import Division, Rules, divide_trace
from tracklight.profiles.steps.steps import Steps
from tracklight.profiles.summary.glance import find_framework
from tracklight.profiles.trace import Trace, make_empty
from tracklight.types import CaptureFile

Derived = TypeVar("Derived")

_EVENT_BYTES = 28
_NAME_BYTES = 100
#: Of more markers than this, the steps of those chosen first are forgotten.
_MOST_DERIVED = 64


class Opened:
    """One host's part of a capture; may be asked from any thread."""

    def __init__(self, file: CaptureFile, trace: Trace) -> None:
        self.file = file
        self.trace = trace
        self._derived: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    @property
    def bytes(self) -> int:
        """About what it takes in memory, and what is derived from it as much again."""
        said = sum(column.nbytes for column in self.trace.said)
        held = self.file.bytes if self.file.kind == "xplane" else 0
        columns = 2 * (said + _EVENT_BYTES * len(self.trace))
        return columns + _NAME_BYTES * len(self.trace.names) + held

    @property
    def framework(self) -> Framework:
        return self.find("framework", lambda: find_framework(self.trace))

    def divide(self, marker: str = "", rules: Rules = "ours") -> Division:
        """The steps, and what their time went into."""
        return self.find(("divide", marker, rules), lambda: divide_trace(self.trace, marker, rules))

    def find_steps(self, marker: str = "") -> Steps:
        return self.divide(marker).steps

    def find(self, key: Hashable, make: Callable[[], Derived]) -> Derived:
        """What was made under this key before, or is now; by one thread at a time."""
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make()
                while len(self._derived) > _MOST_DERIVED:
                    del self._derived[next(iter(self._derived))]
            return cast(Derived, self._derived[key])


def open_file(file: CaptureFile, path: Path, tell: Callable[[float], None]) -> Opened:
    """Read a capture; profiles of memory have no trace."""
    trace = make_empty() if file.kind == "pprof" else open_capture(path, tell)
    return Opened(file, trace)
