"""A time after which work on hostile input is given up."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tracklight.analysis.media import regex_worker
from tracklight.analysis.media.regex_worker import LineMatch
from tracklight.errors import UsageError
from tracklight.types import Bool


class DeadlineExceededError(Exception):
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
    def is_expired(self) -> bool:
        return self._clock() > self._end

    def check(self) -> None:
        if self.is_expired:
            raise DeadlineExceededError


# Regular expressions of users, none of which can take the server with it.

#: What a process may take to start on a busy machine, and to understand an expression.
_MAX_START_S = 10.0

_MAX_MATCHING_S = 10.0

_TOO_LONG = "this expression takes too long; make it simpler"


class RegexProcess:
    """Looks for an expression in a process of its own, which is ended when the time is up."""

    def __init__(self, source: str, flags: int, limit_s: float, most_lines: int) -> None:
        command = [sys.executable, "-I", "-S", regex_worker.__file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="ascii"
        )
        self._timer = self._kill_after(_MAX_START_S)
        problem = self._find_error([source, flags, most_lines])
        if problem is not None:
            self.close()
            raise UsageError(problem)
        self._timer.cancel()
        self._timer = self._kill_after(limit_s)

    def match(self, text: str) -> list[LineMatch]:
        return [(line, start, stop) for line, start, stop in self._request(text)]

    def close(self) -> None:
        self._timer.cancel()
        self._process.kill()
        # It waits for the end, and closes the pipes.
        self._process.communicate()

    def _kill_after(self, limit_s: float) -> threading.Timer:
        timer = threading.Timer(limit_s, self._process.kill)
        timer.daemon = True
        timer.start()
        return timer

    def _find_error(self, expression: list[str | int]) -> str | None:
        try:
            problem = self._request(expression)
        except DeadlineExceededError:
            return _TOO_LONG
        return None if problem is None else f"this is no regular expression: {problem}"

    def _request(self, message: object) -> Any:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise DeadlineExceededError from None
        answer = self._process.stdout.readline()
        if not answer.endswith("\n"):
            raise DeadlineExceededError
        return json.loads(answer)


def match_lines(expression: str, text: str, count: int) -> Bool:
    """Of each of the lines of a text whether an expression matches some of it, in any case."""
    found = np.zeros(count, np.bool_)
    matcher = RegexProcess(expression, re.IGNORECASE, _MAX_MATCHING_S, count)
    try:
        found[[line for line, _, _ in matcher.match(text)]] = True
    except DeadlineExceededError:
        raise UsageError(_TOO_LONG) from None
    finally:
        matcher.close()
    return found
