"""Read the new records of an event file, skipping the payloads of large ones.

Event files only grow. If a file has grown, its first bytes and the bytes just before the position
where reading stopped are unchanged. In another file with the same name they differ, because every
record contains a wall time and two checksums. `Fingerprint` holds hashes of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from tracklight.formats.batch import Batch, LargeRecord, column_memory
from tracklight.formats.scanner import MAX_WHOLE_RECORD_BYTES, Scanner, scan_large_record
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES
from tracklight.logdir.filesystem import FileHandle, FileStat, FileSystem

# ---- changes of files

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


# ---- records


#: Each window becomes a batch, whose cost grows with the number of series.
_WINDOW_GROWTH = 4
#: With this many records per series in a window, a larger one would not save time.
_DENSE_RECORDS = 64


class EventFileTail:
    """Run a scanner over one file that may grow.

    The file is read in windows. The window grows while there are small records of many series,
    because a long batch is cheaper than many short ones, and shrinks at a large record, because
    most of its bytes are skipped.

    Args:
        fs: The file system of the file.
        path: The event file.
        scanner: Parses the records; its position says how much was read already.
        fingerprint: The fingerprint of what was read already, if it is known.
    """

    def __init__(
        self,
        fs: FileSystem,
        path: str,
        scanner: Scanner,
        fingerprint: Fingerprint | None = None,
    ) -> None:
        self.scanner = scanner
        #: The fingerprint of what was read, updated when `iter_batches` ends.
        self.fingerprint = fingerprint
        self._fs = fs
        self._path = path
        self._window_bytes = fs.read_sizes.initial_bytes

    def iter_batches(self, size: int) -> Iterator[Batch]:
        """Yield what is new in the first ``size`` bytes of the file, the size of its last stat.

        Ends early if the file turns out to be shorter.

        Raises:
            OSError: The file cannot be read.
        """
        self.scanner.rewind(size)
        if self.scanner.position >= size:
            return
        with self._fs.open(self._path) as handle, _buffers.borrow() as buffer:
            while self.scanner.position < size:
                batches = self._read_window(handle, size, buffer)
                if not batches:
                    break
                yield from batches
            # Read from the open handle: another file may have replaced this one at its path.
            position = self.scanner.position
            self.fingerprint = read_fingerprint(handle.read, position, self.fingerprint)

    def _read_window(self, handle: FileHandle, size: int, buffer: ReadBuffer) -> list[Batch]:
        """Scan one window of the file; return nothing if there is no complete record yet."""
        start = self.scanner.position
        sizes = self._fs.read_sizes
        while True:
            data = buffer.get(min(self._window_bytes, size - start))
            data = data[: handle.read_into(data, start)]
            batch = self.scanner.scan(data, size)
            batches = [batch] if self.scanner.position > start or batch.damage else []
            if batch.large is not None:
                self._window_bytes = sizes.min_bytes
                return batches + self._read_large(handle, batch.large, _Window(start, data), size)
            is_at_end = len(data) < self._window_bytes
            if batches or is_at_end or self._window_bytes >= sizes.max_bytes:
                is_dense = batch.records >= _DENSE_RECORDS * len(batch.points.series)
                limit = min(sizes.max_bytes, sizes.max_dense_bytes) if is_dense else sizes.max_bytes
                self._window_bytes = max(
                    self._window_bytes, min(_WINDOW_GROWTH * self._window_bytes, limit)
                )
                return batches
            self._window_bytes *= 2

    def _read_large(
        self, handle: FileHandle, large: LargeRecord, window: _Window, size: int
    ) -> list[Batch]:
        """Read a large record without its tensors, or as a whole if that is not possible."""

        def read(offset: int, count: int) -> bytes:
            return window.find(offset, count) or handle.read(offset, count)

        batch = scan_large_record(self.scanner, large, read, size)
        return [batch] if batch is not None else self._read_whole(handle, large, size)

    def _read_whole(self, handle: FileHandle, large: LargeRecord, size: int) -> list[Batch]:
        if large.payload_bytes > MAX_WHOLE_RECORD_BYTES:
            return []
        # Includes the next header, which tells whether the length of a damaged record is right.
        needed = min(FRAME_BYTES + large.payload_bytes + HEADER_BYTES, size - large.offset)
        data = handle.read(large.offset, needed)
        batch = self.scanner.scan(data, size) if len(data) == needed else None
        return [batch] if batch is not None and self.scanner.position > large.offset else []


class _Window:
    """Bytes of a file that are already in memory."""

    def __init__(self, start: int, data: memoryview) -> None:
        self._start = start
        self._data = data

    def find(self, offset: int, count: int) -> bytes | None:
        begin = offset - self._start
        is_inside = 0 <= begin and begin + count <= len(self._data)
        return bytes(self._data[begin : begin + count]) if is_inside else None


class ReadBuffer:
    """Memory that grows to the largest size it was used with."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def get(self, size: int) -> memoryview:
        """Return ``size`` bytes, valid until the next call."""
        if len(self._memory) < size:
            self._memory = np.empty(size, np.uint8)  # unlike a bytearray, it is not filled first
        return self._memory.data[:size]


class ReadBuffers:
    """Buffers that are used again for other files: allocating one costs as much as filling it."""

    def __init__(self) -> None:
        self._free: list[ReadBuffer] = []

    @contextmanager
    def borrow(self) -> Iterator[ReadBuffer]:
        """Return a buffer that nothing else uses within the block."""
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = ReadBuffer()
        try:
            yield buffer
        finally:
            self._free.append(buffer)

    def clear(self) -> None:
        """Free the memory of all buffers that are not in use."""
        self._free.clear()


_buffers = ReadBuffers()


def free_buffers() -> None:
    """Free the memory for reading, when no more files are read for now."""
    _buffers.clear()
    column_memory.clear()
