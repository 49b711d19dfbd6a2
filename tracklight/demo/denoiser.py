"""A network that learns to take the noise out of sound: clips that get cleaner."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracklight.demo.eventfile import EventFile
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.formats.wav import encode_wav
from tracklight.types import Float64

_SAMPLE_RATE = 8000
_CLIP_SECONDS = 1.5
_STEPS = 5000
_STEPS_PER_POINT = 50
_STEPS_PER_CLIP = 500
_SECONDS_PER_STEP = 1.1

#: Frequencies of three notes that go together.
_CHORD_HZ = (220.0, 277.18, 329.63)


def write_denoiser(run: Path, *, seed: int, now: float) -> None:
    rng = np.random.default_rng([seed, 101])
    started = now - _STEPS * _SECONDS_PER_STEP - 600
    tune = _play_chord()
    with EventFile(run, started) as file:
        for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
            wall_time = started + 15 + step * _SECONDS_PER_STEP
            left = 0.02 + 0.5 * np.exp(-step / 1200)
            loss = left**2 * np.exp(rng.normal(0, 0.1))
            snr_db = 10 * np.log10(np.square(tune).mean() / loss)
            file.log(
                wall_time,
                step,
                summary.scalar("loss", loss),
                summary.scalar("snr_db", snr_db, display_name="Signal to noise (dB)"),
            )
            if step % _STEPS_PER_CLIP == 0:
                file.log(wall_time, step, _play(tune, left, rng))


def _play(tune: Float64, left: float, rng: np.random.Generator) -> Message:
    noise = rng.normal(0, 1, len(tune))
    clips = [encode_wav(0.6 * tune + level * noise, _SAMPLE_RATE) for level in (0.5, left)]
    labels = ["what it hears", f"what it **gives**, {left:.0%} of the noise left"]
    return summary.audio("chord", clips, labels, description="A chord in white noise.")


def _play_chord() -> Float64:
    """Three plucked notes, each entering a little later."""
    time = np.arange(int(_SAMPLE_RATE * _CLIP_SECONDS)) / _SAMPLE_RATE
    sound = np.zeros(len(time))
    for number, frequency in enumerate(_CHORD_HZ):
        since = np.clip(time - 0.25 * number, 0, None)
        sound += np.sin(2 * np.pi * frequency * since) * np.exp(-2.2 * since)
    return np.asarray(sound / abs(sound).max())
