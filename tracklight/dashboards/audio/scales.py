"""How frequencies are spread over the height of a spectrogram."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.audio.asks import Scale
from tracklight.types import Float64

_LOWEST_HEARD_HZ = 20.0


def find_lowest(scale: Scale, high_hz: float) -> float:
    """A logarithm has no zero: its scale begins where hearing does."""
    return min(_LOWEST_HEARD_HZ, high_hz / 10) if scale == "log" else 0.0


def make_edges(scale: Scale, rows: int, low_hz: float, high_hz: float) -> Float64:
    """The frequencies between rows that are equally high on the scale."""
    places = np.linspace(0.0, 1.0, rows + 1)
    if scale == "linear":
        return low_hz + places * (high_hz - low_hz)
    if scale == "log":
        return np.asarray(low_hz * (high_hz / low_hz) ** places)
    low, high = _to_mel(low_hz), _to_mel(high_hz)
    return np.asarray(700 * (10 ** ((low + places * (high - low)) / 2595) - 1))


def _to_mel(frequency_hz: float) -> float:
    """The scale of pitches that listeners judge equally far apart."""
    return float(2595 * np.log10(1 + frequency_hz / 700))
