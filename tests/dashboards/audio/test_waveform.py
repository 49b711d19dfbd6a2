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
from tests.dashboards.audio.client import ask, sine, write_clips
from tests.formats.test_media_wav import describe, make_wav
from tracklight.dashboards.audio import signals
from tracklight.dashboards.audio.signals import select_frames
from tracklight.errors import FormatError
from tracklight.formats.media import decode_wav, encode_wav


def test_columns_match_samples(tmp_path: Path, open_log: Open) -> None:
    samples = np.random.default_rng(1).uniform(-1, 1, (1000, 2))
    clip = encode_wav(samples, 8000)
    write_clips(tmp_path, [clip])
    answer = ask(open_log(tmp_path), "waveform", columns=10)
    told = decode_wav(clip).reshape(10, 100, 2)
    assert (answer.channels, answer.start, answer.stop, answer.frames) == (2, 0, 1000, 1000)
    np.testing.assert_array_equal(answer.low, told.min(1).T.ravel().astype(np.float32))
    np.testing.assert_array_equal(answer.high, told.max(1).T.ravel().astype(np.float32))
    np.testing.assert_allclose(answer.rms, np.sqrt((told**2).mean(1)).T.ravel(), rtol=1e-6)


def test_one_frame_per_column_when_zoomed_in(tmp_path: Path, open_log: Open) -> None:
    clip = encode_wav(sine(440), 8000)
    write_clips(tmp_path, [clip])
    answer = ask(open_log(tmp_path), "waveform", columns=600, start=50, stop=150)
    assert len(answer.low) == 100
    np.testing.assert_array_equal(answer.low, answer.high)
    np.testing.assert_array_equal(answer.low, decode_wav(clip)[50:150, 0].astype(np.float32))


@pytest.mark.parametrize(
    ("asked", "given"),
    [((0, None), (0, 9)), ((5, 1000), (5, 9)), ((100, None), (8, 9)), ((3, 3), (2, 3))],
)
def test_clamps_range_to_clip(asked: tuple[int, int | None], given: tuple[int, int]) -> None:
    part = select_frames(encode_wav(np.zeros(9), 8000), *asked)
    assert (part.start, part.stop) == given


def test_ignores_non_finite_samples() -> None:
    numbers = [0.5, np.nan, -0.5, np.nan, np.nan, np.inf]
    clip = make_wav(describe(3, 32), struct.pack("<6f", *numbers))
    columns = signals.reduce_samples(select_frames(clip, 0, None).wav, np.array([0, 3, 5, 6]))
    np.testing.assert_array_equal(columns.low[0], [-0.5, np.nan, np.nan])
    np.testing.assert_array_equal(columns.high[0], [0.5, np.nan, np.nan])
    np.testing.assert_array_equal(columns.rms()[0], [0.5, np.nan, np.nan])


def test_clip_without_samples_raises() -> None:
    with pytest.raises(FormatError, match="has no samples"):
        select_frames(encode_wav(np.zeros(0), 8000), 0, None)


def test_limits_number_of_channels(tmp_path: Path, open_log: Open) -> None:
    write_clips(tmp_path, [make_wav(describe(1, 16, channels=1000), bytes(8000))])
    answer = ask(open_log(tmp_path), "waveform")
    assert (answer.channels, len(answer.low)) == (16, 16 * 4)


@given(st.integers(1, 400), st.integers(1, 50), st.integers(1, 3), st.integers(1, 60))
def test_block_size_does_not_change_result(
    frames: int, columns: int, channels: int, block: int
) -> None:
    samples = np.random.default_rng(frames).uniform(-1, 1, (frames, channels))
    part = select_frames(encode_wav(samples, 100), 0, None)
    edges = part.split(columns)
    whole = signals.reduce_samples(part.wav, edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals, "WAVEFORM_BLOCK_SAMPLES", block)
        in_blocks = signals.reduce_samples(part.wav, edges)
    for one, other in zip(whole, in_blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    decoded = part.wav.decode()
    lowest = [decoded[first:stop].min(0) for first, stop in pairwise(edges)]
    np.testing.assert_array_equal(whole.low.T, lowest)
