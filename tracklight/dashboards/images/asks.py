"""What the routes of the Images dashboard are asked."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.media.reader import ValueAsk

_AtLeastZero = Annotated[int, msgspec.Meta(ge=0)]
#: Nobody reads more numbers at once.
_FewPixels = Annotated[int, msgspec.Meta(ge=1, le=64)]

ThumbnailSize = Literal[64, 128, 256, 512, 1024, 2048]


class PartAsk(ValueAsk):
    """One of the pictures of a value, as there may be several."""

    part: _AtLeastZero = 0


class ThumbnailAsk(PartAsk):
    """A picture that fits into a square of ``size`` pixels."""

    size: ThumbnailSize = 256


class TileAsk(PartAsk):
    """A square of a picture that was halved ``level`` times; ``x`` and ``y`` count tiles."""

    level: _AtLeastZero = 0
    x: _AtLeastZero = 0
    y: _AtLeastZero = 0


class PixelsAsk(PartAsk):
    """A few pixels around a place."""

    x: _AtLeastZero = 0
    y: _AtLeastZero = 0
    width: _FewPixels = 1
    height: _FewPixels = 1


class ArchiveAsk(msgspec.Struct):
    """The pictures of a tag between two steps; no run stands for all that have the tag."""

    tag: str
    run: list[str] = []
    first: int | None = None
    last: int | None = None
