"""Detect whether a file that was read before has grown or has been replaced.

Event files only grow. If a file has grown, its first bytes and the bytes just before the position
where reading stopped are unchanged. In another file with the same name they differ, because every
record contains a wall time and two checksums. `Fingerprint` holds hashes of both.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from tracklight.logdir.filesystem import FileStat, FileSystem

#: Reads a number of bytes at an offset: ``read(offset, size)``.
ReadAt = Callable[[int, int], bytes]

_EDGE_BYTES = 4096


class Fingerprint(NamedTuple):
    """Hashes of both ends of the first ``position`` bytes of a file."""

    position: int
    head: bytes
    tail: bytes


class FileChange(Enum):
    """What happened to a file since it was read; the values say what to do."""

    UNCHANGED = "nothing to do"
    GROWN = "continue where reading stopped"
    REPLACED = "discard what was read and start over"
    CHECK = "compare the fingerprint of the bytes already read"


def detect_change(
    fs: FileSystem, path: str, old: FileStat, fingerprint: Fingerprint, new: FileStat
) -> FileChange:
    """Return what happened to a file, reading both ends of it if necessary; never CHECK.

    Args:
        fs: The file system of the file.
        path: The file.
        old: The state of the file when it was read.
        fingerprint: The fingerprint of what was read.
        new: The state of the file now.
    """
    change = classify_change(old, fingerprint.position, new)
    if change is not FileChange.CHECK:
        return change
    if not matches_fingerprint(fs, path, fingerprint):
        return FileChange.REPLACED
    is_same = (new.size, new.mtime_ns) == (old.size, old.mtime_ns)
    return FileChange.UNCHANGED if is_same else FileChange.GROWN


def classify_change(old: FileStat, position: int, new: FileStat) -> FileChange:
    """Return what happened to a file of which ``position`` bytes were read, from stats alone."""
    if new == old:
        return FileChange.UNCHANGED
    if new.size < position:
        return FileChange.REPLACED
    if new.size == old.size == position and new.mtime_ns != old.mtime_ns:
        # Written to, but not longer: any byte may differ, and the fingerprint covers only the ends.
        return FileChange.REPLACED
    # An equal inode proves nothing, because file systems reuse inodes immediately.
    return FileChange.CHECK


def read_fingerprint(
    read: ReadAt, position: int, previous: Fingerprint | None = None
) -> Fingerprint:
    """Compute the fingerprint of the first ``position`` bytes of an open file.

    Args:
        read: Reads from the file.
        position: How many bytes of the file have been read.
        previous: An earlier fingerprint of the same file, to avoid reading its head again.
    """
    edge_bytes = min(_EDGE_BYTES, position)
    if previous is not None and previous.position >= _EDGE_BYTES:
        head = previous.head
    else:
        head = _hash(read(0, edge_bytes))
    # The two ends of a short file are the same bytes.
    tail = head if edge_bytes == position else _hash(read(position - edge_bytes, edge_bytes))
    return Fingerprint(position, head, tail)


def matches_fingerprint(fs: FileSystem, path: str, fingerprint: Fingerprint) -> bool:
    """Return whether the file at ``path`` still begins with the bytes that were read."""
    with fs.open(path) as handle:
        return read_fingerprint(handle.read, fingerprint.position) == fingerprint


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
