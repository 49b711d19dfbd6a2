"""What the routes of the Images dashboard are asked."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.values import ValueRequest
from tracklight.types import Float32, Int32

_NonNegative = Annotated[int, msgspec.Meta(ge=0)]

#: Nobody reads more numbers at once.
_PixelCount = Annotated[int, msgspec.Meta(ge=1, le=64)]

ThumbnailSize = Literal[64, 128, 256, 512, 1024, 2048]


class ImageRequest(ValueRequest):
    """One of the pictures of a value, as there may be several."""

    part: _NonNegative = 0


class ThumbnailRequest(ImageRequest):
    """A picture that fits into a square of ``size`` pixels."""

    size: ThumbnailSize = 256


class TileRequest(ImageRequest):
    """A square of a picture that was halved ``level`` times; ``x`` and ``y`` count tiles."""

    level: _NonNegative = 0
    x: _NonNegative = 0
    y: _NonNegative = 0


class PixelsRequest(ImageRequest):
    """A few pixels around a place."""

    x: _NonNegative = 0
    y: _NonNegative = 0
    width: _PixelCount = 1
    height: _PixelCount = 1


class ArchiveRequest(msgspec.Struct):
    """The pictures of a tag between two steps; no run stands for all that have the tag."""

    tag: str
    run: list[str] = []
    first: int | None = None
    last: int | None = None


# What the routes of the Images dashboard answer.


class ImageInfo(msgspec.Struct):
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


class ImageInfoResponse(msgspec.Struct):
    """``total`` counts all pictures of the value, of which the first 1,000 are told of."""

    total: int
    parts: list[ImageInfo]


class PixelsResponse(msgspec.Struct):
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
