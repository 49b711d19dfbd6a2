"""Names of files and archive members, made of the names of runs and tags."""

from __future__ import annotations

import re
import time
from pathlib import PurePosixPath

#: Characters that some system does not allow in file names.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"\\|?*]+')
_MAX_NAME = 100
_FIRST_ZIP_YEAR, _LAST_ZIP_YEAR = 1980, 2107


def make_file_name(name: str) -> str:
    """Turn the name of a run or tag into a relative path that is valid on every system."""
    parts = (_UNSAFE.sub("_", part).strip(" .")[:_MAX_NAME] for part in name.split("/"))
    return "/".join(filter(None, parts)) or "root"


def make_unique_name(name: str, taken: set[str]) -> str:
    """Number a path that is taken already, and add it to those that are."""
    path = PurePosixPath(name)
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = str(path.with_name(f"{path.stem} ({count}){path.suffix}"))
    taken.add(unique)
    return unique


def make_zip_time(wall_time: float) -> tuple[int, int, int, int, int, int]:
    """Return the time of an archive member; archives have no times before 1980."""
    try:
        made = time.gmtime(wall_time)[:6]
    except (OverflowError, ValueError, OSError):
        made = (0,) * 6
    return (
        made if _FIRST_ZIP_YEAR <= made[0] <= _LAST_ZIP_YEAR else (_FIRST_ZIP_YEAR, 1, 1, 0, 0, 0)
    )
