"""Gathers the values of events, one after another, into the columns of a `Batch`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats.batch import (
    LARGE_RECORD_BYTES,
    Batch,
    Damage,
    DamageKind,
    Float64,
    Int64,
    LargeRecord,
    Points,
    References,
    ScalarType,
    ScannedValue,
    empty_points,
    empty_references,
)
from tracklight.formats.event_scan import ScannedEvent, TypedScalar, has_plugin_name, scan_event
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES, crc32c, masked_crc32c


class SeriesIds:
    """What a scanner remembers of a file's series between batches."""

    def __init__(self, tags: Iterable[bytes], described: Iterable[int]) -> None:
        self.ids = {tag: number for number, tag in enumerate(tags)}
        self.described = set(described)  # metadata with a plugin's name was met
        self.hinted: set[int] = set()  # only metadata without one


class BatchBuilder:
    """The batch under way."""

    def __init__(self, series: SeriesIds) -> None:
        self._series = series
        self._tags: list[bytes] = []
        self._contents: list[int] = []
        self._metadata: list[tuple[int, bytes]] = []
        self._points: dict[int, list[ScannedValue]] = {}
        self._references: dict[int, list[ScannedValue]] = {}
        self._session_start: int | None = None
        self._file_version: bytes | None = None
        self._writer: bytes | None = None
        self.records = 0
        self.damage: list[Damage] = []
        self.large: LargeRecord | None = None

    def add_event(self, event: ScannedEvent) -> None:
        self.add_values(event.values)
        if event.starts_session:
            self._session_start = event.step
        if event.file_version is not None:
            self._file_version = event.file_version
        if event.writer is not None:
            self._writer = event.writer

    def add_values(self, values: Iterable[ScannedValue]) -> None:
        self.records += 1
        for value in values:
            series = self._identify(value)
            rows = self._references if value.scalar is None else self._points
            rows.setdefault(series, []).append(value)
            if value.metadata:
                self._describe(series, value.metadata)

    def build(self) -> Batch:
        return Batch(
            points=_to_points(self._points),
            references=_to_references(self._references),
            records=self.records,
            tags=self._tags,
            contents=self._contents,
            metadata=self._metadata,
            session_start=self._session_start,
            damage=self.damage,
            large=self.large,
            file_version=self._file_version,
            writer=self._writer,
        )

    def _identify(self, value: ScannedValue) -> int:
        ids = self._series.ids
        series = ids.get(value.tag)
        if series is None:
            series = ids[value.tag] = len(ids)
            self._tags.append(value.tag)
            self._contents.append(int(value.content))
        return series

    def _describe(self, series: int, metadata: bytes) -> None:
        """Report metadata that says more of a series than what was reported before."""
        known = self._series
        if series in known.described:
            return
        if has_plugin_name(metadata):
            known.described.add(series)
        elif series in known.hinted:
            return
        else:
            known.hinted.add(series)
        self._metadata.append((series, metadata))


def _to_points(rows: dict[int, list[ScannedValue]]) -> Points:
    if not rows:
        return empty_points()
    series = sorted(rows)
    columns = [_to_column([row.scalar for row in rows[id_] if row.scalar]) for id_ in series]
    ordered = [row for id_ in series for row in rows[id_]]
    return Points(
        series=np.array(series, np.int32),
        starts=_to_starts([len(rows[id_]) for id_ in series]),
        scalar_type=np.array([number for number, _ in columns], np.uint8),
        step=np.array([row.step for row in ordered], np.int64),
        wall=np.array([row.wall for row in ordered], np.float64),
        value=np.concatenate([values for _, values in columns]),
    )


def _to_column(scalars: list[TypedScalar]) -> tuple[ScalarType, Float64]:
    """Give the values of one series one common type."""
    numbers = {number for number, _ in scalars}
    number = numbers.pop() if len(numbers) == 1 else ScalarType.FLOAT
    return number, np.array([value for _, value in scalars], number.dtype).view(np.float64)


def _to_references(rows: dict[int, list[ScannedValue]]) -> References:
    if not rows:
        return empty_references()
    series = sorted(rows)
    ordered = [row for id_ in series for row in rows[id_]]
    return References(
        series=np.array(series, np.int32),
        starts=_to_starts([len(rows[id_]) for id_ in series]),
        step=np.array([row.step for row in ordered], np.int64),
        wall=np.array([row.wall for row in ordered], np.float64),
        record=np.array([row.record for row in ordered], np.int64),
        start=np.array([row.start for row in ordered], np.int64),
        size=np.array([row.size for row in ordered], np.int64),
        content=np.array([row.content for row in ordered], np.uint8),
    )


def _to_starts(counts: list[int]) -> Int64:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


