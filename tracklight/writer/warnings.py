"""Report misuse as a warning that points at the user's line, or as an exception in strict mode.

Logging must not break training: a bad argument costs a value, never the run. There is one warning
per line of the user's program, not one per step. Strict mode is meant for tests. It is enabled by
``strict=True`` when a writer is created, or everywhere by TRACKLIGHT_STRICT=1.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any

from tracklight.errors import UsageError, UsageWarning
from tracklight.writer import tf_context

#: Directories whose code is not the user's: tracklight, and frameworks that call it.
_skipped_dirs: tuple[str, ...] = (os.path.dirname(os.path.dirname(__file__)) + os.sep,)


class Location:
    """A line of the user's program."""

    __slots__ = ("filename", "line", "module")

    def __init__(self, filename: str, line: int, module: str) -> None:
        self.filename = filename
        self.line = line
        self.module = module


_strict: ContextVar[bool] = ContextVar("tracklight_strict", default=False)
_location: ContextVar[Location | None] = ContextVar("tracklight_location", default=None)
_reported: set[tuple[str, int, str]] = set()


class ArgumentError(UsageError):
    """An argument of a logging call is invalid.

    Args:
        argument: Its name.
        problem: The rest of the sentence: what is wrong with it, and what is valid.
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"`{argument}` {problem}")
        self.argument = argument


def is_strict() -> bool:
    """Return whether strict mode is enabled for the whole process."""
    return os.environ.get("TRACKLIGHT_STRICT", "") not in ("", "0")


class catch_errors:
    """Context manager around the body of a public function that turns exceptions into warnings.

    Args:
        call: The call to name in the warning.
        strict: Let exceptions through, and turn `warn_or_raise` into exceptions.
    """

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
        # Invalid arguments may raise any Exception. Interrupts are not Exceptions and pass.
        if self._is_strict or not isinstance(error, Exception):
            return False
        argument = error.argument if isinstance(error, ArgumentError) else ""
        cause = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        warn_once(argument, f"{self._call} logged nothing: {cause}")
        return True


def skip_frames_in(directory: str) -> None:
    """Treat code in ``directory`` as a framework's, so that warnings point at its caller."""
    global _skipped_dirs
    _skipped_dirs = (*_skipped_dirs, os.path.join(directory, ""))


def warn_or_raise(argument: str, problem: str) -> None:
    """Warn about an argument that is corrected and used; raise `ArgumentError` in strict mode."""
    error = ArgumentError(argument, problem)
    if _strict.get():
        raise error
    warn_once(argument, str(error))


@contextmanager
def warn_at(location: Location) -> Iterator[None]:
    """Make warnings point at ``location``, for code that runs after the user's call."""
    token = _location.set(location)
    try:
        yield
    finally:
        _location.reset(token)


def warn_once(argument: str, text: str) -> None:
    """Warn about an argument once per line of the user's program, in strict mode as well."""
    location = _location.get() or get_user_location()
    key = (location.filename, location.line, argument)
    if key in _reported:
        return
    _reported.add(key)
    warnings.warn_explicit(text, UsageWarning, location.filename, location.line, location.module)


def get_user_location() -> Location:
    """Return the line of the user's program that is running or being traced by TensorFlow."""
    if tf_context.is_tracing():
        return get_operation_location(sys.modules["tensorflow"].no_op().traceback)
    frame = get_user_frame()
    module = frame.f_globals.get("__name__", "<unknown>")
    return Location(frame.f_code.co_filename, frame.f_lineno, module)


def get_operation_location(traceback: Any) -> Location:
    """Return the line of the user's program in the traceback of a TensorFlow operation."""
    line = tf_context.find_traced_line(traceback, _skipped_dirs)
    return Location(*(line or ("<unknown>", 0)), "__main__")


def get_user_frame() -> FrameType:
    """Return the innermost frame of the user's code."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_skipped_dirs):
        frame = frame.f_back
    return frame
