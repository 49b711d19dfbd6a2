"""Scan event files: split bytes into records and return their values as columns.

`create_scanner` returns the compiled scanner (``_scan.pyx``) if it was built, and otherwise a
`PythonScanner`, which does the same hundreds of times slower. Tests compare the two.

Scanners recover from damage. After a wrong checksum they search for the next valid record and
report the bytes in between as `Damage`. An incomplete record at the end of a file is read once it
is complete, which is how files that are being written are followed.

`scan_large_record` reads records of many megabytes, such as images, with a few small reads.
"""

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
    LargeRecord,
    Points,
    References,
    ScalarType,
    ScannedEvent,
    ScannedValue,
    TypedScalar,
    empty_points,
    empty_references,
    has_plugin_name,
    scan_event,
)
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES, crc32c, masked_crc32c
from tracklight.types import Float64, Int64

#: Reads a number of bytes at an offset of a file: ``read(offset, size)``.
ReadAt = Callable[[int, int], bytes]

#: Longer records are never read as a whole, however many small values they contain.
MAX_WHOLE_RECORD_BYTES = 64 * 1024 * 1024

#: If the values of a large record are shorter on average, reading all of it is faster than seeking.
_MIN_SEEK_BYTES = 16 * 1024
#: The number of reads before that rule is applied.
_FREE_READS = 8
_WINDOW_BYTES = 4096

#: How far behind the start of a zero-filled tail the scanner still returns to it, in case that
#: another process fills it in.
_REWIND_BYTES = 16 * 1024 * 1024

#: Bounds the time for a file of headers whose payloads overlap. Once this many bytes, plus a
#: multiple of the file offset, had a wrong checksum, only short records are searched for.
_MAX_REJECTED_BYTES = 64 * 1024 * 1024
_MAX_REJECTED_RATIO = 16
_SHORT_RECORD_BYTES = 1024

#: The end of a record is clamped to this, so that absurd lengths fit 64-bit integers.
_MAX_RECORD_END = (1 << 62) + FRAME_BYTES

_LENGTH_BYTES = 8
_CRC_MASK_DELTA = np.uint32(0xA282EAD8)
#: The number of offsets that `iter_record_headers` checks at once, which bounds its memory.
SEARCH_BLOCK_OFFSETS = 1 << 16


class Scanner(Protocol):
    """Reads one event file piece by piece, in order.

    The caller passes the bytes at `position` to `scan` and repeats this while `position` advances.
    A record that is incomplete in ``data`` is left for the next call. If a record can never be
    completed, because a checksum is wrong or valid records begin before its end, the scanner sets
    `lost_at`, searches for the next valid record and reports the bytes in between as damage.
    """

    position: int
    """The file offset of the next byte to read or, after damage, to search from."""

    lost_at: int
    """The offset of damage after which no valid record was found yet; otherwise -1."""

    torn_end: int
    """Where the damaged record would end if its header is valid; otherwise -1."""

    def __init__(
        self, tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
    ) -> None:
        """Continue at ``position`` of a file.

        Args:
            tags: The tags before ``position``, in the order of their series.
            described: The series whose metadata was reported already.
            position: The file offset at which to continue.
        """

    def scan(self, data: bytes | bytearray | memoryview, size: int) -> Batch:
        """Scan the bytes at `position` of a file of ``size`` bytes, and advance `position`.

        Stops before a SessionLog.START, which begins the next batch, and at a record of
        `LARGE_RECORD_BYTES` or more that is incomplete in ``data`` (``batch.large``).
        """

    def accept(self, values: Sequence[ScannedValue], end: int) -> Batch:
        """Return the values of the large record at `position`, and advance to ``end``."""

    def reject(self, end: int) -> Batch:
        """Report the large record at `position` as `DamageKind.PROTO`, and advance to ``end``."""

    def rewind(self, size: int) -> None:
        """Return to `lost_at` if the damage may be gone now that the file has ``size`` bytes."""


def create_scanner(
    tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
) -> Scanner:
    """Create the fastest scanner that is installed; see `Scanner` for the arguments."""
    try:
        from tracklight.formats import _scan
    except ImportError:
        warnings.warn(
            "tracklight was installed without its compiled kernel, so reading is hundreds of "
            "times slower; install a C compiler and run: pip install --force-reinstall tracklight",
            RuntimeWarning,
            stacklevel=2,
        )
        return PythonScanner(tags, described, position)
    return _scan.Scanner(tags, described, position)