# Looks for places where a record may start, in bytes where the thread was lost.
#
# Every offset is tried, so this works on arrays: the checksums of many lengths are taken at once,
# from tables of what each of their eight bytes adds.

_LENGTH_BYTES = 8

_MASK_DELTA = np.uint32(0xA282EAD8)

_BLOCK = 1 << 16  # offsets tried at once, which bounds the memory taken


def iter_record_headers(data: memoryview, start: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield (offset, length) of the right headers from ``start`` on.

    Only those of records that end ``most`` bytes after ``start`` or before, or are not large.
    """
    stop = len(data) - HEADER_BYTES + 1
    for block in range(start, stop, _BLOCK):
        count = min(_BLOCK, stop - block)
        lengths = _every_offset(data, "<u8", block, count)
        longest = most - (block - start) - FRAME_BYTES - np.arange(count)
        longest = np.maximum(longest, LARGE_RECORD_BYTES - 1).astype(np.uint64)
        (places,) = np.nonzero(lengths <= longest)
        crcs = _every_offset(data, "<u4", block + _LENGTH_BYTES, count)
        right = _masked_crcs(lengths[places]) == crcs[places]
        for place in places[right].tolist():
            yield block + place, int(lengths[place])


def _every_offset(data: memoryview, dtype: str, start: int, count: int) -> NDArray[Any]:
    """View the numbers that start at each of ``count`` offsets, overlapping as they do."""
    numbers: NDArray[Any] = np.ndarray((count,), np.dtype(dtype), data, start, strides=(1,))
    return numbers


def _masked_crcs(lengths: NDArray[np.uint64]) -> NDArray[np.uint32]:
    tables, of_zero = _crc_tables()
    crc = np.full(len(lengths), of_zero, np.uint32)
    for place, table in enumerate(tables):
        crc ^= table[(lengths >> np.uint64(8 * place)).astype(np.uint8)]
    masked: NDArray[np.uint32] = (crc >> np.uint32(15) | crc << np.uint32(17)) + _MASK_DELTA
    return masked


@cache
def _crc_tables() -> tuple[list[NDArray[np.uint32]], int]:
    """For each byte of a length, what its value adds to the checksum of a length of zero."""
    of_zero = crc32c(bytes(_LENGTH_BYTES))
    tables = [
        [crc32c((byte << 8 * place).to_bytes(_LENGTH_BYTES, "little")) for byte in range(256)]
        for place in range(_LENGTH_BYTES)
    ]
    return [np.array(table, np.uint32) ^ np.uint32(of_zero) for table in tables], of_zero


# The scanner in plain Python: what says how it is meant, and what is used without a compiler.

#: How far a zero-filled tail is searched before it counts as never to be filled in.
_REWIND_BYTES = 16 * 1024 * 1024

#: How much may be read for a checksum that comes out wrong, beside a multiple of what was read in
#: all, before only short records are looked for. It keeps a file made of headers whose payloads
#: overlap from taking hours.
_VAIN_BYTES = 64 * 1024 * 1024

_VAIN_SHARE = 16

_SHORT_RECORD = 1024

#: Ends beyond this are absurd; they are cut to stay 64-bit numbers.
_FAR = (1 << 62) + FRAME_BYTES


class _FilePiece(NamedTuple):
    """Some bytes of a file of ``size`` bytes, from offset ``base`` on."""

    data: memoryview
    base: int
    size: int

    def take(self, offset: int, count: int) -> memoryview:
        return self.data[offset - self.base : offset - self.base + count]

    def holds(self, offset: int, count: int) -> bool:
        """Whether those bytes are in hand, and in the file as it was measured."""
        return offset + count <= min(self.base + len(self.data), self.size)

    def find_length(self, offset: int) -> int | None:
        """The length a header gives, or None when its checksum is wrong."""
        header = self.take(offset, HEADER_BYTES)
        if masked_crc32c(header[:8]) != int.from_bytes(header[8:], "little"):
            return None
        return int.from_bytes(header[:8], "little")

    def find_payload(self, offset: int, length: int) -> memoryview | None:
        """The payload of a record in hand, or None when its checksum is wrong."""
        payload = self.take(offset + HEADER_BYTES, length)
        crc = int.from_bytes(self.take(offset + HEADER_BYTES + length, 4), "little")
        return payload if masked_crc32c(payload) == crc else None


class PythonScanner:
    """See `tracklight.formats.scanner.Scanner`."""

    def __init__(
        self, tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
    ) -> None:
        self.position = position
        self.lost_at = -1
        self.torn_end = -1
        self._lost_flaw = DamageKind.HEADER
        self._lost_in_zeros = False
        self._vain_bytes = 0
        self._series = SeriesIds(tags, described)

    def scan(self, data: bytes | bytearray | memoryview, size: int) -> Batch:
        piece = _FilePiece(memoryview(data).cast("B"), self.position, size)
        batch = BatchBuilder(self._series)
        while self._search(piece, batch) if self.lost_at >= 0 else self._read(piece, batch):
            pass
        return batch.build()

    def accept(self, values: Sequence[ScannedValue], end: int) -> Batch:
        batch = BatchBuilder(self._series)
        batch.add_values(values)
        self.position = end
        return batch.build()

    def reject(self, end: int) -> Batch:
        batch = BatchBuilder(self._series)
        self._skip_to(end, DamageKind.PROTO, batch)
        return batch.build()

    def rewind(self, size: int) -> None:
        if self.lost_at < 0:
            return
        is_complete = 0 <= self.torn_end <= size
        may_be_filled = self._lost_in_zeros and self.position - self.lost_at <= _REWIND_BYTES
        if is_complete or may_be_filled:
            self.position = self.lost_at
            self.lost_at = self.torn_end = -1

    def _read(self, piece: _FilePiece, batch: BatchBuilder) -> bool:
        """Read one record; False when it has to wait."""
        if not piece.holds(self.position, HEADER_BYTES):
            return False
        length = piece.find_length(self.position)
        if length is None:
            self._lose(DamageKind.HEADER, in_zeros=not any(piece.take(self.position, HEADER_BYTES)))
            return True
        end = self.position + FRAME_BYTES + length
        if end > piece.size:
            self._lose(DamageKind.TORN, torn_end=min(end, _FAR))
            return True
        if not piece.holds(self.position, FRAME_BYTES + length):
            if length >= LARGE_RECORD_BYTES:
                batch.large = LargeRecord(self.position, length)
            return False
        payload = self._find_payload(piece, self.position, length)
        if payload is None:
            self._pass_over(end, piece, batch)
            return True
        return self._take(payload, end, batch)

    def _take(self, payload: memoryview, end: int, batch: BatchBuilder) -> bool:
        try:
            event = scan_event(payload, len(payload), self.position)
        except FormatError:
            self._skip_to(end, DamageKind.PROTO, batch)
            return True
        if event.starts_session and batch.records:
            return False
        batch.add_event(event)
        self.position = end
        return True

    def _pass_over(self, end: int, piece: _FilePiece, batch: BatchBuilder) -> None:
        """A payload is wrong: trust its length unless it is seen to lead to no record."""
        if piece.holds(end, HEADER_BYTES) and piece.find_length(end) is None:
            self._lose(DamageKind.DATA)
        else:
            self._skip_to(end, DamageKind.DATA, batch)

    def _skip_to(self, end: int, flaw: DamageKind, batch: BatchBuilder) -> None:
        batch.damage.append(Damage(self.position, end - self.position, flaw))
        self.position = end

    def _lose(self, flaw: DamageKind, torn_end: int = -1, in_zeros: bool = False) -> None:
        self.lost_at = self.position
        self.torn_end = torn_end
        self._lost_flaw = flaw
        self._lost_in_zeros = in_zeros
        self.position += 1

    def _search(self, piece: _FilePiece, batch: BatchBuilder) -> bool:
        """Look for the next good record; False when more bytes are needed."""
        unfinished = None
        room = piece.size - self.position
        for place, length in iter_record_headers(piece.data, self.position - piece.base, room):
            offset = piece.base + place
            if offset + FRAME_BYTES + length > piece.size:
                unfinished = unfinished or offset
            elif self._may_be_good(piece, offset, length):
                self.position = offset
                is_known_good = piece.holds(offset, FRAME_BYTES + length)
                if not is_known_good and length < LARGE_RECORD_BYTES:
                    return False
                batch.damage.append(Damage(self.lost_at, offset - self.lost_at, self._lost_flaw))
                self.lost_at = self.torn_end = -1
                return True
        # A record may still be being written, and a header start where too few bytes are in hand.
        next_start = piece.base + len(piece.data) - HEADER_BYTES + 1
        self.position = unfinished or max(self.position, next_start)
        return False

    def _may_be_good(self, piece: _FilePiece, offset: int, length: int) -> bool:
        """Whether the payload of a record with a right header is good, as far as it is in hand."""
        if length > _SHORT_RECORD and self._vain_bytes > _VAIN_BYTES + _VAIN_SHARE * offset:
            return False
        is_whole = piece.holds(offset, FRAME_BYTES + length)
        return not is_whole or self._find_payload(piece, offset, length) is not None

    def _find_payload(self, piece: _FilePiece, offset: int, length: int) -> memoryview | None:
        payload = piece.find_payload(offset, length)
        if payload is None:
            self._vain_bytes += length
        return payload


# The door to the scanner: one pass over an event file's bytes gives columns.
#
# The compiled kernel is used where it was built; otherwise a plain-Python scanner does the same work
# slowly and says so once. Both follow the protocol below and are held against each other by tests.


class Scanner(Protocol):
    """Reads one event file piece by piece, in order.

    The caller hands over the bytes that stand at `position` and repeats while `position` moves.
    A record that is not complete in ``data`` is left for the next call. A record that can never be
    complete (its checksum fails, or good records follow before its end) is damage: the scanner
    remembers where it lost the thread (`lost_at`), looks for the next good record, and reports
    what it passed over. Until a good record is found, `position` is how far it has looked.
    """

    position: int
    """Offset in the file of the next byte to look at."""

    lost_at: int
    """Where unreadable bytes began for which no good record was found yet; else -1."""

    torn_end: int
    """While lost in a record whose header was good: where it would end; else -1."""

    def __init__(
        self, tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
    ) -> None:
        """Go on at ``position`` of a file with these ``tags``, the ``described`` with metadata."""

    def scan(self, data: bytes | bytearray | memoryview, size: int) -> Batch:
        """Take the bytes at `position` of a file of ``size`` bytes; move `position`.

        Ends early before a SessionLog.START (which then opens the next batch) and at a record of
        LARGE_RECORD bytes or more that is not wholly in ``data`` (``batch.large``).
        """

    def accept(self, values: Sequence[ScannedValue], end: int) -> Batch:
        """Take what a walk over the large record at `position` found, and move to ``end``."""

    def reject(self, end: int) -> Batch:
        """Report the large record at `position` as no event (Flaw.PROTO) and move to ``end``."""

    def rewind(self, size: int) -> None:
        """The file changed to ``size`` bytes: look again at `lost_at` if it may read well now."""


def create_scanner(
    tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
) -> Scanner:
    """Make the fastest scanner that this installation has."""
    try:
        from tracklight.formats import _scan
    except ImportError:
        _warn_about_missing_kernel()
        pass

        return PythonScanner(tags, described, position)
    return _scan.Scanner(tags, described, position)


def _warn_about_missing_kernel() -> None:
    warnings.warn(
        "tracklight was installed without its compiled kernel, so reading is hundreds of "
        "times slower; install a C compiler and run: pip install --force-reinstall tracklight",
        RuntimeWarning,
        stacklevel=3,
    )


# Walks a record too large to read through: jumps over its long fields with small ranged reads.
#
# A log of images is opened this way by seeking. The checksum of the payload is not looked at here,
# but when a value of it is served.

ReadAt = Callable[[int, int], bytes]

#: A record beyond this is never read whole, however many small values it holds.
MAX_WHOLE_RECORD_BYTES = 64 * 1024 * 1024

#: Values that are shorter than this on average are read faster than they are jumped over.
_JUMP_BYTES = 16 * 1024

#: Reads that a record may take before that rule is held against it.
_FREE_READS = 8

_WINDOW_BYTES = 4096


def scan_large_record(
    scanner: Scanner, record: LargeRecord, read: ReadAt, size: int
) -> Batch | None:
    """Take the record that a scan of a file of ``size`` bytes stopped at.

    None when it should be read whole and scanned: it holds many short values, or what follows it
    does not look like a record, so that its length may be wrong.
    """
    end = record.offset + FRAME_BYTES + record.payload_bytes
    may_read_whole = record.payload_bytes <= MAX_WHOLE_RECORD_BYTES
    if may_read_whole and not _is_followed_well(read, end, size):
        return None
    payload = _PayloadWindow(
        read, record.offset + HEADER_BYTES, record.payload_bytes, may_read_whole
    )
    try:
        event = scan_event(payload, record.payload_bytes, record.offset)
    except FormatError:
        return scanner.reject(end)
    except _ReadWholeError:
        return None
    return scanner.accept(event.values, end)


def _is_followed_well(read: ReadAt, end: int, size: int) -> bool:
    if size - end < HEADER_BYTES:
        return True
    header = read(end, HEADER_BYTES)
    return masked_crc32c(header[:8]) == int.from_bytes(header[8:], "little")


class _ReadWholeError(Exception):
    """The record should be read whole, or its bytes are gone."""


class _PayloadWindow:
    """The bytes of a payload, of which only those around the last ones asked for are read."""

    def __init__(self, read: ReadAt, base: int, size: int, may_give_up: bool) -> None:
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
        if count > MAX_WHOLE_RECORD_BYTES:
            raise FormatError(f"a name or description of {count} bytes")
        self._reads += 1
        if self._may_give_up and self._reads > _FREE_READS + at // _JUMP_BYTES:
            raise _ReadWholeError
        wanted = min(max(count, _WINDOW_BYTES), self._size - at)
        found = self._read(self._base + at, wanted)
        if len(found) < wanted:
            raise _ReadWholeError
        return found
