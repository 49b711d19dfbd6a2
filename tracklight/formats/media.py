"""Image and audio files: detect their type, encode PNG and WAV, decode images and WAV.

Logs contain such files as they were encoded by the writer. Image decoding uses Pillow, which is
imported on first use; everything else uses only the standard library and numpy.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.types import Float32, Float64

UNKNOWN_MEDIA_TYPE = "application/octet-stream"
TEXT_MEDIA_TYPE = "text/plain; charset=utf-8"

_TYPE_BY_SIGNATURE = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
    b"\xff\xfa": "audio/mpeg",
    b"\xff\xf3": "audio/mpeg",
    b"\xff\xf2": "audio/mpeg",
    b"\xff\xf1": "audio/aac",
    b"\xff\xf9": "audio/aac",
    b"fLaC": "audio/flac",
    b"OggS": "audio/ogg",
    b"\x1a\x45\xdf\xa3": "video/webm",
}
_TYPE_BY_MP4_BRAND = {b"avif": "image/avif", b"M4A ": "audio/mp4"}
_TYPE_BY_RIFF_FORM = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: The PNG color types of gray, gray and alpha, RGB and RGBA, by the number of channels.
_PNG_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}

#: The image formats that are decoded. Pillow supports more, some of which run other programs.
_IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO", "AVIF", "JPEG2000")
#: Modes of Pillow to convert first, because their pixels are not one number per channel.
_CONVERTED_MODES = {"1": "L", "P": "RGB", "PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB"}

_RIFF_HEADER = struct.Struct("<4s4x4s")
_RIFF_CHUNK = struct.Struct("<4sI")
#: A hostile file could have a chunk every eight bytes.
_MAX_RIFF_CHUNKS = 1000
#: Format code, channels, sample rate, bytes per frame, bits per sample.
_WAV_FORMAT = struct.Struct("<HHI4xHH")
#: The format code of WAVE_FORMAT_EXTENSIBLE is the beginning of a GUID.
_WAV_SUBFORMAT = struct.Struct("<24xH")
_WAV_EXTENSIBLE = 0xFFFE
_WAV_ENCODINGS = {1: "pcm", 3: "float", 6: "a-law", 7: "mu-law"}
#: The supported sample sizes of each encoding.
_WAV_SAMPLE_BYTES = {"pcm": (1, 2, 3, 4), "float": (4, 8), "a-law": (1,), "mu-law": (1,)}
_COMPANDED_CODES = np.arange(256)


def sniff_media_type(data: bytes) -> str:
    """Return the media type of a file from its first bytes, ignoring what the log claims.

    The result is always a type that a browser displays without running code, or
    `UNKNOWN_MEDIA_TYPE`, which it only saves.
    """
    if data[:4] == b"RIFF":
        return _TYPE_BY_RIFF_FORM.get(bytes(data[8:12]), UNKNOWN_MEDIA_TYPE)
    if data[4:8] == b"ftyp":
        return _TYPE_BY_MP4_BRAND.get(bytes(data[8:12]), "video/mp4")
    for signature, media_type in _TYPE_BY_SIGNATURE.items():
        if data.startswith(signature):
            return media_type
    return UNKNOWN_MEDIA_TYPE


def encode_png(pixels: NDArray[np.uint8], *, compression_level: int = 6) -> bytes:
    """Encode pixels of shape [height, width] or [height, width, 1 to 4 channels] as PNG.

    Raises:
        UsageError: The array has another shape or type.
    """
    pixels = np.atleast_3d(pixels)
    if pixels.ndim != 3 or pixels.shape[2] not in _PNG_COLOR_TYPE or pixels.dtype != np.uint8:
        raise UsageError(
            f"an array of {pixels.dtype} of shape {list(pixels.shape)} is not an image; "
            "pass uint8 of shape [height, width] or [height, width, 1 to 4 channels]"
        )
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _PNG_COLOR_TYPE[channels], 0, 0, 0)
    # Every row begins with its filter type; 0 is none.
    rows = np.pad(pixels.reshape(height, width * channels), ((0, 0), (1, 0)))
    data = zlib.compress(rows.tobytes(), compression_level)
    return b"".join(
        (
            _PNG_SIGNATURE,
            _encode_png_chunk(b"IHDR", header),
            _encode_png_chunk(b"IDAT", data),
            _encode_png_chunk(b"IEND", b""),
        )
    )


def _encode_png_chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def find_image_size(encoded: bytes) -> tuple[int, int] | None:
    """Return width and height from the header of an encoded image; None if it is invalid."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded), formats=_IMAGE_FORMATS) as file:
            width, height = file.size
            return int(width), int(height)
    # The size of a decompression bomb is useless, because it cannot be decoded.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def decode_image(encoded: bytes) -> NDArray[Any]:
    """Decode an image, or the first frame of an animation, to [height, width, channels].

    Raises:
        FormatError: The bytes are not an image.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded), formats=_IMAGE_FORMATS) as file:
            image: Image.Image = file
            if image.mode == "P" and "transparency" in image.info:
                image = image.convert("RGBA")
            elif image.mode in _CONVERTED_MODES:
                image = image.convert(_CONVERTED_MODES[image.mode])
            return np.atleast_3d(np.array(image))
    # Some decoders of Pillow raise errors of their own.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(
            "images.undecodable",
            "{size:,} bytes cannot be decoded as an image: {error}",
            size=len(encoded),
            error=error,
        ) from error


@dataclass(frozen=True, slots=True)
class WavFile:
    """A WAV file with a parsed header; samples are decoded on demand."""

    encoding: str
    channels: int
    sample_rate: int
    bits: int
    data: memoryview
    """The encoded frames that are present, whatever the header claims."""

    @property
    def frame_bytes(self) -> int:
        return self.channels * _get_sample_bytes(self.bits)

    @property
    def frames(self) -> int:
        return len(self.data) // self.frame_bytes

    @property
    def duration_s(self) -> float:
        return self.frames / self.sample_rate

    def decode(self, start: int = 0, stop: int | None = None) -> Float64:
        """Return the frames ``start:stop`` as an array [frames, channels] in [-1, 1]."""
        stop = self.frames if stop is None else min(stop, self.frames)
        part = self.data[start * self.frame_bytes : max(start, stop) * self.frame_bytes]
        return self._decode_samples(part).reshape(-1, self.channels)

    def _decode_samples(self, part: memoryview) -> Float64:
        if self.encoding == "float":
            return np.frombuffer(part, f"<f{_get_sample_bytes(self.bits)}").astype(np.float64)
        if self.encoding != "pcm":
            table = mu_law_table() if self.encoding == "mu-law" else a_law_table()
            return table[np.frombuffer(part, np.uint8)].astype(np.float64)
        return _decode_integers(part, _get_sample_bytes(self.bits))


def parse_wav(data: bytes) -> WavFile:
    """Parse the header of a WAV file. A truncated file has fewer frames.

    Raises:
        FormatError: The bytes are not a WAV file, or its encoding is not supported.
    """
    if not _is_wav(data):
        raise FormatError("audio.not_wav", "{size:,} bytes that are not a WAV file", size=len(data))
    header: memoryview | None = None
    for name, content in _iter_riff_chunks(data):
        if name == b"fmt ":
            header = content
        elif name == b"data":
            return _make_wav_file(header, content)
    raise FormatError(
        "audio.wav_no_samples", "the WAV file of {size:,} bytes contains no samples", size=len(data)
    )


def decode_wav(data: bytes) -> Float64:
    """Decode a WAV file to an array [frames, channels] in [-1, 1].

    Raises:
        FormatError: The bytes are not a WAV file, or its encoding is not supported.
    """
    return parse_wav(data).decode()


def find_wav_sample_rate(data: bytes) -> int | None:
    """Return the sample rate of a WAV file of any encoding in Hz; None if it is not one."""
    if not _is_wav(data):
        return None
    header = next((content for name, content in _iter_riff_chunks(data) if name == b"fmt "), b"")
    return _WAV_FORMAT.unpack_from(header)[2] or None if len(header) >= _WAV_FORMAT.size else None


def encode_wav(samples: ArrayLike, sample_rate: int) -> bytes:
    """Encode samples of shape [frames] or [frames, channels] as a 16-bit WAV file.

    Samples are numbers in [-1, 1], or 16-bit integers, which are stored unchanged.
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


