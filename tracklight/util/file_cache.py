"""An LRU cache on disk: a folder with one file per key.

Any of the files may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tracklight.util.files import write_atomic
from tracklight.util.hashing import hash_key


class FileCache:
    """Store bytes in a folder and delete the least recently used files beyond a budget.

    Several processes may share a folder. A folder that cannot be read or written behaves like an
    empty cache.

    Args:
        folder: Created on the first `put`.
        max_bytes: Budget for the sizes of all files.
        max_files: Budget for their number.
    """

    def __init__(
        self, folder: Path, *, max_bytes: int | None = None, max_files: int | None = None
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_files = max_files

    def find(self, key: str) -> bytes | None:
        """Return the content of a key and mark it as used, or None if it is not cached."""
        path = self._get_path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Store the content of a key, unless it is larger than the whole budget."""
        if self._max_bytes is not None and len(content) > self._max_bytes:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._get_path(key), content, mode=0o600)
            self._evict()

    def _get_path(self, key: str) -> Path:
        return self._folder / hash_key(key, size_bytes=16)

    def _evict(self) -> None:
        with os.scandir(self._folder) as entries:
            files = [(entry.stat(), entry.path) for entry in entries]
        files.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
        total_bytes = 0
        for number, (stat, path) in enumerate(files, 1):
            total_bytes += stat.st_size
            is_over = (self._max_files is not None and number > self._max_files) or (
                self._max_bytes is not None and total_bytes > self._max_bytes
            )
            if is_over:
                with contextlib.suppress(OSError):
                    os.unlink(path)
