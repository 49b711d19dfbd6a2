"""WAV files: the form in which logs hold sound."""

from __future__ import annotations

import io
import struct
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracklight.errors import FormatError
from tracklight.formats.companding import a_law_table, mu_law_table
from tracklight.types import Float64

_HEADER = struct.Struct("<4s4x4s")
_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHI4xHH")
#: In an extensible format the code stands here, at the start of a GUID.
_SUBFORMAT = struct.Struct("<24xH")

_EXTENSIBLE = 0xFFFE
_ENCODINGS = {1: "pcm", 3: "float", 6: "a-law", 7: "mu-law"}
#: Bytes of a sample that each encoding may have.
_WIDTHS = {"pcm": (1, 2, 3, 4), "float": (4, 8), "a-law": (1,), "mu-law": (1,)}
#: A hostile file could have a chunk in every eight bytes.
_MOST_CHUNKS = 1000


@dataclass(frozen=True, slots=True)
class Wav:
    """A WAV file whose header was read; its samples are decoded as they are asked for."""

    encoding: str
    channels: int
    sample_rate: int
    bits: int
    data: memoryview
    """The samples: whole frames that are really there, whatever the header claims."""

    @property
    def frame_bytes(self) -> int:
        return self.channels * _width(self.bits)

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
            return np.frombuffer(part, f"<f{_width(self.bits)}").astype(np.float64)
        if self.encoding != "pcm":
            table = mu_law_table() if self.encoding == "mu-law" else a_law_table()
            return table[np.frombuffer(part, np.uint8)].astype(np.float64)
        return _decode_integers(part, _width(self.bits))


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


def open_wav(clip: bytes) -> Wav:
    """Read the header of a WAV file; a file that was cut off has the frames that are left."""
    if not _is_wav(clip):
        raise FormatError(f"{len(clip):,} bytes that are no WAV file")
    about: memoryview | None = None
    for name, content in _iter_chunks(clip):
        if name == b"fmt ":
            about = content
        elif name == b"data":
            return _make_wav(about, content)
    raise FormatError(f"a WAV file of {len(clip):,} bytes without samples")


def decode_wav(clip: bytes) -> Float64:
    """The samples of a WAV file as numbers in [-1, 1], of [frames, channels]."""
    return open_wav(clip).decode()


def find_sample_rate(clip: bytes) -> int | None:
    """Frames a second of a WAV file of any encoding, from its header; None if it is none."""
    if not _is_wav(clip):
        return None
    about = next((content for name, content in _iter_chunks(clip) if name == b"fmt "), b"")
    return _FORMAT.unpack_from(about)[2] or None if len(about) >= _FORMAT.size else None


def _is_wav(clip: bytes) -> bool:
    return len(clip) >= _HEADER.size and _HEADER.unpack_from(clip) == (b"RIFF", b"WAVE")


def _iter_chunks(clip: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The chunks of a file, each as far as it is there."""
    view, place = memoryview(clip), _HEADER.size
    for _ in range(_MOST_CHUNKS):
        if place + _CHUNK.size > len(clip):
            return
        name, size = _CHUNK.unpack_from(clip, place)
        place += _CHUNK.size
        yield name, view[place : place + size]
        place += size + size % 2


def _make_wav(about: memoryview | None, content: memoryview) -> Wav:
    if about is None or len(about) < _FORMAT.size:
        raise FormatError("a WAV file that does not say what its samples are")
    code, channels, sample_rate, frame_bytes, bits = _FORMAT.unpack_from(about)
    if code == _EXTENSIBLE and len(about) >= _SUBFORMAT.size:
        (code,) = _SUBFORMAT.unpack_from(about)
    if not channels or not sample_rate:
        raise FormatError(f"a WAV file of {channels} channels and {sample_rate} samples a second")
    encoding = _ENCODINGS.get(code)
    if encoding is None or _width(bits) not in _WIDTHS[encoding]:
        raise FormatError(f"a WAV file of {bits}-bit samples of encoding {encoding or hex(code)}")
    if frame_bytes != channels * _width(bits):
        raise FormatError(f"a WAV file with {frame_bytes} bytes for {channels} {bits}-bit samples")
    whole = len(content) - len(content) % frame_bytes
    return Wav(encoding, channels, sample_rate, bits, content[:whole])


def _width(bits: int) -> int:
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