def mu_law_table() -> Float32:
    """Return the sample in [-1, 1] for each 8-bit mu-law code (ITU-T G.711)."""
    code = ~_COMPANDED_CODES & 0xFF
    exponent, mantissa = code >> 4 & 7, code & 15
    magnitude = ((mantissa << 3) + 0x84 << exponent) - 0x84
    return _to_signed_samples(magnitude, code & 0x80 != 0)


def a_law_table() -> Float32:
    """Return the sample in [-1, 1] for each 8-bit A-law code (ITU-T G.711)."""
    code = _COMPANDED_CODES ^ 0x55
    exponent, mantissa = code >> 4 & 7, code & 15
    base = (mantissa << 4) + 8
    magnitude = np.where(exponent == 0, base, base + 0x100 << np.maximum(exponent - 1, 0))
    return _to_signed_samples(magnitude, code & 0x80 == 0)


def _to_signed_samples(magnitude: np.ndarray, is_negative: np.ndarray) -> Float32:
    table: Float32 = (np.where(is_negative, -magnitude, magnitude) / 32768).astype(np.float32)
    return table


def _is_wav(data: bytes) -> bool:
    return len(data) >= _RIFF_HEADER.size and _RIFF_HEADER.unpack_from(data) == (b"RIFF", b"WAVE")


