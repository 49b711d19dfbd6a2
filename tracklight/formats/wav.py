"""WAV files of 16-bit samples: the form in which logs hold sound."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np
from numpy.typing import ArrayLike

from tracklight.errors import FormatError
from tracklight.types import Float64

_HEADER = struct.Struct("<4s4x4s4s4x4xI")


def encode_wav(samples: ArrayLike, sample_rate: int) -> bytes:
    """Samples in [-1, 1], of shape [frames] or [frames, channels], as a WAV file.

    Those that are 16-bit already are taken as they are.
    """
    frames = np.asarray(samples)
    if frames.dtype != np.int16:
        frames = np.round(np.clip(frames.astype(np.float64), -1, 1) * 32767)
    channels = 1 if frames.ndim == 1 else frames.shape[1]
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(frames.astype("<i2").tobytes())
    return stream.getvalue()


def decode_wav(clip: bytes) -> Float64:
    """The samples of a WAV file of 8 to 32 bits as numbers in [-1, 1], of [frames, channels]."""
    try:
        with wave.open(io.BytesIO(clip)) as file:
            width, channels = file.getsampwidth(), file.getnchannels()
            data = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise FormatError(f"{len(clip):,} bytes that are no WAV file: {error}") from error
    whole = len(data) - len(data) % (width * channels)
    return _to_numbers(data[:whole], width).reshape(-1, channels)


def _to_numbers(data: bytes, width: int) -> Float64:
    samples = np.frombuffer(data, np.uint8).reshape(-1, width)
    if width == 1:  # the only unsigned one
        return samples[:, 0] / 128.0 - 1.0
    wide = np.zeros((len(samples), 4), np.uint8)
    wide[:, 4 - width :] = samples
    return wide.view("<i4")[:, 0] / 2.0**31


def find_sample_rate(clip: bytes) -> int | None:
    """Frames a second of a WAV file, read from its header; None if it is none."""
    if len(clip) < _HEADER.size:
        return None
    riff, form, chunk, sample_rate = _HEADER.unpack_from(clip)
    if (riff, form, chunk) != (b"RIFF", b"WAVE", b"fmt "):
        return None
    return int(sample_rate)
