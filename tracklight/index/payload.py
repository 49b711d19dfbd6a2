"""Reads one value back from the file it stands in, and checks its record on the way."""

from __future__ import annotations

import hashlib
import struct

from tracklight.errors import DamagedRecord, LogError
from tracklight.formats.crc32c import masked_crc32c
from tracklight.logdir.filesystem import FileSystem
from tracklight.types import Located

#: A record longer than this is not read into memory for one value's sake.
LARGEST_BYTES = 2 << 30

_HEADER = struct.Struct("<QI")


def read_value(fs: FileSystem, path: str, record: int, start: int, size: int) -> bytes:
    """The ``size`` bytes at ``start`` of the payload of the record at ``record``."""
    with fs.open(path) as file:
        header = file.read(record, _HEADER.size)
        length = _HEADER.unpack(header)[0] if len(header) == _HEADER.size else -1
        if not 0 <= start <= start + size <= length:
            raise DamagedRecord(f"{path} has changed: no such value at byte {record:,}; reload it")
        if length > LARGEST_BYTES:
            raise LogError(
                f"the record at byte {record:,} of {path} has {length:,} bytes, more than the "
                f"{LARGEST_BYTES:,} that are read for one value"
            )
        data = file.read(record + _HEADER.size, length + 4)
    payload, footer = data[:length], data[length:]
    if len(footer) != 4 or masked_crc32c(payload) != int.from_bytes(footer, "little"):
        raise DamagedRecord(f"the record at byte {record:,} of {path} has a wrong checksum")
    return payload[start : start + size]


def fingerprint(located: Located, index: int) -> str:
    """A name for one value that no other value will ever have at its place.

    Where a value stands and when it was logged tell it from all that could take its place, and
    neither has to be read from the file.
    """
    columns = (located.record, located.start, located.size, located.step, located.wall_time)
    place = "|".join(str(column[index]) for column in columns)
    path = located.paths[located.file[index]]
    return hashlib.sha256(f"{path}|{place}".encode("utf-8", "surrogateescape")).hexdigest()[:20]
