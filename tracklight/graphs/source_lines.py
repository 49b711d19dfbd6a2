"""The line of a user's program in the words of a stack trace."""

from __future__ import annotations

import re

_FRAME = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,200}))?')
#: Whose own code nobody wants to be led to.
_LIBRARIES = re.compile(r"(?:site|dist)-packages[/\\]")
_LONGEST = 50_000


def find_line(trace: str) -> str:
    """The innermost frame that is no library's, as in ``model.py:12 in forward``."""
    frames = _FRAME.findall(trace[-_LONGEST:])
    own = [frame for frame in frames if not _LIBRARIES.search(frame[0])] or frames
    if not own:
        return ""
    path, line, function = own[-1]
    file = re.split(r"[/\\]", path)[-1]
    return f"{file}:{line} in {function.strip()}" if function else f"{file}:{line}"
