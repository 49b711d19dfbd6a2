"""Size and length of an MP4 video, from its boxes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

#: Boxes beside each other that are looked at; a video has a few.
_MOST_BOXES = 1000


class Video(NamedTuple):
    width: int
    height: int
    duration_ms: int


def read_video(data: bytes) -> Video | None:
    """None where the boxes do not say."""
    moov = _find_box(data, 0, len(data), b"moov")
    if moov is None:
        return None
    head = _find_box(data, *moov, b"mvhd")
    duration_ms = _read_duration(data, *head) if head else 0
    for kind, start, stop in _iter_boxes(data, *moov):
        track = _find_box(data, start, stop, b"tkhd") if kind == b"trak" else None
        # A track of sound has no size.
        if track and (size := _read_size(data, *track)) != (0, 0):
            return Video(*size, duration_ms)
    return None


def _read_duration(data: bytes, start: int, stop: int) -> int:
    """The first byte says whether times have 32 or 64 bits."""
    form = struct.Struct(">12xII" if data[start : start + 1] == b"\0" else ">20xIQ")
    if start + form.size > stop:
        return 0
    scale, duration = form.unpack_from(data, start)
    return round(1000 * duration / scale) if scale else 0


def _read_size(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """The last two numbers of the box, with sixteen bits behind the point."""
    if stop - start < 84:
        return 0, 0
    width, height = struct.unpack_from(">II", data, stop - 8)
    return width >> 16, height >> 16


def _find_box(data: bytes, start: int, stop: int, wanted: bytes) -> tuple[int, int] | None:
    boxes = _iter_boxes(data, start, stop)
    return next(((begin, end) for kind, begin, end in boxes if kind == wanted), None)


def _iter_boxes(data: bytes, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """The kind of each box and where its contents are."""
    for _ in range(_MOST_BOXES):
        if start + 8 > stop:
            return
        size, kind = struct.unpack_from(">I4s", data, start)
        inside = start + 8
        if size == 1 and start + 16 <= stop:
            (size,) = struct.unpack_from(">Q", data, inside)
            inside += 8
        end = stop if size == 0 else start + size
        if not inside <= end <= stop:
            return
        yield kind, inside, end
        start = end
