"""CRC-32C (Castagnoli), and the masked form that stands beside every length and payload."""

from __future__ import annotations

from collections.abc import Callable

Buffer = bytes | bytearray | memoryview

_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


def masked_crc32c(data: Buffer) -> int:
    """The checksum as a record stores it: rotated and shifted, as data often holds CRCs itself."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def python_crc32c(data: Buffer) -> int:
    """Some megabytes a second: what is used where the compiled kernel is missing."""
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_table_entry(byte) for byte in range(256)]


def _choose() -> Callable[[Buffer], int]:
    try:
        from tracklight.formats import _scan
    except ImportError:
        return python_crc32c
    return _scan.crc32c


#: CRC-32C of some bytes.
crc32c = _choose()
