"""Tables of key and value, made for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from tracklight.formats.tfrecord import masked_crc32c

PLAIN, SNAPPY = 0, 1
MAGIC = 0xDB4775248B80FB57


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def block(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Encode a block; keys share the longest prefix with the previous key."""
    out, previous = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(key), len(previous)) and key[shared] == previous[shared]:
            shared += 1
        rest = key[shared:]
        out += varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value
        previous = key
    return out + struct.pack("<II", 0, 1)


def trailed(content: bytes, kind: int = PLAIN) -> bytes:
    whole = content + bytes([kind])
    return whole + struct.pack("<I", masked_crc32c(whole))


def table(entries: Mapping[bytes, bytes], kind: int = PLAIN, per_block: int = 3) -> bytes:
    pairs = sorted(entries.items())
    out, index = b"", []
    for start in range(0, len(pairs), per_block):
        some = pairs[start : start + per_block]
        content = compress(block(some)) if kind == SNAPPY else block(some)
        index.append((some[-1][0] + b"~", varint(len(out)) + varint(len(content))))
        out += trailed(content, kind)
    return finish(out, block(index))


def finish(blocks: bytes, index: bytes) -> bytes:
    handles = varint(0) + varint(0) + varint(len(blocks)) + varint(len(index))
    return blocks + trailed(index) + handles.ljust(40, b"\x00") + struct.pack("<Q", MAGIC)


def compress(data: bytes) -> bytes:
    import pyarrow

    compressed: bytes = pyarrow.compress(data, codec="snappy", asbytes=True)
    return compressed
