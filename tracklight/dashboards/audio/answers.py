"""What the Audio dashboard answers."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.audio.asks import Scale
from tracklight.types import Float32


class ClipRow(msgspec.Struct, kw_only=True):
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


class ClipsAnswer(msgspec.Struct):
    """``total`` counts all clips of the value, of which the first ones are described."""

    total: int
    clips: list[ClipRow]


class WaveformAnswer(msgspec.Struct, kw_only=True):
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


class SpectrogramAnswer(msgspec.Struct, kw_only=True):
    """Levels row by row, the lowest frequency first: 0 is ``low_db``, 255 is ``high_db``.

    A sine as loud as a file can hold has 0 dB. Rows are equally high on the ``scale``, from
    ``low_hz`` to ``high_hz``.
    """

    sample_rate: int
    start: int
    stop: int
    width: int
    height: int
    scale: Scale
    window: int
    low_hz: float
    high_hz: float
    low_db: float
    high_db: float
    levels: NDArray[np.uint8]
