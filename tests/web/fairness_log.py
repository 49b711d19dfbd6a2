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


def make_people() -> dict[str, np.ndarray]:
    """Return the rows of a data set with labels and scores."""
    rng = np.random.default_rng(0)
    columns = {
        "sex": rng.choice(["f", "m"], ROWS),
        "age": rng.integers(18, 90, ROWS),
        "income": rng.lognormal(10, 0.5, ROWS),
        "label": rng.integers(0, 2, ROWS),
    }
    columns["score"] = np.clip(0.3 + 0.3 * columns["label"] + 0.1 * rng.normal(size=ROWS), 0, 1)
    return columns


def write_evaluated_file(logdir: Path) -> None:
    """Write a Parquet file and its evaluation, and one whose rows are not in a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = make_people()
    logdir.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), logdir / "people.parquet")
    for step, data in enumerate([columns, logdir / "people.parquet"]):
        tracklight.fairness.evaluate(
            data,
            label="label",
            prediction="score",
            slices=["sex", "age >= 60 and sex = 'f'", "age > 60 or sex = 'm'"],
            thresholds=[0.5],
        ).write(logdir / "train", step=step)


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
