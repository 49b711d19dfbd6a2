"""A file as one on this machine, wherever it lies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracklight.logdir.opening import open_filesystem
from tracklight.logdir.roots import is_url


@contextmanager
def fetch(path: str) -> Iterator[Path]:
    """The file itself, or a copy of one that lies elsewhere, which is gone afterwards."""
    if not is_url(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="tracklight-") as folder:
        copy = Path(folder, path.rpartition("/")[2])
        _copy(path, copy)
        yield copy


def _copy(path: str, copy: Path) -> None:
    files, at = open_filesystem(path)
    stat = files.find_stat(at)
    if stat is None:
        raise FileNotFoundError(f'"{path}" has gone')
    with files.open(at) as source, copy.open("wb") as target:
        # Some refuse to be asked for what lies behind the end.
        for offset in range(0, stat.size, files.read_sizes.most):
            target.write(source.read(offset, min(files.read_sizes.most, stat.size - offset)))
