"""A credit model that is evaluated per group after each epoch; it serves one group worse."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tracklight
from tracklight.cli.demo.writers import EventFile
from tracklight.types import Float64

_ROWS = 6_000
_EPOCHS = 5
_EPOCH_S = 60.0


def write_lending(folder: Path, *, seed: int, now: float) -> None:
    """Write evaluations of five epochs."""
    rng = np.random.default_rng(seed)
    columns = {
        "sex": rng.choice(["female", "male"], _ROWS),
        "region": rng.choice(["north", "south", "east", "west"], _ROWS, p=[0.4, 0.3, 0.28, 0.02]),
    }
    signal = rng.normal(size=_ROWS)
    labels = (rng.random(_ROWS) < _sigmoid(2 * signal)).astype(int)
    # The features of one region are noisier.
    noise = np.where(columns["region"] == "east", 1.6, 0.4) * rng.normal(size=_ROWS)
    started = now - (_EPOCHS + 1) * _EPOCH_S
    with EventFile(folder, started) as file:
        for epoch in range(_EPOCHS):
            # The model learns to ignore noise, but never enough in the noisy region.
            scores = _sigmoid(2 * (signal + (1 + 2 * 0.5**epoch) * noise) + 0.5**epoch)
            result = tracklight.fairness.evaluate(
                columns,
                label=labels,
                prediction=scores,
                slices=["sex", "region", ["sex", "region"]],
                thresholds=[0.25, 0.5, 0.75],
                seed=seed,
            )
            file.log(started + (epoch + 1) * _EPOCH_S, epoch, result.to_summary())


def _sigmoid(x: Float64) -> Float64:
    result: Float64 = 1 / (1 + np.exp(-x))
    return result
