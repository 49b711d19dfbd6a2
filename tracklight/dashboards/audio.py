"""The Audio dashboard: play audio clips and show their waveforms and spectrograms.

Waveforms and spectrograms of WAV files are computed at the resolution of the screen. Both use every
sample (very long spectrograms use a subset) and decode clips in blocks, so that an hour of audio
takes no more memory than a second. Start reading at `Audio`, the last class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import (
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    export_values,
    has_fingerprint,
    list_steps,
    value_path,
)
from tracklight.analysis.source import Sentence
from tracklight.errors import FormatError, LogError, Message, find_message
from tracklight.formats import values
from tracklight.formats.media import UNKNOWN_MEDIA_TYPE, WavFile, parse_wav, sniff_media_type
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Float32, Float64, Int64

# ---- requests and responses

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


# ---- waveforms

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
    parts = WaveformColumns(*(np.concatenate(item, axis=1) for item in zip(*blocks, strict=True)))
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


# ---- spectrograms


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


# ---- the dashboard

#: Only the first clips of a value are described.
_MAX_CLIPS = 1000
#: Longer labels are truncated.
_MAX_LABEL_CHARACTERS = 2000

_WAV = "audio/wav"
#: Media types that a browser may be able to play.
_ENCODING_NAMES = {
    "audio/mpeg": "MP3",
    "audio/aac": "AAC",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "audio/mp4": "MP4",
    "video/mp4": "MP4",
    "video/webm": "WebM",
}


class Audio(Dashboard):
    """Serves clips as they were logged, and waveforms and spectrograms of WAV files."""

    name = "audio"
    title = "Audio"
    plugins = ("audio",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._values = ValueReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("about", ValueRequest, self.about, "GET", immutable=has_fingerprint),
            Route("clip", ClipRequest, self.clip, "GET"),
            Route("waveform", WaveformRequest, self.waveform, "GET", immutable=has_fingerprint),
            Route(
                "spectrogram",
                SpectrogramRequest,
                self.spectrogram,
                "GET",
                immutable=has_fingerprint,
            ),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return export_values(self.context, self.plugins, runs, self._iter_exported)

    def steps(self, request: StepsRequest) -> StepsResponse:
        """List the steps at which clips were logged."""
        return list_steps(self.context, request)

    def about(self, request: ValueRequest) -> ClipsResponse:
        """Describe the clips of a value: label, encoding, sample rate, duration."""
        value = self._read_value(request)
        shown = range(min(len(value.clips), _MAX_CLIPS))
        return ClipsResponse(len(value.clips), [_describe_clip(value, index) for index in shown])

    def clip(self, request: ClipRequest) -> Blob:
        """Return the file of a clip as it was logged. Supports range requests."""
        content = self._read_clip(request)
        return Blob(content, _get_media_type(content), immutable=has_fingerprint(request))

    def waveform(self, request: WaveformRequest) -> WaveformResponse:
        """Return the minimum, maximum and RMS of a WAV clip for each column of pixels."""
        clip = self._read_clip(request)
        return compute_waveform(select_frames(clip, request.start, request.stop), request)

    def spectrogram(self, request: SpectrogramRequest) -> SpectrogramResponse:
        """Return the level of each frequency of a WAV clip over time, as pixels."""
        clip = self._read_clip(request)
        return compute_spectrogram(select_frames(clip, request.start, request.stop), request)

    def _read_value(self, request: ValueRequest) -> values.Audio:
        value = self._values.read(request)
        if not isinstance(value, values.Audio):
            raise LogError("audio.not_audio", '"{tag}" is not an audio tag', tag=request.tag)
        return value

    def _read_clip(self, request: ClipRequest) -> bytes:
        clips = self._read_value(request).clips
        if request.clip >= len(clips):
            raise LogError(
                "audio.no_clip",
                "no clip {part}: the value has {clips} clips",
                part=request.clip,
                clips=len(clips),
            )
        return clips[request.clip]

    def _iter_exported(self, request: ValueRequest) -> Iterator[tuple[str, object]]:
        """Yield the responses for one value. An exported page draws waveforms by itself."""
        about = self.about(request)
        yield value_path("about", request), about
        for index in range(len(about.clips)):
            clip_request = ClipRequest(
                request.run, request.tag, request.index, request.fingerprint, index
            )
            yield value_path("clip", request, clip=index), self.clip(clip_request)


def _get_media_type(clip: bytes) -> str:
    """Return a media type that a browser only plays, or one that it only saves."""
    media_type = sniff_media_type(clip)
    return media_type if media_type == _WAV or media_type in _ENCODING_NAMES else UNKNOWN_MEDIA_TYPE


def _describe_clip(value: values.Audio, index: int) -> ClipInfo:
    clip, label = value.clips[index], value.labels[index]
    if len(label) > _MAX_LABEL_CHARACTERS:
        label = label[: _MAX_LABEL_CHARACTERS - 1] + "…"
    info = ClipInfo(label=label, bytes=len(clip), content_type=_get_media_type(clip), encoding="")
    if info.content_type == _WAV:
        _add_wav_header(info, clip)
    else:
        _add_logged_properties(info, value)
    return info


def _add_wav_header(info: ClipInfo, clip: bytes) -> None:
    try:
        wav = parse_wav(clip)
    except FormatError as error:
        info.encoding = "WAV"
        info.problem = Sentence.make(find_message(error) or str(error))
        return
    info.encoding = wav.encoding
    info.sample_rate = wav.sample_rate
    info.channels, info.bits, info.frames = wav.channels, wav.bits, wav.frames
    info.duration_s = wav.duration_s
    if not wav.frames:
        info.problem = Sentence.make(Message("audio.no_samples", "the clip has no samples"))


def _add_logged_properties(info: ClipInfo, value: values.Audio) -> None:
    """Describe a file that is not WAV by what the log says about it."""
    encoding = _ENCODING_NAMES.get(info.content_type)
    info.encoding = encoding or "unknown"
    info.sample_rate = value.sample_rate or None
    info.channels, info.frames = value.channels or None, value.frames or None
    if info.sample_rate and info.frames:
        info.duration_s = info.frames / info.sample_rate
    if not info.bytes:
        info.problem = Sentence.make(Message("audio.empty", "the clip is empty"))
    elif encoding:
        info.problem = Sentence.make(
            Message.format(
                "audio.browser_only",
                "only the browser can decode {encoding} ({size:,} bytes)",
                encoding=encoding,
                size=info.bytes,
            )
        )
    else:
        info.problem = Sentence.make(
            Message.format(
                "audio.unknown_type", "{size:,} bytes of an unknown file type", size=info.bytes
            )
        )
