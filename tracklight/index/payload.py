"""Reads values back from the file they stand in, and checks their records on the way."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracklight.errors import DamagedRecord, LogError
from tracklight.formats.crc32c import masked_crc32c
from tracklight.logdir.filesystem import FileHandle, FileSystem
from tracklight.types import Located
from tracklight.util.hashing import hash_key

#: A record longer than this is not read into memory for one value's sake.
LARGEST_BYTES = 2 << 30

_HEADER = struct.Struct("<QI")
_FOOTER_BYTES = 4


class Place(NamedTuple):
    """Where a value stands: in a record at an offset, ``start`` and ``size`` in its payload."""

    record: int
    start: int
    size: int

    @property
    def end(self) -> int:
        """The first byte of the file that is surely not needed, unless more follows the value."""
        return self.record + _HEADER.size + self.start + self.size + _FOOTER_BYTES


def read_value(fs: FileSystem, path: str, place: Place) -> bytes:
    with fs.open(path) as file:
        return _Records(file, path).read_value(place)


def read_values(fs: FileSystem, path: str, places: Sequence[Place]) -> list[bytes]:
    """Several values of one file, in the order asked for.

    The file is opened once, and records near each other are read together: how near depends on
    what a request costs.
    """
    found: dict[Place, bytes] = {}
    with fs.open(path) as file:
        records = _Records(file, path)
        for near in iter_near(sorted(set(places)), fs.read_sizes.least, fs.read_sizes.most):
            records.load(near[0].record, near[-1].end)
            found.update((place, records.read_value(place)) for place in near)
    return [found[place] for place in places]


def iter_near(places: Sequence[Place], gap_bytes: int, most_bytes: int) -> Iterator[list[Place]]:
    """Sorted places in stretches that are read at once: no gap in them is longer than
    ``gap_bytes``, and none of several is longer than ``most_bytes``."""
    near: list[Place] = []
    for place in places:
        if near and (
            place.record - near[-1].end > gap_bytes or place.end - near[0].record > most_bytes
        ):
            yield near
            near = []
        near.append(place)
    if near:
        yield near


class _Records:
    """The records of one open file, and a stretch of it that was read ahead."""

    def __init__(self, file: FileHandle, path: str) -> None:
        self._file = file
        self._path = path
        self._base = 0
        self._ahead = b""
        self._payload: tuple[int, bytes] = (-1, b"")

    def load(self, start: int, stop: int) -> None:
        self._base, self._ahead = start, self._file.read(start, min(stop - start, LARGEST_BYTES))

    def read_value(self, place: Place) -> bytes:
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
        if length > LARGEST_BYTES:
            raise LogError(
                f"the record at byte {record:,} of {self._path} has {length:,} bytes, more than "
                f"the {LARGEST_BYTES:,} that are read for one value"
            )
        data = self._read(record + _HEADER.size, length + _FOOTER_BYTES)
        payload, footer = data[:length], data[length:]
        if len(footer) != _FOOTER_BYTES or masked_crc32c(payload) != int.from_bytes(
            footer, "little"
        ):
            raise DamagedRecord(
                f"the record at byte {record:,} of {self._path} has a wrong checksum"
            )
        return payload

    def _changed(self, record: int) -> DamagedRecord:
        return DamagedRecord(
            f"{self._path} has changed: no such value at byte {record:,}; reload it"
        )

    def _read(self, offset: int, size: int) -> bytes:
        begin = offset - self._base
        if 0 <= begin and begin + size <= len(self._ahead):
            return self._ahead[begin : begin + size]
        return self._file.read(offset, size)


def fingerprint(located: Located, index: int) -> str:
    """A name for one value that no other value will ever have at its place.

    Where a value stands and when it was logged tell it from all that could take its place, and
    neither has to be read from the file.
    """
    columns = (located.record, located.start, located.size, located.step, located.wall_time)
    place = "|".join(str(column[index]) for column in columns)
    path = located.paths[located.file[index]]
    return hash_key(path, place, size_bytes=10)
