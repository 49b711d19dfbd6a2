"""What a long computation is given to tell how far it is, and to learn that it is not wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tracklight.errors import TracklightError
from tracklight.types import Float32


class Cancelled(TracklightError):
    """Nobody wants the result any more."""


@dataclass(slots=True)
class Work:
    """Told of each step forward; says when to stop. By itself it does nothing."""

    report: Callable[[str, int, int], None] = lambda what, done, total: None
    """Gets what is being done, how much of it, and out of how much."""
    show: Callable[[Float32], None] = lambda layout: None
    """Gets a layout that is still moving."""
    is_cancelled: Callable[[], bool] = lambda: False

    def step(self, what: str, done: int, total: int) -> None:
        if self.is_cancelled():
            raise Cancelled(f"stopped while {what}")
        self.report(what, done, total)