def scan_large_record(
    scanner: Scanner, record: LargeRecord, read: ReadAt, size: int
) -> Batch | None:
    """Scan the large record at which ``scanner`` stopped, skipping the content of its values.

    The checksum of the payload is not verified here, but when one of its values is read.

    Args:
        scanner: The scanner, positioned at the record.
        record: What `Scanner.scan` reported.
        read: Reads from the file.
        size: The size of the file.

    Returns:
        None if the caller should read all of the record and pass it to `Scanner.scan`: it contains
        many short values, or it is not followed by a valid header, so its length may be wrong.
    """
    end = record.offset + FRAME_BYTES + record.payload_bytes
    can_read_whole = record.payload_bytes <= MAX_WHOLE_RECORD_BYTES
    if can_read_whole and not _is_followed_by_header(read, end, size):
        return None
    payload = _PayloadWindow(
        read, record.offset + HEADER_BYTES, record.payload_bytes, can_read_whole
    )
    try:
        event = scan_event(payload, record.payload_bytes, record.offset)
    except FormatError:
        return scanner.reject(end)
    except _ReadWholeError:
        return None
    return scanner.accept(event.values, end)


def _is_followed_by_header(read: ReadAt, end: int, size: int) -> bool:
    if size - end < HEADER_BYTES:
        return True
    header = read(end, HEADER_BYTES)
    return masked_crc32c(header[:8]) == int.from_bytes(header[8:], "little")


class _ReadWholeError(Exception):
    """The record should be read as a whole, or the file became shorter."""


class _PayloadWindow:
    """A `ByteSource` that reads a payload on demand and keeps the last two windows."""

    def __init__(self, read: ReadAt, base: int, size: int, can_read_whole: bool) -> None:
        self._read = read
        self._base = base
        self._size = size
        self._can_read_whole = can_read_whole
        self._reads = 0
        self._start, self._bytes = 0, b""
        # The parser looks at the field after a tensor before it looks into the tensor.
        self._previous = 0, b""

    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, at: slice, /) -> bytes: ...

    def __getitem__(self, at: int | slice, /) -> int | bytes:
        if isinstance(at, int):
            index = at - self._start
            if not 0 <= index < len(self._bytes):
                index = self._move(at, 1)  # replaces self._bytes
            return self._bytes[index]
        count = at.stop - at.start
        if count == 0:
            return b""
        index = at.start - self._start
        if index < 0 or index + count > len(self._bytes):
            index = self._move(at.start, count)
        return self._bytes[index : index + count]

    def _move(self, offset: int, count: int) -> int:
        """Make the window contain ``count`` bytes at ``offset``; return their index in it."""
        self._previous, (self._start, self._bytes) = (self._start, self._bytes), self._previous
        index = offset - self._start
        if index < 0 or index + count > len(self._bytes):
            self._start, self._bytes = offset, self._fetch(offset, count)
            index = 0
        return index

    def _fetch(self, offset: int, count: int) -> bytes:
        if count > MAX_WHOLE_RECORD_BYTES:
            raise FormatError(
                "log.name_too_long", "a name or description has {size} bytes", size=count
            )
        self._reads += 1
        if self._can_read_whole and self._reads > _FREE_READS + offset // _MIN_SEEK_BYTES:
            raise _ReadWholeError
        wanted = min(max(count, _WINDOW_BYTES), self._size - offset)
        data = self._read(self._base + offset, wanted)
        if len(data) < wanted:
            raise _ReadWholeError
        return data


class _FilePart(NamedTuple):
    """The bytes at offset ``base`` of a file of ``size`` bytes."""

    data: memoryview
    base: int
    size: int

    def slice(self, offset: int, count: int) -> memoryview:
        return self.data[offset - self.base : offset - self.base + count]

    def contains(self, offset: int, count: int) -> bool:
        """Whether these bytes are in ``data``, and within the file as it was measured."""
        return offset + count <= min(self.base + len(self.data), self.size)

    def find_length(self, offset: int) -> int | None:
        """Return the length in a record header, or None if its checksum is wrong."""
        header = self.slice(offset, HEADER_BYTES)
        if masked_crc32c(header[:8]) != int.from_bytes(header[8:], "little"):
            return None
        return int.from_bytes(header[:8], "little")

    def find_payload(self, offset: int, length: int) -> memoryview | None:
        """Return the payload of a record, or None if its checksum is wrong."""
        payload = self.slice(offset + HEADER_BYTES, length)
        crc = int.from_bytes(self.slice(offset + HEADER_BYTES + length, 4), "little")
        return payload if masked_crc32c(payload) == crc else None


