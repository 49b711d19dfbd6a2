from __future__ import annotations

import io
import struct
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats.media import decode_wav, encode_wav, find_wav_sample_rate, parse_wav

#: The rest of the GUID after the format code of an extensible format.
GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def chunk(name: bytes, content: bytes, size: int | None = None) -> bytes:
    size = len(content) if size is None else size
    return name + struct.pack("<I", size) + content + bytes(len(content) % 2)


def describe(
    code: int, bits: int, channels: int = 1, rate: int = 8000, block: int | None = None
) -> bytes:
    block = channels * ((bits + 7) // 8) if block is None else block
    return struct.pack("<HHIIHH", code, channels, rate, rate * block & 0xFFFFFFFF, block, bits)


def riff(*chunks: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + sum(map(len, chunks))) + b"WAVE" + b"".join(chunks)


def make_wav(about: bytes, data: bytes) -> bytes:
    return riff(chunk(b"fmt ", about), chunk(b"data", data))


def test_round_trip() -> None:
    samples = np.array([[0, 1], [-1, 0.5], [2, -2]])

    with wave.open(io.BytesIO(encode_wav(samples, 8000))) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (2, 8000, 3)
        frames = np.frombuffer(file.readframes(3), "<i2")

    assert frames.tolist() == [0, 32767, -32767, 16384, 32767, -32767]


def test_finds_sample_rate() -> None:
    assert find_wav_sample_rate(encode_wav(np.zeros(0), 44100)) == 44100


def test_finds_sample_rate_of_any_encoding() -> None:
    assert find_wav_sample_rate(make_wav(describe(0x11, 4, rate=22050), b"")) == 22050


@pytest.mark.parametrize("clip", [b"", b"RIFF", b"ID3" + bytes(100), riff(), riff(b"fmt ")])
def test_other_files_have_no_sample_rate(clip: bytes) -> None:
    assert find_wav_sample_rate(clip) is None


def test_decodes_what_was_encoded() -> None:
    samples = np.array([[0, 1], [-1, 0.5]])

    np.testing.assert_allclose(decode_wav(encode_wav(samples, 8000)), samples, atol=1e-4)


@pytest.mark.parametrize(
    ("code", "bits", "frames", "numbers"),
    [
        (1, 8, b"\x00\x80\xff", [-1, 0, 127 / 128]),
        (1, 16, b"\x00\x80\x00\x00\xff\x7f", [-1, 0, 32767 / 32768]),
        (1, 24, b"\x00\x00\x80\x00\x00\x40", [-1, 0.5]),
        (1, 20, b"\x00\x00\x80\x00\x00\x40", [-1, 0.5]),
        (1, 32, b"\x00\x00\x00\x80\x00\x00\x00\x40", [-1, 0.5]),
        (3, 32, struct.pack("<3f", -1, 0.25, 3), [-1, 0.25, 3]),
        (3, 64, struct.pack("<2d", 0.1, -0.1), [0.1, -0.1]),
        (6, 8, b"\x00\x01\x7f\x80\xff", [x / 32768 for x in (-5504, -5248, -848, 5504, 848)]),
        (7, 8, b"\x00\x01\x7f\x80\xff", [x / 32768 for x in (-32124, -31100, 0, 32124, 0)]),
    ],
)
def test_decodes_every_encoding(code: int, bits: int, frames: bytes, numbers: list[float]) -> None:
    plain = make_wav(describe(code, bits), frames)
    extension = struct.pack("<HHIH", 22, bits, 0, code) + GUID_TAIL
    extensible = make_wav(describe(0xFFFE, bits) + extension, frames)
    for clip in (plain, extensible):
        assert decode_wav(clip)[:, 0].tolist() == numbers
        assert parse_wav(clip).bits == bits


def test_skips_other_chunks() -> None:
    clip = riff(
        chunk(b"JUNK", b"odd"),
        chunk(b"fmt ", describe(1, 16)),
        chunk(b"LIST", bytes(26)),
        chunk(b"data", b"\x00\x40"),
        chunk(b"id3 ", bytes(10)),
    )
    assert decode_wav(clip).tolist() == [[0.5]]


@pytest.mark.parametrize("claimed", [0xFFFFFFFF, 1 << 30, 5])
def test_truncated_file_has_fewer_frames(claimed: int) -> None:
    data = chunk(b"data", b"\x00\x40\x00\x20\x00", claimed)[: 8 + 5]
    assert decode_wav(riff(chunk(b"fmt ", describe(1, 16)), data)).tolist() == [[0.5], [0.25]]


def test_decodes_range_of_frames() -> None:
    wav = parse_wav(encode_wav(np.sin(np.arange(200)).reshape(100, 2), 100))
    assert (wav.frames, wav.channels, wav.duration_s) == (100, 2, 1.0)
    np.testing.assert_array_equal(wav.decode(10, 20), wav.decode()[10:20])
    assert wav.decode(90, 1000).shape == (10, 2)
    assert wav.decode(500, 600).shape == wav.decode(30, 20).shape == (0, 2)


@pytest.mark.parametrize("clip", [b"", b"RIFF", b"ID3" + bytes(100), b"RIFF....WEBP"])
def test_other_files_raise(clip: bytes) -> None:
    with pytest.raises(FormatError, match="not a WAV file"):
        decode_wav(clip)


@pytest.mark.parametrize(
    ("clip", "words"),
    [
        (riff(), "contains no samples"),
        (riff(chunk(b"data", b"1234")), "does not declare"),
        (make_wav(b"\x01\x00\x01", b""), "does not declare"),
        (make_wav(describe(1, 16, channels=0), b"1234"), "0 channels"),
        (make_wav(describe(1, 16, rate=0), b"1234"), "at 0 Hz"),
        (make_wav(describe(1, 0), b"1234"), "0-bit samples"),
        (make_wav(describe(1, 65535), b"1234"), "65535-bit samples"),
        (make_wav(describe(3, 16), b"1234"), "16-bit samples of encoding float"),
        (make_wav(describe(0x55, 16), b"1234"), "encoding 0x55"),
        (make_wav(describe(1, 16, block=9), b"1234"), "9 bytes for 1 samples of 16 bits"),
    ],
)
def test_invalid_header_raises(clip: bytes, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        parse_wav(clip)


def test_limits_number_of_chunks() -> None:
    with pytest.raises(FormatError, match="contains no samples"):
        parse_wav(riff(chunk(b"JUNK", b"") * 100_000))


@given(st.data())
def test_damaged_file_raises_only_format_error(data: st.DataObject) -> None:
    clip = bytearray(make_wav(describe(1, 16, channels=2), bytes(range(40))))
    for place in data.draw(st.lists(st.integers(0, len(clip) - 1), max_size=6)):
        clip[place] = data.draw(st.integers(0, 255))
    cut = bytes(clip[: data.draw(st.integers(0, len(clip)))])
    try:
        wav = parse_wav(cut)
    except FormatError:
        return
    samples = wav.decode()
    assert samples.shape == (wav.frames, wav.channels)
    assert samples.size <= len(cut)
