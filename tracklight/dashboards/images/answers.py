"""What the routes of the Images dashboard answer."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.images.header import Header, read_header
from tracklight.dashboards.images.kinds import find_kind
from tracklight.errors import FormatError
from tracklight.plugin import Problem
from tracklight.types import Float32, Int32

#: Browsers decode a picture as a whole; one of more pixels, or a longer side, is shown in tiles.
_MOST_AT_ONCE = 16_000_000
_LONGEST_AT_ONCE = 4096


class PartAbout(msgspec.Struct):
    """One picture of a value, in its own words; what cannot be shown has a ``problem``.

    Width and height are as shown, 0 where they are not known; ``media_type`` is what ``picture``
    answers with, and ``frames`` and ``duration_ms`` are those of one turn of an animation. A
    picture that is ``tiled`` is too large for a browser to decode at once.
    """

    part: int
    format: str
    bytes: int
    media_type: str = ""
    width: int = 0
    height: int = 0
    mode: str = ""
    channels: int = 0
    bits: int = 0
    frames: int = 1
    duration_ms: int = 0
    video: bool = False
    tiled: bool = False
    problem: str | None = None


class AboutAnswer(msgspec.Struct):
    """``total`` counts all pictures of the value, of which the first 1,000 are told of."""

    total: int
    parts: list[PartAbout]


class PixelsAnswer(msgspec.Struct):
    """The numbers of a file, row by row and the channels of a pixel beside each other.

    The place is as asked for, as far as it lies within the picture.
    """

    x: int
    y: int
    width: int
    height: int
    channels: list[str]
    bits: int
    values: NDArray[np.uint8] | Int32 | Float32


def describe(part: int, data: bytes, explain: Callable[[Exception], Problem]) -> PartAbout:
    """Whatever the bytes are."""
    try:
        header = read_header(data)
    except FormatError as error:
        return PartAbout(part, find_kind(data).name, len(data), problem=explain(error).what)
    width, height = header.shown_size
    return PartAbout(
        part=part,
        format=header.kind.name,
        bytes=len(data),
        media_type=header.kind.media_type or "image/png",
        width=width,
        height=height,
        mode=header.mode,
        channels=header.channels,
        bits=header.bits,
        frames=max(header.frames, 1),
        duration_ms=header.duration_ms,
        video=header.kind.is_video,
        tiled=_is_too_large(header),
    )


def _is_too_large(header: Header) -> bool:
    """Whether no browser should have to decode it at once."""
    return header.pixels > _MOST_AT_ONCE or max(header.width, header.height) > _LONGEST_AT_ONCE
