"""A time after which work on hostile input is given up."""

from __future__ import annotations

import time
from collections.abc import Callable


class TooLong(Exception):
    """The time is up."""


class Deadline:
    """Looked at in every step of work that could take long.

    With ``time.thread_time`` for a clock only the work itself counts, so that whether it can be
    done does not depend on what else the machine does.
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + limit_s

    @property
    def is_over(self) -> bool:
        return self._clock() > self._end

    def check(self) -> None:
        if self.is_over:
            raise TooLong
