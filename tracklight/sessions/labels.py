"""Short names for sessions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile


def shorten(names: Sequence[str]) -> list[str]:
    """Names of runs without the directories that all of them are in."""
    if len(names) < 2:
        return list(names)
    # What the first and the last in order begin with, all do.
    first, last = (name.split("/")[:-1] for name in (min(names), max(names)))
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = sum(len(part) + 1 for part, _ in shared)
    return [name[start:] for name in names]
