"""Ways to look for something in a text, none of which can take the server with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from typing import Any, Protocol

from tracklight.dashboards.text import regex_worker
from tracklight.dashboards.text.asks import TextSearchAsk
from tracklight.dashboards.text.regex_worker import Found, find_lines
from tracklight.errors import UsageError
from tracklight.media.markdown.deadline import Deadline, TooLong


class Matcher(Protocol):
    """Finds lines of one text after the other, until the time is up."""

    def find(self, text: str) -> list[Found]: ...

    def close(self) -> None: ...


#: What a process may take to start on a busy machine, and to understand an expression.
_MOST_START_SECONDS = 10.0


def open_matcher(ask: TextSearchAsk, limit_s: float) -> Matcher:
    flags = 0 if ask.case else re.IGNORECASE
    if ask.regex:
        return ExpressionMatcher(ask.query, flags, limit_s)
    return WordMatcher(ask.query, flags, limit_s)


class WordMatcher:
    """Looks for the very words, which takes as long as the text is."""

    def __init__(self, words: str, flags: int, limit_s: float) -> None:
        self._pattern = re.compile(re.escape(words), flags)
        self._deadline = Deadline(limit_s)

    def find(self, text: str) -> list[Found]:
        self._deadline.check()
        return find_lines(self._pattern, text)

    def close(self) -> None:
        """There is nothing to leave behind."""


class ExpressionMatcher:
    """Looks for an expression in a process of its own, which is ended when the time is up."""

    def __init__(self, source: str, flags: int, limit_s: float) -> None:
        command = [sys.executable, "-I", "-S", regex_worker.__file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="ascii"
        )
        self._timer = self._end_after(_MOST_START_SECONDS)
        problem = self._find_problem([source, flags])
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
            return "this expression takes too long; make it simpler"
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
