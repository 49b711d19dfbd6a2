"""Build event files byte by byte.

None of tracklight's encoders is used, so that tests can find bugs in them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

FLOAT, DOUBLE, INT32, UINT8, INT16, INT8, STRING, COMPLEX64, INT64, BOOL = range(1, 11)
BFLOAT16, UINT16, HALF, RESOURCE, VARIANT, UINT32, UINT64 = 14, 17, 19, 20, 21, 22, 23
FLOAT8_E5M2, FLOAT8_E4M3FN = 24, 25


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def single(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def blob(number: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return varint(number << 3 | 2) + varint(len(content)) + content


def event(*fields: bytes, step: int | None = None, wall: float | None = None) -> bytes:
    """Return the payload of an Event; time and step are omitted if they are None."""
    time = b"" if wall is None else double(1, wall)
    return time + (b"" if step is None else integer(2, step)) + b"".join(fields)


def summary(*values: bytes) -> bytes:
    return blob(5, *values)


def value(tag: str | bytes, *fields: bytes) -> bytes:
    name = tag.encode() if isinstance(tag, str) else tag
    return blob(1, blob(1, name), *fields)


def simple(number: float) -> bytes:
    return single(2, number)


def shape(*sizes: int) -> bytes:
    return blob(2, *(blob(2, integer(1, size)) for size in sizes))


def tensor(dtype: int, *fields: bytes) -> bytes:
    return blob(8, integer(1, dtype), *fields)


def content(raw: bytes) -> bytes:
    return blob(4, raw)


def metadata(plugin: str = "", extra: bytes = b"") -> bytes:
    name = blob(1, plugin.encode()) if plugin else b""
    return blob(9, blob(1, name) if name else b"", extra)


def image(data: bytes, width: int = 2, height: int = 2) -> bytes:
    return blob(4, integer(1, height), integer(2, width), integer(3, 3), blob(4, data))


def image_tensor(*data: bytes) -> bytes:
    return tensor(STRING, shape(2 + len(data)), *(blob(8, part) for part in (b"2", b"2", *data)))


def audio(data: bytes) -> bytes:
    return blob(6, blob(4, data), blob(5, b"audio/wav"))


def session(status: int) -> bytes:
    return blob(7, integer(1, status))


def scalar(tag: str, step: int, number: float) -> bytes:
    """Return the record of one scalar as most writers encode it."""
    return record(event(summary(value(tag, simple(number))), step=step, wall=1.7e9 + step))


def header(length: int) -> bytes:
    raw = struct.pack("<Q", length)
    return raw + struct.pack("<I", masked_crc32c(raw))


def record(payload: bytes) -> bytes:
    return header(len(payload)) + payload + struct.pack("<I", masked_crc32c(payload))


def flip(data: bytes, at: int) -> bytes:
    """Return the bytes with one of them corrupted."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


@lru_cache(maxsize=256)  # many tests use the same long records
def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc_table() -> Iterable[int]:
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        yield entry


_CRC = list(_crc_table())
