"""The line of a user's program in the stack traces that frameworks keep for what they run."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: As Python writes a frame, as TorchScript does, and as JAX does.
_PYTHON = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,200}))?')
_TORCH = re.compile(r"^([^\n]{1,1000})\((\d{1,9})\): ([^\n]{1,200})$", re.MULTILINE)
_JAX = re.compile(r"^(.{1,1000}?):(\d{1,9})(?::\d{1,9})? \((.{1,200})\)$")
#: Whose own code nobody wants to be led to: frameworks least of all, then any library.
_FRAMEWORKS = re.compile(r"(?:site|dist)-packages[/\\](?:torch|jax|flax|keras|tensorflow)[/\\]")
_LIBRARIES = re.compile(r"(?:site|dist)-packages[/\\]")
_MAX_TRACE_CHARACTERS = 50_000


def extract_python_line(trace: str) -> str:
    """The innermost frame that is no library's, as in ``model.py:12 in forward``."""
    return _format_user_frame(_PYTHON.findall(trace[-_MAX_TRACE_CHARACTERS:])[::-1])


def extract_torchscript_line(trace: str) -> str:
    """The same of a trace in which the innermost frame is the first."""
    return _format_user_frame(_TORCH.findall(trace[:_MAX_TRACE_CHARACTERS]))


def extract_jax_line(summary: str) -> str:
    """The same of the one frame that JAX takes for the user's."""
    return _format_user_frame(_JAX.findall(summary))


def _format_user_frame(frames: Sequence[tuple[str, str, str]]) -> str:
    for others in (_LIBRARIES, _FRAMEWORKS):
        frames = [frame for frame in frames if not others.search(frame[0])] or frames
    if not frames:
        return ""
    return format_source_line(*frames[0])


def format_source_line(path: str, line: str, qualified: str) -> str:
    function = qualified.rpartition("<locals>.")[2].strip()
    file = re.split(r"[/\\]", path)[-1]
    return f"{file}:{line} in {function}" if function else f"{file}:{line}"
