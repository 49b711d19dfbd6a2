from __future__ import annotations

import io
import wave

import numpy as np
import pytest

from tracklight.formats.wav import encode_wav, find_sample_rate


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
