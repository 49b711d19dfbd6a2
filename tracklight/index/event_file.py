"""What is known of one event file: its tags, its rows by session, its damage."""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.errors import CorruptRecordError, LogError
from tracklight.formats.batch import Batch, Damage, DamageKind
from tracklight.formats.scanner import Scanner, create_scanner
from tracklight.formats.tfrecord import masked_crc32c
from tracklight.index.blocks import (
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
from tracklight.util.hashing import hash_key
from tracklight.util.lru_cache import LruCache

#: What one row takes in memory: a point's three columns, a reference's six.
POINT_BYTES = 24

REFERENCE_BYTES = 41

_FLAW_MESSAGES = {
    DamageKind.HEADER: "no record starts here",
    DamageKind.DATA: "wrong checksum",
    DamageKind.PROTO: "not an event",
    DamageKind.TORN: "a record that was never finished",
}


class EventFile:
    """One event file as far as it has been read."""

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
        """Add what a scan of the next bytes found."""
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
        """Join the small blocks that many reads left behind."""
        for session in self.sessions:
            session.points.compact()
            session.references.compact()

    def add_stored_segment(self, segment: Segment) -> None:
        """Add a segment from the cache; it follows on from what is here."""
        self.tags += segment.tags
        self.contents += segment.contents
        self.metadata.update(segment.metadata)
        self.origin = segment.origin
        self._set_state(segment.state)
        self._store_rows(segment)
        self._mark_stored()

    def make_unstored_segment(self) -> Segment:
        """What is known beyond the cache."""
        return Segment(
            origin=msgspec.structs.replace(self.origin, begin=self._stored_end),
            state=self._state(),
            tags=self.tags[self._stored_tags :],
            contents=self.contents[self._stored_tags :],
            metadata=tuple(self._unstored_metadata.items()),
            sessions=tuple(self._iter_unstored_rows()),
        )

    def replace_unstored(self, segment: Segment) -> None:
        """Use a segment that now stands in the cache in the place of the rows in memory."""
        self._store_rows(segment)
        self._mark_stored()

    @property
    def is_stored(self) -> bool:
        return self._stored_end == self.origin.end and self.origin.end > 0

    @property
    def is_read(self) -> bool:
        """Whether any of it was read."""
        return self.origin.end > 0

    def uses_pack(self, pack: Path) -> bool:
        """Whether some of its rows stand in that pack."""
        return any(
            isinstance(block, MappedBlock) and block.pack_path == pack
            for session in self.sessions
            for block in (*session.points.blocks, *session.references.blocks)
        )

    def count_memory_bytes(self) -> int:
        """What the rows outside the cache take."""
        return sum(
            POINT_BYTES * session.points.count_unstored_rows()
            + REFERENCE_BYTES * session.references.count_unstored_rows()
            for session in self.sessions
        )

    def count_points(self) -> int:
        return sum(len(block) for session in self.sessions for block in session.points.blocks)

    def info(self) -> FileInfo:
        damage = [*self.damage, self.unreadable_tail] if self.unreadable_tail else self.damage
        places = (DamageInfo(d.offset, d.size, _FLAW_MESSAGES[d.kind]) for d in damage)
        damaged = self.damaged + (self.unreadable_tail is not None)
        return FileInfo(self.path, self.origin.stat.size, self.records, damaged, tuple(places))

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
            points, references = (
                session.points.merge_unstored(),
                session.references.merge_unstored(),
            )
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


# Reads on in one event file and adds what is found to its index.

#: Files whose scanners are kept between two reads; the others' are made anew from their tags.
_MAX_TAILS = 256


class EventFileReader:
    """Reads the files of one shard; any number of threads, each with a file of its own."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._tails: LruCache[EventFile, EventFileTail] = LruCache(max_items=_MAX_TAILS)

    def read(
        self, fs: FileSystem, file: EventFile, stat: FileStat, on_progress: Callable[[int], None]
    ) -> bool:
        """Read on up to ``stat.size``; say whether anything was found.

        ``tell`` hears after each piece how many bytes are done with; it may store the file.
        """
        tail = self._get_tail(fs, file)
        before = position = tail.scanner.position
        for batch in tail.iter_batches(stat.size):
            with self._lock:
                file.append(batch)
                file.origin = _make_partial_origin(file, tail)
            on_progress(tail.scanner.position - position)
            position = tail.scanner.position
        with self._lock:
            _finish(file, tail, stat)
        return position != before

    def forget(self, file: EventFile) -> None:
        """A file is gone, or is to be read from its start."""
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
    """Looks like no file there is: nobody must take what is read by halves for the whole."""
    return SegmentOrigin(file.path, 0, _get_resume_offset(tail.scanner), FileStat(-1, 0, ""), None)


def _finish(file: EventFile, tail: EventFileTail, stat: FileStat) -> None:
    scanner = tail.scanner
    # A record that is still being written is no damage: it is only waited for.
    unreadable = scanner.lost_at >= 0 and scanner.torn_end < 0
    size = stat.size - scanner.lost_at
    file.unreadable_tail = Damage(scanner.lost_at, size, DamageKind.HEADER) if unreadable else None
    file.origin = SegmentOrigin(file.path, 0, _get_resume_offset(scanner), stat, tail.fingerprint)
    file.compact()


def _get_resume_offset(scanner: Scanner) -> int:
    """What is unreadable now may read well later, so another scanner is to start before it."""
    return scanner.lost_at if scanner.lost_at >= 0 else scanner.position


# Reads values back from the file they stand in, and checks their records on the way.

#: A record longer than this is not read into memory for one value's sake.
MAX_RECORD_BYTES = 2 << 30

_HEADER = struct.Struct("<QI")

_FOOTER_BYTES = 4


class RecordSlice(NamedTuple):
    """Where a value stands: in a record at an offset, ``start`` and ``size`` in its payload."""

    record: int
    start: int
    size: int

    @property
    def end(self) -> int:
        """The first byte of the file that is surely not needed, unless more follows the value."""
        return self.record + _HEADER.size + self.start + self.size + _FOOTER_BYTES


def read_value(fs: FileSystem, path: str, location: RecordSlice) -> bytes:
    with fs.open(path) as file:
        return _RecordReader(file, path).read_value(location)


def read_values(fs: FileSystem, path: str, slices: Sequence[RecordSlice]) -> list[bytes]:
    """Several values of one file, in the order asked for.

    The file is opened once, and records near each other are read together: how near depends on
    what a request costs.
    """
    found: dict[RecordSlice, bytes] = {}
    with fs.open(path) as file:
        records = _RecordReader(file, path)
        for near in iter_nearby(
            sorted(set(slices)), fs.read_sizes.min_bytes, fs.read_sizes.max_bytes
        ):
            records.load(near[0].record, near[-1].end)
            found.update((place, records.read_value(place)) for place in near)
    return [found[place] for place in slices]


def iter_nearby(
    slices: Sequence[RecordSlice], max_gap_bytes: int, max_bytes: int
) -> Iterator[list[RecordSlice]]:
    """Sorted places in stretches that are read at once: no gap in them is longer than
    ``gap_bytes``, and none of several is longer than ``most_bytes``."""
    near: list[RecordSlice] = []
    for place in slices:
        if near and (
            place.record - near[-1].end > max_gap_bytes or place.end - near[0].record > max_bytes
        ):
            yield near
            near = []
        near.append(place)
    if near:
        yield near


class _RecordReader:
    """The records of one open file, and a stretch of it that was read ahead."""

    def __init__(self, file: FileHandle, path: str) -> None:
        self._file = file
        self._path = path
        self._base = 0
        self._ahead = b""
        self._payload: tuple[int, bytes] = (-1, b"")

    def load(self, start: int, stop: int) -> None:
        self._base, self._ahead = start, self._file.read(start, min(stop - start, MAX_RECORD_BYTES))

    def read_value(self, place: RecordSlice) -> bytes:
        record, start, size = place
        if self._payload[0] != record:  # a record may hold the values of many tags
            self._payload = record, self._read_payload(record, start + size)
        payload = self._payload[1]
        if not 0 <= start <= start + size <= len(payload):
            raise self._changed(record)
        return payload[start : start + size]

    def _read_payload(self, record: int, least_bytes: int) -> bytes:
        header = self._read(record, _HEADER.size)
        length = _HEADER.unpack(header)[0] if len(header) == _HEADER.size else -1
        if length < least_bytes:  # before so many bytes are read
            raise self._changed(record)
        if length > MAX_RECORD_BYTES:
            raise LogError(
                f"the record at byte {record:,} of {self._path} has {length:,} bytes, more than "
                f"the {MAX_RECORD_BYTES:,} that are read for one value"
            )
        data = self._read(record + _HEADER.size, length + _FOOTER_BYTES)
        payload, footer = data[:length], data[length:]
        if len(footer) != _FOOTER_BYTES or masked_crc32c(payload) != int.from_bytes(
            footer, "little"
        ):
            raise CorruptRecordError(
                f"the record at byte {record:,} of {self._path} has a wrong checksum"
            )
        return payload

    def _changed(self, record: int) -> CorruptRecordError:
        return CorruptRecordError(
            f"{self._path} has changed: no such value at byte {record:,}; reload it"
        )

    def _read(self, offset: int, size: int) -> bytes:
        begin = offset - self._base
        if 0 <= begin and begin + size <= len(self._ahead):
            return self._ahead[begin : begin + size]
        return self._file.read(offset, size)


def compute_value_key(locations: ValueLocations, index: int) -> str:
    """A name for one value that no other value will ever have at its place.

    Where a value stands and when it was logged tell it from all that could take its place, and
    neither has to be read from the file.
    """
    columns = (
        locations.record,
        locations.start,
        locations.size,
        locations.step,
        locations.wall_time,
    )
    place = "|".join(str(column[index]) for column in columns)
    path = locations.paths[locations.file[index]]
    return hash_key(path, place, size_bytes=10)
