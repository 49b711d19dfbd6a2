"""Encode images as PNG and audio clips as WAV files.

Images may be arrays, lists of arrays, PIL images, Matplotlib figures or encoded files; audio may be
arrays or WAV files. Conversions round as TensorFlow does, so that the files have the same content.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.media import encode_png, encode_wav, find_wav_sample_rate
from tracklight.writer import as_number, as_numbers, has_nan
from tracklight.writer.warnings import ArgumentError, warn_or_raise

Pixels = NDArray[np.uint8]

_IMAGE_SHAPES = "expected [k, height, width, channels] with 1 to 4 channels, or a single image"
_AUDIO_SHAPES = "expected [k, frames, channels] with floats in [-1, 1], or [frames] for one clip"
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
#: Larger floats probably mean that the range is [0, 255]; smaller ones just overshoot 1.
_CLIP_WARNING_LEVEL = 2.0


class EncodedImage(NamedTuple):
    """An image file and its size in pixels."""

    encoded: bytes
    width: int
    height: int


def encode_images(data: object, max_outputs: int = 3) -> list[EncodedImage]:
    """Encode the first ``max_outputs`` images of an array or a list, or a single image.

    Raises:
        ArgumentError: ``data`` contains no images, or is of an unknown type or shape.
    """
    _check_max_outputs(max_outputs)
    images = list(islice(_iter_images(data), max_outputs))
    if not images:
        raise ArgumentError("data", f"contains no images; {_IMAGE_SHAPES}")
    return images


def _check_max_outputs(max_outputs: object) -> None:
    if isinstance(max_outputs, bool) or not isinstance(max_outputs, int) or max_outputs < 1:
        raise ArgumentError(
            "max_outputs", f"must be an int of at least 1, not {max_outputs!r:.100}"
        )


def find_image_size(encoded: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG file; None for other data."""
    if encoded.startswith(b"\x89PNG\r\n\x1a\n") and len(encoded) >= 24:
        width, height = struct.unpack_from(">II", encoded, 16)
        return width, height
    if encoded.startswith((b"GIF87a", b"GIF89a")) and len(encoded) >= 10:
        width, height = struct.unpack_from("<HH", encoded, 6)
        return width, height
    return _find_jpeg_size(encoded) if encoded.startswith(b"\xff\xd8\xff") else None


def as_pixels(array: NDArray[Any]) -> Pixels:
    """Convert floats in [0, 1], integers in [0, 255] or bools to uint8, as TensorFlow does."""
    pixels: NDArray[Any]
    if array.dtype == np.bool_:
        pixels = np.where(array, 255, 0)
    elif array.dtype == np.uint16:
        pixels = np.right_shift(array, 8)
    elif array.dtype.kind == "f":
        pixels = _scale_floats(array)
    elif array.dtype != np.uint8 and array.size and (array.min() < 0 or array.max() > 255):
        warn_or_raise("data", "has integers outside of [0, 255], which were clipped")
        pixels = np.clip(array, 0, 255)
    else:
        pixels = array
    return pixels.astype(np.uint8, copy=False)


def encode_pixels(array: NDArray[Any]) -> EncodedImage:
    """Encode one image of shape [height, width] or [height, width, channels] as PNG."""
    array = array[:, :, None] if array.ndim == 2 else array
    height, width, _ = array.shape
    return EncodedImage(encode_png(as_pixels(array)), width, height)


def _iter_images(data: object) -> Iterator[EncodedImage]:
    if isinstance(data, (list, tuple)) and not _is_nested_numbers(data):
        for item in data:
            yield from _iter_images(item)
        return
    single = _find_single_image(data)
    if single is not None:
        yield single
        return
    array = as_numbers(data)
    _check_image_shape(array)
    if array.ndim < 4:
        yield encode_pixels(array)
    else:
        yield from map(encode_pixels, array)


def is_image(data: object) -> bool:
    """Return whether a value is a Matplotlib figure or axes, or a PIL image."""
    return _find_figure(data) is not None or _is_pil_image(data)


def _find_figure(data: Any) -> Any | None:
    if hasattr(data, "savefig"):
        return data
    figure = getattr(data, "figure", None)  # an attribute of Matplotlib axes
    return figure if hasattr(figure, "savefig") else None


def _is_pil_image(data: object) -> bool:
    return all(hasattr(data, name) for name in ("save", "mode", "convert"))


