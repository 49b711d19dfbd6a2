"""What the page asks of the Audio dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.values import ValueRequest
from tracklight.types import Float32

FrequencyScale = Literal["linear", "log", "mel"]

_NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]


class ClipRequest(ValueRequest):
    """One clip of a value: it may hold several."""

    part: _NonNegativeInt = 0


class WaveformRequest(ClipRequest):
    """The frames from ``start`` to before ``stop``, or to the end, in columns of pixels."""

    columns: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 600
    start: _NonNegativeInt = 0
    stop: _NonNegativeInt | None = None


class SpectrogramRequest(ClipRequest):
    """A picture of ``width`` by ``height`` of the frames from ``start`` to before ``stop``.

    ``window`` is the number of frames that are looked at together, by default about 40 ms of
    sound; without a ``channel`` it shows the mean power of all.
    """

    width: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 600
    height: Annotated[int, msgspec.Meta(ge=1, le=512)] = 128
    start: _NonNegativeInt = 0
    stop: _NonNegativeInt | None = None
    scale: FrequencyScale = "mel"
    window: Annotated[int, msgspec.Meta(ge=16, le=16384)] | None = None
    channel: _NonNegativeInt | None = None


# What the Audio dashboard answers.


class ClipInfo(msgspec.Struct, kw_only=True):
    """One clip: what its file says of itself or, where that cannot be read, what the log does."""

    label: str
    bytes: int
    content_type: str
    """Told by the file's first bytes; what the log claims is not believed."""
    encoding: str
    sample_rate: float | None = None
    channels: int | None = None
    bits: int | None = None
    frames: int | None = None
    duration_s: float | None = None
    problem: str | None = None
    """Why there is neither waveform nor spectrogram of it; a browser may still play it."""


class ClipsResponse(msgspec.Struct):
    """``total`` counts all clips of the value, of which the first ones are described."""

    total: int
    clips: list[ClipInfo]


class WaveformResponse(msgspec.Struct, kw_only=True):
    """Of each column and channel the lowest and highest sample, and the root of the mean square.

    The columns of the first channel come first. Where there are no more frames than columns each
    frame is a column of its own.
    """

    sample_rate: int
    frames: int
    """Of the whole clip."""
    channels: int
    """Those that are here; there may be more."""
    start: int
    stop: int
    low: Float32
    high: Float32
    rms: Float32


class SpectrogramResponse(msgspec.Struct, kw_only=True):
    """Levels row by row, the lowest frequency first: 0 is ``low_db``, 255 is ``high_db``.

    A sine as loud as a file can hold has 0 dB. Rows are equally high on the ``scale``, from
    ``low_hz`` to ``high_hz``.
    """

    sample_rate: int
    start: int
    stop: int
    width: int
    height: int
    scale: FrequencyScale
    window: int
    low_hz: float
    high_hz: float
    low_db: float
    high_db: float
    levels: NDArray[np.uint8]
