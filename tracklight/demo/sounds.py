"""Sounds that are worth a denoiser: a plucked tune, and birds that call to each other."""

from __future__ import annotations

import numpy as np

from tracklight.types import Float64

TUNE_RATE = 8000
BIRDS_RATE = 11025

#: Semitones above middle C, one every quarter of a second.
_TUNE = (0, 4, 7, 12, 7, 4, 9, 5, 12, 11, 7, 12)
_NOTE_SECONDS = 0.25
_TUNE_SECONDS = 3.6
_MIDDLE_C_HZ = 261.63
_OVERTONES = 6

_BIRDS_SECONDS = 2.4
#: When a call begins, how long it is, from which to which frequency, and where from left to right.
_CALLS = (
    (0.10, 0.18, 2400.0, 4200.0, 0.15),
    (0.32, 0.12, 4300.0, 2900.0, 0.15),
    (0.75, 0.30, 1800.0, 3300.0, 0.85),
    (1.10, 0.18, 2400.0, 4200.0, 0.15),
    (1.32, 0.12, 4300.0, 2900.0, 0.15),
    (1.45, 0.12, 4300.0, 2900.0, 0.15),
    (1.75, 0.45, 1800.0, 3600.0, 0.85),
)
_TRILL_HZ = 28.0


def play_tune() -> Float64:
    """Plucked strings, of which each sounds on while the next are struck."""
    time = np.arange(int(TUNE_RATE * _TUNE_SECONDS)) / TUNE_RATE
    sound = np.zeros(len(time))
    for number, semitones in enumerate(_TUNE):
        since = np.clip(time - number * _NOTE_SECONDS, 0, None)
        pitch_hz = _MIDDLE_C_HZ * 2 ** (semitones / 12)
        for overtone in range(1, _OVERTONES + 1):
            # The higher a tone is, the sooner it has died away.
            fading = np.exp(-since * (1.6 + 1.1 * overtone)) / overtone**1.3
            sound += np.sin(2 * np.pi * pitch_hz * overtone * since) * fading
    return np.asarray(sound / abs(sound).max())


def call_birds() -> Float64:
    """Two birds on two sides, as [frames, 2]."""
    time = np.arange(int(BIRDS_RATE * _BIRDS_SECONDS)) / BIRDS_RATE
    sound = np.zeros((len(time), 2))
    for start, length, low_hz, high_hz, side in _CALLS:
        share = np.clip((time - start) / length, 0, 1)
        pitch_hz = low_hz + (high_hz - low_hz) * share
        trill = 1 + 0.35 * np.sin(2 * np.pi * _TRILL_HZ * time)
        call = np.sin(2 * np.pi * np.cumsum(pitch_hz) / BIRDS_RATE) * np.sin(np.pi * share) * trill
        sound += call[:, None] * np.sqrt([1 - side, side])
    return np.asarray(sound / abs(sound).max())
