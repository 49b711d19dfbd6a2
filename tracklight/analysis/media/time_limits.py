"""Time limits for work on untrusted input: deadlines, and regular expressions in a subprocess."""

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
from tracklight.errors import Message, UsageError
from tracklight.types import Bool

#: Time to start the process on a busy machine and to compile the expression.
_MAX_START_S = 10.0
_MAX_MATCHING_S = 10.0
_TIMEOUT_MESSAGE = Message("query.search_too_slow", "this expression takes too long; simplify it")


class DeadlineExceededError(Exception):
    """The work takes too long or is too large."""


class Deadline:
    """A point in time that long-running work checks at every step.

    With ``time.thread_time`` as the clock only the work itself counts, so that the result does
    not depend on the load of the machine.

    Args:
        limit_s: Time from now until the deadline.
        clock: Returns the current time in seconds.

    Example:
        >>> deadline = Deadline(2.0)
        >>> while not deadline.is_expired:
        ...     break
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + limit_s

    @property
    def is_expired(self) -> bool:
        """Whether the deadline has passed."""
        return self._clock() > self._end

    def check(self) -> None:
        """Check the time.

        Raises:
            DeadlineExceededError: The deadline has passed.
        """
        if self.is_expired:
            raise DeadlineExceededError


class RegexProcess:
    """Match a regular expression in a subprocess, which is killed when the time is up.

    Args:
        pattern: The expression.
        flags: Flags of the `re` module.
        limit_s: Time limit for all texts together.
        max_lines: Maximum number of matching lines per text.

    Raises:
        UsageError: The expression is invalid or takes too long to compile.
    """

    def __init__(self, pattern: str, flags: int, limit_s: float, max_lines: int) -> None:
        command = [sys.executable, "-I", "-S", regex_worker.__file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="ascii"
        )
        self._timer = self._kill_after(_MAX_START_S)
        error = self._find_error([pattern, flags, max_lines])
        if error is not None:
            self.close()
            raise error
        self._timer.cancel()
        self._timer = self._kill_after(limit_s)

    def match(self, text: str) -> list[LineMatch]:
        """Return the matching lines of a text.

        Raises:
            DeadlineExceededError: The time is up.
        """
        return [(line, start, stop) for line, start, stop in self._request(text)]

    def capture(self, text: str) -> list[str | None]:
        """Return what the groups of the expression capture in each line, or what it matches.

        Raises:
            DeadlineExceededError: The time is up.
        """
        return list(self._request([text]))

    def close(self) -> None:
        self._timer.cancel()
        self._process.kill()
        # Waits for the process and closes the pipes.
        self._process.communicate()

    def _kill_after(self, limit_s: float) -> threading.Timer:
        timer = threading.Timer(limit_s, self._process.kill)
        timer.daemon = True
        timer.start()
        return timer

    def _find_error(self, expression: list[str | int]) -> UsageError | None:
        try:
            reason = self._request(expression)
        except DeadlineExceededError:
            return UsageError(_TIMEOUT_MESSAGE)
        if reason is None:
            return None
        return UsageError(
            "query.invalid_search", "invalid regular expression: {reason}", reason=reason
        )

    def _request(self, message: object) -> Any:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise DeadlineExceededError from None
        response = self._process.stdout.readline()
        if not response.endswith("\n"):
            raise DeadlineExceededError
        return json.loads(response)


def match_lines(expression: str, text: str, count: int) -> Bool:
    """Return which lines of a text match a regular expression, ignoring case.

    Args:
        expression: The regular expression, from a user.
        text: The text.
        count: The number of lines of the text.

    Raises:
        UsageError: The expression is invalid or takes too long.

    Example:
        >>> match_lines("conv[0-9]", "conv1\\ndense", 2)
        array([ True, False])
    """
    is_match = np.zeros(count, np.bool_)
    process = RegexProcess(expression, re.IGNORECASE, _MAX_MATCHING_S, count)
    try:
        is_match[[line for line, _, _ in process.match(text)]] = True
    except DeadlineExceededError:
        raise UsageError(_TIMEOUT_MESSAGE) from None
    finally:
        process.close()
    return is_match


def capture_lines(expression: str, text: str) -> list[str | None]:
    """Return what a regular expression captures in each line of a text; None if it does not match.

    Raises:
        UsageError: The expression is invalid or takes too long.
    """
    process = RegexProcess(expression, 0, _MAX_MATCHING_S, 0)
    try:
        return process.capture(text)
    except DeadlineExceededError:
        raise UsageError(_TIMEOUT_MESSAGE) from None
    finally:
        process.close()
