"""What kind of file some bytes are, told by their first few; what a log claims is not believed."""

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


def sniff_media_type(data: bytes) -> str:
    """A type that a browser can show and that can run nothing; else one that it only saves."""
    if data[:4] == b"RIFF":
        return _TYPE_BY_RIFF_FORM.get(bytes(data[8:12]), UNKNOWN_MEDIA_TYPE)
    if data[4:8] == b"ftyp":
        return _TYPE_BY_MP4_BRAND.get(bytes(data[8:12]), "video/mp4")
    return next(
        (kind for start, kind in _TYPE_BY_SIGNATURE.items() if data.startswith(start)),
        UNKNOWN_MEDIA_TYPE,
    )


# PNG files from arrays of pixels, with nothing but zlib.

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

#: PNG's code for grey, grey and alpha, RGB, RGBA.
_PNG_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}


def encode_png(pixels: NDArray[np.uint8], *, compression_level: int = 6) -> bytes:
    """Pixels of shape [height, width] or [height, width, 1 to 4 channels] as a PNG file."""
    pixels = np.atleast_3d(pixels)
    if pixels.ndim != 3 or pixels.shape[2] not in _PNG_COLOR_TYPE or pixels.dtype != np.uint8:
        raise UsageError(
            f"no picture: {pixels.dtype} of shape {list(pixels.shape)}; "
            "give uint8 of [height, width] or [height, width, 1 to 4 channels]"
        )
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _PNG_COLOR_TYPE[channels], 0, 0, 0)
    # Every row starts with the number of its filter; 0 is none.
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


# Pixels from encoded pictures, with a library: a log may hold pictures of any format.

#: Pillow's modes whose pixels are no numbers of one channel each.
_CONVERTED_MODES = {"1": "L", "P": "RGB", "PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB"}

#: Formats of images in logs. Pillow would try all that it knows, some of which run other programs.
_IMAGE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO", "AVIF", "JPEG2000")


def find_image_size(encoded: bytes) -> tuple[int, int] | None:
    """Return width and height from the header of an encoded image; None if it tells neither."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded), formats=_IMAGE_FORMATS) as file:
            width, height = file.size
            return int(width), int(height)
    # The size of a decompression bomb is not needed: it cannot be decoded.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def decode_image(encoded: bytes) -> NDArray[Any]:
    """A picture, or the first of an animation, as [height, width, channels]; mostly uint8."""
    # Only who looks at pictures has to load this.
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded)) as file:
            picture: Image.Image = file
            if picture.mode == "P" and "transparency" in picture.info:
                picture = picture.convert("RGBA")
            elif picture.mode in _CONVERTED_MODES:
                picture = picture.convert(_CONVERTED_MODES[picture.mode])
            return np.atleast_3d(np.array(picture))
    # Pillow lets some of its decoders' own errors through.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"{len(encoded):,} bytes that are no picture: {error}") from error


# The 8-bit codes of telephony as numbers, by a table of all 256 (ITU-T G.711).

_COMPANDED_CODES = np.arange(256)


def mu_law_table() -> Float32:
    """What each code of mu-law stands for, in [-1, 1]."""
    code = ~_COMPANDED_CODES & 0xFF
    exponent, mantissa = code >> 4 & 7, code & 15
    size = ((mantissa << 3) + 0x84 << exponent) - 0x84
    return _to_signed_samples(size, code & 0x80 != 0)


def a_law_table() -> Float32:
    """What each code of A-law stands for, in [-1, 1]."""
    code = _COMPANDED_CODES ^ 0x55
    exponent, mantissa = code >> 4 & 7, code & 15
    small = (mantissa << 4) + 8
    size = np.where(exponent == 0, small, small + 0x100 << np.maximum(exponent - 1, 0))
    return _to_signed_samples(size, code & 0x80 == 0)


def _to_signed_samples(size: np.ndarray, negative: np.ndarray) -> Float32:
    table: Float32 = (np.where(negative, -size, size) / 32768).astype(np.float32)
    return table


# WAV files: the form in which logs hold sound.

_RIFF_HEADER = struct.Struct("<4s4x4s")

_RIFF_CHUNK = struct.Struct("<4sI")

_WAV_FORMAT = struct.Struct("<HHI4xHH")

#: In an extensible format the code stands here, at the start of a GUID.
_SUBFORMAT = struct.Struct("<24xH")

_EXTENSIBLE = 0xFFFE

_ENCODINGS = {1: "pcm", 3: "float", 6: "a-law", 7: "mu-law"}

#: Bytes of a sample that each encoding may have.
_SAMPLE_BYTES = {"pcm": (1, 2, 3, 4), "float": (4, 8), "a-law": (1,), "mu-law": (1,)}

#: A hostile file could have a chunk in every eight bytes.
_MAX_RIFF_CHUNKS = 1000


@dataclass(frozen=True, slots=True)
class WavFile:
    """A WAV file whose header was read; its samples are decoded as they are asked for."""

    encoding: str
    channels: int
    sample_rate: int
    bits: int
    data: memoryview
    """The samples: whole frames that are really there, whatever the header claims."""

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
        """The frames from ``start`` to before ``stop``, as [frames, channels] in [-1, 1]."""
        stop = self.frames if stop is None else min(stop, self.frames)
        part = self.data[start * self.frame_bytes : max(start, stop) * self.frame_bytes]
        return self._to_numbers(part).reshape(-1, self.channels)

    def _to_numbers(self, part: memoryview) -> Float64:
        if self.encoding == "float":
            return np.frombuffer(part, f"<f{_get_sample_bytes(self.bits)}").astype(np.float64)
        if self.encoding != "pcm":
            table = mu_law_table() if self.encoding == "mu-law" else a_law_table()
            return table[np.frombuffer(part, np.uint8)].astype(np.float64)
        return _decode_integers(part, _get_sample_bytes(self.bits))


def encode_wav(samples: ArrayLike, sample_rate: int) -> bytes:
    """Samples in [-1, 1], of shape [frames] or [frames, channels], as a 16-bit WAV file.

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


