"""Reads the YAML in which programs keep settings: mappings, lists and plain values.

Only data is made of it, whatever its tags ask for; anchors and multi-line strings are the texts
they are. What is no YAML of that kind is a FormatError.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tracklight.errors import FormatError
from tracklight.sessions.yaml_values import MOST_DEPTH, read_inline, read_scalar

#: Longer lines are no settings, and would take long to look through.
_MOST_CHARACTERS = 10_000

_BLOCK = re.compile(r"[|>][-+]?\d?")
#: A tag or an anchor before a value says nothing about settings.
_DECORATION = re.compile(r"[!&]\S*\s*")
_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#\[\]{},"'][^#]*?)\s*:(?=\s|$)"""
)


class Line(NamedTuple):
    """A line that says something, without what is in front of it."""

    indent: int
    text: str


def read_yaml(text: str) -> Any:
    """The first document of a text."""
    if any(len(raw) > _MOST_CHARACTERS for raw in text.splitlines()):
        raise FormatError("a line is too long for settings")
    lines = [Line(len(raw) - len(raw.lstrip(" ")), raw.strip()) for raw in text.splitlines()]
    return _Document([line for line in lines if not line.text.startswith(("---", "%YAML"))]).read()


class _Document:
    """Lines, and how far they were read."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._at = 0

    def read(self) -> Any:
        value = self._read_node(-1, 0)
        if self._peek() is not None and self._lines[self._at].text != "...":
            raise FormatError(f"line {self._at + 1} is no YAML that holds settings")
        return value

    def _peek(self) -> Line | None:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text and not line.text.startswith("#"):
                return line
            self._at += 1
        return None

    def _read_node(self, above: int, depth: int) -> Any:
        """What is indented deeper than ``above``; None where nothing is."""
        if depth > MOST_DEPTH:
            raise FormatError("the settings are nested too deeply")
        line = self._peek()
        if line is None or line.indent <= above:
            return None
        if _is_item(line.text):
            return self._read_list(line.indent, depth)
        if _KEY.match(line.text):
            return self._read_mapping(line.indent, depth)
        self._at += 1
        return read_inline(self._join(line.text, above))

    def _read_list(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while (line := self._peek()) and line.indent == indent and _is_item(line.text):
            rest = line.text[1:].lstrip()
            inner = indent + len(line.text) - len(rest)
            if _is_item(rest) or _KEY.match(rest):
                self._lines[self._at] = Line(inner, rest)
                items.append(self._read_node(indent, depth + 1))
            else:
                self._at += 1
                items.append(self._read_value(rest, indent, depth))
        return items

    def _read_mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._peek()) and line.indent == indent:
            match = _KEY.match(line.text)
            if match is None:
                raise FormatError(f"line {self._at + 1} has no key")
            self._at += 1
            key = str(read_scalar(match["key"]))
            found[key] = self._read_value(line.text[match.end() :].strip(), indent, depth)
        return found

    def _read_value(self, rest: str, indent: int, depth: int) -> Any:
        """What stands behind a key or a dash, or is indented below it."""
        rest = _DECORATION.sub("", rest, count=2) if rest[:1] in ("!", "&") else rest
        if _BLOCK.fullmatch(rest):
            return self._read_block(indent)
        if rest and not rest.startswith("#"):
            return read_inline(self._join(rest, indent))
        line = self._peek()
        # The items of a list may stand right below their key.
        beside = line is not None and line.indent == indent and _is_item(line.text)
        return self._read_node(indent - beside, depth + 1)

    def _join(self, text: str, indent: int) -> str:
        """A value that goes on in deeper lines."""
        while (line := self._peek()) and line.indent > indent:
            text += f" {line.text}"
            self._at += 1
        return text

    def _read_block(self, indent: int) -> str:
        lines = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text and line.indent <= indent:
                break
            lines.append(line.text)
            self._at += 1
        return "\n".join(lines).strip("\n")


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")
