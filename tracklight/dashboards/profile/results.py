"""Answers that take long to find, kept in the cache folder between servers.

Each is a file of its own, named by all that it depends on. What cannot be read is made anew, and
the oldest go where there are many: anything here may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from tracklight import profiles

Answer = TypeVar("Answer")

_MOST_FILES = 500


class Results:
    """Keeps answers, if there is a folder to keep them in."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, key: str, kind: type[Answer], make: Callable[[], Answer]) -> Answer:
        if self._folder is None:
            return make()
        named = f"{_describe_code()} {kind.__qualname__} {key}"
        path = self._folder / f"{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()}"
        found = _read(path, kind)
        if found is None:
            found = make()
            self._write(path, found)
        return found

    def _write(self, path: Path, answer: object) -> None:
        # A folder that is full or read-only costs time, not answers.
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.msgpack.encode(answer, enc_hook=_write_column))
            os.replace(part, path)
            self._sweep(path.parent)

    def _sweep(self, folder: Path) -> None:
        with os.scandir(folder) as entries:
            found = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        for _, path in found[:-_MOST_FILES]:
            os.unlink(path)


@cache
def _describe_code() -> str:
    """Something else whenever captures may be summed up otherwise than they were."""
    folders = (Path(__file__).parent, Path(profiles.__file__).parent)
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    stats = [(path.name, path.stat()) for path in files]
    return hashlib.sha256(
        repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]).encode()
    ).hexdigest()


def _read(path: Path, kind: type[Answer]) -> Answer | None:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=kind, dec_hook=_read_column)
    except (OSError, msgspec.DecodeError, ValueError, TypeError):
        return None


def _write_column(value: Any) -> object:
    if not isinstance(value, np.ndarray):
        raise NotImplementedError(f"{type(value).__name__} is no column")
    return [value.dtype.str, value.tobytes()]


def _read_column(_: type, value: Any) -> object:
    dtype, content = value
    return np.frombuffer(content, np.dtype(dtype))
