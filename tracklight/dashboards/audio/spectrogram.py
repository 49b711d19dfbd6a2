"""Which frequencies a clip is made of, moment by moment."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.audio.answers import SpectrogramAnswer
from tracklight.dashboards.audio.asks import SpectrogramAsk
from tracklight.dashboards.audio.part import MOST_CHANNELS, Part
from tracklight.dashboards.audio.scales import find_lowest, make_edges
from tracklight.types import Float64, Int64

#: From the loudest that is shown to the softest.
RANGE_DB = 120.0
#: Samples that go through a transform for one picture; a longer clip is looked at in places.
_MOST_SAMPLES = 1 << 23
_BLOCK_SAMPLES = 1 << 19
#: Windows that are farther apart than so many of them are decoded one by one.
_SPARSE = 4
_WINDOW_S = 0.04
_SHORTEST_WINDOW, _LONGEST_WINDOW = 16, 8192


def answer_spectrogram(part: Part, ask: SpectrogramAsk) -> SpectrogramAnswer:
    """A picture of a part of a clip."""
    window = ask.window or choose_window(part)
    width = min(ask.width, part.stop - part.start)
    high_hz = part.wav.sample_rate / 2
    low_hz = find_lowest(ask.scale, high_hz)
    edges = make_edges(ask.scale, ask.height, low_hz, high_hz)
    power = measure_power(part, width, window, ask.channel)
    levels, high_db = to_levels(spread(power, edges * (window / part.wav.sample_rate)))
    return SpectrogramAnswer(
        sample_rate=part.wav.sample_rate,
        start=part.start,
        stop=part.stop,
        width=width,
        height=ask.height,
        scale=ask.scale,
        window=window,
        low_hz=low_hz,
        high_hz=high_hz,
        low_db=high_db - RANGE_DB,
        high_db=high_db,
        levels=levels.ravel(),
    )


def choose_window(part: Part) -> int:
    """About as long as an ear listens, and shorter where the part is: a power of two."""
    heard = part.wav.sample_rate * _WINDOW_S
    wanted = min(heard, (part.stop - part.start) / 4)
    return 1 << round(log2(min(max(wanted, _SHORTEST_WINDOW), _LONGEST_WINDOW)))


def measure_power(part: Part, width: int, window: int, channel: int | None) -> Float64:
    """The power of each frequency in each column, as [columns, frequencies].

    A column that is longer than the window is the mean of several. So are channels: their powers,
    as sounds of opposite phase would add up to silence. A sine from -1 to 1 has a power of 1.
    """
    channels = _choose_channels(part, channel)
    span = (part.stop - part.start) / width
    affordable = max(1, _MOST_SAMPLES // (width * window * len(channels)))
    looks = min(affordable, max(1, ceil(span / (window / 2))))
    middles = part.start + (np.arange(width * looks) + 0.5) * (span / looks)
    firsts = middles.astype(np.int64) - window // 2
    shape = np.hanning(window + 1)[:-1]
    columns = max(1, _BLOCK_SAMPLES // (window * looks * len(channels)))
    power = np.empty((width, window // 2 + 1))
    for at in range(0, width, columns):
        own = firsts[at * looks : (at + columns) * looks]
        sound = _listen(part, own, window, channels)
        heights = np.abs(np.fft.rfft(sound * shape)) * (2 / shape.sum())
        sounds_a_column = (-1, looks * len(channels), power.shape[1])
        power[at : at + columns] = (heights**2).reshape(sounds_a_column).mean(axis=1)
    return power


def _choose_channels(part: Part, channel: int | None) -> list[int]:
    if channel is None:
        return list(range(min(part.wav.channels, MOST_CHANNELS)))
    return [min(channel, part.wav.channels - 1)]


def _listen(part: Part, firsts: Int64, window: int, channels: list[int]) -> Float64:
    """Windows of frames, each from one of ``firsts`` on, as [windows, channels, frames]."""
    start, stop = int(firsts[0]), int(firsts[-1]) + window
    if stop - start > _SPARSE * window * len(firsts):
        each = [_hear(part, first, first + window, channels) for first in firsts.tolist()]
        return np.stack(each)
    heard = _hear(part, start, stop, channels)
    places = (firsts - start)[:, None] + np.arange(window)
    return np.asarray(heard[:, places].transpose(1, 0, 2))


def _hear(part: Part, start: int, stop: int, channels: list[int]) -> Float64:
    """Some frames as [channels, frames]; there is silence where the clip has none."""
    samples = part.wav.decode(max(0, start), max(0, stop))[:, channels]
    heard = np.zeros((len(channels), stop - start))
    offset = max(0, -start)
    heard[:, offset : offset + len(samples)] = np.nan_to_num(samples.T, posinf=0, neginf=0)
    return heard


def spread(power: Float64, edges: Float64) -> Float64:
    """The power in each row between ``edges``, which count frequencies, as [rows, columns].

    Of several frequencies in a row the loudest counts, so that a tone keeps its level; where they
    are farther apart than rows are, a row has what lies between two of them.
    """
    middle = (edges[:-1] + edges[1:]) / 2
    below = np.clip(middle.astype(np.int64), 0, power.shape[1] - 2)
    share = middle - below
    rows = power[:, below] * (1 - share) + power[:, below + 1] * share
    first = np.minimum(np.ceil(edges).astype(np.int64), power.shape[1] - 1)
    filled = np.flatnonzero(np.diff(first))
    if len(filled):
        loudest = np.maximum.reduceat(power, first[filled], axis=1)
        rows[:, filled] = np.maximum(rows[:, filled], loudest)
    return np.asarray(rows.T)


def to_levels(power: Float64) -> tuple[NDArray[np.uint8], float]:
    """Steps of a 255th of the range below the loudest that there can be, which is given as well."""
    decibels = 10 * np.log10(np.maximum(power, 1e-30))
    high_db = max(0.0, float(np.ceil(decibels.max())))
    places = (decibels - (high_db - RANGE_DB)) * (255 / RANGE_DB)
    return np.clip(np.rint(places), 0, 255).astype(np.uint8), high_db
