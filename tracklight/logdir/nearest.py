"""Find an existing path that a mistyped one probably means."""

from __future__ import annotations

import os
from itertools import islice

from tracklight.errors import find_nearest

_MAX_SIBLINGS = 10_000


def find_nearest_path(path: str) -> str | None:
    """Return an existing path whose name is similar to that of a local path that does not exist.

    The first missing part of the path is compared with the names beside it; the parts below are
    kept where they exist there too. ``logs/tarin/run1`` gives ``logs/train/run1``, or
    ``logs/train`` if that has no ``run1``.
    """
    missing = os.path.abspath(path)
    below: list[str] = []
    parent, name = os.path.split(missing)
    while name and not os.path.isdir(parent):
        below.insert(0, name)
        parent, name = os.path.split(parent)
    nearest = find_nearest(name, _list_names(parent), cutoff=0.6)
    if not nearest:
        return None
    whole = os.path.join(parent, nearest[0], *below)
    return whole if os.path.exists(whole) else os.path.join(parent, nearest[0])


def _list_names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MAX_SIBLINGS) if entry.is_dir()]
    except OSError:
        return []
