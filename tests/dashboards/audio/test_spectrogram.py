"""Spectrograms show tones at the right frequency, time and level."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.audio.client import call_route, sine, write_clips
from tests.formats.test_media_wav import describe, make_wav
from tracklight.dashboards import audio
from tracklight.dashboards.audio import (
    FrequencyScale,
    SpectrogramRequest,
    SpectrogramResponse,
    choose_window,
    compute_spectrogram,
    make_frequency_edges,
    select_frames,
)
from tracklight.formats.media import encode_wav
from tracklight.types import Float64


def make(clip: bytes, **fields: object) -> tuple[SpectrogramResponse, Float64]:
    """Return the response, and its levels in decibels as an array [rows, columns]."""
    request = SpectrogramRequest("a", "sound", 0, **fields)  # type: ignore[arg-type]
    response = compute_spectrogram(select_frames(clip, request.start, request.stop), request)
    step = (response.high_db - response.low_db) / 255
    return response, response.low_db + step * response.levels.reshape(
        response.height, response.width
    )


@pytest.mark.parametrize("scale", ["linear", "log", "mel"])
@pytest.mark.parametrize("frequency_hz", [250.0, 1000.0, 3000.0])
def test_tone_is_at_its_frequency(scale: FrequencyScale, frequency_hz: float) -> None:
    clip = encode_wav(0.5 * sine(frequency_hz), 8000)
    response, decibels = make(clip, scale=scale, width=20, height=64)
    edges = make_frequency_edges(scale, 64, response.low_hz, response.high_hz)
    loudest = decibels[:, 10].argmax()
    width = 8000 / response.window
    assert edges[loudest] - width <= frequency_hz <= edges[loudest + 1] + width
    assert decibels[loudest, 10] == pytest.approx(-6.02, abs=1.5)


def test_level_of_tone_is_exact() -> None:
    _, decibels = make(encode_wav(sine(1000), 8000), window=256, scale="linear", width=9)
    assert decibels[:, 4].max() == pytest.approx(0, abs=0.3)


def test_silence_has_level_zero() -> None:
    response, _ = make(encode_wav(np.zeros(800), 8000))
    assert not response.levels.any()
    assert (response.low_db, response.high_db) == (-120, 0)


def test_resolves_time() -> None:
    both = np.concatenate([sine(500, seconds=0.5), sine(3000, seconds=0.5)])
    response, decibels = make(encode_wav(both, 8000), scale="linear", width=100, height=40)
    edges = make_frequency_edges("linear", 40, 0, 4000)
    found = edges[decibels.argmax(axis=0)]
    assert np.all(abs(found[:48] - 450) < 150) and np.all(abs(found[52:] - 2950) < 150)
    assert (response.start, response.stop, response.width) == (0, 8000, 100)


def test_click_between_windows_is_visible() -> None:
    click = np.zeros(80_000)
    click[12_345] = 1.0
    _, decibels = make(encode_wav(click, 8000), width=10)
    assert decibels.max(axis=0).argmax() == 1
    assert decibels[:, 1].max() > -90


def test_selects_channel(tmp_path: Path, open_log: Open) -> None:
    both = np.stack([sine(500), sine(3000)], axis=1)
    write_clips(tmp_path, [encode_wav(both, 8000)])
    context = open_log(tmp_path)
    shape = {"width": 10, "height": 40, "scale": "linear"}
    loudest = [
        call_route(context, "spectrogram", channel=channel, **shape)
        .levels.reshape(40, 10)[:, 5]
        .argmax()
        for channel in (0, 1, 99)
    ]
    assert loudest == [5, 30, 30]
    mixed = call_route(context, "spectrogram", **shape).levels.reshape(40, 10)[:, 5]
    assert mixed[5] == mixed[30] > 200


def test_channels_of_opposite_phase_do_not_cancel() -> None:
    both = np.stack([sine(1000), -sine(1000)], axis=1)
    _, decibels = make(encode_wav(both, 8000), window=256)
    assert decibels.max() == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize("frames", [1, 2, 15, 100])
def test_very_short_clips(frames: int) -> None:
    response, _ = make(encode_wav(np.ones(frames), 8000))
    assert len(response.levels) == response.width * response.height
    assert response.width == frames


def test_window_depends_on_sample_rate_and_length() -> None:
    clip = encode_wav(np.zeros(44_100), 44_100)
    assert choose_window(select_frames(clip, 0, None)) == 2048
    assert choose_window(select_frames(clip, 0, 400)) == 128
    assert choose_window(select_frames(clip, 0, 1)) == 16


def test_non_finite_samples_are_silent() -> None:
    clip = make_wav(describe(3, 32), struct.pack("<40f", *[np.nan, np.inf] * 20))
    response, _ = make(clip)
    assert not response.levels.any()


def test_range_follows_samples_beyond_full_scale() -> None:
    numbers = (32768 * sine(1000)).astype("<f4").tobytes()
    response, decibels = make(make_wav(describe(3, 32), numbers), window=256)
    assert response.high_db == pytest.approx(90.3, abs=1)
    assert decibels.max() == pytest.approx(90.3, abs=1)


def test_sparse_decoding_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    both = np.random.default_rng(1).uniform(-1, 1, (3000, 2))
    together, _ = make(encode_wav(both, 8000), width=50)
    monkeypatch.setattr(audio, "SPARSE_FACTOR", 0)
    one_by_one, _ = make(encode_wav(both, 8000), width=50)
    np.testing.assert_array_equal(together.levels, one_by_one.levels)


def test_limits_work_for_long_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    transformed = []
    rfft = np.fft.rfft
    monkeypatch.setattr(audio, "MAX_FFT_SAMPLES", 1 << 14)
    monkeypatch.setattr(np.fft, "rfft", lambda x: transformed.append(x.size) or rfft(x))
    make(encode_wav(np.zeros(500_000), 8000), width=20, window=256)
    assert sum(transformed) <= 1 << 14
