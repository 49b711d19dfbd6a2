"""Histograms of a network's layers: weights that leave the box they were drawn from, gradients."""

from __future__ import annotations

import math

import numpy as np

from tracklight.demo.trial import Trial
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.types import Float64

#: Steps between two sets of histograms.
STEPS_PER_HISTOGRAM = 100
#: How many weights a layer has, and how many inputs each of its units.
_LAYERS = {"conv1": (864, 27), "conv2": (4608, 288), "dense": (8000, 512)}
_GROWTH = {"conv1": 2.4, "conv2": 0.9, "dense": 1.5}
_WORDS = "What the layer starts with is even; what it learns has long tails."


class Layers:
    """The weights of one trial at any step; the same ones whenever it is started again."""

    def __init__(self, trial: Trial, seed: tuple[int, ...]) -> None:
        rng = np.random.default_rng([*seed, 77])
        self._trial = trial
        self._rng = rng
        self._start: dict[str, Float64] = {}
        self._learned: dict[str, Float64] = {}
        for name, (count, inputs) in _LAYERS.items():
            reach = 1 / math.sqrt(inputs)
            self._start[name] = rng.uniform(-reach, reach, count)
            self._learned[name] = reach * rng.standard_t(9, count) - 0.15 * reach
        self._bias = rng.normal(0, 0.5, 10)
        self._scale = rng.normal(0, 0.35, 64)

    def describe(self, step: int, gradient_norm: float) -> list[Message]:
        """Histograms of all layers after a step."""
        grown = self._grow(step)
        values = [
            summary.histogram(f"{name}/weights", self._weights(name, grown), description=_WORDS)
            for name in _LAYERS
        ]
        values.append(summary.histogram("dense/bias", self._spoil(grown * self._bias, grown)))
        values.append(summary.histogram("norm/scale", self._spoil(1 + grown * self._scale, grown)))
        spread = gradient_norm * math.exp(-1.5 * min(1.0, step / 6000))
        for name in ("conv1", "dense"):
            width = spread / _LAYERS[name][1] / (3 if name == "dense" else 1)
            numbers = width * self._rng.standard_t(4, _LAYERS[name][0])
            values.append(summary.histogram(f"{name}/gradients", self._spoil(numbers, grown)))
        sums = self._rng.normal(0.1 + 0.4 * min(grown, 3), 0.8 + 0.7 * min(grown, 3), 5000)
        active = sums / (1 + np.exp(-sums))
        values.append(summary.histogram("conv2/activations", self._spoil(active, grown)))
        return values

    def _grow(self, step: int) -> float:
        """How much was learned: much at first, then ever less; NaN once the trial has diverged."""
        diverged_at = self._trial.diverged_at
        haste = 1 + 0.45 * math.log10(self._trial.learning_rate / 0.01)
        grown = haste * (1 - math.exp(-step / 1500))
        if diverged_at is None:
            return grown
        left = (step - diverged_at + 500) / 500
        return math.nan if step >= diverged_at else grown * math.exp(2.2 * max(0.0, left) ** 2)

    def _weights(self, name: str, grown: float) -> Float64:
        kept = math.exp(-0.4 * grown) if grown < 10 else 0.0
        weights = kept * self._start[name] + _GROWTH[name] * grown * self._learned[name]
        return self._spoil(weights, grown)

    def _spoil(self, numbers: Float64, grown: float) -> Float64:
        return np.full(len(numbers), np.nan) if math.isnan(grown) else numbers
