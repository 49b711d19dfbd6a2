"""Layouts that were made before, in a folder of the cache; it may be emptied at any time."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np

from tracklight.types import Float32

_MOST_BYTES = 512 << 20


class Shelf:
    """Arrays by their keys; the ones used longest ago are thrown away when there are too many."""

    def __init__(self, folder: Path, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def find(self, key: str) -> Float32 | None:
        path = self._get_path(key)
        try:
            layout = np.load(path, allow_pickle=False)
            os.utime(path)
        except (OSError, ValueError, EOFError):
            return None
        is_layout = layout.dtype == np.float32 and layout.ndim == 2
        return layout if is_layout else None

    def put(self, key: str, result: Float32) -> None:
        """Keep a layout; where that cannot be done, it will be made again."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                np.save(file, result)
            os.replace(file.name, self._get_path(key))
            self._tidy()

    def _get_path(self, key: str) -> Path:
        return self._folder / f"{key}.npy"

    def _tidy(self) -> None:
        kept = sorted(self._folder.glob("*.npy"), key=lambda path: -path.stat().st_mtime)
        total = 0
        for path in kept:
            total += path.stat().st_size
            if total > self._most_bytes:
                path.unlink(missing_ok=True)
