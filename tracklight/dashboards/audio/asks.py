"""What the page asks of the Audio dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.media.reader import ValueAsk

Scale = Literal["linear", "log", "mel"]

_AtLeastZero = Annotated[int, msgspec.Meta(ge=0)]


class ClipAsk(ValueAsk):
    """One clip of a value: it may hold several."""

    part: _AtLeastZero = 0


class WaveformAsk(ClipAsk):
    """The frames from ``start`` to before ``stop``, or to the end, in columns of pixels."""

    columns: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 600
    start: _AtLeastZero = 0
    stop: _AtLeastZero | None = None


class SpectrogramAsk(ClipAsk):
    """A picture of ``width`` by ``height`` of the frames from ``start`` to before ``stop``.

    ``window`` is the number of frames that are looked at together, by default about 40 ms of
    sound; without a ``channel`` it shows the mean power of all.
    """

    width: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 600
    height: Annotated[int, msgspec.Meta(ge=1, le=512)] = 128
    start: _AtLeastZero = 0
    stop: _AtLeastZero | None = None
    scale: Scale = "mel"
    window: Annotated[int, msgspec.Meta(ge=16, le=16384)] | None = None
    channel: _AtLeastZero | None = None
