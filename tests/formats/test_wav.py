from __future__ import annotations

import io
import wave

import numpy as np
import pytest

from tracklight.errors import FormatError
from tracklight.formats.wav import decode_wav, encode_wav, find_sample_rate


def test_samples_come_back() -> None:
    samples = np.array([[0, 1], [-1, 0.5], [2, -2]])

    with wave.open(io.BytesIO(encode_wav(samples, 8000))) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (2, 8000, 3)
        frames = np.frombuffer(file.readframes(3), "<i2")

    assert frames.tolist() == [0, 32767, -32767, 16384, 32767, -32767]


def test_sample_rate_is_found() -> None:
    assert find_sample_rate(encode_wav(np.zeros(0), 44100)) == 44100


@pytest.mark.parametrize("clip", [b"", b"RIFF", b"ID3" + bytes(100)])
def test_other_files_have_none(clip: bytes) -> None:
    assert find_sample_rate(clip) is None


def test_decodes_what_was_encoded() -> None:
    samples = np.array([[0, 1], [-1, 0.5]])

    np.testing.assert_allclose(decode_wav(encode_wav(samples, 8000)), samples, atol=1e-4)


@pytest.mark.parametrize(
    ("width", "frames", "numbers"),
    [
        (1, b"\x00\x80\xff", [-1, 0, 127 / 128]),
        (2, b"\x00\x80\x00\x00\xff\x7f", [-1, 0, 32767 / 32768]),
        (3, b"\x00\x00\x80\x00\x00\x40", [-1, 0.5]),
        (4, b"\x00\x00\x00\x80\x00\x00\x00\x40", [-1, 0.5]),
    ],
)
def test_decodes_samples_of_any_width(width: int, frames: bytes, numbers: list[float]) -> None:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(frames)

    assert decode_wav(stream.getvalue())[:, 0].tolist() == numbers


@pytest.mark.parametrize("clip", [b"", b"RIFF", b"ID3" + bytes(100)])
def test_other_files_are_not_decoded(clip: bytes) -> None:
    with pytest.raises(FormatError, match="no WAV file"):
        decode_wav(clip)
