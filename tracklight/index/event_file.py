"""The index of one event file: what was read of it, reading on, and reading values back.

`EventFile` holds tags, rows and damage. `EventFileReader` adds the records that were written since.
Values other than scalars stay in the file; `read_values` reads them from their `RecordSlice`.
"""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.errors import CorruptRecordError, LogError, Message
from tracklight.formats.batch import Batch, Damage, DamageKind
from tracklight.formats.scanner import Scanner, create_scanner
from tracklight.formats.tfrecord import masked_crc32c
from tracklight.index import (
    MAX_DAMAGE_ENTRIES,
    FileSession,
    FileState,
    Segment,
    SegmentOrigin,
    SessionRows,
)
from tracklight.index.pack import MappedBlock
from tracklight.logdir.filesystem import FileHandle, FileStat, FileSystem
from tracklight.logdir.tail import EventFileTail
from tracklight.types import DamageInfo, FileInfo, Float64, ValueLocations
from tracklight.util.files import hash_key
from tracklight.util.memory import LruCache

#: Memory of one row: the three columns of a point, the six of a reference.
POINT_BYTES = 24
REFERENCE_BYTES = 41

#: Larger records are not read into memory for a single value.
MAX_RECORD_BYTES = 2 << 30

#: Files whose scanners are kept between reads; other scanners are recreated from the tags.
_MAX_TAILS = 256

# Framing of a TFRecord: length and its checksum before the payload, its checksum after it.
_HEADER = struct.Struct("<QI")
_FOOTER_BYTES = 4

_DAMAGE_MESSAGES = {
    DamageKind.HEADER: Message("log.damaged_header", "invalid record header"),
    DamageKind.DATA: Message("log.damaged_data", "wrong checksum"),
    DamageKind.PROTO: Message("log.damaged_event", "not an Event message"),
    DamageKind.TORN: Message("log.damaged_end", "truncated record"),
}


