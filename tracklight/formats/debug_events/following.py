"""Read a debug event file that may grow, and skip what is damaged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from tracklight.formats.batch import Damage, DamageKind
from tracklight.formats.debug_events.columns import Stop, find_record
from tracklight.formats.scanner import iter_record_headers
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES, BytesLike

_WINDOW_BYTES = 2 << 20
#: Longest rest of a window that is copied to the next one instead of being read again.
_MAX_REST_BYTES = 256 << 10

#: Fills a buffer with the bytes at an offset of a file and returns how many there were.
ReadInto = Callable[[memoryview, int], int]


class ScansRecords(Protocol):
    """Consumes records from the start of some bytes; see `columns.ScansEvents.scan`."""

    def scan(self, data: BytesLike, base: int) -> tuple[int, int]: ...


class PayloadScanner:
    """Keeps the offset and the payload of every record, for files with few of them."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []

    def scan(self, data: BytesLike, base: int) -> tuple[int, int]:
        used = 0
        while True:
            stop, payload = find_record(data, used)
            if payload is None:
                return used, stop
            self.records.append((base + used, payload))
            used += len(payload) + FRAME_BYTES

    def take(self) -> list[tuple[int, bytes]]:
        records, self.records = self.records, []
        return records


class _Windows:
    """Reads parts of a file, the next one in another thread while the last one is scanned."""

    def __init__(self, read_into: ReadInto, size: int, pool: ThreadPoolExecutor) -> None:
        self._read_into = read_into
        self._size = size
        self._pool = pool
        self._buffers = [bytearray(), bytearray()]
        self._next: Future[int] | None = None
        self._next_start = 0
        self._last = memoryview(b"")
        self._last_start = 0

    def read(self, position: int, window_bytes: int) -> memoryview:
        """Return the bytes at a position, which are valid until the next call."""
        count = self._next.result() if self._next is not None else 0
        self._next = None
        rest = self._next_start - position
        wanted = min(window_bytes, self._size - position)
        is_near = 0 <= rest <= _MAX_REST_BYTES and position >= self._last_start
        if is_near and rest + count >= wanted:
            buffer = self._buffers[1]
            begin = _MAX_REST_BYTES - rest
            if rest:
                buffer[begin:_MAX_REST_BYTES] = self._last[len(self._last) - rest :]
            data = memoryview(buffer)[begin : _MAX_REST_BYTES + count]
        else:
            self._reserve(1, window_bytes)
            view = memoryview(self._buffers[1])[_MAX_REST_BYTES : _MAX_REST_BYTES + wanted]
            data = view[: self._read_into(view, position)]
        self._buffers.reverse()
        self._last, self._last_start = data, position
        self._read_ahead(position + len(data), window_bytes)
        return data

    def _read_ahead(self, position: int, window_bytes: int) -> None:
        wanted = min(window_bytes, self._size - position)
        if wanted > 0:
            self._reserve(1, window_bytes)
            view = memoryview(self._buffers[1])[_MAX_REST_BYTES : _MAX_REST_BYTES + wanted]
            self._next_start = position
            self._next = self._pool.submit(self._read_into, view, position)

    def _reserve(self, index: int, window_bytes: int) -> None:
        size = _MAX_REST_BYTES + min(window_bytes, self._size)
        if len(self._buffers[index]) < size:
            self._buffers[index] = bytearray(size)


class FileFollower:
    """Feed the records of one file to a scanner, from where the last update ended.

    Args:
        scanner: Parses the records.
        on_scan: Called after each part of the file, to collect what the scanner has found.
    """

    def __init__(self, scanner: ScansRecords, on_scan: Callable[[], None] = lambda: None) -> None:
        self._scanner = scanner
        self._on_scan = on_scan
        self._damage: list[Damage] = []
        self._lost_at = -1
        self._lost_kind = DamageKind.HEADER
        self._size = 0
        self.position = 0

    @property
    def damage(self) -> list[Damage]:
        """Byte ranges that were skipped, including a damaged one at the end of the file."""
        if self._lost_at < 0:
            return list(self._damage)
        lost = Damage(self._lost_at, self._size - self._lost_at, self._lost_kind)
        return [*self._damage, lost]

    @property
    def incomplete_bytes(self) -> int:
        """Bytes of a record at the end of the file that was not written completely (yet)."""
        return 0 if self._lost_at >= 0 else self._size - self.position

    def update(self, read_into: ReadInto, size: int) -> None:
        """Read on, up to the size of the file.

        Raises:
            OSError: The file cannot be read.
        """
        self._size = size
        if size - self.position >= HEADER_BYTES:
            with ThreadPoolExecutor(1, "tracklight-read") as pool:
                self._update(_Windows(read_into, size, pool))

    def _update(self, windows: _Windows) -> None:
        size, window_bytes = self._size, _WINDOW_BYTES
        while size - self.position >= HEADER_BYTES:
            data = windows.read(self.position, window_bytes)
            is_short = len(data) < min(window_bytes, size - self.position)
            is_end = is_short or self.position + len(data) >= size
            if self._lost_at >= 0:
                if not self._search(data, is_end) and is_end:
                    return
                continue
            used, stop = self._scanner.scan(data, self.position)
            self.position += used
            self._on_scan()
            if stop != Stop.END:
                self._skip(data[used:], Stop(stop), is_end)
            elif used == 0:
                length = int.from_bytes(data[:8], "little")
                needed = length + FRAME_BYTES
                if is_end or self.position + needed > size:
                    return
                window_bytes = max(window_bytes, needed)

    def _skip(self, data: memoryview, stop: Stop, is_end: bool) -> None:
        """Skip a damaged record, or begin to search for the next valid one."""
        kind = DamageKind(int(stop))
        if stop == Stop.HEADER:
            self._lose(kind)
            return
        end = int.from_bytes(data[:8], "little") + FRAME_BYTES
        next_stop, _ = find_record(data, end)
        if stop == Stop.DATA and next_stop == Stop.HEADER:
            self._lose(kind)  # the length is wrong as well
            return
        self._damage.append(Damage(self.position, end, kind))
        self.position += end

    def _lose(self, kind: DamageKind) -> None:
        self._lost_at, self._lost_kind = self.position, kind
        self.position += 1

    def _search(self, data: memoryview, is_end: bool) -> bool:
        """Move to the next valid record in ``data``; return whether there was one."""
        incomplete = None
        for start, length in iter_record_headers(data, 0, self._size - self.position):
            end = start + length + FRAME_BYTES
            is_inside = end <= len(data)
            if is_inside and find_record(data, start)[1] is None:
                continue
            if self.position + end > self._size:
                incomplete = start if incomplete is None else incomplete
                continue
            if not is_inside and start > 0 and not is_end:
                self.position += start  # look at it again with more bytes behind it
                return False
            self.position += start
            self._damage.append(
                Damage(self._lost_at, self.position - self._lost_at, self._lost_kind)
            )
            self._lost_at = -1
            return True
        # Search again from a record that may be completed later.
        skipped = max(len(data) - HEADER_BYTES + 1, 1)
        self.position += incomplete if is_end and incomplete is not None else skipped
        return False
