"""Compute waveforms and spectrograms of WAV clips at the resolution of the screen.

Both use every sample (very long spectrograms use a subset), and decode clips in blocks, so that an
hour of audio takes no more memory than a second.
"""

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

#: Only these channels are shown; a header may claim 65,535.
MAX_CHANNELS = 16
#: The dynamic range of a spectrogram.
RANGE_DB = 120.0

WAVEFORM_BLOCK_SAMPLES = 1 << 18
_FFT_BLOCK_SAMPLES = 1 << 19
#: The number of samples to transform for one spectrogram; longer clips are sampled.
MAX_FFT_SAMPLES = 1 << 23
#: If the windows of a block cover less than one in this many frames, they are decoded one by one.
SPARSE_FACTOR = 4
_WINDOW_S = 0.04
_MIN_WINDOW, _MAX_WINDOW = 16, 8192
_MIN_AUDIBLE_HZ = 20.0


@dataclass(frozen=True, slots=True)
class FrameRange:
    """The frames ``start:stop`` of a clip; at least one."""

    wav: WavFile
    start: int
    stop: int

    def split(self, max_columns: int) -> Int64:
        """Return the edges of at most ``max_columns`` columns, none of which is empty."""
        length = self.stop - self.start
        columns = min(max_columns, length)
        edges: Int64 = self.start + np.arange(columns + 1, dtype=np.int64) * length // columns
        return edges


def select_frames(clip: bytes, start: int, stop: int | None) -> FrameRange:
    """Return the frames ``start:stop`` of a WAV file, clamped to the frames that it has.

    Raises:
        FormatError: The clip is not a WAV file, or has no samples.
    """
    wav = parse_wav(clip)
    if not wav.frames:
        raise FormatError("audio.no_samples", "the clip has no samples")
    stop = wav.frames if stop is None else max(1, min(stop, wav.frames))
    return FrameRange(wav, min(start, stop - 1), stop)


class WaveformColumns(NamedTuple):
    """Statistics of each channel and column, as arrays [channels, columns]."""

    low: Float64
    high: Float64
    sum_squares: Float64
    samples: Float64
    """The number of finite samples."""

    def merge(self, starts: Int64) -> WaveformColumns:
        """Merge consecutive columns, beginning at each of ``starts``."""
        return WaveformColumns(
            np.fmin.reduceat(self.low, starts, axis=1),
            np.fmax.reduceat(self.high, starts, axis=1),
            np.add.reduceat(self.sum_squares, starts, axis=1),
            np.add.reduceat(self.samples, starts, axis=1),
        )

    def rms(self) -> Float64:
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.sum_squares / self.samples)