class EventFile:
    """Everything that was read of one event file.

    Rows are in memory or, once they are stored, in the cache. Not thread-safe: the shard's lock
    protects it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.origin = SegmentOrigin(path, 0, 0, FileStat(0, 0, ""), None)
        self.tags: tuple[bytes, ...] = ()
        self.contents: tuple[int, ...] = ()
        self.metadata: dict[int, bytes] = {}
        self.sessions = [FileSession()]
        self.records = 0
        self.damaged = 0
        self.damage: list[Damage] = []
        self.unreadable_tail: Damage | None = None
        self.first_wall = math.inf
        self.last_wall = -math.inf
        self.writer: bytes | None = None
        self._stored_end = 0
        self._stored_tags = 0
        self._stored_sessions = 1
        self._unstored_metadata: dict[int, bytes] = {}

    def append(self, batch: Batch) -> None:
        """Add the records that a scan of the next bytes found."""
        self._add_tags(batch)
        if batch.session_start is not None:
            self.sessions.append(FileSession(batch.session_start))
        session = self.sessions[-1]
        session.points.append(batch.points)
        session.references.append(batch.references)
        self._extend_wall_range(batch.points.wall)
        self._extend_wall_range(batch.references.wall)
        self.records += batch.records
        self.damaged += len(batch.damage)
        self.damage += batch.damage[: max(0, MAX_DAMAGE_ENTRIES - len(self.damage))]
        self.writer = self.writer or batch.writer

    def compact(self) -> None:
        """Merge the small blocks of many reads."""
        for session in self.sessions:
            session.points.compact()
            session.references.compact()

    def make_headers(self) -> None:
        """Compute the headers of the blocks that are not in the cache."""
        for session in self.sessions:
            for rows in (session.points, session.references):
                for block in rows.blocks[rows.stored_count :]:
                    _ = block.header

    def add_stored_segment(self, segment: Segment) -> None:
        """Add a segment of the cache that continues what was added before."""
        self.tags += segment.tags
        self.contents += segment.contents
        self.metadata.update(segment.metadata)
        self.origin = segment.origin
        self._set_state(segment.state)
        self._store_rows(segment)
        self._mark_stored()

    def make_unstored_segment(self) -> Segment:
        """Return what is not in the cache yet."""
        return Segment(
            origin=msgspec.structs.replace(self.origin, begin=self._stored_end),
            state=self._state(),
            tags=self.tags[self._stored_tags :],
            contents=self.contents[self._stored_tags :],
            metadata=tuple(self._unstored_metadata.items()),
            sessions=tuple(self._iter_unstored_rows()),
        )

    def replace_unstored(self, segment: Segment) -> None:
        """Replace the rows in memory by the same segment in the cache."""
        self._store_rows(segment)
        self._mark_stored()

    @property
    def is_stored(self) -> bool:
        return self._stored_end == self.origin.end and self.origin.end > 0

    @property
    def is_read(self) -> bool:
        """Whether any bytes of the file were read."""
        return self.origin.end > 0

    def uses_pack(self, pack: Path) -> bool:
        """Return whether some of its rows are in a pack."""
        return any(
            isinstance(block, MappedBlock) and block.pack_path == pack
            for session in self.sessions
            for block in (*session.points.blocks, *session.references.blocks)
        )

    def count_memory_bytes(self) -> int:
        """Return the memory of the rows that are not in the cache."""
        return sum(
            POINT_BYTES * session.points.count_unstored_rows()
            + REFERENCE_BYTES * session.references.count_unstored_rows()
            for session in self.sessions
        )

    def count_points(self) -> int:
        return sum(len(block) for session in self.sessions for block in session.points.blocks)

    def info(self) -> FileInfo:
        damage = [*self.damage, self.unreadable_tail] if self.unreadable_tail else self.damage
        messages = ((item, _DAMAGE_MESSAGES[item.kind]) for item in damage)
        ranges = (
            DamageInfo(item.offset, item.size, text.text, text.code) for item, text in messages
        )
        damaged = self.damaged + (self.unreadable_tail is not None)
        return FileInfo(self.path, self.origin.stat.size, self.records, damaged, tuple(ranges))

    def _add_tags(self, batch: Batch) -> None:
        if batch.tags:
            self.tags += tuple(batch.tags)
            self.contents += tuple(batch.contents)
        self.metadata.update(batch.metadata)
        self._unstored_metadata.update(batch.metadata)

    def _extend_wall_range(self, wall: Float64) -> None:
        if len(wall):
            self.first_wall = min(self.first_wall, float(np.fmin.reduce(wall)))
            self.last_wall = max(self.last_wall, float(np.fmax.reduce(wall)))

    def _iter_unstored_rows(self) -> Iterator[SessionRows]:
        for number, session in enumerate(self.sessions):
            points = session.points.merge_unstored()
            references = session.references.merge_unstored()
            if points or references or number >= self._stored_sessions:
                yield SessionRows(number, session.start, points, references)

    def _store_rows(self, segment: Segment) -> None:
        for rows in segment.sessions:
            if rows.session == len(self.sessions):
                self.sessions.append(FileSession(rows.start))
            session = self.sessions[rows.session]
            session.points.replace_unstored(rows.points)
            session.references.replace_unstored(rows.references)

    def _state(self) -> FileState:
        return FileState(
            self.records,
            self.damaged,
            tuple(self.damage),
            self.first_wall,
            self.last_wall,
            self.writer,
        )

    def _set_state(self, state: FileState) -> None:
        self.records = state.records
        self.damaged = state.damaged
        self.damage = list(state.damage)
        self.first_wall = state.first_wall
        self.last_wall = state.last_wall
        self.writer = state.writer

    def _mark_stored(self) -> None:
        self._stored_end = self.origin.end
        self._stored_tags = len(self.tags)
        self._stored_sessions = len(self.sessions)
        self._unstored_metadata = {}


class EventFileReader:
    """Read the files of one shard. Several threads may use it, each with a different file.

    Args:
        lock: Held while an `EventFile` is changed.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._tails: LruCache[EventFile, EventFileTail] = LruCache(max_items=_MAX_TAILS)

    def read(
        self, fs: FileSystem, file: EventFile, stat: FileStat, on_progress: Callable[[int], None]
    ) -> bool:
        """Read what is new in a file; return whether there was anything.

        Args:
            fs: The file system of the file.
            file: Gets the new records.
            stat: The current state of the file; it is read up to this size.
            on_progress: Called with the number of bytes after each batch; it may store the file.

        Raises:
            OSError: The file cannot be read.
        """
        tail = self._get_tail(fs, file)
        start = position = tail.scanner.position
        for batch in tail.iter_batches(stat.size):
            with self._lock:
                file.append(batch)
                file.origin = _make_partial_origin(file, tail)
            # Listings need the headers. Here they are computed in parallel, and from rows that are
            # still in the caches of the processor.
            file.make_headers()
            on_progress(tail.scanner.position - position)
            position = tail.scanner.position
        with self._lock:
            _finish(file, tail, stat)
        file.make_headers()  # those of merged blocks
        return position != start

    def forget(self, file: EventFile) -> None:
        """Drop the scanner of a file that was deleted or has to be read from the start."""
        with self._lock:
            self._tails.remove(file)

    def _get_tail(self, fs: FileSystem, file: EventFile) -> EventFileTail:
        with self._lock:
            tail = self._tails.find(file)
            if tail is None:
                scanner = create_scanner(file.tags, file.metadata, file.origin.end)
                tail = EventFileTail(fs, file.path, scanner, file.origin.fingerprint)
                self._tails.put(file, tail)
            return tail


def _make_partial_origin(file: EventFile, tail: EventFileTail) -> SegmentOrigin:
    """Return an origin that matches no file, so that a half-read file never counts as complete."""
    return SegmentOrigin(file.path, 0, _get_resume_offset(tail.scanner), FileStat(-1, 0, ""), None)


def _finish(file: EventFile, tail: EventFileTail, stat: FileStat) -> None:
    scanner = tail.scanner
    # A record that is still being written is not damage.
    is_unreadable = scanner.lost_at >= 0 and scanner.torn_end < 0
    size = stat.size - scanner.lost_at
    file.unreadable_tail = (
        Damage(scanner.lost_at, size, DamageKind.HEADER) if is_unreadable else None
    )
    file.origin = SegmentOrigin(file.path, 0, _get_resume_offset(scanner), stat, tail.fingerprint)
    file.compact()


