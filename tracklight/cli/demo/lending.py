"""A credit model that is evaluated per group after each epoch; it serves one group worse.

``lending/applications.csv`` has the rows of the last evaluation, for What-If.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

import tracklight
from tracklight.analysis.predictors.base import PROBABILITIES
from tracklight.cli.demo.writers import EventFile
from tracklight.types import Float64

_DATA_FILE = "applications.csv"
_ROWS = 6_000
_EPOCHS = 5
_EPOCH_S = 60.0


def write_lending(folder: Path, *, seed: int, now: float) -> None:
    """Write evaluations of five epochs."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "sex": rng.choice(["female", "male"], _ROWS),
        "region": rng.choice(["north", "south", "east", "west"], _ROWS, p=[0.4, 0.3, 0.28, 0.02]),
    }
    signal = rng.normal(size=_ROWS)
    blurred = signal + rng.normal(scale=0.5, size=(2, _ROWS))
    columns["income"] = np.round(np.exp(10.4 + 0.35 * blurred[0]), -2)
    columns["debt_ratio"] = np.round(np.clip(0.4 - 0.1 * blurred[1], 0.02, 0.95), 3)
    columns["years_employed"] = rng.poisson(np.exp(1.5 + 0.3 * signal))
    columns["repaid"] = (rng.random(_ROWS) < _sigmoid(2 * signal)).astype(int)
    # The features of one region are noisier.
    noise = np.where(columns["region"] == "east", 1.6, 0.4) * rng.normal(size=_ROWS)
    started = now - (_EPOCHS + 1) * _EPOCH_S
    with EventFile(folder, started) as file:
        for epoch in range(_EPOCHS):
            # The model learns to ignore noise, but never enough in the noisy region.
            scores = _sigmoid(2 * (signal + (1 + 2 * 0.5**epoch) * noise) + 0.5**epoch)
            columns[PROBABILITIES] = np.round(scores, 4)
            result = tracklight.fairness.evaluate(
                columns,
                label="repaid",
                prediction=PROBABILITIES,
                slices=["sex", "region", ["sex", "region"]],
                thresholds=[0.25, 0.5, 0.75],
                seed=seed,
            )
            # The file has the predictions of the last epoch.
            path = f"{folder.name}/{_DATA_FILE}" if epoch == _EPOCHS - 1 else None
            summary = result.to_summary(data_path=path)
            file.log(started + (epoch + 1) * _EPOCH_S, epoch, summary)
    with open(folder / _DATA_FILE, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


def _sigmoid(x: Float64) -> Float64:
    result: Float64 = 1 / (1 + np.exp(-x))
    return result
