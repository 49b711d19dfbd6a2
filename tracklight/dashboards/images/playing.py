"""How many frames a picture has and how long they take, from its blocks alone.

Pillow knows as well, but goes through the frames of a GIF one by one, which may be many.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tracklight.dashboards.images.kinds import FileKind

#: Counting ends here: a hostile file could have millions of frames, or of blocks without any.
_MOST_FRAMES = 100_000
_MOST_BYTES = 64 << 20
#: What browsers take for a frame that claims to be shown for no time.
_LEAST_MS = 100
_TOO_SHORT_MS = 10


class Playing(NamedTuple):
    """One turn of an animation; of a still picture, one frame and no time."""

    frames: int
    duration_ms: int


STILL = Playing(1, 0)


def find_playing(kind: FileKind, data: bytes) -> Playing:
    walk = {"GIF": _iter_gif_ms, "PNG": _iter_png_ms, "WebP": _iter_webp_ms}.get(kind.name)
    if walk is None:
        return STILL
    frames, total_ms = 0, 0.0
    for shown_ms in walk(data[:_MOST_BYTES]):
        frames += 1
        total_ms += shown_ms if shown_ms > _TOO_SHORT_MS else _LEAST_MS
        if frames >= _MOST_FRAMES:
            break
    return Playing(frames, round(total_ms)) if frames > 1 else STILL


def _iter_gif_ms(data: bytes) -> Iterator[float]:
    """Graphic control extensions come before the frame that they are about."""
    at = 13 + _palette_bytes(data[10]) if len(data) > 13 else len(data)
    shown_ms = 0.0
    while at + 10 <= len(data):
        if data[at] == 0x2C:
            yield shown_ms
            at = _skip_blocks(data, at + 11 + _palette_bytes(data[at + 9]))
        elif data[at] == 0x21:
            if data[at + 1] == 0xF9:
                shown_ms = 10.0 * int.from_bytes(data[at + 4 : at + 6], "little")
            at = _skip_blocks(data, at + 2)
        else:
            return


def _palette_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1


def _iter_png_ms(data: bytes) -> Iterator[float]:
    """Only an animation has an ``acTL`` chunk, which comes before the pixels."""
    first = data.find(b"IDAT")
    at = 8
    if data.find(b"acTL", at, max(first, 0)) < 0:
        return
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"fcTL" and at + 34 <= len(data):
            part, whole = struct.unpack_from(">HH", data, at + 28)
            yield 1000.0 * part / (whole or 100)
        at += size + 12


def _iter_webp_ms(data: bytes) -> Iterator[float]:
    """Only the extended form, whose first chunk says so, can hold an animation."""
    if data[12:16] != b"VP8X" or len(data) < 21 or not data[20] & 2:
        return
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"ANMF":
            yield float(int.from_bytes(data[at + 20 : at + 23], "little"))
        at += 8 + size + size % 2