def _get_resume_offset(scanner: Scanner) -> int:
    """Return where another scanner has to start: an unreadable end may become readable later."""
    return scanner.lost_at if scanner.lost_at >= 0 else scanner.position


class RecordSlice(NamedTuple):
    """The location of a value: a byte range in the payload of a record."""

    record: int
    """The offset of the record in its file."""
    start: int
    size: int

    @property
    def end(self) -> int:
        """The end of the record, if the value is the last part of its payload."""
        return self.record + _HEADER.size + self.start + self.size + _FOOTER_BYTES


def read_value(fs: FileSystem, path: str, location: RecordSlice) -> bytes:
    """Read one value of a file; see `read_values`."""
    with fs.open(path) as file:
        return _RecordReader(file, path).read_value(location)


def read_values(fs: FileSystem, path: str, slices: Sequence[RecordSlice]) -> list[bytes]:
    """Read several values of one file and verify the checksums of their records.

    The file is opened once, and nearby records are read together. How near depends on the cost of
    a request to the file system.

    Returns:
        The values in the order of ``slices``.

    Raises:
        CorruptRecordError: A record fails its checksum, or the file has been replaced.
        LogError: A record is too large.
        OSError: The file cannot be read.
    """
    values: dict[RecordSlice, bytes] = {}
    sizes = fs.read_sizes
    with fs.open(path) as file:
        records = _RecordReader(file, path)
        for group in iter_nearby(sorted(set(slices)), sizes.min_bytes, sizes.max_bytes):
            records.prefetch(group[0].record, group[-1].end)
            values.update((item, records.read_value(item)) for item in group)
    return [values[item] for item in slices]


def iter_nearby(
    slices: Sequence[RecordSlice], max_gap_bytes: int, max_bytes: int
) -> Iterator[list[RecordSlice]]:
    """Group sorted slices that are read with one request.

    Gaps within a group are at most ``max_gap_bytes`` long, and a group of several slices spans at
    most ``max_bytes``.
    """
    group: list[RecordSlice] = []
    for item in slices:
        if group and (
            item.record - group[-1].end > max_gap_bytes or item.end - group[0].record > max_bytes
        ):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


class _RecordReader:
    """Read records of one open file, from a prefetched byte range if possible."""

    def __init__(self, file: FileHandle, path: str) -> None:
        self._file = file
        self._path = path
        self._prefetched_at = 0
        self._prefetched = b""
        self._payload: tuple[int, bytes] = (-1, b"")

    def prefetch(self, start: int, stop: int) -> None:
        self._prefetched_at = start
        self._prefetched = self._file.read(start, min(stop - start, MAX_RECORD_BYTES))

    def read_value(self, location: RecordSlice) -> bytes:
        record, start, size = location
        if self._payload[0] != record:  # a record may hold the values of many tags
            self._payload = record, self._read_payload(record, start + size)
        payload = self._payload[1]
        if not 0 <= start <= start + size <= len(payload):
            raise self._make_changed_error(record)
        return payload[start : start + size]

    def _read_payload(self, record: int, min_bytes: int) -> bytes:
        header = self._read(record, _HEADER.size)
        length = _HEADER.unpack(header)[0] if len(header) == _HEADER.size else -1
        if length < min_bytes:  # checked before a payload of any length is read
            raise self._make_changed_error(record)
        if length > MAX_RECORD_BYTES:
            raise LogError(
                "log.record_too_large",
                "the record at byte {offset:,} of {path} is too large: {length:,} "
                "bytes (the limit is {limit:,})",
                offset=record,
                path=self._path,
                length=length,
                limit=MAX_RECORD_BYTES,
            )
        data = self._read(record + _HEADER.size, length + _FOOTER_BYTES)
        payload, footer = data[:length], data[length:]
        if len(footer) != _FOOTER_BYTES or masked_crc32c(payload) != int.from_bytes(
            footer, "little"
        ):
            raise CorruptRecordError(
                "log.record_checksum",
                "the record at byte {offset:,} of {path} has a wrong checksum",
                offset=record,
                path=self._path,
            )
        return payload

    def _make_changed_error(self, record: int) -> CorruptRecordError:
        return CorruptRecordError(
            f"{self._path} has changed: no such value at byte {record:,}; reload it"
        )

    def _read(self, offset: int, size: int) -> bytes:
        begin = offset - self._prefetched_at
        if 0 <= begin and begin + size <= len(self._prefetched):
            return self._prefetched[begin : begin + size]
        return self._file.read(offset, size)


def compute_value_key(locations: ValueLocations, index: int) -> str:
    """Return a key that identifies one value of a log forever, for URLs and caches.

    It is a hash of the location, step and wall time of the value, so the file is not read. If
    another value is ever written to the same location, its wall time differs.
    """
    columns = (
        locations.record,
        locations.start,
        locations.size,
        locations.step,
        locations.wall_time,
    )
    position = "|".join(str(column[index]) for column in columns)
    path = locations.paths[locations.file[index]]
    return hash_key(path, position, size_bytes=10)