def compute_waveform(frames: FrameRange, request: WaveformRequest) -> WaveformResponse:
    """Return the waveform of a range of frames."""
    columns = reduce_samples(frames.wav, frames.split(request.columns))
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
    """Return the statistics of the frames between ``edges``.

    NaN and infinite samples are ignored; a column without finite samples is NaN.
    """
    block_frames = max(1, WAVEFORM_BLOCK_SAMPLES // wav.channels)
    block_starts = np.arange(edges[0], edges[-1], block_frames)
    # Blocks rarely end where columns do: reduce parts that end at both, then merge the parts.
    part_starts = np.union1d(edges, block_starts)
    blocks = []
    for first in block_starts.tolist():
        stop = min(first + block_frames, int(edges[-1]))
        in_block = slice(*np.searchsorted(part_starts, [first, stop]))
        samples = np.ascontiguousarray(wav.decode(first, stop)[:, :MAX_CHANNELS].T)
        blocks.append(_reduce_block(samples, part_starts[in_block] - first))
    parts = WaveformColumns(*(np.concatenate(each, axis=1) for each in zip(*blocks, strict=True)))
    return parts.merge(np.searchsorted(part_starts, edges[:-1]))


def _reduce_block(samples: Float64, starts: Int64) -> WaveformColumns:
    is_finite = np.isfinite(samples)
    if not is_finite.all():
        numbers = np.where(is_finite, samples, np.nan)
        squares = np.where(is_finite, samples, 0.0) ** 2
        columns = WaveformColumns(numbers, numbers, squares, is_finite.astype(np.float64))
        return columns.merge(starts)
    counts = np.diff(starts, append=samples.shape[1]).astype(np.float64)
    return WaveformColumns(
        np.minimum.reduceat(samples, starts, axis=1),
        np.maximum.reduceat(samples, starts, axis=1),
        np.add.reduceat(samples * samples, starts, axis=1),
        np.broadcast_to(counts, (len(samples), len(counts))),
    )


def _to_float32(numbers: Float64) -> Float32:
    flat: Float32 = numbers.astype(np.float32).ravel()
    return flat


def compute_spectrogram(frames: FrameRange, request: SpectrogramRequest) -> SpectrogramResponse:
    """Return the spectrogram of a range of frames."""
    sample_rate = frames.wav.sample_rate
    window = request.window or choose_window(frames)
    width = min(request.width, frames.stop - frames.start)
    high_hz = sample_rate / 2
    low_hz = get_lowest_frequency(request.scale, high_hz)
    edges_hz = make_frequency_edges(request.scale, request.height, low_hz, high_hz)
    power = compute_power(frames, width, window, request.channel)
    rows = resample_to_rows(power, edges_hz * (window / sample_rate))
    levels, high_db = to_decibel_levels(rows)
    return SpectrogramResponse(
        sample_rate=sample_rate,
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
    """Return a window of about 40 ms, or shorter for few frames, as a power of two."""
    ideal = min(frames.wav.sample_rate * _WINDOW_S, (frames.stop - frames.start) / 4)
    return 1 << round(log2(min(max(ideal, _MIN_WINDOW), _MAX_WINDOW)))


def compute_power(frames: FrameRange, width: int, window: int, channel: int | None) -> Float64:
    """Return the power spectrum of each column, as an array [columns, frequencies].

    A column that is longer than the window is the mean of several windows. Without a channel it is
    the mean power of all channels, because the sum of signals with opposite phase is silence. A
    sine with full amplitude has a power of 1.
    """
    channels = _choose_channels(frames, channel)
    span = (frames.stop - frames.start) / width
    affordable = max(1, MAX_FFT_SAMPLES // (width * window * len(channels)))
    windows_per_column = min(affordable, max(1, ceil(span / (window / 2))))
    centers = frames.start + (np.arange(width * windows_per_column) + 0.5) * (
        span / windows_per_column
    )
    starts = centers.astype(np.int64) - window // 2
    taper = np.hanning(window + 1)[:-1]
    block_columns = max(1, _FFT_BLOCK_SAMPLES // (window * windows_per_column * len(channels)))
    power = np.empty((width, window // 2 + 1))
    for column in range(0, width, block_columns):
        end = column + block_columns
        block_starts = starts[column * windows_per_column : end * windows_per_column]
        samples = _read_windows(frames, block_starts, window, channels)
        amplitude = np.abs(np.fft.rfft(samples * taper)) * (2 / taper.sum())
        spectra = (amplitude**2).reshape(-1, windows_per_column * len(channels), power.shape[1])
        power[column:end] = spectra.mean(axis=1)
    return power


def _choose_channels(frames: FrameRange, channel: int | None) -> list[int]:
    if channel is None:
        return list(range(min(frames.wav.channels, MAX_CHANNELS)))
    return [min(channel, frames.wav.channels - 1)]


def _read_windows(frames: FrameRange, starts: Int64, window: int, channels: list[int]) -> Float64:
    """Return the windows that begin at ``starts``, as an array [windows, channels, frames]."""
    first, stop = int(starts[0]), int(starts[-1]) + window
    if stop - first > SPARSE_FACTOR * window * len(starts):
        windows = [_read_frames(frames, at, at + window, channels) for at in starts.tolist()]
        return np.stack(windows)
    samples = _read_frames(frames, first, stop, channels)
    indices = (starts - first)[:, None] + np.arange(window)
    return np.asarray(samples[:, indices].transpose(1, 0, 2))


def _read_frames(frames: FrameRange, start: int, stop: int, channels: list[int]) -> Float64:
    """Return an array [channels, frames], with silence outside of the clip."""
    decoded = frames.wav.decode(max(0, start), max(0, stop))[:, channels]
    samples = np.zeros((len(channels), stop - start))
    offset = max(0, -start)
    samples[:, offset : offset + len(decoded)] = np.nan_to_num(decoded.T, posinf=0, neginf=0)
    return samples


def get_lowest_frequency(scale: FrequencyScale, high_hz: float) -> float:
    """Return the lower end of a scale. A logarithmic scale begins at the lowest audible tone."""
    return min(_MIN_AUDIBLE_HZ, high_hz / 10) if scale == "log" else 0.0


def make_frequency_edges(
    scale: FrequencyScale, rows: int, low_hz: float, high_hz: float
) -> Float64:
    """Return the frequencies between rows that are evenly spaced on a scale."""
    fractions = np.linspace(0.0, 1.0, rows + 1)
    if scale == "linear":
        return low_hz + fractions * (high_hz - low_hz)
    if scale == "log":
        return np.asarray(low_hz * (high_hz / low_hz) ** fractions)
    low, high = _to_mel(low_hz), _to_mel(high_hz)
    return np.asarray(700 * (10 ** ((low + fractions * (high - low)) / 2595) - 1))


def _to_mel(frequency_hz: float) -> float:
    return float(2595 * np.log10(1 + frequency_hz / 700))


def resample_to_rows(power: Float64, edges: Float64) -> Float64:
    """Return the power between ``edges``, as an array [rows, columns].

    A row that contains several frequencies has the power of the loudest, so that tones keep their
    level. A row between two frequencies is interpolated.

    Args:
        power: The result of `compute_power`.
        edges: The edges of rows, in units of the frequency resolution.
    """
    centers = (edges[:-1] + edges[1:]) / 2
    below = np.clip(centers.astype(np.int64), 0, power.shape[1] - 2)
    fraction = centers - below
    rows = power[:, below] * (1 - fraction) + power[:, below + 1] * fraction
    first = np.minimum(np.ceil(edges).astype(np.int64), power.shape[1] - 1)
    filled = np.flatnonzero(np.diff(first))
    if len(filled):
        loudest = np.maximum.reduceat(power, first[filled], axis=1)
        rows[:, filled] = np.maximum(rows[:, filled], loudest)
    return np.asarray(rows.T)


def to_decibel_levels(power: Float64) -> tuple[NDArray[np.uint8], float]:
    """Return levels from 0 to 255 for the range below the maximum, and the maximum in dB."""
    decibels = 10 * np.log10(np.maximum(power, 1e-30))
    high_db = max(0.0, float(np.ceil(decibels.max())))
    levels = (decibels - (high_db - RANGE_DB)) * (255 / RANGE_DB)
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8), high_db
