"""Decides what became of a file between two looks at it."""

from __future__ import annotations

from enum import Enum

from tracklight.logdir.filesystem import FileStat, FileSystem
from tracklight.logdir.fingerprint import Fingerprint, matches


class Change(Enum):
    """What is to be done about a file that was read before."""

    UNCHANGED = "nothing to do"
    GROWN = "read on where reading stopped"
    REPLACED = "forget it and read it from the start"
    CHECK = "only the bytes already read can tell: compare their fingerprint"


def judge(old: FileStat, position: int, new: FileStat) -> Change:
    """Say what became of a file of which ``position`` bytes were read, from its looks alone."""
    if new == old:
        return Change.UNCHANGED
    if new.size < position:
        return Change.REPLACED
    if new.size == old.size == position and new.mtime_ns != old.mtime_ns:
        # Nothing was added, yet it was written to: any byte may differ, and the fingerprint only
        # knows the two ends.
        return Change.REPLACED
    # Even the same inode proves nothing: file systems give it to the next file at once.
    return Change.CHECK


def read_change(
    fs: FileSystem, path: str, old: FileStat, fingerprint: Fingerprint, new: FileStat
) -> Change:
    """Say what became of a file, reading its two ends where that is needed; never CHECK."""
    change = judge(old, fingerprint.position, new)
    if change is not Change.CHECK:
        return change
    if not matches(fs, path, fingerprint):
        return Change.REPLACED
    same = (new.size, new.mtime_ns) == (old.size, old.mtime_ns)
    return Change.UNCHANGED if same else Change.GROWN
