"""Two networks that learn to take the noise out of sound: clips that get cleaner."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.demo.eventfile import EventFile
from tracklight.demo.sounds import BIRDS_RATE, TUNE_RATE, call_birds, play_tune
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.formats.wav import encode_wav
from tracklight.types import Float64

_STEPS = 5000
_STEPS_PER_POINT = 50
_STEPS_PER_CLIP = 1000
_SECONDS_PER_STEP = 1.1
_LOUDNESS = 0.6
_NOISE = 0.28


class _Network(NamedTuple):
    """How fast a network learns, how much noise it leaves, and of which colour that is."""

    name: str
    patience: float
    rest: float
    muffled: bool


_NETWORKS = (_Network("conv", 1200, 0.02, False), _Network("recurrent", 800, 0.05, True))


def write_denoiser(logdir: Path, *, seed: int, now: float) -> None:
    for number, network in enumerate(_NETWORKS):
        rng = np.random.default_rng([seed, 101 + number])
        started = now - _STEPS * _SECONDS_PER_STEP - 600 * (number + 1)
        _train(logdir / network.name, network, started, rng)


def _train(run: Path, network: _Network, started: float, rng: np.random.Generator) -> None:
    tune, birds = _LOUDNESS * play_tune(), _LOUDNESS * call_birds()
    with EventFile(run, started) as file:
        for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
            wall_time = started + 15 + step * _SECONDS_PER_STEP
            left = network.rest + 0.9 * np.exp(-step / network.patience)
            loss = (_NOISE * left) ** 2 * np.exp(rng.normal(0, 0.1))
            snr_db = 10 * np.log10(np.square(tune).mean() / loss)
            file.log(
                wall_time,
                step,
                summary.scalar("loss", loss),
                summary.scalar("snr_db", snr_db, display_name="Signal to noise (dB)"),
            )
            if step % _STEPS_PER_CLIP == 0:
                heard = _play_tune(tune, left, network.muffled, rng)
                file.log(wall_time, step, heard, _call_birds(birds, left, network.muffled, rng))


def _play_tune(tune: Float64, left: float, muffled: bool, rng: np.random.Generator) -> Message:
    noise = _NOISE * rng.normal(0, 1, len(tune))
    given = tune + left * _colour(noise, muffled)
    clips = [encode_wav(sound, TUNE_RATE) for sound in (tune + noise, given)]
    labels = ["what it hears", f"what it gives, {left:.0%} of the noise left"]
    return summary.audio("music/tune", clips, labels, description="Plucked strings in noise.")


def _call_birds(birds: Float64, left: float, muffled: bool, rng: np.random.Generator) -> Message:
    noise = np.stack([_colour(one, muffled) for one in _NOISE * rng.normal(0, 1, birds.T.shape)])
    clip = encode_wav(birds + left * noise.T, BIRDS_RATE)
    description = "Two birds, one on each side, after the noise was taken out."
    return summary.audio(
        "nature/birds", [clip], [f"{left:.0%} of the noise left"], description=description
    )


def _colour(noise: Float64, muffled: bool) -> Float64:
    """One network leaves a hiss, the other a rumble that comes and goes."""
    if not muffled:
        return noise
    low = np.convolve(noise, np.hanning(24) / np.sqrt(np.square(np.hanning(24)).sum()), "same")
    return np.asarray(low * (1 + 0.6 * np.sin(np.arange(len(noise)) / 700)))