class PythonScanner:
    """The reference implementation of `Scanner`."""

    def __init__(
        self, tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
    ) -> None:
        self.position = position
        self.lost_at = -1
        self.torn_end = -1
        self._damage_kind = DamageKind.HEADER
        self._lost_in_zeros = False
        self._rejected_bytes = 0
        self._series = _SeriesTable(tags, described)

    def scan(self, data: bytes | bytearray | memoryview, size: int) -> Batch:
        part = _FilePart(memoryview(data).cast("B"), self.position, size)
        batch = _BatchBuilder(self._series)
        while self._search(part, batch) if self.lost_at >= 0 else self._read_record(part, batch):
            pass
        return batch.build()

    def accept(self, values: Sequence[ScannedValue], end: int) -> Batch:
        batch = _BatchBuilder(self._series)
        batch.add_values(values)
        self.position = end
        return batch.build()

    def reject(self, end: int) -> Batch:
        batch = _BatchBuilder(self._series)
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

    def _read_record(self, part: _FilePart, batch: _BatchBuilder) -> bool:
        """Read one record; return False if more bytes or a new batch are needed first."""
        if not part.contains(self.position, HEADER_BYTES):
            return False
        length = part.find_length(self.position)
        if length is None:
            is_zero = not any(part.slice(self.position, HEADER_BYTES))
            self._start_search(DamageKind.HEADER, in_zeros=is_zero)
            return True
        end = self.position + FRAME_BYTES + length
        if end > part.size:
            self._start_search(DamageKind.TORN, torn_end=min(end, _MAX_RECORD_END))
            return True
        if not part.contains(self.position, FRAME_BYTES + length):
            if length >= LARGE_RECORD_BYTES:
                batch.large = LargeRecord(self.position, length)
            return False
        payload = self._find_payload(part, self.position, length)
        if payload is None:
            # Trust the length, unless it is known to lead to something that is not a record.
            if part.contains(end, HEADER_BYTES) and part.find_length(end) is None:
                self._start_search(DamageKind.DATA)
            else:
                self._skip_to(end, DamageKind.DATA, batch)
            return True
        return self._add_event(payload, end, batch)

    def _add_event(self, payload: memoryview, end: int, batch: _BatchBuilder) -> bool:
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

    def _skip_to(self, end: int, kind: DamageKind, batch: _BatchBuilder) -> None:
        batch.damage.append(Damage(self.position, end - self.position, kind))
        self.position = end

    def _start_search(self, kind: DamageKind, torn_end: int = -1, in_zeros: bool = False) -> None:
        self.lost_at = self.position
        self.torn_end = torn_end
        self._damage_kind = kind
        self._lost_in_zeros = in_zeros
        self.position += 1

    def _search(self, part: _FilePart, batch: _BatchBuilder) -> bool:
        """Move to the next valid record; return False if more bytes are needed first."""
        incomplete = None
        remaining = part.size - self.position
        for start, length in iter_record_headers(part.data, self.position - part.base, remaining):
            offset = part.base + start
            if offset + FRAME_BYTES + length > part.size:
                incomplete = incomplete or offset
            elif self._may_be_valid(part, offset, length):
                self.position = offset
                is_verified = part.contains(offset, FRAME_BYTES + length)
                if not is_verified and length < LARGE_RECORD_BYTES:
                    return False
                batch.damage.append(Damage(self.lost_at, offset - self.lost_at, self._damage_kind))
                self.lost_at = self.torn_end = -1
                return True
        # Search again from an incomplete record, which may be completed, or else from the first
        # offset at which the data has too few bytes for a header.
        next_start = part.base + len(part.data) - HEADER_BYTES + 1
        self.position = incomplete or max(self.position, next_start)
        return False

    def _may_be_valid(self, part: _FilePart, offset: int, length: int) -> bool:
        """Check the payload of a record with a valid header, if it is in the data."""
        budget = _MAX_REJECTED_BYTES + _MAX_REJECTED_RATIO * offset
        if length > _SHORT_RECORD_BYTES and self._rejected_bytes > budget:
            return False
        is_complete = part.contains(offset, FRAME_BYTES + length)
        return not is_complete or self._find_payload(part, offset, length) is not None

    def _find_payload(self, part: _FilePart, offset: int, length: int) -> memoryview | None:
        payload = part.find_payload(offset, length)
        if payload is None:
            self._rejected_bytes += length
        return payload


class _SeriesTable:
    """What a scanner knows about the series of a file."""

    def __init__(self, tags: Iterable[bytes], described: Iterable[int]) -> None:
        self.ids = {tag: series for series, tag in enumerate(tags)}
        self.described = set(described)  # metadata that names a plugin was reported
        self.partly_described: set[int] = set()  # only other metadata was reported


