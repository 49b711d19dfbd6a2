"""What lies in a log directory in which no run was found, so that the page can say it."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import msgspec

from tracklight.logdir.roots import is_url
from tracklight.server.wire import readable

_MOST_ENTRIES = 1000


class Surroundings(msgspec.Struct):
    """A log directory as the file system shows it; ``entries`` is null where that is not local."""

    path: str
    exists: bool
    entries: int | None
    examples: list[str]


def look_around(path: str) -> Surroundings:
    """Look into the log directory ``path``, one level deep and not beyond a thousand entries."""
    if is_url(path):
        return Surroundings(readable(path), True, None, [])
    place = Path(path).absolute()
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_ENTRIES))
    except OSError:
        return Surroundings(readable(str(place)), False, 0, [])
    examples = [readable(name) for name in names[:3]]
    return Surroundings(readable(str(place)), True, len(names), examples)
