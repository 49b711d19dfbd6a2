"""Make names of files and archive members from the names of runs and tags."""

from __future__ import annotations

import re
import time
from pathlib import PurePosixPath

#: Characters that are not allowed in file names on some operating system.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"\\|?*]+')
_MAX_NAME_CHARACTERS = 100
_FIRST_ZIP_YEAR, _LAST_ZIP_YEAR = 1980, 2107


def make_file_name(name: str) -> str:
    """Convert the name of a run or tag to a relative path that is valid on all systems."""
    parts = (_UNSAFE.sub("_", part).strip(" .")[:_MAX_NAME_CHARACTERS] for part in name.split("/"))
    return "/".join(filter(None, parts)) or "root"


def make_unique_name(name: str, taken: set[str]) -> str:
    """Add a number to a path that is in ``taken``; the result is added to ``taken``."""
    path = PurePosixPath(name)
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = str(path.with_name(f"{path.stem} ({count}){path.suffix}"))
    taken.add(unique)
    return unique


def make_zip_time(wall_time: float) -> tuple[int, int, int, int, int, int]:
    """Return the time of a zip member, which cannot be before 1980."""
    try:
        date = time.gmtime(wall_time)[:6]
    except (OverflowError, ValueError, OSError):
        date = (0,) * 6
    return (
        date if _FIRST_ZIP_YEAR <= date[0] <= _LAST_ZIP_YEAR else (_FIRST_ZIP_YEAR, 1, 1, 0, 0, 0)
    )
