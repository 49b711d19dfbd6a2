"""Regular expressions of users, none of which can take the server with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from typing import Any

import numpy as np

from tracklight.errors import UsageError
from tracklight.media import expression_worker
from tracklight.media.expression_worker import Found
from tracklight.media.markdown.deadline import TooLong
from tracklight.types import Bool

#: What a process may take to start on a busy machine, and to understand an expression.
_MOST_START_SECONDS = 10.0
_MOST_MATCHING_SECONDS = 10.0
_TOO_LONG = "this expression takes too long; make it simpler"


class ExpressionMatcher:
    """Looks for an expression in a process of its own, which is ended when the time is up."""

    def __init__(self, source: str, flags: int, limit_s: float, most_lines: int) -> None:
        command = [sys.executable, "-I", "-S", expression_worker.__file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="ascii"
        )
        self._timer = self._end_after(_MOST_START_SECONDS)
        problem = self._find_problem([source, flags, most_lines])
        if problem is not None:
            self.close()
            raise UsageError(problem)
        self._timer.cancel()
        self._timer = self._end_after(limit_s)

    def find(self, text: str) -> list[Found]:
        return [(line, start, stop) for line, start, stop in self._ask(text)]

    def close(self) -> None:
        self._timer.cancel()
        self._process.kill()
        # It waits for the end, and closes the pipes.
        self._process.communicate()

    def _end_after(self, limit_s: float) -> threading.Timer:
        timer = threading.Timer(limit_s, self._process.kill)
        timer.daemon = True
        timer.start()
        return timer

    def _find_problem(self, expression: list[str | int]) -> str | None:
        try:
            problem = self._ask(expression)
        except TooLong:
            return _TOO_LONG
        return None if problem is None else f"this is no regular expression: {problem}"

    def _ask(self, message: object) -> Any:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise TooLong from None
        answer = self._process.stdout.readline()
        if not answer.endswith("\n"):
            raise TooLong
        return json.loads(answer)


def match_lines(expression: str, text: str, count: int) -> Bool:
    """Of each of the lines of a text whether an expression matches some of it, in any case."""
    found = np.zeros(count, np.bool_)
    matcher = ExpressionMatcher(expression, re.IGNORECASE, _MOST_MATCHING_SECONDS, count)
    try:
        found[[line for line, _, _ in matcher.find(text)]] = True
    except TooLong:
        raise UsageError(_TOO_LONG) from None
    finally:
        matcher.close()
    return found
