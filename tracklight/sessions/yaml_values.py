"""Values of YAML that stand on one line: words, numbers, quoted texts, lists in brackets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tracklight.errors import FormatError

MOST_DEPTH = 50

_NUMBER = re.compile(r"[-+]?(\.\d+|\d[\d_]*(\.\d*)?)(e[-+]?\d+)?", re.IGNORECASE)
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "0": "\0", "r": "\r"}
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", "+.inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


def read_inline(text: str) -> Any:
    """A value, or a list or mapping in brackets."""
    if text[:1] not in ("[", "{"):
        return read_scalar(text)
    return _Flow(text).read(0)


def read_scalar(text: str) -> Any:
    """A text, a number, or what a word such as ``true`` stands for."""
    if text[:1] in ('"', "'"):
        return _unquote(text)
    text = re.split(r"\s#", text, maxsplit=1)[0].strip()
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        plain = text.replace("_", "")
        return int(plain) if plain.lstrip("+-").isdecimal() and len(plain) < 300 else float(plain)
    return text


def _unquote(text: str) -> str:
    single = text[0] == "'"
    match = (_SINGLE if single else _DOUBLE).match(text)
    if match is None:
        raise FormatError("a quoted text has no end")
    return match[1].replace("''", "'") if single else _ESCAPED.sub(_unescape, match[1])


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[0])


class _Flow:
    """Lists and mappings in brackets: ``[1, {a: b}]``."""

    _TOKEN = re.compile(
        r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\[\]{},]|:(?=[\s,\]}]|$)"""
        r"""|[^\[\]{},:]+(?::\S[^\[\]{},:]*)*)"""
    )

    def __init__(self, text: str) -> None:
        self._tokens = self._TOKEN.findall(text)
        self._at = 0

    def read(self, depth: int) -> Any:
        if depth > MOST_DEPTH:
            raise FormatError("the settings are nested too deeply")
        token = self._take()
        if token == "[":
            return self._read_until("]", lambda: self.read(depth + 1))
        if token == "{":
            return dict(self._read_until("}", lambda: self._read_pair(depth + 1)))
        return read_scalar(token.strip())

    def _read_until(self, end: str, read: Callable[[], Any]) -> list[Any]:
        items: list[Any] = []
        while self._peek() != end:
            items.append(read())
            if self._peek() == ",":
                self._take()
            elif self._peek() != end:
                raise FormatError("a list in brackets has no end")
        self._take()
        return items

    def _read_pair(self, depth: int) -> tuple[str, Any]:
        key = str(self.read(depth))
        if self._peek() != ":":
            return key, None
        self._take()
        return key, None if self._peek() in (",", "}") else self.read(depth)

    def _peek(self) -> str:
        return self._tokens[self._at].strip() if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token
