"""Requests and responses of the Audio dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import ValueRequest
from tracklight.analysis.source import Sentence
from tracklight.types import Float32

FrequencyScale = Literal["linear", "log", "mel"]

_NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]


class ClipRequest(ValueRequest):
    """One clip of a value; ``clip`` is its index."""

    clip: _NonNegativeInt = 0


class WaveformRequest(ClipRequest):
    """The frames ``start:stop`` of a clip, in ``columns`` of pixels."""

    columns: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 600
    start: _NonNegativeInt = 0
    stop: _NonNegativeInt | None = None


class SpectrogramRequest(ClipRequest):
    """The frames ``start:stop`` of a clip, as ``width`` by ``height`` pixels.

    ``window`` is the number of frames per Fourier transform; the default is about 40 ms. Without a
    ``channel``, the mean power of all channels is shown.
    """

    width: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 600
    height: Annotated[int, msgspec.Meta(ge=1, le=512)] = 128
    start: _NonNegativeInt = 0
    stop: _NonNegativeInt | None = None
    scale: FrequencyScale = "mel"
    window: Annotated[int, msgspec.Meta(ge=16, le=16384)] | None = None
    channel: _NonNegativeInt | None = None


class ClipInfo(msgspec.Struct, kw_only=True):
    """The description of a clip from its file or, if that cannot be parsed, from the log."""

    label: str
    bytes: int
    content_type: str
    """Detected from the first bytes of the file; the type in the log is ignored."""
    encoding: str
    sample_rate: float | None = None
    channels: int | None = None
    bits: int | None = None
    frames: int | None = None
    duration_s: float | None = None
    problem: Sentence | None = None
    """Why there is no waveform and no spectrogram. A browser may be able to play the clip."""


class ClipsResponse(msgspec.Struct):
    """The first clips of a value; ``total`` is the number of all clips."""

    total: int
    clips: list[ClipInfo]


class WaveformResponse(msgspec.Struct, kw_only=True):
    """The lowest sample, the highest sample and the root mean square of each column.

    The arrays contain all columns of the first channel, then those of the second, and so on. There
    are never more columns than frames.
    """

    sample_rate: int
    frames: int
    """The number of frames of the whole clip."""
    channels: int
    """The number of channels in this response; the clip may have more."""
    start: int
    stop: int
    low: Float32
    high: Float32
    rms: Float32


class SpectrogramResponse(msgspec.Struct, kw_only=True):
    """Levels row by row, beginning with the lowest frequency.

    Level 0 is ``low_db`` and level 255 is ``high_db``; a sine with full amplitude has 0 dB. Rows
    are evenly spaced on the ``scale``, from ``low_hz`` to ``high_hz``.
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
