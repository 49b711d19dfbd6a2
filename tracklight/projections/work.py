"""The progress of a long computation, and whether it has been cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracklight.errors import TracklightError


class Cancelled(TracklightError):
    """The computation was cancelled."""


@dataclass(slots=True)
class Work:
    """Given to a computation to report its progress. The default does nothing."""

    report: Callable[[str, int, int], None] = lambda what, done, total: None
    """Called with what is being done, how many steps are done, and out of how many."""
    show: Callable[[Any], None] = lambda result: None
    """Called with an intermediate result."""
    is_cancelled: Callable[[], bool] = lambda: False

    def step(self, what: str, done: int, total: int) -> None:
        """Report progress; raise `Cancelled` if the computation has been cancelled."""
        if self.is_cancelled():
            raise Cancelled(f"stopped while {what}")
        self.report(what, done, total)
