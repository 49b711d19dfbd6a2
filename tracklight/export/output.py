"""Output files that appear when they are complete, and the format that their name implies."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracklight.errors import TracklightError, UsageError
from tracklight.util.files import name_temporary, open_atomic

#: By suffix of the output file. The values are what ``--format`` takes.
_FORMATS_BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
FORMAT_NAMES = tuple(dict.fromkeys(_FORMATS_BY_SUFFIX.values()))


def find_format(path: str, given: str | None) -> str:
    """Return the format that was given, or the one that the suffix of the file implies."""
    if given:
        return given
    found = _FORMATS_BY_SUFFIX.get(Path(path).suffix.lower())
    if found is None:
        suffixes = ", ".join(_FORMATS_BY_SUFFIX)
        raise UsageError(
            f'the format of "{path}" is not clear; use a suffix ({suffixes}) or --format'
        )
    return found


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """Open a file that appears under its name when it is complete; ``-`` is standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a pipe, or /dev/null
        with target.open("wb") as file:
            yield file
        return
    try:
        with open_atomic(target) as file:
            yield file
    except OSError as error:
        # An error about another file, such as one of the log, is not ours to explain.
        if error.errno is None or error.filename not in (None, str(target)):
            raise
        raise TracklightError(f'cannot write "{path}": {error.strerror}') from error


@contextmanager
def open_output_folder(path: str) -> Iterator[Path]:
    """Make a folder that appears under its name when it is complete."""
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f'"{path}" exists already; give a directory that is new or empty')
    part = name_temporary(target)
    part.mkdir()
    try:
        yield part
        if target.exists():
            target.rmdir()
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
