"""Find the line of the user's program in stack traces recorded by Python, TorchScript and JAX."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Stack frames in the notation of Python, TorchScript and JAX.
_PYTHON = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,200}))?')
_TORCH = re.compile(r"^([^\n]{1,1000})\((\d{1,9})\): ([^\n]{1,200})$", re.MULTILINE)
_JAX = re.compile(r"^(.{1,1000}?):(\d{1,9})(?::\d{1,9})? \((.{1,200})\)$")
#: Frames in library code are skipped; if there are no others, only those in framework code are.
_FRAMEWORKS = re.compile(r"(?:site|dist)-packages[/\\](?:torch|jax|flax|keras|tensorflow)[/\\]")
_LIBRARIES = re.compile(r"(?:site|dist)-packages[/\\]")
_MAX_TRACE_CHARACTERS = 50_000


def is_library_path(path: str) -> bool:
    """Return whether a file belongs to an installed package and not to the user's program."""
    return _LIBRARIES.search(path) is not None or path.startswith("<")


def extract_python_line(trace: str) -> str:
    """Return the innermost frame outside libraries, such as ``model.py:12 in forward``."""
    return _format_user_frame(_PYTHON.findall(trace[-_MAX_TRACE_CHARACTERS:])[::-1])


def extract_torchscript_line(trace: str) -> str:
    """Return the innermost frame outside libraries of a TorchScript trace (innermost first)."""
    return _format_user_frame(_TORCH.findall(trace[:_MAX_TRACE_CHARACTERS]))


def extract_jax_line(summary: str) -> str:
    """Return the frame that JAX considers to be the user's code."""
    return _format_user_frame(_JAX.findall(summary))


def _format_user_frame(frames: Sequence[tuple[str, str, str]]) -> str:
    for excluded in (_LIBRARIES, _FRAMEWORKS):
        frames = [frame for frame in frames if not excluded.search(frame[0])] or frames
    return format_source_line(*frames[0]) if frames else ""


def format_source_line(path: str, line: str, qualified: str) -> str:
    """Format a frame as ``file:line in function``; ``qualified`` may be empty."""
    function = qualified.rpartition("<locals>.")[2].strip()
    file = re.split(r"[/\\]", path)[-1]
    return f"{file}:{line} in {function}" if function else f"{file}:{line}"
