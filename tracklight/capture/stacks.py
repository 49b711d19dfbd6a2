"""Merge stack samples of a thread into nested spans."""

from __future__ import annotations

import linecache
import os
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import NamedTuple

_MAX_DEPTH = 200
_MAX_LINE_CHARS = 80
_PLACES = (*map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), os.path.dirname(__file__))
_LIBRARIES = tuple(os.path.join(place, "") for place in _PLACES)


class Span(NamedTuple):
    """A call; times are those of the samples."""

    name: str
    start_ns: int
    end_ns: int


class StackFold:
    """The open and the finished calls of one thread.

    A function that is in two consecutive samples is taken for one call.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: list[tuple[str, int]] = []

    def add(self, names: list[str], now_ns: int) -> None:
        """Add a sample: the names of the running calls, outermost first."""
        same = 0
        for (name, _), seen in zip(self._open, names, strict=False):
            if name != seen:
                break
            same += 1
        self.cut(same, now_ns)
        self._open += [(name, now_ns) for name in names[same:]]

    def cut(self, depth: int, now_ns: int) -> None:
        """End all calls below ``depth``. They may have begun after ``now_ns`` was taken."""
        while len(self._open) > depth:
            name, start = self._open.pop()
            self.spans.append(Span(name, start, max(start, now_ns)))


def name_stack(frame: FrameType | None) -> list[str]:
    """Return the functions on a stack, outermost first, with lines for the user's own files."""
    frames: list[FrameType] = []
    while frame is not None and len(frames) < _MAX_DEPTH:
        frames.append(frame)
        frame = frame.f_back
    return [name for each in reversed(frames) for name in _iter_names(each)]


def _iter_names(frame: FrameType) -> Iterator[str]:
    yield _name_function(frame.f_code)
    if _is_own(frame.f_code.co_filename):
        yield _name_line(frame.f_code.co_filename, frame.f_lineno or 0)


@lru_cache(maxsize=16_384)
def _name_function(code: CodeType) -> str:
    name = getattr(code, "co_qualname", code.co_name)  # new in Python 3.11
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


@lru_cache(maxsize=16_384)
def _name_line(file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    place = f"{os.path.basename(file)}:{line}"
    return f"{place}: {source[:_MAX_LINE_CHARS]}" if source else place


@lru_cache(maxsize=4_096)
def _is_own(file: str) -> bool:
    """Return whether a file is the user's: not of a library, and not generated code."""
    return not file.startswith((*_LIBRARIES, "<"))
