"""A clip reduced to the columns of pixels that will show it, from every one of its samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracklight.dashboards.audio.answers import WaveformAnswer
from tracklight.dashboards.audio.asks import WaveformAsk
from tracklight.dashboards.audio.part import MOST_CHANNELS, Part
from tracklight.formats.wav import Wav
from tracklight.types import Float32, Float64, Int64

#: Samples that are decoded at a time, so that an hour of sound takes no more memory than a second.
_BLOCK_SAMPLES = 1 << 18


class Columns(NamedTuple):
    """Numbers of each channel and column, as [channels, columns]."""

    low: Float64
    high: Float64
    square: Float64
    """The sum of all squares."""
    known: Float64
    """How many samples that is."""

    def merge(self, at: Int64) -> Columns:
        """Several columns as one, each beginning at one of these places."""
        return Columns(
            np.fmin.reduceat(self.low, at, axis=1),
            np.fmax.reduceat(self.high, at, axis=1),
            np.add.reduceat(self.square, at, axis=1),
            np.add.reduceat(self.known, at, axis=1),
        )

    def rms(self) -> Float64:
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.square / self.known)


def answer_waveform(part: Part, ask: WaveformAsk) -> WaveformAnswer:
    """The columns of a part of a clip, channel after channel."""
    edges = part.divide(ask.columns)
    columns = reduce_samples(part.wav, edges)
    return WaveformAnswer(
        sample_rate=part.wav.sample_rate,
        frames=part.wav.frames,
        channels=len(columns.low),
        start=part.start,
        stop=part.stop,
        low=_send(columns.low),
        high=_send(columns.high),
        rms=_send(columns.rms()),
    )


def reduce_samples(wav: Wav, edges: Int64) -> Columns:
    """The columns between these frames.

    What is not a number counts as if it were not there; a column of nothing else is one of NaN.
    """
    block_frames = max(1, _BLOCK_SAMPLES // wav.channels)
    starts = np.arange(edges[0], edges[-1], block_frames)
    # Blocks rarely end where columns do, so columns are put together from pieces that end at both.
    pieces = np.union1d(edges, starts)
    found = []
    for first in starts.tolist():
        stop = min(first + block_frames, int(edges[-1]))
        own = pieces[np.searchsorted(pieces, first) : np.searchsorted(pieces, stop)]
        samples = np.ascontiguousarray(wav.decode(first, stop)[:, :MOST_CHANNELS].T)
        found.append(_survey(samples, own - first))
    every = Columns(*(np.concatenate(parts, axis=1) for parts in zip(*found, strict=True)))
    return every.merge(np.searchsorted(pieces, edges[:-1]))


def _survey(samples: Float64, at: Int64) -> Columns:
    """The columns that begin at these frames."""
    known = np.isfinite(samples)
    if not known.all():
        numbers = np.where(known, samples, np.nan)
        squares = np.where(known, samples, 0.0) ** 2
        return Columns(numbers, numbers, squares, known.astype(np.float64)).merge(at)
    counts = np.diff(at, append=samples.shape[1]).astype(np.float64)
    return Columns(
        np.minimum.reduceat(samples, at, axis=1),
        np.maximum.reduceat(samples, at, axis=1),
        np.add.reduceat(samples * samples, at, axis=1),
        np.broadcast_to(counts, (len(samples), len(counts))),
    )


def _send(numbers: Float64) -> Float32:
    sent: Float32 = numbers.astype(np.float32).ravel()
    return sent
