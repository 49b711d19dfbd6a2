"""Waveforms contain the exact statistics of the samples of each column."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.media.conftest import Open
from tests.dashboards.audio.client import call_route, sine, write_clips
from tests.formats.test_media_wav import describe, make_wav
from tracklight.dashboards import audio
from tracklight.dashboards.audio import reduce_samples, select_frames
from tracklight.errors import FormatError
from tracklight.formats.media import decode_wav, encode_wav


def test_columns_match_samples(tmp_path: Path, open_log: Open) -> None:
    samples = np.random.default_rng(1).uniform(-1, 1, (1000, 2))
    clip = encode_wav(samples, 8000)
    write_clips(tmp_path, [clip])
    response = call_route(open_log(tmp_path), "waveform", columns=10)
    expected = decode_wav(clip).reshape(10, 100, 2)
    assert (response.channels, response.start, response.stop, response.frames) == (2, 0, 1000, 1000)
    np.testing.assert_array_equal(response.low, expected.min(1).T.ravel().astype(np.float32))
    np.testing.assert_array_equal(response.high, expected.max(1).T.ravel().astype(np.float32))
    np.testing.assert_allclose(response.rms, np.sqrt((expected**2).mean(1)).T.ravel(), rtol=1e-6)


def test_one_frame_per_column_when_zoomed_in(tmp_path: Path, open_log: Open) -> None:
    clip = encode_wav(sine(440), 8000)
    write_clips(tmp_path, [clip])
    response = call_route(open_log(tmp_path), "waveform", columns=600, start=50, stop=150)
    assert len(response.low) == 100
    np.testing.assert_array_equal(response.low, response.high)
    np.testing.assert_array_equal(response.low, decode_wav(clip)[50:150, 0].astype(np.float32))


@pytest.mark.parametrize(
    ("requested", "expected"),
    [((0, None), (0, 9)), ((5, 1000), (5, 9)), ((100, None), (8, 9)), ((3, 3), (2, 3))],
)
def test_clamps_range_to_clip(requested: tuple[int, int | None], expected: tuple[int, int]) -> None:
    frame_range = select_frames(encode_wav(np.zeros(9), 8000), *requested)
    assert (frame_range.start, frame_range.stop) == expected


def test_ignores_non_finite_samples() -> None:
    numbers = [0.5, np.nan, -0.5, np.nan, np.nan, np.inf]
    clip = make_wav(describe(3, 32), struct.pack("<6f", *numbers))
    columns = reduce_samples(select_frames(clip, 0, None).wav, np.array([0, 3, 5, 6]))
    np.testing.assert_array_equal(columns.low[0], [-0.5, np.nan, np.nan])
    np.testing.assert_array_equal(columns.high[0], [0.5, np.nan, np.nan])
    np.testing.assert_array_equal(columns.rms()[0], [0.5, np.nan, np.nan])


def test_clip_without_samples_raises() -> None:
    with pytest.raises(FormatError, match="has no samples"):
        select_frames(encode_wav(np.zeros(0), 8000), 0, None)


def test_limits_number_of_channels(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [make_wav(describe(1, 16, channels=1000), bytes(8000))])
    response = call_route(open_log(tmp_path), "waveform")
    assert (response.channels, len(response.low)) == (16, 16 * 4)


@given(st.integers(1, 400), st.integers(1, 50), st.integers(1, 3), st.integers(1, 60))
def test_block_size_does_not_change_result(
    frames: int, columns: int, channels: int, block: int
) -> None:
    samples = np.random.default_rng(frames).uniform(-1, 1, (frames, channels))
    frame_range = select_frames(encode_wav(samples, 100), 0, None)
    edges = frame_range.split(columns)
    whole = reduce_samples(frame_range.wav, edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audio, "WAVEFORM_BLOCK_SAMPLES", block)
        in_blocks = reduce_samples(frame_range.wav, edges)
    for one, other in zip(whole, in_blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    decoded = frame_range.wav.decode()
    lowest = [decoded[first:stop].min(0) for first, stop in pairwise(edges)]
    np.testing.assert_array_equal(whole.low.T, lowest)
