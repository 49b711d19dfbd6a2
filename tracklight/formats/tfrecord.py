"""TFRecord files: a sequence of records, each with its length and checksums.

    uint64 length | uint32 masked CRC of the length | payload | uint32 masked CRC of the payload

All numbers are little-endian and the checksums are CRC-32C (Castagnoli). Event files are
uncompressed TFRecord files; other TFRecord files may be gzip or zlib streams of the same records.

`iter_records` is strict and raises on the first error. `tracklight.formats.scanner` recovers from
damage.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Literal, Protocol

import numpy as np

from tracklight.errors import FormatError
from tracklight.types import Int64

BytesLike = bytes | bytearray | memoryview
Compression = Literal["gzip", "zlib"]

HEADER_BYTES = 12
FOOTER_BYTES = 4
FRAME_BYTES = HEADER_BYTES + FOOTER_BYTES

#: Protobuf messages, and so valid records, cannot be longer.
MAX_RECORD_BYTES = 2**31

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_CHUNK_BYTES = 1 << 20
_WINDOW_BITS = {"gzip": 31, "zlib": 15}
_CRC_POLYNOMIAL = 0x82F63B78
_CRC_MASK_DELTA = 0xA282EAD8


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def encode_record(payload: bytes) -> bytes:
    """Frame ``payload`` as one record."""
    length = struct.pack("<Q", len(payload))
    return b"".join(
        (length, _FOOTER.pack(masked_crc32c(length)), payload, _FOOTER.pack(masked_crc32c(payload)))
    )


def write_records(
    stream: BinaryIO, payloads: Iterable[bytes], *, compression: Compression | None = None
) -> None:
    """Write ``payloads`` as records, optionally as one compressed stream."""
    if compression is None:
        for payload in payloads:
            stream.write(encode_record(payload))
        return
    compressor = zlib.compressobj(wbits=_WINDOW_BITS[compression])
    for payload in payloads:
        stream.write(compressor.compress(encode_record(payload)))
    stream.write(compressor.flush())


def iter_records(
    source: BinaryIO | bytes,
    *,
    compression: Compression | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the payload of each record.

    Memory is allocated only for bytes that exist, whatever length a record claims to have.

    Args:
        source: An open file or its content.
        compression: How the stream is compressed. Offsets count uncompressed bytes.
        max_record_bytes: Longer records are rejected.

    Raises:
        FormatError: A record is damaged, truncated or too long.

    Example:
        >>> [payload for _, payload in iter_records(encode_record(b"one") + encode_record(b"two"))]
        [b'one', b'two']
    """
    stream: _Readable = io.BytesIO(source) if isinstance(source, bytes) else source
    if compression is not None:
        stream = _DecompressingReader(stream, compression)
    offset = 0
    while header := _read_up_to(stream, HEADER_BYTES):
        length = _check_header(header, offset, max_record_bytes)
        body = _read_up_to(stream, length + FOOTER_BYTES)
        yield offset, _check_body(body, length, offset)
        offset += HEADER_BYTES + len(body)