class _BatchBuilder:
    """Collects the values of events into the columns of a `Batch`."""

    def __init__(self, series: _SeriesTable) -> None:
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
            series = self._get_series(value)
            rows = self._references if value.scalar is None else self._points
            rows.setdefault(series, []).append(value)
            if value.metadata:
                self._add_metadata(series, value.metadata)

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

    def _get_series(self, value: ScannedValue) -> int:
        ids = self._series.ids
        series = ids.get(value.tag)
        if series is None:
            series = ids[value.tag] = len(ids)
            self._tags.append(value.tag)
            self._contents.append(int(value.content))
        return series

    def _add_metadata(self, series: int, metadata: bytes) -> None:
        """Report metadata if it says more about a series than what was reported before."""
        table = self._series
        if series in table.described:
            return
        if has_plugin_name(metadata):
            table.described.add(series)
        elif series in table.partly_described:
            return
        else:
            table.partly_described.add(series)
        self._metadata.append((series, metadata))


def _to_points(values: dict[int, list[ScannedValue]]) -> Points:
    if not values:
        return empty_points()
    series = sorted(values)
    columns = [_to_column([value.scalar for value in values[i] if value.scalar]) for i in series]
    rows = [value for i in series for value in values[i]]
    return Points(
        series=np.array(series, np.int32),
        starts=_to_starts([len(values[i]) for i in series]),
        scalar_type=np.array([scalar_type for scalar_type, _ in columns], np.uint8),
        step=np.array([row.step for row in rows], np.int64),
        wall=np.array([row.wall for row in rows], np.float64),
        value=np.concatenate([column for _, column in columns]),
    )


def _to_column(scalars: list[TypedScalar]) -> tuple[ScalarType, Float64]:
    """Convert the scalars of one series to a common type."""
    types = {scalar_type for scalar_type, _ in scalars}
    common = types.pop() if len(types) == 1 else ScalarType.FLOAT
    return common, np.array([value for _, value in scalars], common.dtype).view(np.float64)


def _to_references(values: dict[int, list[ScannedValue]]) -> References:
    if not values:
        return empty_references()
    series = sorted(values)
    rows = [value for i in series for value in values[i]]
    return References(
        series=np.array(series, np.int32),
        starts=_to_starts([len(values[i]) for i in series]),
        step=np.array([row.step for row in rows], np.int64),
        wall=np.array([row.wall for row in rows], np.float64),
        record=np.array([row.record for row in rows], np.int64),
        start=np.array([row.start for row in rows], np.int64),
        size=np.array([row.size for row in rows], np.int64),
        content=np.array([row.content for row in rows], np.uint8),
    )


def _to_starts(counts: list[int]) -> Int64:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def iter_record_headers(data: memoryview, start: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the offset and the record length of each valid record header from ``start`` on.

    Large records that end more than ``most`` bytes after ``start`` are left out. Every offset is
    checked, so the checksums of many headers are computed at once.
    """
    stop = len(data) - HEADER_BYTES + 1
    for block in range(start, stop, SEARCH_BLOCK_OFFSETS):
        count = min(SEARCH_BLOCK_OFFSETS, stop - block)
        lengths = _view_every_offset(data, "<u8", block, count)
        limits = most - (block - start) - FRAME_BYTES - np.arange(count)
        limits = np.maximum(limits, LARGE_RECORD_BYTES - 1).astype(np.uint64)
        (candidates,) = np.nonzero(lengths <= limits)
        crcs = _view_every_offset(data, "<u4", block + _LENGTH_BYTES, count)
        is_valid = _compute_masked_crcs(lengths[candidates]) == crcs[candidates]
        for offset in candidates[is_valid].tolist():
            yield block + offset, int(lengths[offset])


def _view_every_offset(data: memoryview, dtype: str, start: int, count: int) -> NDArray[Any]:
    """Return the overlapping numbers that begin at each of ``count`` consecutive bytes."""
    numbers: NDArray[Any] = np.ndarray((count,), np.dtype(dtype), data, start, strides=(1,))
    return numbers


def _compute_masked_crcs(lengths: NDArray[np.uint64]) -> NDArray[np.uint32]:
    tables, crc_of_zero = _get_crc_tables()
    crc = np.full(len(lengths), crc_of_zero, np.uint32)
    for position, table in enumerate(tables):
        crc ^= table[(lengths >> np.uint64(8 * position)).astype(np.uint8)]
    masked: NDArray[np.uint32] = (crc >> np.uint32(15) | crc << np.uint32(17)) + _CRC_MASK_DELTA
    return masked


@cache
def _get_crc_tables() -> tuple[list[NDArray[np.uint32]], int]:
    """Return what each byte of a length contributes to its CRC, and the CRC of a zero length.

    CRCs are linear: the CRC of a length is the exclusive or of the contributions of its bytes.
    """
    crc_of_zero = crc32c(bytes(_LENGTH_BYTES))
    tables = [
        [crc32c((byte << 8 * position).to_bytes(_LENGTH_BYTES, "little")) for byte in range(256)]
        for position in range(_LENGTH_BYTES)
    ]
    return [np.array(table, np.uint32) ^ np.uint32(crc_of_zero) for table in tables], crc_of_zero
