"""PNG files from arrays of pixels, with nothing but zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: PNG's code for grey, grey and alpha, RGB, RGBA.
_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}


def encode_png(pixels: NDArray[np.uint8], *, compression_level: int = 6) -> bytes:
    """Pixels of shape [height, width] or [height, width, 1 to 4 channels] as a PNG file."""
    pixels = np.atleast_3d(pixels)
    if pixels.ndim != 3 or pixels.shape[2] not in _COLOR_TYPE or pixels.dtype != np.uint8:
        raise UsageError(
            f"no picture: {pixels.dtype} of shape {list(pixels.shape)}; "
            "give uint8 of [height, width] or [height, width, 1 to 4 channels]"
        )
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPE[channels], 0, 0, 0)
    # Every row starts with the number of its filter; 0 is none.
    rows = np.pad(pixels.reshape(height, width * channels), ((0, 0), (1, 0)))
    data = zlib.compress(rows.tobytes(), compression_level)
    return b"".join(
        (_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)
