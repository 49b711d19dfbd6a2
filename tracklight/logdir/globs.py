"""Glob patterns over run names, for choosing which runs are read at all.

A pattern speaks of the whole run name, with ``/`` between its parts:

    *       any characters within one part, or none: ``lr*/train``
    ?       one character within one part
    [abc]   one of these characters, ``[a-z]`` a range, ``[!abc]`` none of these
    **      any characters, also across ``/``; ``**/train`` matches ``train`` and ``a/b/train``

A pattern that matches a directory takes everything below it as well, so ``old`` means ``old`` and
``old/2024/train``. The root's own run is named ``.`` and has nothing below it. Case counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tracklight.errors import UsageError

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?.[^\]]*\]|.", re.DOTALL)
_RANGE = re.compile("(.)-(.)|(.)", re.DOTALL)
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted: those that match an include (if any is given) and no exclude."""

    include: re.Pattern[str] | None
    exclude: re.Pattern[str] | None

    @classmethod
    def parse(cls, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> RunFilter:
        return cls(_compile(include), _compile(exclude))

    def wants(self, run: str) -> bool:
        return not self.excludes(run) and (
            self.include is None or self.include.fullmatch(run) is not None
        )

    def excludes(self, directory: str) -> bool:
        """Whether this directory, and so everything below it, is excluded."""
        return self.exclude is not None and self.exclude.fullmatch(directory) is not None


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A pattern of which a whole name is to be a full match; what is below it does not count."""
    return re.compile(_translate(pattern), re.DOTALL)


def _compile(patterns: Iterable[str]) -> re.Pattern[str] | None:
    choices = [_translate(pattern) for pattern in patterns]
    if not choices:
        return None
    return re.compile(f"(?:{'|'.join(choices)})(?:/.*)?", re.DOTALL)


def _translate(pattern: str) -> str:
    stripped = pattern.rstrip("/") or pattern
    expression = "".join(_translate_token(token) for token in _TOKEN.findall(stripped))
    try:
        re.compile(expression)
    except re.error as error:  # all that can be wrong is a range that runs backwards, as in [z-a]
        raise UsageError(f'the pattern "{pattern}" is not a glob: {error.msg}') from None
    return expression


def _translate_token(token: str) -> str:
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if len(token) > 1:  # only a set in brackets is longer than one character
        return _translate_set(token)
    return re.escape(token)


def _translate_set(token: str) -> str:
    negated = token.startswith("[!") and len(token) > 3
    members = token[2 if negated else 1 : -1]
    body = "".join(
        f"{re.escape(low)}-{re.escape(high)}" if low else re.escape(one)
        for low, high, one in _RANGE.findall(members)
    )
    return f"(?!/)[{'^' if negated else ''}{body}]"
