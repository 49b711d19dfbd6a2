"""Capture where in the user's program a tensor is computed."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType

from tracklight.formats.debug_events.recording import SourceLocation
from tracklight.util.stack_trace import is_library_path

_OWN_DIR = os.path.dirname(os.path.dirname(__file__)) + os.sep
_MAX_FRAMES = 50


def capture_stack() -> tuple[SourceLocation, ...]:
    """Return the frames of the user's program, outermost first; libraries are left out."""
    frames: list[SourceLocation] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(frames) < _MAX_FRAMES:
        path = frame.f_code.co_filename
        if not path.startswith(_OWN_DIR) and not is_library_path(path):
            frames.append(make_location(path, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(reversed(frames))


def make_location(path: str, line: int, function: str) -> SourceLocation:
    return SourceLocation(path, line, function, linecache.getline(path, line).strip())
