"""Recognises the part of a file that was read already, to tell "grown" from "replaced".

Event files only ever grow. When one has grown, its beginning and the bytes right before the place
where reading stopped are still what they were; in another file of the same name they are not,
since every record holds a time and two checksums.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from tracklight.logdir.filesystem import FileStat, FileSystem

ReadAt = Callable[[int, int], bytes]

_EDGE_BYTES = 4096


class Fingerprint(NamedTuple):
    """Digests of both ends of a file's first ``position`` bytes."""

    position: int
    head: bytes
    tail: bytes


def read_fingerprint(
    read: ReadAt, position: int, previous: Fingerprint | None = None
) -> Fingerprint:
    """Take the fingerprint of an open file's first ``position`` bytes.

    ``before`` is one of the same file when less of it was read; it saves reading the head again.
    """
    edge = min(_EDGE_BYTES, position)
    if previous is not None and previous.position >= _EDGE_BYTES:
        head = previous.head
    else:
        head = _digest(read(0, edge))
    # The two ends of a short file are the same bytes.
    tail = head if edge == position else _digest(read(position - edge, edge))
    return Fingerprint(position, head, tail)


def matches_fingerprint(fs: FileSystem, path: str, fingerprint: Fingerprint) -> bool:
    """Whether the file at ``path`` still begins with the bytes that were read."""
    with fs.open(path) as handle:
        return read_fingerprint(handle.read, fingerprint.position) == fingerprint


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


# Decides what became of a file between two looks at it.


class FileChange(Enum):
    """What is to be done about a file that was read before."""

    UNCHANGED = "nothing to do"
    GROWN = "read on where reading stopped"
    REPLACED = "forget it and read it from the start"
    CHECK = "only the bytes already read can tell: compare their fingerprint"


def classify_change(old: FileStat, position: int, new: FileStat) -> FileChange:
    """Say what became of a file of which ``position`` bytes were read, from its looks alone."""
    if new == old:
        return FileChange.UNCHANGED
    if new.size < position:
        return FileChange.REPLACED
    if new.size == old.size == position and new.mtime_ns != old.mtime_ns:
        # Nothing was added, yet it was written to: any byte may differ, and the fingerprint only
        # knows the two ends.
        return FileChange.REPLACED
    # Even the same inode proves nothing: file systems give it to the next file at once.
    return FileChange.CHECK


def detect_change(
    fs: FileSystem, path: str, old: FileStat, fingerprint: Fingerprint, new: FileStat
) -> FileChange:
    """Say what became of a file, reading its two ends where that is needed; never CHECK."""
    change = classify_change(old, fingerprint.position, new)
    if change is not FileChange.CHECK:
        return change
    if not matches_fingerprint(fs, path, fingerprint):
        return FileChange.REPLACED
    same = (new.size, new.mtime_ns) == (old.size, old.mtime_ns)
    return FileChange.UNCHANGED if same else FileChange.GROWN