def _find_single_image(data: Any) -> EncodedImage | None:
    """Encode data that is not an array: a file's bytes, a PIL image or a Matplotlib figure."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return _wrap_file(bytes(data), "must be the bytes of a PNG, JPEG or GIF file")
    figure = _find_figure(data)
    if figure is not None:
        return _save(figure.savefig, format="png")
    if _is_pil_image(data):
        image = data if data.mode in _PNG_MODES else data.convert("RGB")
        return _save(image.save, format="PNG")
    return None


def _save(save: Any, **options: str) -> EncodedImage:
    stream = io.BytesIO()
    save(stream, **options)
    return _wrap_file(stream.getvalue(), "was not saved as a PNG file")


def _wrap_file(encoded: bytes, problem: str) -> EncodedImage:
    size = find_image_size(encoded)
    if size is None:
        raise ArgumentError("data", problem)
    return EncodedImage(encoded, *size)


def _is_nested_numbers(items: object) -> bool:
    for _ in range(4):
        if isinstance(items, (list, tuple)) and items:
            items = items[0]
    return isinstance(items, (int, float))


def _check_image_shape(array: NDArray[Any]) -> None:
    shape = list(array.shape)
    if array.ndim not in (2, 3, 4):
        raise ArgumentError("data", f"has {array.ndim} dimensions; {_IMAGE_SHAPES}")
    if 0 in shape:
        raise ArgumentError("data", f"is empty (shape {shape}); {_IMAGE_SHAPES}")
    if array.ndim > 2 and shape[-1] not in (1, 2, 3, 4):
        hint = ""
        if shape[-3] in (1, 3, 4):
            hint = "; if channels come first, move them with np.moveaxis(data, -3, -1)"
        raise ArgumentError(
            "data", f"has {shape[-1]} channels in shape {shape}; {_IMAGE_SHAPES}{hint}"
        )


def _scale_floats(array: NDArray[Any]) -> NDArray[Any]:
    if has_nan(array):
        warn_or_raise("data", "contains NaN, which was replaced by 0")
        array = np.nan_to_num(array, nan=0.0)
    if array.max() > _CLIP_WARNING_LEVEL:
        warn_or_raise("data", f"has floats up to {array.max():.3g}; values above 1 were clipped")
    scaled = np.clip(np.asarray(array, np.float32), 0, 1) * np.float32(255.5)
    return np.asarray(np.minimum(scaled, 255))


def _find_jpeg_size(encoded: bytes) -> tuple[int, int] | None:
    """Skip JPEG segments up to the start of a frame (SOF), which contains the size."""
    offset = 2
    while offset + 9 <= len(encoded) and encoded[offset] == 0xFF:
        marker = encoded[offset + 1]
        length = int.from_bytes(encoded[offset + 2 : offset + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", encoded, offset + 5)
            return width, height
        offset += 1 if marker == 0xFF else 2 + length
    return None


def encode_audio_clips(data: object, sample_rate: object, max_outputs: int = 3) -> list[bytes]:
    """Encode the first ``max_outputs`` clips of an array as WAV; a WAV file is returned unchanged.

    Raises:
        ArgumentError: ``data`` is neither an array of a known shape nor a WAV file.
    """
    _check_max_outputs(max_outputs)
    if isinstance(data, (bytes, bytearray)):
        if find_wav_sample_rate(bytes(data)) is None:
            raise ArgumentError("data", "must be an array or the bytes of a WAV file")
        return [bytes(data)]
    rate = int(as_number(sample_rate, "sample_rate"))
    if rate <= 0:
        raise ArgumentError("sample_rate", f"must be positive, not {rate}")
    clips = _as_clips(as_numbers(data))[:max_outputs]
    return [encode_wav(_as_samples(clip), rate) for clip in clips]


def _as_clips(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 1:
        array = array[None, :, None]
    if array.ndim != 3:
        # Two dimensions are ambiguous: [k, frames] or [frames, channels].
        raise ArgumentError("data", f"has {array.ndim} dimensions; {_AUDIO_SHAPES}")
    if 0 in array.shape:
        raise ArgumentError("data", f"is empty (shape {list(array.shape)}); {_AUDIO_SHAPES}")
    return array


def _as_samples(clip: NDArray[Any]) -> NDArray[np.int16]:
    """Convert to 16-bit samples, rounding half away from zero as TensorFlow does."""
    if clip.dtype == np.int16:
        return clip
    if clip.dtype.kind != "f":
        raise ArgumentError("data", f"must be floats in [-1, 1] or int16, not {clip.dtype}")
    if has_nan(clip):
        warn_or_raise("data", "contains NaN, which was replaced by silence")
        clip = np.nan_to_num(clip, nan=0.0)
    # TensorFlow starts from float32; adding 0.5 in float32 would round a second time.
    scaled = clip.astype(np.float32).astype(np.float64) * 32768
    rounded = np.trunc(scaled + np.copysign(0.5, scaled))
    return np.clip(rounded, -32768, 32767).astype(np.int16)
