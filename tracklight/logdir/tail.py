"""Read the new records of an event file, skipping the payloads of large ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracklight.formats.batch import Batch, LargeRecord
from tracklight.formats.scanner import MAX_WHOLE_RECORD_BYTES, Scanner, scan_large_record
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES
from tracklight.logdir.file_changes import Fingerprint, read_fingerprint
from tracklight.logdir.filesystem import FileHandle, FileSystem


class EventFileTail:
    """Run a scanner over one file that may grow.

    The file is read in windows. The window doubles while there are small records, because one long
    read is cheaper than many short ones, and shrinks at a large record, because most of its bytes
    are skipped.

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
                self._window_bytes = min(2 * self._window_bytes, sizes.max_bytes)
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
        self._memory = bytearray()

    def get(self, size: int) -> memoryview:
        """Return ``size`` bytes, valid until the next call."""
        if len(self._memory) < size:
            self._memory = bytearray(size)
        return memoryview(self._memory)[:size]


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
