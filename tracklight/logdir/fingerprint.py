"""Recognises the part of a file that was read already, to tell "grown" from "replaced".

Event files only ever grow. When one has grown, its beginning and the bytes right before the place
where reading stopped are still what they were; in another file of the same name they are not,
since every record holds a time and two checksums.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from tracklight.logdir.filesystem import FileSystem

Read = Callable[[int, int], bytes]

_EDGE_BYTES = 4096


class Fingerprint(NamedTuple):
    """Digests of both ends of a file's first ``position`` bytes."""

    position: int
    head: bytes
    tail: bytes


def read_fingerprint(read: Read, position: int, before: Fingerprint | None = None) -> Fingerprint:
    """Take the fingerprint of an open file's first ``position`` bytes.

    ``before`` is one of the same file when less of it was read; it saves reading the head again.
    """
    edge = min(_EDGE_BYTES, position)
    if before is not None and before.position >= _EDGE_BYTES:
        head = before.head
    else:
        head = _digest(read(0, edge))
    # The two ends of a short file are the same bytes.
    tail = head if edge == position else _digest(read(position - edge, edge))
    return Fingerprint(position, head, tail)


def matches(fs: FileSystem, path: str, fingerprint: Fingerprint) -> bool:
    """Whether the file at ``path`` still begins with the bytes that were read."""
    with fs.open(path) as handle:
        return read_fingerprint(handle.read, fingerprint.position) == fingerprint


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
