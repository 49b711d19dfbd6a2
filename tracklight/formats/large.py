"""Walks a record too large to read through: jumps over its long fields with small ranged reads.

A log of images is opened this way by seeking. The checksum of the payload is not looked at here,
but when a value of it is served.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from tracklight.errors import FormatError
from tracklight.formats.batch import Batch, Large
from tracklight.formats.crc32c import masked_crc32c
from tracklight.formats.dissect import dissect
from tracklight.formats.scan import Scanner
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES

Read = Callable[[int, int], bytes]

#: A record beyond this is never read whole, however many small values it holds.
LARGEST_WHOLE = 64 * 1024 * 1024

#: Values that are shorter than this on average are read faster than they are jumped over.
_JUMP_BYTES = 16 * 1024

#: Reads that a record may take before that rule is held against it.
_FREE_READS = 8

_WINDOW_BYTES = 4096


def walk(scanner: Scanner, large: Large, read: Read, size: int) -> Batch | None:
    """Take the record that a scan of a file of ``size`` bytes stopped at.

    None when it should be read whole and scanned: it holds many short values, or what follows it
    does not look like a record, so that its length may be wrong.
    """
    end = large.offset + FRAME_BYTES + large.payload
    may_read_whole = large.payload <= LARGEST_WHOLE
    if may_read_whole and not _is_followed_well(read, end, size):
        return None
    payload = _Window(read, large.offset + HEADER_BYTES, large.payload, may_read_whole)
    try:
        event = dissect(payload, large.payload, large.offset)
    except FormatError:
        return scanner.reject(end)
    except _NotWorthWalking:
        return None
    return scanner.accept(event.values, end)


def _is_followed_well(read: Read, end: int, size: int) -> bool:
    if size - end < HEADER_BYTES:
        return True
    header = read(end, HEADER_BYTES)
    return masked_crc32c(header[:8]) == int.from_bytes(header[8:], "little")


class _NotWorthWalking(Exception):
    """The record should be read whole, or its bytes are gone."""


class _Window:
    """The bytes of a payload, of which only those around the last ones asked for are read."""

    def __init__(self, read: Read, base: int, size: int, may_give_up: bool) -> None:
        self._read = read
        self._base = base
        self._size = size
        self._may_give_up = may_give_up
        self._reads = 0
        self._start, self._bytes = 0, b""
        # A walk looks behind a tensor before it looks into it, and so comes back once.
        self._before = 0, b""

    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, at: slice, /) -> bytes: ...

    def __getitem__(self, at: int | slice, /) -> int | bytes:
        if isinstance(at, int):
            place = at - self._start
            if not 0 <= place < len(self._bytes):
                place = self._move(at, 1)  # which puts other bytes into the window
            return self._bytes[place]
        count = at.stop - at.start
        if count == 0:
            return b""
        place = at.start - self._start
        if place < 0 or place + count > len(self._bytes):
            place = self._move(at.start, count)
        return self._bytes[place : place + count]

    def _move(self, at: int, count: int) -> int:
        """Make the window hold ``count`` bytes from ``at``; give the place of the first in it."""
        self._before, (self._start, self._bytes) = (self._start, self._bytes), self._before
        place = at - self._start
        if place < 0 or place + count > len(self._bytes):
            self._start, self._bytes = at, self._fetch(at, count)
            place = 0
        return place

    def _fetch(self, at: int, count: int) -> bytes:
        if count > LARGEST_WHOLE:
            raise FormatError(f"a name or description of {count} bytes")
        self._reads += 1
        if self._may_give_up and self._reads > _FREE_READS + at // _JUMP_BYTES:
            raise _NotWorthWalking
        wanted = min(max(count, _WINDOW_BYTES), self._size - at)
        found = self._read(self._base + at, wanted)
        if len(found) < wanted:
            raise _NotWorthWalking
        return found
