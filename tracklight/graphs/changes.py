"""What became of the parts of a graph from one version of it to another."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal


class Change(IntEnum):
    """What became of a node or an edge from one graph to the other."""

    SAME = 0
    ADDED = 1
    REMOVED = 2
    CHANGED = 3


ChangeName = Literal["same", "added", "removed", "changed"]
#: By their numbers.
NAMES: tuple[ChangeName, ...] = ("same", "added", "removed", "changed")


def join_changes(changes: Iterable[int]) -> ChangeName:
    """What is to say of several at once: something has changed where not all is of one kind."""
    kinds = set(changes)
    return NAMES[Change(kinds.pop()) if len(kinds) == 1 else Change.CHANGED]
