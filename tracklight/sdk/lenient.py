"""Misuse is one warning that points at the user's line, or in strict mode an exception.

Logging must not break training. So a bad argument costs a value and never the run, and is told once
for each line of the user's program and not once for each step. Strict mode is for tests: it is
asked for by ``strict=True`` when a writer is made, or everywhere by TRACKLIGHT_STRICT=1.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextvars import ContextVar
from types import FrameType, TracebackType

from tracklight.errors import UsageError, UsageWarning

#: Folders whose code is not the user's: tracklight's, and those of frameworks that call it.
_folders: tuple[str, ...] = (os.path.dirname(os.path.dirname(__file__)) + os.sep,)

_strict: ContextVar[bool] = ContextVar("tracklight_strict", default=False)
_told: set[tuple[str, int, str]] = set()


class Misuse(UsageError):
    """An argument that makes no sense; ``sentence`` says why, and what would."""

    def __init__(self, argument: str, sentence: str) -> None:
        super().__init__(f"`{argument}` {sentence}")
        self.argument = argument


def is_strict() -> bool:
    """Whether misuse is to be an exception everywhere in this process."""
    return os.environ.get("TRACKLIGHT_STRICT", "") not in ("", "0")


class guard:
    """Runs the body of a public function; in lenient mode nothing that it raises gets out."""

    def __init__(self, call: str, *, strict: bool) -> None:
        self._call = call
        self._is_strict = strict

    def __enter__(self) -> None:
        self._token = _strict.set(self._is_strict)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        _strict.reset(self._token)
        # An Exception may be anything that a strange argument raises; an interrupt is none.
        if self._is_strict or not isinstance(error, Exception):
            return False
        argument = error.argument if isinstance(error, Misuse) else ""
        cause = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        _warn(argument, f"{self._call} logged nothing: {cause}")
        return True


def pass_over(folder: str) -> None:
    """Take code in ``folder`` for a framework's, so that warnings point at who called it."""
    global _folders
    _folders = (*_folders, os.path.join(folder, ""))


def complain(argument: str, sentence: str) -> None:
    """Tell of an argument that can be made sense of all the same; raise in strict mode."""
    misuse = Misuse(argument, sentence)
    if _strict.get():
        raise misuse
    _warn(argument, str(misuse))


def _warn(argument: str, text: str) -> None:
    frame = find_user_frame()
    place = (frame.f_code.co_filename, frame.f_lineno, argument)
    if place in _told:
        return
    _told.add(place)
    module = frame.f_globals.get("__name__", "<unknown>")
    warnings.warn_explicit(text, UsageWarning, place[0], place[1], module)


def find_user_frame() -> FrameType:
    """The innermost frame that is the user's own."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_folders):
        frame = frame.f_back
    return frame
