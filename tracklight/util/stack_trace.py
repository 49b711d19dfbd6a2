"""Find the line of the user's program in the stack traces that frameworks record for their ops.

Each function returns text such as ``model.py:12 in forward``, or an empty string if there is none.
The innermost frame that is not in a library is preferred, then one that is not in a framework.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Stack frames as written by Python, TorchScript and JAX.
_PYTHON = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,200}))?')
_TORCH = re.compile(r"^([^\n]{1,1000})\((\d{1,9})\): ([^\n]{1,200})$", re.MULTILINE)
_JAX = re.compile(r"^(.{1,1000}?):(\d{1,9})(?::\d{1,9})? \((.{1,200})\)$")
# Paths of frames that are not the user's.
_FRAMEWORKS = re.compile(r"(?:site|dist)-packages[/\\](?:torch|jax|flax|keras|tensorflow)[/\\]")
_LIBRARIES = re.compile(r"(?:site|dist)-packages[/\\]")
_MAX_TRACE_CHARACTERS = 50_000


def extract_python_line(trace: str) -> str:
    """Return the user's line in a Python trace, where the innermost frame is the last."""
    return _format_user_frame(_PYTHON.findall(trace[-_MAX_TRACE_CHARACTERS:])[::-1])


def extract_torchscript_line(trace: str) -> str:
    """Return the user's line in a TorchScript trace, where the innermost frame is the first."""
    return _format_user_frame(_TORCH.findall(trace[:_MAX_TRACE_CHARACTERS]))


def extract_jax_line(summary: str) -> str:
    """Return the user's line from the single frame that JAX records."""
    return _format_user_frame(_JAX.findall(summary))


def _format_user_frame(frames: Sequence[tuple[str, str, str]]) -> str:
    for excluded in (_LIBRARIES, _FRAMEWORKS):
        frames = [frame for frame in frames if not excluded.search(frame[0])] or frames
    if not frames:
        return ""
    return format_source_line(*frames[0])


def format_source_line(path: str, line: str, qualified_name: str) -> str:
    """Format a frame as ``file:line in function``."""
    function = qualified_name.rpartition("<locals>.")[2].strip()
    file = re.split(r"[/\\]", path)[-1]
    return f"{file}:{line} in {function}" if function else f"{file}:{line}"
