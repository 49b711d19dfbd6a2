"""WAV files of 16-bit samples: the form in which logs hold sound."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np
from numpy.typing import ArrayLike

_HEADER = struct.Struct("<4s4x4s4s4x4xI")


def encode_wav(samples: ArrayLike, sample_rate: int) -> bytes:
    """Samples in [-1, 1], of shape [frames] or [frames, channels], as a WAV file."""
    frames = np.asarray(samples, np.float64)
    channels = 1 if frames.ndim == 1 else frames.shape[1]
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(np.round(np.clip(frames, -1, 1) * 32767).astype("<i2").tobytes())
    return stream.getvalue()


def find_sample_rate(clip: bytes) -> int | None:
    """Frames a second of a WAV file, read from its header; None if it is none."""
    if len(clip) < _HEADER.size:
        return None
    riff, form, chunk, sample_rate = _HEADER.unpack_from(clip)
    if (riff, form, chunk) != (b"RIFF", b"WAVE", b"fmt "):
        return None
    return int(sample_rate)
