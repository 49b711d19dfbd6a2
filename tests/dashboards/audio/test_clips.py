"""Serve clips as they were logged, and describe them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.audio.client import TAG, call_route, sine, write_clips
from tests.index import logs
from tracklight.dashboards.audio import Audio
from tracklight.errors import LogError
from tracklight.formats.media import decode_wav, encode_wav
from tracklight.plugin import Context

BEEP = encode_wav(np.stack([sine(440), sine(220)], axis=1), 8000)


def test_describes_wav_clips(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [BEEP, encode_wav(np.zeros(10), 44100)], ["**in**", ""])
    about = call_route(open_log(tmp_path), "about")
    first, second = about.clips
    assert (about.total, first.label, second.label) == (2, "**in**", "")
    assert (first.sample_rate, first.channels, first.bits, first.frames) == (8000, 2, 16, 8000)
    assert (first.duration_s, first.encoding, first.content_type) == (1.0, "pcm", "audio/wav")
    assert (first.bytes, first.problem) == (len(BEEP), None)
    assert second.duration_s == 10 / 44100


def test_returns_logged_file(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [encode_wav(np.zeros(1), 1), BEEP])
    clip = call_route(open_log(tmp_path), "clip", clip=1)
    assert (clip.content, clip.media_type, clip.immutable) == (BEEP, "audio/wav", False)


def test_response_with_fingerprint_is_immutable(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [BEEP], steps=range(5))
    context = open_log(tmp_path)
    (steps,) = call_route(context, "steps", tags=[TAG]).series
    for index, mark in zip(steps.index.tolist(), steps.fingerprint.tolist(), strict=True):
        clip = call_route(context, "clip", index=index, fingerprint=mark)
        assert clip.immutable
        np.testing.assert_array_equal(decode_wav(clip.content), decode_wav(BEEP))


@pytest.mark.parametrize("part", [1, 10**9])
def test_unknown_clip_raises(tmp_path: Path, open_log: Open, part: int) -> None:
    write_clips(tmp_path, [BEEP])
    with pytest.raises(LogError, match="the value has 1 clips"):
        call_route(open_log(tmp_path), "clip", clip=part)


def test_tag_of_another_kind_raises(tmp_path: Path, open_log: Open) -> None:
    logs.write(tmp_path, "a", logs.picture(0, b"GIF89a"))
    with pytest.raises(LogError, match='"picture" is not an audio tag'):
        call_route(open_log(tmp_path), "about", tag="picture")


@pytest.mark.parametrize(
    ("clip", "kind", "encoding", "problem"),
    [
        (
            b"ID3\x04" + bytes(96),
            "audio/mpeg",
            "MP3",
            "only the browser can decode MP3 (100 bytes)",
        ),
        (b"OggS" + bytes(10), "audio/ogg", "Ogg", "only the browser"),
        (b"<script>alert(1)</script>", "application/octet-stream", "unknown", "unknown file type"),
        (b"\x89PNG\r\n\x1a\n", "application/octet-stream", "unknown", "unknown file type"),
        (b"", "application/octet-stream", "unknown", "the clip is empty"),
        (b"RIFF....WAVE", "audio/wav", "WAV", "contains no samples"),
        (encode_wav(np.zeros(0), 8000), "audio/wav", "pcm", "has no samples"),
    ],
)
def test_explains_why_there_is_no_waveform(
    tmp_path: Path, open_log: Open, clip: bytes, kind: str, encoding: str, problem: str
) -> None:
    write_clips(tmp_path, [clip])
    context = open_log(tmp_path)
    (row,) = call_route(context, "about").clips
    assert (row.content_type, row.encoding) == (kind, encoding)
    assert problem in row.problem.text
    assert call_route(context, "clip").media_type == kind


def test_truncates_long_labels(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [BEEP], ["long " * 1000])
    (row,) = call_route(open_log(tmp_path), "about").clips
    assert len(row.label) == 2000 and row.label.endswith("…")


def test_describes_only_the_first_clips(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [b""] * 1500)
    about = call_route(open_log(tmp_path), "about")
    assert (about.total, len(about.clips)) == (1500, 1000)


def test_absurd_header_is_rejected(tmp_path: Path, open_log: Open) -> None:
    claim = struct.pack("<HHIIHH", 1, 65535, 2**32 - 1, 0, 65535 * 2 & 0xFFFF, 16)
    chunks = b"fmt " + struct.pack("<I", 16) + claim + b"data" + b"\xff" * 4 + bytes(100)
    write_clips(tmp_path, [b"RIFF\xff\xff\xff\xffWAVE" + chunks])
    (row,) = call_route(open_log(tmp_path), "about").clips
    assert row.problem


def test_static_export_contains_files_and_descriptions(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [BEEP, BEEP], steps=range(100))
    parts = _export(open_log(tmp_path))
    (steps,) = parts[f"steps/{TAG}"].series
    assert 1 < len(steps.step) <= 30 and steps.step[-1] == 99
    mark = steps.fingerprint[-1]
    address = f"clip?run=a&tag={TAG}&index=99&fingerprint={mark}&clip=1"
    assert parts[address].content == BEEP
    assert len(parts[f"about?run=a&tag={TAG}&index=99&fingerprint={mark}"].clips) == 2
    assert len(parts) == 1 + 3 * len(steps.step)


def _export(context: Context) -> dict[str, object]:
    return dict(Audio(context).export_static(["a"]))
