"""Clips of sound as WAV files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.wav import encode_wav, find_sample_rate
from tracklight.sdk.arrays import as_number, as_numbers, has_nan
from tracklight.sdk.lenient import Misuse, complain

_SHAPES = "give [k, frames, channels] with floats in [-1, 1], or [frames] for one clip"


def encode_clips(data: object, sample_rate: object, max_outputs: int = 3) -> list[bytes]:
    """The first ``max_outputs`` clips of an array, or a WAV file by itself."""
    if isinstance(max_outputs, bool) or not isinstance(max_outputs, int) or max_outputs < 1:
        raise Misuse("max_outputs", f"must be an int of at least 1, not {max_outputs!r:.100}")
    if isinstance(data, (bytes, bytearray)):
        if find_sample_rate(bytes(data)) is None:
            raise Misuse("data", "must be the bytes of a WAV file, or an array")
        return [bytes(data)]
    rate = int(as_number(sample_rate, "sample_rate"))
    if rate <= 0:
        raise Misuse("sample_rate", f"must be above 0, not {rate}")
    clips = _as_clips(as_numbers(data))[:max_outputs]
    return [encode_wav(_as_samples(clip), rate) for clip in clips]


def _as_clips(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 1:
        array = array[None, :, None]
    if array.ndim != 3:
        # [k, frames] and [frames, channels] look alike.
        raise Misuse("data", f"has {array.ndim} dimensions; {_SHAPES}")
    if 0 in array.shape:
        raise Misuse("data", f"is empty, of shape {list(array.shape)}; {_SHAPES}")
    return array


def _as_samples(clip: NDArray[Any]) -> NDArray[np.int16]:
    """16-bit samples, rounded as TensorFlow does: halves away from zero."""
    if clip.dtype == np.int16:
        return clip
    if clip.dtype.kind != "f":
        raise Misuse("data", f"must be floats in [-1, 1] or int16, not {clip.dtype}")
    if has_nan(clip):
        complain("data", "has NaN in it, which became silence")
        clip = np.nan_to_num(clip, nan=0.0)
    # TensorFlow has float32; adding a half to it would round a second time.
    scaled = clip.astype(np.float32).astype(np.float64) * 32768
    rounded = np.trunc(scaled + np.copysign(0.5, scaled))
    return np.clip(rounded, -32768, 32767).astype(np.int16)
