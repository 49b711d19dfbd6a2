"""Image files of every kind for tests, valid and hostile."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def noise(*shape: int, dtype: type = np.uint8, seed: int = 0) -> NDArray[Any]:
    most = 256 if dtype is np.uint8 else 65536
    return np.random.default_rng(seed).integers(0, most, shape).astype(dtype)


def slope(height: int, width: int) -> NDArray[np.uint8]:
    """Return a smooth image, which lossy formats change only a little."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return np.stack([x, y, 255 - x], axis=-1).astype(np.uint8)


def save(pixels: NDArray[Any] | Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    image = pixels if isinstance(pixels, Image.Image) else _to_image(pixels)
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _to_image(pixels: NDArray[Any]) -> Image.Image:
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2:] == (1,) else pixels)


def load(data: bytes, mode: str | None = None) -> NDArray[Any]:
    image = Image.open(io.BytesIO(data))
    return np.asarray(image.convert(mode) if mode else image)


def chunk(kind: bytes, data: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))
    return struct.pack(">I", len(data)) + kind + data + crc


def png(pixels: NDArray[Any], *, size: tuple[int, int] | None = None, extra: bytes = b"") -> bytes:
    """Encode a PNG file of 8 or 16 bits; its header may claim a wrong size."""
    height, width, channels = pixels.shape
    bits = 8 * pixels.dtype.itemsize
    claimed = struct.pack(">II", *(size or (width, height)))
    header = claimed + bytes((bits, _COLOR_TYPES[channels], 0, 0, 0))
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    filtered = np.concatenate([np.full((height, 1), 2, np.uint8), _above(rows)], axis=1)
    data = zlib.compress(filtered.tobytes())
    parts = (chunk(b"IHDR", header), extra, chunk(b"IDAT", data), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _above(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Apply the "up" filter of PNG: differences to the row above."""
    return rows - np.concatenate([np.zeros_like(rows[:1]), rows[:-1]])


def gif(frames: int, size: int = 8, duration_ms: int = 50) -> bytes:
    images = [Image.fromarray(noise(size, size, seed=seed)) for seed in range(frames)]
    options = {"save_all": True, "append_images": images[1:], "duration": duration_ms}
    return save(images[0], "GIF", **options)


def endless_gif(frames: int) -> bytes:
    """Return a GIF with very many frames of one pixel."""
    head = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes((0, 0, 0, 255, 255, 255))
    control = b"\x21\xf9\x04\0\x05\0\0\0"
    frame = control + b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\0"
    return head + frame * frames + b";"


def box(kind: bytes, *parts: bytes) -> bytes:
    inside = b"".join(parts)
    return struct.pack(">I4s", len(inside) + 8, kind) + inside


def mp4(
    width: int = 320,
    height: int = 240,
    duration_ms: int = 1500,
    long: bool = False,
    track_bytes: int = 84,
) -> bytes:
    """Return the headers of a video without frames; the header of a track has at least 84 bytes."""
    if long:
        times = b"\1\0\0\0" + bytes(16) + struct.pack(">IQ", 1000, duration_ms) + bytes(80)
    else:
        times = bytes(12) + struct.pack(">II", 1000, duration_ms) + bytes(80)
    sound = box(b"trak", box(b"tkhd", bytes(84)))
    size = struct.pack(">II", width << 16, height << 16)
    picture = box(b"trak", box(b"tkhd", bytes(track_bytes - 8) + size))
    moov = box(b"moov", box(b"mvhd", times), sound, picture)
    return box(b"ftyp", b"isom", bytes(4)) + box(b"free", bytes(9)) + moov


SVG = (
    b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">'
    b"<script>alert(2)</script></svg>"
)
WEBM = b"\x1a\x45\xdf\xa3" + bytes(40)


def hostile() -> dict[str, bytes]:
    """Return files that cannot be shown and must be reported."""
    honest = save(noise(64, 64, 3))
    photo = save(slope(64, 64), "JPEG")
    return {
        "nothing": b"",
        "one byte": b"\x89",
        "a page": b"<!doctype html><script>alert(1)</script>",
        "drawing": SVG,
        "drawing without a head": b"\xef\xbb\xbf \n<svg/>",
        "only a signature": honest[:8],
        "cut PNG": honest[: len(honest) // 2],
        "cut JPEG": photo[: len(photo) // 2],
        "cut GIF": gif(3)[:-40],
        "cut WebP": save(slope(64, 64), "WEBP")[:-20],
        "bomb of PNG": png(noise(1, 1, 3), size=(2**31 - 1, 2**31 - 1)),
        "bomb of GIF": b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + gif(1)[13:],
        "no size": png(noise(1, 1, 3), size=(0, 0)),
        "other bits": honest[:60] + bytes(range(256)) + honest[316:],
        "a PNG that is a JPEG": honest[:8] + photo,
        "BMP of nothing": b"BM" + bytes(60),
        "TIFF of nothing": b"II*\0" + b"\xff" * 60,
        "AVIF of nothing": box(b"ftyp", b"avif", bytes(4)) + bytes(60),
    }
