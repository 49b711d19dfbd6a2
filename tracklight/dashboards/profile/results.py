"""Cache results of slow analyses in the cache folder, so that the next server has them.

The key of a result names everything that it depends on. A result that cannot be read is computed
again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from tracklight import profiles
from tracklight.util.file_cache import FileCache
from tracklight.util.hashing import hash_key

Answer = TypeVar("Answer")

_MAX_FILES = 500


class Results:
    """Results by key. Without a folder, every one is computed again."""

    def __init__(self, folder: Path | None) -> None:
        self._cache = None if folder is None else FileCache(folder, max_files=_MAX_FILES)

    def find(self, key: str, kind: type[Answer], make: Callable[[], Answer]) -> Answer:
        """Return the result of a key as a struct of that kind; compute and keep it if needed."""
        if self._cache is None:
            return make()
        name = f"{_describe_code()} {kind.__qualname__} {key}"
        content = self._cache.find(name)
        found = None if content is None else _decode(content, kind)
        if found is None:
            found = make()
            self._cache.put(name, msgspec.msgpack.encode(found, enc_hook=_write_column))
        return found


@cache
def _describe_code() -> str:
    """Return a text that changes whenever the code that computes results may have changed."""
    folders = (Path(__file__).parent, Path(profiles.__file__).parent)
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    stats = [(path.name, path.stat()) for path in files]
    return hash_key(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]))


def _decode(content: bytes, kind: type[Answer]) -> Answer | None:
    """Return a result, or None if the content is damaged."""
    try:
        return msgspec.msgpack.decode(content, type=kind, dec_hook=_read_column)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None


def _write_column(value: Any) -> object:
    if not isinstance(value, np.ndarray):
        raise NotImplementedError(f"{type(value).__name__} is no column")
    return [value.dtype.str, value.tobytes()]


def _read_column(_: type, value: Any) -> object:
    dtype, content = value
    return np.frombuffer(content, np.dtype(dtype))
