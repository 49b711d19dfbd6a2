"""Some frames of a clip: what a chart shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.audio.schemas import (
    FrequencyScale,
    SpectrogramRequest,
    SpectrogramResponse,
    WaveformRequest,
    WaveformResponse,
)
from tracklight.errors import FormatError
from tracklight.formats.media import WavFile, parse_wav
from tracklight.types import Float32, Float64, Int64

#: So many channels are drawn: nobody can tell more of them apart, and a header may claim 65,535.
MAX_CHANNELS = 16


@dataclass(frozen=True, slots=True)
class FrameRange:
    """The frames from ``start`` to before ``stop``: at least one."""

    wav: WavFile
    start: int
    stop: int

    def split(self, max_columns: int) -> Int64:
        """The frames at which columns begin, and the end of the last; none is empty."""
        length = self.stop - self.start
        columns = min(max_columns, length)
        edges: Int64 = self.start + np.arange(columns + 1, dtype=np.int64) * length // columns
        return edges


def select_frames(clip: bytes, start: int, stop: int | None) -> FrameRange:
    """A part of a WAV file, as much of it as there is."""
    wav = parse_wav(clip)
    if not wav.frames:
        raise FormatError("a clip without a single sample")
    stop = wav.frames if stop is None else max(1, min(stop, wav.frames))
    return FrameRange(wav, min(start, stop - 1), stop)


# How frequencies are spread over the height of a spectrogram.

_MIN_AUDIBLE_HZ = 20.0


def get_lowest_frequency(scale: FrequencyScale, high_hz: float) -> float:
    """A logarithm has no zero: its scale begins where hearing does."""
    return min(_MIN_AUDIBLE_HZ, high_hz / 10) if scale == "log" else 0.0


def make_frequency_edges(
    scale: FrequencyScale, rows: int, low_hz: float, high_hz: float
) -> Float64:
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


# A clip reduced to the columns of pixels that will show it, from every one of its samples.

#: Samples that are decoded at a time, so that an hour of sound takes no more memory than a second.
_WAVEFORM_BLOCK_SAMPLES = 1 << 18


class WaveformColumns(NamedTuple):
    """Numbers of each channel and column, as [channels, columns]."""

    low: Float64
    high: Float64
    square: Float64
    """The sum of all squares."""
    known: Float64
    """How many samples that is."""

    def merge(self, at: Int64) -> WaveformColumns:
        """Several columns as one, each beginning at one of these places."""
        return WaveformColumns(
            np.fmin.reduceat(self.low, at, axis=1),
            np.fmax.reduceat(self.high, at, axis=1),
            np.add.reduceat(self.square, at, axis=1),
            np.add.reduceat(self.known, at, axis=1),
        )

    def rms(self) -> Float64:
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.square / self.known)


def compute_waveform(frames: FrameRange, request: WaveformRequest) -> WaveformResponse:
    """The columns of a part of a clip, channel after channel."""
    edges = frames.split(request.columns)
    columns = reduce_samples(frames.wav, edges)
    return WaveformResponse(
        sample_rate=frames.wav.sample_rate,
        frames=frames.wav.frames,
        channels=len(columns.low),
        start=frames.start,
        stop=frames.stop,
        low=_to_float32(columns.low),
        high=_to_float32(columns.high),
        rms=_to_float32(columns.rms()),
    )


def reduce_samples(wav: WavFile, edges: Int64) -> WaveformColumns:
    """The columns between these frames.

    What is not a number counts as if it were not there; a column of nothing else is one of NaN.
    """
    block_frames = max(1, _WAVEFORM_BLOCK_SAMPLES // wav.channels)
    starts = np.arange(edges[0], edges[-1], block_frames)
    # Blocks rarely end where columns do, so columns are put together from pieces that end at both.
    pieces = np.union1d(edges, starts)
    found = []
    for first in starts.tolist():
        stop = min(first + block_frames, int(edges[-1]))
        own = pieces[np.searchsorted(pieces, first) : np.searchsorted(pieces, stop)]
        samples = np.ascontiguousarray(wav.decode(first, stop)[:, :MAX_CHANNELS].T)
        found.append(_reduce_block(samples, own - first))
    every = WaveformColumns(*(np.concatenate(parts, axis=1) for parts in zip(*found, strict=True)))
    return every.merge(np.searchsorted(pieces, edges[:-1]))


def _reduce_block(samples: Float64, at: Int64) -> WaveformColumns:
    """The columns that begin at these frames."""
    known = np.isfinite(samples)
    if not known.all():
        numbers = np.where(known, samples, np.nan)
        squares = np.where(known, samples, 0.0) ** 2
        return WaveformColumns(numbers, numbers, squares, known.astype(np.float64)).merge(at)
    counts = np.diff(at, append=samples.shape[1]).astype(np.float64)
    return WaveformColumns(
        np.minimum.reduceat(samples, at, axis=1),
        np.maximum.reduceat(samples, at, axis=1),
        np.add.reduceat(samples * samples, at, axis=1),
        np.broadcast_to(counts, (len(samples), len(counts))),
    )


def _to_float32(numbers: Float64) -> Float32:
    sent: Float32 = numbers.astype(np.float32).ravel()
    return sent


# Which frequencies a clip is made of, moment by moment.

#: From the loudest that is shown to the softest.
RANGE_DB = 120.0

#: Samples that go through a transform for one picture; a longer clip is looked at in places.
_MAX_FFT_SAMPLES = 1 << 23

_FFT_BLOCK_SAMPLES = 1 << 19

#: Windows that are farther apart than so many of them are decoded one by one.
_SPARSE_FACTOR = 4

_WINDOW_S = 0.04

_MIN_WINDOW, _MAX_WINDOW = 16, 8192


def compute_spectrogram(frames: FrameRange, request: SpectrogramRequest) -> SpectrogramResponse:
    """A picture of a part of a clip."""
    window = request.window or choose_window(frames)
    width = min(request.width, frames.stop - frames.start)
    high_hz = frames.wav.sample_rate / 2
    low_hz = get_lowest_frequency(request.scale, high_hz)
    edges = make_frequency_edges(request.scale, request.height, low_hz, high_hz)
    power = compute_power(frames, width, window, request.channel)
    levels, high_db = to_decibel_levels(
        resample_to_rows(power, edges * (window / frames.wav.sample_rate))
    )
    return SpectrogramResponse(
        sample_rate=frames.wav.sample_rate,
        start=frames.start,
        stop=frames.stop,
        width=width,
        height=request.height,
        scale=request.scale,
        window=window,
        low_hz=low_hz,
        high_hz=high_hz,
        low_db=high_db - RANGE_DB,
        high_db=high_db,
        levels=levels.ravel(),
    )


def choose_window(frames: FrameRange) -> int:
    """About as long as an ear listens, and shorter where the part is: a power of two."""
    heard = frames.wav.sample_rate * _WINDOW_S
    wanted = min(heard, (frames.stop - frames.start) / 4)
    return 1 << round(log2(min(max(wanted, _MIN_WINDOW), _MAX_WINDOW)))


def compute_power(part: FrameRange, width: int, window: int, channel: int | None) -> Float64:
    """The power of each frequency in each column, as [columns, frequencies].

    A column that is longer than the window is the mean of several. So are channels: their powers,
    as sounds of opposite phase would add up to silence. A sine from -1 to 1 has a power of 1.
    """
    channels = _choose_channels(part, channel)
    span = (part.stop - part.start) / width
    affordable = max(1, _MAX_FFT_SAMPLES // (width * window * len(channels)))
    looks = min(affordable, max(1, ceil(span / (window / 2))))
    middles = part.start + (np.arange(width * looks) + 0.5) * (span / looks)
    firsts = middles.astype(np.int64) - window // 2
    shape = np.hanning(window + 1)[:-1]
    columns = max(1, _FFT_BLOCK_SAMPLES // (window * looks * len(channels)))
    power = np.empty((width, window // 2 + 1))
    for at in range(0, width, columns):
        own = firsts[at * looks : (at + columns) * looks]
        sound = _read_windows(part, own, window, channels)
        heights = np.abs(np.fft.rfft(sound * shape)) * (2 / shape.sum())
        sounds_a_column = (-1, looks * len(channels), power.shape[1])
        power[at : at + columns] = (heights**2).reshape(sounds_a_column).mean(axis=1)
    return power


def _choose_channels(part: FrameRange, channel: int | None) -> list[int]:
    if channel is None:
        return list(range(min(part.wav.channels, MAX_CHANNELS)))
    return [min(channel, part.wav.channels - 1)]


def _read_windows(part: FrameRange, firsts: Int64, window: int, channels: list[int]) -> Float64:
    """Windows of frames, each from one of ``firsts`` on, as [windows, channels, frames]."""
    start, stop = int(firsts[0]), int(firsts[-1]) + window
    if stop - start > _SPARSE_FACTOR * window * len(firsts):
        each = [_read_frames(part, first, first + window, channels) for first in firsts.tolist()]
        return np.stack(each)
    heard = _read_frames(part, start, stop, channels)
    places = (firsts - start)[:, None] + np.arange(window)
    return np.asarray(heard[:, places].transpose(1, 0, 2))


def _read_frames(part: FrameRange, start: int, stop: int, channels: list[int]) -> Float64:
    """Some frames as [channels, frames]; there is silence where the clip has none."""
    samples = part.wav.decode(max(0, start), max(0, stop))[:, channels]
    heard = np.zeros((len(channels), stop - start))
    offset = max(0, -start)
    heard[:, offset : offset + len(samples)] = np.nan_to_num(samples.T, posinf=0, neginf=0)
    return heard


def resample_to_rows(power: Float64, edges: Float64) -> Float64:
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


def to_decibel_levels(power: Float64) -> tuple[NDArray[np.uint8], float]:
    """Steps of a 255th of the range below the loudest that there can be, which is given as well."""
    decibels = 10 * np.log10(np.maximum(power, 1e-30))
    high_db = max(0.0, float(np.ceil(decibels.max())))
    places = (decibels - (high_db - RANGE_DB)) * (255 / RANGE_DB)
    return np.clip(np.rint(places), 0, 255).astype(np.uint8), high_db
