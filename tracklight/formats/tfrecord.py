"""CRC-32C (Castagnoli), and the masked form that stands beside every length and payload."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Literal, Protocol

from tracklight.errors import FormatError

BytesLike = bytes | bytearray | memoryview

_POLYNOMIAL = 0x82F63B78

_MASK_DELTA = 0xA282EAD8


def masked_crc32c(data: BytesLike) -> int:
    """The checksum as a record stores it: rotated and shifted, as data often holds CRCs itself."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def crc32c_in_python(data: BytesLike) -> int:
    """Some megabytes a second: what is used where the compiled kernel is missing."""
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _compute_table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_CRC_TABLE = [_compute_table_entry(byte) for byte in range(256)]


def _load_crc32c() -> Callable[[BytesLike], int]:
    try:
        from tracklight.formats import _scan
    except ImportError:
        return crc32c_in_python
    return _scan.crc32c


#: CRC-32C of some bytes.
crc32c = _load_crc32c()


# Records of a TFRecord file: a length, the payload, and a checksum of each.
#
#     uint64 length | uint32 masked CRC of those 8 bytes | payload | uint32 masked CRC of the payload
#
# All little-endian. Event files are such files, never compressed; other TFRecord files may be gzip or
# zlib streams of the same. This module is strict and raises on the first damage; the scanner
# (`tracklight.formats.scanner`) is what reads on past it.

Compression = Literal["gzip", "zlib"]

HEADER_BYTES = 12

FOOTER_BYTES = 4

FRAME_BYTES = HEADER_BYTES + FOOTER_BYTES

#: No message of protobuf's may be longer, so no honest record is.
MAX_RECORD_BYTES = 2**31

_HEADER = struct.Struct("<QI")

_FOOTER = struct.Struct("<I")

_CHUNK_BYTES = 1 << 20

_WINDOW_BITS = {"gzip": 31, "zlib": 15}


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def encode_record(payload: bytes) -> bytes:
    """The record that holds ``payload``."""
    length = struct.pack("<Q", len(payload))
    return b"".join(
        (length, _FOOTER.pack(masked_crc32c(length)), payload, _FOOTER.pack(masked_crc32c(payload)))
    )


def write_records(
    stream: BinaryIO, payloads: Iterable[bytes], *, compression: Compression | None = None
) -> None:
    """Write ``payloads`` as records, the whole of them as one compressed stream if asked to."""
    if compression is None:
        for payload in payloads:
            stream.write(encode_record(payload))
        return
    packer = zlib.compressobj(wbits=_WINDOW_BITS[compression])
    for payload in payloads:
        stream.write(packer.compress(encode_record(payload)))
    stream.write(packer.flush())


def iter_records(
    source: BinaryIO | bytes,
    *,
    compression: Compression | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[tuple[int, bytes]]:
    """Give each record's offset and payload, and raise FormatError where the bytes are damaged.

    Offsets count uncompressed bytes. A length is only believed as far as bytes arrive for it.
    """
    stream: _Readable = io.BytesIO(source) if isinstance(source, bytes) else source
    if compression is not None:
        stream = _Inflater(stream, compression)
    offset = 0
    while header := _read_up_to(stream, HEADER_BYTES):
        length = _check_header(header, offset, max_record_bytes)
        body = _read_up_to(stream, length + FOOTER_BYTES)
        yield offset, _check_body(body, length, offset)
        offset += HEADER_BYTES + len(body)


def _check_header(header: bytes, offset: int, max_record_bytes: int) -> int:
    if len(header) < HEADER_BYTES:
        raise FormatError(f"the record at byte {offset} ends inside its length; it was cut off")
    length, crc = _HEADER.unpack(header)
    if masked_crc32c(header[:8]) != crc:
        raise FormatError(f"no record starts at byte {offset}: the checksum of its length is wrong")
    if length > max_record_bytes:
        raise FormatError(
            f"the record at byte {offset} is {length} bytes long, more than {max_record_bytes}; "
            "pass a larger max_record_bytes to read it"
        )
    return int(length)


def _check_body(body: bytes, length: int, offset: int) -> bytes:
    if len(body) < length + FOOTER_BYTES:
        raise FormatError(
            f"the record at byte {offset} should be {HEADER_BYTES + length + FOOTER_BYTES} bytes "
            f"long but ends after {HEADER_BYTES + len(body)}; it was cut off"
        )
    payload = body[:length]
    if _FOOTER.unpack_from(body, length)[0] != masked_crc32c(payload):
        raise FormatError(f"the checksum of the record at byte {offset} is wrong")
    return payload


def _read_up_to(stream: _Readable, size: int) -> bytes:
    """Read ``size`` bytes or what there is, taking memory only for bytes that really came."""
    pieces = []
    while size > 0 and (piece := stream.read(min(size, _CHUNK_BYTES))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


class _Inflater:
    """Reads a compressed stream; one gzip member may follow another, as after an append."""

    def __init__(self, stream: _Readable, compression: Compression) -> None:
        self._stream = stream
        self._compression = compression
        self._unpacker = zlib.decompressobj(_WINDOW_BITS[compression])
        self._packed = b""

    def read(self, size: int, /) -> bytes:
        while True:
            if not self._packed:
                self._packed = self._stream.read(_CHUNK_BYTES)
            if not self._packed:
                return self._finish(size)
            if self._unpacker.eof:
                self._unpacker = zlib.decompressobj(_WINDOW_BITS[self._compression])
            if data := self._inflate(self._packed, size):
                return data

    def _inflate(self, packed: bytes, size: int) -> bytes:
        try:
            data = self._unpacker.decompress(packed, size)
        except zlib.error as error:
            raise FormatError(f"no {self._compression} data: {error}") from error
        self._packed = self._unpacker.unconsumed_tail or self._unpacker.unused_data
        return data

    def _finish(self, size: int) -> bytes:
        """The input is at its end, but the unpacker may still hold some output back."""
        data = self._inflate(b"", size)
        if not data and not self._unpacker.eof:
            raise FormatError(f"the {self._compression} data ends too early; it was cut off")
        return data
