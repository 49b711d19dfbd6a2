"""One trial of the sweep: its hyperparameters and the curves they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.types import Float64, Int64

STEPS_PER_EPOCH = 200
EPOCHS = 30
STEPS_PER_POINT = 10

_WARMUP_STEPS = 300
_DECAY_EPOCHS = (15, 24)
_STARTING_LOSS = 2.36  # a little above the logarithm of ten classes


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial was told to do, and what becomes of it."""

    learning_rate: float
    batch_norm: bool
    #: Step at which the loss turned into NaN, which ended the trial a little later.
    diverged_at: int | None = None
    #: Step at which the program died, and that of the checkpoint from which it was started again.
    crashed_at: int | None = None
    resumed_from: int | None = None
    #: Whether pictures, histograms and curves are logged beside the scalars.
    detailed: bool = False

    @property
    def name(self) -> str:
        return f"lr={self.learning_rate:g}" + (",bn" if self.batch_norm else "")

    @property
    def steps(self) -> int:
        if self.diverged_at is not None:
            return self.diverged_at + 2 * STEPS_PER_EPOCH
        return EPOCHS * STEPS_PER_EPOCH


class Curves(NamedTuple):
    """What the training loop logs, a row each `STEPS_PER_POINT` steps."""

    step: Int64
    learning_rate: Float64
    loss: Float64
    accuracy: Float64
    gradient_norm: Float64


class Evaluations(NamedTuple):
    """What is found on the validation set after each epoch."""

    step: Int64
    loss: Float64
    accuracy: Float64
    loss_low: Float64
    loss_high: Float64


def simulate_training(trial: Trial, rng: np.random.Generator) -> Curves:
    """A noisy loss that falls as far as the learning rate allows, so it drops when that decays."""
    step = np.arange(0, trial.steps, STEPS_PER_POINT)
    rate = _schedule(trial, step)
    loss = _descend(trial, rate)
    wander = _smooth_noise(len(step), rng)
    noise = np.exp(0.05 * wander + rng.normal(0, 0.045, len(step)))
    loss = loss * noise
    if trial.diverged_at is not None:
        loss = np.where(step < trial.diverged_at, _explode(loss, step, trial.diverged_at), np.nan)
    norm = 1.8 * np.sqrt(np.abs(loss)) * np.exp(rng.normal(0, 0.18, len(step)))
    return Curves(step, rate, loss, _to_accuracy(loss, rng), norm)


def simulate_validation(trial: Trial, training: Curves, rng: np.random.Generator) -> Evaluations:
    """Close to training at first; the gap grows, more so without batch norm."""
    last = np.arange(1, trial.steps // STEPS_PER_EPOCH + 1) * STEPS_PER_EPOCH
    points = STEPS_PER_EPOCH // STEPS_PER_POINT
    mean = training.loss[: len(last) * points].reshape(-1, points)[:, -points // 2 :].mean(1)
    epoch = np.arange(len(last))
    gap = (0.05 if trial.batch_norm else 0.09) * (1 - np.exp(-epoch / 12))
    loss = mean * (1 + rng.normal(0, 0.02, len(last))) + gap
    spread = 0.12 * loss * np.exp(rng.normal(0, 0.15, len(last)))
    return Evaluations(last, loss, _to_accuracy(loss, rng), loss - spread, loss + 1.3 * spread)


def _schedule(trial: Trial, step: Int64) -> Float64:
    decays = sum((step >= epoch * STEPS_PER_EPOCH).astype(int) for epoch in _DECAY_EPOCHS)
    warmup = np.minimum(1, (step + 1) / _WARMUP_STEPS)
    return np.asarray(trial.learning_rate * warmup * 0.1**decays)


def _descend(trial: Trial, rate: Float64) -> Float64:
    """Walk towards the floor that a rate allows; a larger rate walks faster to a higher floor."""
    help_of_norm = 1.0 if trial.batch_norm else 1.7
    floor = 0.11 * help_of_norm + 1.1 * help_of_norm * rate**0.7
    pull = np.minimum(0.3, 0.14 * rate**0.5 / help_of_norm + 0.002)
    loss = np.empty(len(rate))
    current = _STARTING_LOSS
    for i in range(len(rate)):
        current += pull[i] * (min(floor[i], _STARTING_LOSS) - current)
        loss[i] = current
    return loss


def _explode(loss: Float64, step: Int64, diverged_at: int) -> Float64:
    growth = np.clip((step - diverged_at + 150) / 150, 0, None)
    return loss * np.exp(4.5 * growth**2)


def _to_accuracy(loss: Float64, rng: np.random.Generator) -> Float64:
    # Who gives NaN for every class always says the first one, and is right one time in ten.
    skill = np.nan_to_num(np.exp(-0.7 * loss**1.6))
    return np.asarray(np.clip(0.1 + 0.9 * skill + rng.normal(0, 0.008, len(loss)), 0, 1))


def _smooth_noise(count: int, rng: np.random.Generator) -> Float64:
    """Noise that remembers: what one batch does to the weights is felt for a while."""
    kernel = np.exp(-np.arange(40) / 12)
    raw = rng.normal(0, 1, count + len(kernel) - 1)
    return np.convolve(raw, kernel / np.sqrt(np.square(kernel).sum()), "valid")
