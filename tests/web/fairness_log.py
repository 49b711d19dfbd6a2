"""Evaluations for browser tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import tracklight

ROWS = 4000
STEPS = (1, 2, 3)
MANY_SLICES = 5000
TFMA = Path(__file__).parents[1] / "analysis" / "fairness" / "data" / "tfrecord"


def evaluate(step: int, seed: int = 0) -> tracklight.fairness.FairnessResult:
    """Evaluate a model that serves the region "east" worse, less so at later steps."""
    rng = np.random.default_rng(seed)
    columns = {
        "sex": rng.choice(["f", "m"], ROWS),
        "region": rng.choice(["north", "east", "west"], ROWS, p=[0.6, 0.39, 0.01]),
    }
    signal = rng.normal(size=ROWS)
    labels = (signal + 0.5 * rng.normal(size=ROWS) > 0).astype(int)
    noise = np.where(columns["region"] == "east", 2.0 + 1 / step, 0.3) * rng.normal(size=ROWS)
    return tracklight.fairness.evaluate(
        columns,
        label=labels,
        prediction=1 / (1 + np.exp(-2 * (signal + noise))),
        slices=["sex", "region"],
        thresholds=[0.25, 0.5, 0.75],
    )


def write_evaluations(logdir: Path) -> None:
    """Write a run with three steps, and a result of TensorFlow Model Analysis."""
    for step in STEPS:
        evaluate(step).write(logdir / "train", step=step)
    shutil.copytree(TFMA, logdir / "tfma")


def write_many_slices(logdir: Path) -> None:
    """Write an evaluation with 5,000 slices."""
    rng = np.random.default_rng(0)
    rows = 50_000
    columns = {"user": np.char.add("u", (np.arange(rows) % MANY_SLICES).astype(str))}
    tracklight.fairness.evaluate(
        columns,
        label=rng.integers(0, 2, rows),
        prediction=rng.random(rows),
        slices=["user"],
        thresholds=[0.5],
    ).write(logdir / "users", step=1)