def iter_record_blocks(
    source: BinaryIO,
    *,
    compression: Compression | None = None,
    block_bytes: int = 32 << 20,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[tuple[bytes, Int64]]:
    """Yield blocks of records: their bytes, and the offset and size of each payload in them.

    For decoders that work on many records at once.

    Args:
        source: An open file.
        compression: How the stream is compressed.
        block_bytes: Approximate size of a block; a longer record is a block of its own.
        max_record_bytes: Longer records are rejected.

    Raises:
        FormatError: A record is damaged, truncated or too long. All complete records before it
            have been yielded.
    """
    stream: _Readable = source
    if compression is not None:
        stream = _DecompressingReader(stream, compression)
    block, position = b"", 0
    wanted_bytes = block_bytes
    while True:
        problem: FormatError | None = None
        try:
            block = _read_up_to(stream, wanted_bytes, block)
        except FormatError as error:
            problem = error
        spans, end = find_records(block, max_record_bytes)
        position += end
        if len(spans):
            yield block, spans
        if problem is not None:
            raise problem
        is_last = len(block) < wanted_bytes
        block = block[end:]
        wanted_bytes = block_bytes
        if is_last and not block:
            return
        if is_last or len(block) >= HEADER_BYTES:
            length = _check_header(block[:HEADER_BYTES], position, max_record_bytes)
            wanted_bytes = max(block_bytes, length + FRAME_BYTES)
            if is_last or len(block) >= length + FRAME_BYTES:
                _check_body(block[HEADER_BYTES : FRAME_BYTES + length], length, position)


def _check_header(header: bytes, offset: int, max_record_bytes: int) -> int:
    if len(header) < HEADER_BYTES:
        raise FormatError(
            "log.record_header",
            "the record at byte {offset} is truncated within its header",
            offset=offset,
        )
    length, crc = _HEADER.unpack(header)
    if masked_crc32c(header[:8]) != crc:
        raise FormatError(
            "log.no_record",
            "no record starts at byte {offset}: the checksum of its length is wrong",
            offset=offset,
        )
    if length > max_record_bytes:
        raise FormatError(
            "log.record_over_limit",
            "the record at byte {offset} is {length} bytes long, more than "
            "{limit}; pass a larger max_record_bytes to read it",
            offset=offset,
            length=length,
            limit=max_record_bytes,
        )
    return int(length)


def _check_body(body: bytes, length: int, offset: int) -> bytes:
    if len(body) < length + FOOTER_BYTES:
        raise FormatError(
            "log.record_truncated",
            "the record at byte {offset} is truncated: it has {actual} of {expected} bytes",
            offset=offset,
            actual=HEADER_BYTES + len(body),
            expected=HEADER_BYTES + length + FOOTER_BYTES,
        )
    payload = body[:length]
    if _FOOTER.unpack_from(body, length)[0] != masked_crc32c(payload):
        raise FormatError(
            "log.record_data_checksum",
            "the checksum of the record at byte {offset} is wrong",
            offset=offset,
        )
    return payload


def _read_up_to(stream: _Readable, size: int, start: bytes = b"") -> bytes:
    """Read ``size`` bytes, or fewer at the end of the stream, in chunks of bounded size.

    ``start`` has the first of these bytes, which were read before.
    """
    chunks = [start]
    size -= len(start)
    while size > 0 and (chunk := stream.read(min(size, _CHUNK_BYTES))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


class _DecompressingReader:
    """Read a compressed stream, which may consist of several gzip members."""

    def __init__(self, stream: _Readable, compression: Compression) -> None:
        self._stream = stream
        self._compression = compression
        self._decompressor = zlib.decompressobj(_WINDOW_BITS[compression])
        self._compressed = b""

    def read(self, size: int, /) -> bytes:
        while True:
            if not self._compressed:
                self._compressed = self._stream.read(_CHUNK_BYTES)
            if not self._compressed:
                return self._finish(size)
            if self._decompressor.eof:
                self._decompressor = zlib.decompressobj(_WINDOW_BITS[self._compression])
            if data := self._decompress(self._compressed, size):
                return data

    def _decompress(self, compressed: bytes, size: int) -> bytes:
        try:
            data = self._decompressor.decompress(compressed, size)
        except zlib.error as error:
            raise FormatError(
                "log.invalid_compression",
                "invalid {compression} data: {error}",
                compression=self._compression,
                error=error,
            ) from error
        self._compressed = self._decompressor.unconsumed_tail or self._decompressor.unused_data
        return data

    def _finish(self, size: int) -> bytes:
        """Return what the decompressor still holds after the end of the input."""
        data = self._decompress(b"", size)
        if not data and not self._decompressor.eof:
            raise FormatError(
                "log.compression_truncated",
                "the {compression} data is truncated",
                compression=self._compression,
            )
        return data


def masked_crc32c(data: BytesLike) -> int:
    """Return the checksum as records store it.

    It is rotated and offset, because the CRC of data that contains its own CRC is degenerate.
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _CRC_MASK_DELTA) & 0xFFFFFFFF


def crc32c_in_python(data: BytesLike) -> int:
    """Compute a CRC-32C at a few megabytes per second, if the compiled kernel is missing."""
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _compute_table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_CRC_POLYNOMIAL if byte & 1 else 0)
    return byte


_CRC_TABLE = [_compute_table_entry(byte) for byte in range(256)]


def scan_records_in_python(data: BytesLike, max_record_bytes: int) -> tuple[Int64, int]:
    """Do what `find_records` of the compiled kernel does."""
    view = memoryview(data)
    spans, end = [], 0
    try:
        while end + FRAME_BYTES <= len(view):
            length = _check_header(bytes(view[end : end + HEADER_BYTES]), end, max_record_bytes)
            next_end = end + FRAME_BYTES + length
            _check_body(bytes(view[end + HEADER_BYTES : next_end]), length, end)
            spans.append((end + HEADER_BYTES, length))
            end = next_end
    except FormatError:
        pass  # the caller reports what is wrong with the record
    return np.array(spans, np.int64).reshape(-1, 2), end


try:
    from tracklight.formats import _scan
except ImportError:
    crc32c: Callable[[BytesLike], int] = crc32c_in_python
    find_records: Callable[[BytesLike, int], tuple[Int64, int]] = scan_records_in_python
else:
    crc32c = _scan.crc32c
    find_records = _scan.find_records