def _iter_riff_chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the name and the content of each chunk; the last one may be truncated."""
    view, offset = memoryview(data), _RIFF_HEADER.size
    for _ in range(_MAX_RIFF_CHUNKS):
        if offset + _RIFF_CHUNK.size > len(data):
            return
        name, size = _RIFF_CHUNK.unpack_from(data, offset)
        offset += _RIFF_CHUNK.size
        yield name, view[offset : offset + size]
        offset += size + size % 2


def _make_wav_file(header: memoryview | None, content: memoryview) -> WavFile:
    if header is None or len(header) < _WAV_FORMAT.size:
        raise FormatError("audio.wav_no_format", "the WAV file does not declare its sample format")
    code, channels, sample_rate, frame_bytes, bits = _WAV_FORMAT.unpack_from(header)
    if code == _WAV_EXTENSIBLE and len(header) >= _WAV_SUBFORMAT.size:
        (code,) = _WAV_SUBFORMAT.unpack_from(header)
    if not channels or not sample_rate:
        raise FormatError(
            "audio.wav_channels",
            "the WAV file has {channels} channels at {sample_rate} Hz",
            channels=channels,
            sample_rate=sample_rate,
        )
    encoding = _WAV_ENCODINGS.get(code)
    if encoding is None or _get_sample_bytes(bits) not in _WAV_SAMPLE_BYTES[encoding]:
        raise FormatError(
            "audio.wav_encoding",
            "WAV files with {bits}-bit samples of encoding {encoding} are not supported",
            bits=bits,
            encoding=encoding or hex(code),
        )
    if frame_bytes != channels * _get_sample_bytes(bits):
        raise FormatError(
            "audio.wav_frame",
            "the WAV file declares {frame_bytes} bytes for {channels} samples of {bits} bits",
            frame_bytes=frame_bytes,
            channels=channels,
            bits=bits,
        )
    whole = len(content) - len(content) % frame_bytes
    return WavFile(encoding, channels, sample_rate, bits, content[:whole])


def _get_sample_bytes(bits: int) -> int:
    return (bits + 7) // 8


def _decode_integers(part: memoryview, sample_bytes: int) -> Float64:
    samples: NDArray[Any] = np.frombuffer(part, np.uint8).reshape(-1, sample_bytes)
    if sample_bytes == 1:  # the only unsigned format
        return samples[:, 0] / 128.0 - 1.0
    if sample_bytes == 3:
        wide = np.zeros((len(samples), 4), np.uint8)
        wide[:, 1:] = samples
        return wide.view("<i4")[:, 0] / 2.0**31
    return np.frombuffer(part, f"<i{sample_bytes}") / 2.0 ** (8 * sample_bytes - 1)
