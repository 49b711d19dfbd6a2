"""Reads what is new in one event file, piece by piece, and jumps over what is large in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from tracklight.formats.batch import Batch, LargeRecord
from tracklight.formats.scanner import MAX_WHOLE_RECORD_BYTES, Scanner, scan_large_record
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES
from tracklight.logdir.file_changes import Fingerprint, read_fingerprint
from tracklight.logdir.filesystem import FileHandle, FileSystem

_MAX_IDLE_BUFFER_BYTES = 1 << 20


class _Buffers(threading.local):
    """One buffer a thread, for all the files that the thread reads one after the other."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def get(self, size: int) -> memoryview:
        """Give ``size`` bytes of memory that are good until this thread asks again."""
        if len(self._buffer) < size:
            self._buffer = bytearray(size)
        return memoryview(self._buffer)[:size]

    def release(self) -> None:
        """Let a large buffer go: a thread that waits for news needs none."""
        if len(self._buffer) > _MAX_IDLE_BUFFER_BYTES:
            self._buffer = bytearray()


_buffers = _Buffers()


class EventFileTail:
    """Drives a scanner over one file that may grow.

    The window is how much is read at a time. It grows while small records are met, since one long
    read is cheaper than many short ones, and shrinks at a large record, since most of what is read
    there is jumped over.
    """

    def __init__(
        self,
        fs: FileSystem,
        path: str,
        scanner: Scanner,
        fingerprint: Fingerprint | None = None,
    ) -> None:
        self.scanner = scanner
        #: Of what was read, once `read_batches` has come to its end.
        self.fingerprint = fingerprint
        self._fs = fs
        self._path = path
        self._window = fs.read_sizes.initial_bytes

    def iter_batches(self, size: int) -> Iterator[Batch]:
        """Read on, up to ``size`` bytes into the file, which is as far as it is known to reach.

        Ends early if the file turns out to be shorter. Raises OSError if it cannot be read.
        """
        self.scanner.rewind(size)
        if self.scanner.position >= size:
            return
        with self._fs.open(self._path) as handle:
            while self.scanner.position < size:
                batches = self._read_step(handle, size)
                if not batches:
                    break
                yield from batches
            # From the same open file: by now another one may have taken over the name.
            position = self.scanner.position
            self.fingerprint = read_fingerprint(handle.read, position, self.fingerprint)
        _buffers.release()

    def _read_step(self, handle: FileHandle, size: int) -> list[Batch]:
        """Scan one window of the file; nothing if that leads no further.

        Everything that needs the window is done before it returns, because the caller may let
        other files use this thread's buffer.
        """
        start = self.scanner.position
        sizes = self._fs.read_sizes
        while True:
            asked = min(self._window, size - start)
            data = _buffers.get(asked)
            data = data[: handle.read_into(data, start)]
            batch = self.scanner.scan(data, size)
            batches = [batch] if self.scanner.position > start or batch.damage else []
            if batch.large is not None:
                self._window = sizes.min_bytes
                return batches + self._read_large(handle, batch.large, _Window(start, data), size)
            all_seen = len(data) < self._window
            if batches or all_seen or self._window >= sizes.max_bytes:
                self._window = min(2 * self._window, sizes.max_bytes)
                return batches
            self._window *= 2

    def _read_large(
        self, handle: FileHandle, large: LargeRecord, piece: _Window, size: int
    ) -> list[Batch]:
        def read(offset: int, count: int) -> bytes:
            return piece.find(offset, count) or handle.read(offset, count)

        walked = scan_large_record(self.scanner, large, read, size)
        return [walked] if walked is not None else self._read_whole(handle, large, size)

    def _read_whole(self, handle: FileHandle, large: LargeRecord, size: int) -> list[Batch]:
        if large.payload_bytes > MAX_WHOLE_RECORD_BYTES:
            return []
        # With the header after it, which tells whether the length of a damaged record is right.
        wanted = min(FRAME_BYTES + large.payload_bytes + HEADER_BYTES, size - large.offset)
        data = handle.read(large.offset, wanted)
        batch = self.scanner.scan(data, size) if len(data) == wanted else None
        return [batch] if batch is not None and self.scanner.position > large.offset else []


class _Window:
    """Bytes of a file that are in memory already."""

    def __init__(self, start: int, data: memoryview) -> None:
        self._start = start
        self._data = data

    def find(self, offset: int, count: int) -> bytes | None:
        at = offset - self._start
        within = 0 <= at and at + count <= len(self._data)
        return bytes(self._data[at : at + count]) if within else None
