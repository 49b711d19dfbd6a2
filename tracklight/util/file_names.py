"""Turn names of runs and tags into names of files and of zip archive members."""

from __future__ import annotations

import re
import time
from pathlib import PurePosixPath

#: Characters that Windows, macOS or Linux does not allow in file names.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"\\|?*]+')
_MAX_PART_CHARS = 100
_FIRST_ZIP_YEAR, _LAST_ZIP_YEAR = 1980, 2107


def make_file_name(name: str) -> str:
    """Turn the name of a run or tag into a relative path that is valid on every system."""
    parts = (_UNSAFE.sub("_", part).strip(" .")[:_MAX_PART_CHARS] for part in name.split("/"))
    return "/".join(filter(None, parts)) or "root"


def make_unique_name(name: str, taken: set[str]) -> str:
    """Return the path, with a number if it is in ``taken``, and add the result to ``taken``.

    >>> make_unique_name("loss.png", {"loss.png"})
    'loss (2).png'
    """
    path = PurePosixPath(name)
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = str(path.with_name(f"{path.stem} ({count}){path.suffix}"))
    taken.add(unique)
    return unique


def make_zip_time(wall_time: float) -> tuple[int, int, int, int, int, int]:
    """Return the modification time of a zip member; 1980-01-01 if zip cannot represent it."""
    try:
        date_time = time.gmtime(wall_time)[:6]
    except (OverflowError, ValueError, OSError):
        date_time = (0,) * 6
    if _FIRST_ZIP_YEAR <= date_time[0] <= _LAST_ZIP_YEAR:
        return date_time
    return (_FIRST_ZIP_YEAR, 1, 1, 0, 0, 0)
