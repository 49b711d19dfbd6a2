"""Ways to look for something in a text, none of which can take the server with it."""

from __future__ import annotations

import re
from typing import Protocol

from tracklight.dashboards.text.asks import TextSearchAsk
from tracklight.media.expression_worker import Found, find_lines
from tracklight.media.expressions import ExpressionMatcher
from tracklight.media.markdown.deadline import Deadline


class Matcher(Protocol):
    """Finds lines of one text after the other, until the time is up."""

    def find(self, text: str) -> list[Found]: ...

    def close(self) -> None: ...


_MOST_LINES_PER_TEXT = 20


def open_matcher(ask: TextSearchAsk, limit_s: float) -> Matcher:
    flags = 0 if ask.case else re.IGNORECASE
    if ask.regex:
        return ExpressionMatcher(ask.query, flags, limit_s, _MOST_LINES_PER_TEXT)
    return WordMatcher(ask.query, flags, limit_s)


class WordMatcher:
    """Looks for the very words, which takes as long as the text is."""

    def __init__(self, words: str, flags: int, limit_s: float) -> None:
        self._pattern = re.compile(re.escape(words), flags)
        self._deadline = Deadline(limit_s)

    def find(self, text: str) -> list[Found]:
        self._deadline.check()
        return find_lines(self._pattern, text, _MOST_LINES_PER_TEXT)

    def close(self) -> None:
        """There is nothing to leave behind."""
