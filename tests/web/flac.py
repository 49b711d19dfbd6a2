"""Encode uncompressed FLAC files, a format that only the browser decodes."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_BLOCK = 4096


def encode_flac(samples: NDArray[np.int16], sample_rate: int) -> bytes:
    """Encode the samples of one channel as verbatim subframes."""
    blocks = [samples[at : at + _BLOCK] for at in range(0, len(samples), _BLOCK)]
    rate_and_shape = sample_rate << 44 | (16 - 1) << 36 | len(samples)
    info = struct.pack(">HH6xQ16x", _BLOCK, _BLOCK, rate_and_shape)
    frames = [_encode_frame(number, block) for number, block in enumerate(blocks)]
    return b"fLaC" + b"\x80" + len(info).to_bytes(3, "big") + info + b"".join(frames)


def _encode_frame(number: int, block: NDArray[np.int16]) -> bytes:
    assert number < 128
    # 16-bit block size follows, sample rate from STREAMINFO, one channel, 16 bits per sample.
    header = b"\xff\xf8\x70\x08" + bytes([number]) + struct.pack(">H", len(block) - 1)
    header += bytes([_crc(header, 8, 0x07)])
    frame = header + b"\x02" + block.astype(">i2").tobytes()
    return frame + _crc(frame, 16, 0x8005).to_bytes(2, "big")


def _crc(data: bytes, bits: int, polynomial: int) -> int:
    value, top = 0, 1 << (bits - 1)
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = (value << 1 ^ (polynomial if value & top else 0)) & ((1 << bits) - 1)
    return value