def parse_wav(data: bytes) -> WavFile:
    """Read the header of a WAV file; a file that was cut off has the frames that are left."""
    if not _is_wav(data):
        raise FormatError(f"{len(data):,} bytes that are no WAV file")
    about: memoryview | None = None
    for name, content in _iter_riff_chunks(data):
        if name == b"fmt ":
            about = content
        elif name == b"data":
            return _make_wav(about, content)
    raise FormatError(f"a WAV file of {len(data):,} bytes without samples")


def decode_wav(data: bytes) -> Float64:
    """The samples of a WAV file as numbers in [-1, 1], of [frames, channels]."""
    return parse_wav(data).decode()


def find_wav_sample_rate(data: bytes) -> int | None:
    """Frames a second of a WAV file of any encoding, from its header; None if it is none."""
    if not _is_wav(data):
        return None
    about = next((content for name, content in _iter_riff_chunks(data) if name == b"fmt "), b"")
    return _WAV_FORMAT.unpack_from(about)[2] or None if len(about) >= _WAV_FORMAT.size else None


def _is_wav(clip: bytes) -> bool:
    return len(clip) >= _RIFF_HEADER.size and _RIFF_HEADER.unpack_from(clip) == (b"RIFF", b"WAVE")


def _iter_riff_chunks(clip: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The chunks of a file, each as far as it is there."""
    view, place = memoryview(clip), _RIFF_HEADER.size
    for _ in range(_MAX_RIFF_CHUNKS):
        if place + _RIFF_CHUNK.size > len(clip):
            return
        name, size = _RIFF_CHUNK.unpack_from(clip, place)
        place += _RIFF_CHUNK.size
        yield name, view[place : place + size]
        place += size + size % 2


def _make_wav(about: memoryview | None, content: memoryview) -> WavFile:
    if about is None or len(about) < _WAV_FORMAT.size:
        raise FormatError("a WAV file that does not say what its samples are")
    code, channels, sample_rate, frame_bytes, bits = _WAV_FORMAT.unpack_from(about)
    if code == _EXTENSIBLE and len(about) >= _SUBFORMAT.size:
        (code,) = _SUBFORMAT.unpack_from(about)
    if not channels or not sample_rate:
        raise FormatError(f"a WAV file of {channels} channels and {sample_rate} samples a second")
    encoding = _ENCODINGS.get(code)
    if encoding is None or _get_sample_bytes(bits) not in _SAMPLE_BYTES[encoding]:
        raise FormatError(f"a WAV file of {bits}-bit samples of encoding {encoding or hex(code)}")
    if frame_bytes != channels * _get_sample_bytes(bits):
        raise FormatError(f"a WAV file with {frame_bytes} bytes for {channels} {bits}-bit samples")
    whole = len(content) - len(content) % frame_bytes
    return WavFile(encoding, channels, sample_rate, bits, content[:whole])


def _get_sample_bytes(bits: int) -> int:
    """Bytes that a sample takes: whole ones."""
    return (bits + 7) // 8


def _decode_integers(part: memoryview, width: int) -> Float64:
    samples: NDArray[Any] = np.frombuffer(part, np.uint8).reshape(-1, width)
    if width == 1:  # the only unsigned one
        return samples[:, 0] / 128.0 - 1.0
    if width == 3:
        wide = np.zeros((len(samples), 4), np.uint8)
        wide[:, 1:] = samples
        return wide.view("<i4")[:, 0] / 2.0**31
    return np.frombuffer(part, f"<i{width}") / 2.0 ** (8 * width - 1)
