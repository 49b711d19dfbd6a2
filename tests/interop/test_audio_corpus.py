"""The Audio dashboard returns every clip of real logs with the logged samples."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.media.conftest import Open, open_log
from tests.interop.test_corpus import read_oracle, unpack
from tracklight.analysis.media import SeriesSteps, StepsRequest, ValueRequest
from tracklight.dashboards.audio import Audio, ClipRequest, SpectrogramRequest, WaveformRequest

__all__ = ["open_log"]

CASES = "jax legacy_v1 sampling seed002 torch".split()


@pytest.mark.parametrize("case", CASES)
def test_returns_every_clip(case: str, tmp_path: Path, open_log: Open) -> None:
    dashboard = Audio(open_log(unpack(case, tmp_path)))
    expected = _read_tags(case)
    assert expected
    for (run, tag), about in expected.items():
        (steps,) = dashboard.steps(StepsRequest([tag], [run])).series
        assert len(steps.step) == about["n"]
        assert (steps.step[0], steps.step[-1]) == (about["first"]["step"], about["last"]["step"])
        for place, request in enumerate(_list_requests(steps)):
            clips = dashboard.about(request).clips
            assert not any(clip.problem for clip in clips)
            if place == 0:
                assert len(clips) == about["first"]["samples"]
                # Only the full corpus describes the files.
                assert _describe(clips) == about["first"].get("clips", _describe(clips))
            for part in range(len(clips)):
                _check_samples(dashboard, request, part)


def _read_tags(case: str) -> dict[tuple[str, str], Any]:
    runs = read_oracle(case)["multiplexer"]["runs"]
    return {
        (run, tag): about
        for run, info in runs.items()
        for tag, about in info["plugins"].get("audio", {}).items()
    }


def _list_requests(steps: SeriesSteps) -> list[ValueRequest]:
    pairs = zip(steps.index.tolist(), steps.fingerprint.tolist(), strict=True)
    return [ValueRequest(steps.run, steps.tag, index, mark) for index, mark in pairs]


def _describe(clips: Any) -> list[dict[str, Any]]:
    return [
        {
            "format": "wav",
            "bytes": clip.bytes,
            "codec": 1 if clip.encoding == "pcm" else 0,
            "channels": clip.channels,
            "rate": clip.sample_rate,
            "bits": clip.bits,
        }
        for clip in clips
    ]


def _check_samples(dashboard: Audio, request: ValueRequest, part: int) -> None:
    """Check that the waveform has the samples that the ``wave`` module reads."""
    place = (request.run, request.tag, request.index, request.fingerprint, part)
    with wave.open(io.BytesIO(dashboard.clip(ClipRequest(*place)).content)) as file:
        logged = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        channels = file.getnchannels()
    drawn = dashboard.waveform(WaveformRequest(*place, columns=8192))
    samples = logged.reshape(-1, channels).T.ravel() / np.float32(32768)
    assert len(samples) <= 8192 * channels
    np.testing.assert_array_equal(drawn.low, samples.astype(np.float32))
    np.testing.assert_array_equal(drawn.high, samples.astype(np.float32))
    assert dashboard.spectrogram(SpectrogramRequest(*place)).levels.any() == samples.any()
