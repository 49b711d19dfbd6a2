"""Requests and responses of the Images dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import ValueRequest
from tracklight.analysis.source import Problem
from tracklight.types import Float32, Int32

_NonNegative = Annotated[int, msgspec.Meta(ge=0)]

#: Side of the region whose pixel values can be requested.
_PixelCount = Annotated[int, msgspec.Meta(ge=1, le=64)]

ThumbnailSize = Literal[64, 128, 256, 512, 1024, 2048]


class ImageRequest(ValueRequest):
    """One image of a value, which may hold several."""

    part: _NonNegative = 0


class ThumbnailRequest(ImageRequest):
    """An image scaled to fit into a square of ``size`` pixels."""

    size: ThumbnailSize = 256


class TileRequest(ImageRequest):
    """A tile of an image that was halved ``level`` times; ``x`` and ``y`` count tiles."""

    level: _NonNegative = 0
    x: _NonNegative = 0
    y: _NonNegative = 0


class PixelsRequest(ImageRequest):
    """A rectangle of pixels."""

    x: _NonNegative = 0
    y: _NonNegative = 0
    width: _PixelCount = 1
    height: _PixelCount = 1


class ArchiveRequest(msgspec.Struct):
    """The images of a tag between two steps; without runs, of all runs that have the tag."""

    tag: str
    runs: list[str] = []
    first_step: int | None = None
    last_step: int | None = None


class ImageInfo(msgspec.Struct):
    """One image of a value; ``problem`` says why it cannot be shown.

    ``width`` and ``height`` are those of the displayed image, 0 if unknown. ``media_type`` is the
    type that the ``picture`` route returns. ``frames`` and ``duration_ms`` describe one loop of an
    animation. A ``tiled`` image is too large for a browser to decode at once.
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
    problem: Problem | None = None


class ImageInfoResponse(msgspec.Struct):
    """The first 1,000 images of a value; ``total`` is the number of all of them."""

    total: int
    parts: list[ImageInfo]


class PixelsResponse(msgspec.Struct):
    """Pixel values as stored in the file, row by row with interleaved channels.

    The rectangle is the requested one, clipped to the image.
    """

    x: int
    y: int
    width: int
    height: int
    channels: list[str]
    bits: int
    values: NDArray[np.uint8] | Int32 | Float32
