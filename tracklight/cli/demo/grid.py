"""A grid search over units, dropout and learning rate of a small network, with 36 trials.

Many units, little dropout and a high learning rate are best, as the HParams dashboard shows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracklight.cli.demo.writers import EventFile
from tracklight.formats import hparams, summary
from tracklight.formats.hparams import HParamValue
from tracklight.types import Float64

UNITS = (16, 32, 64, 128)
DROPOUTS = (0.1, 0.3, 0.5)
RATES = (0.001, 0.01, 0.1)
_EPOCHS = 20
_SECONDS_PER_EPOCH = 24
_SECONDS_PER_TRIAL = 8.5 * 60


@dataclass(frozen=True)
class GridTrial:
    """One point of the grid."""

    units: int
    dropout: float
    learning_rate: float

    @property
    def name(self) -> str:
        return f"units={self.units},dropout={self.dropout:g},lr={self.learning_rate:g}"

    @property
    def diverges(self) -> bool:
        return (self.units, self.dropout, self.learning_rate) == (16, 0.5, 0.1)


TRIALS = tuple(GridTrial(*values) for values in itertools.product(UNITS, DROPOUTS, RATES))


def write_grid(root: Path, *, seed: int, now: float) -> None:
    first = now - len(TRIALS) * _SECONDS_PER_TRIAL
    _write_experiment(root, first - 30)
    for number, trial in enumerate(TRIALS):
        rng = np.random.default_rng([seed, 601, number])
        _write_trial(root / trial.name, trial, first + number * _SECONDS_PER_TRIAL, rng)


def _write_experiment(root: Path, wall_time: float) -> None:
    experiment = hparams.build_experiment(
        [
            hparams.HParam("units", UNITS, "Units"),
            hparams.HParam("dropout", DROPOUTS, "Dropout"),
            hparams.HParam("learning_rate", hparams.Interval(0.001, 0.1), "Learning rate"),
        ],
        [
            hparams.Metric(
                "accuracy", "validation", "Accuracy", dataset=hparams.DatasetType.VALIDATION
            ),
            hparams.Metric("loss", "validation", "Loss", dataset=hparams.DatasetType.VALIDATION),
        ],
        name="grid",
        created_wall_time=wall_time,
    )
    with EventFile(root, wall_time) as file:
        file.log(wall_time, 0, experiment)


def _write_trial(run: Path, trial: GridTrial, started: float, rng: np.random.Generator) -> None:
    values: dict[str, HParamValue] = {
        "units": trial.units,
        "dropout": trial.dropout,
        "learning_rate": trial.learning_rate,
    }
    accuracy = _simulate(trial, rng)
    loss = 2.6 * (1 - accuracy) ** 1.3 * np.exp(rng.normal(0, 0.02, len(accuracy)))
    with EventFile(run / "validation", started) as file:
        for epoch in range(len(accuracy)):
            wall_time = started + (epoch + 1) * _SECONDS_PER_EPOCH
            accuracy_value = summary.scalar("accuracy", accuracy[epoch])
            file.log(wall_time, epoch, accuracy_value, summary.scalar("loss", loss[epoch]))
    ended = started + len(accuracy) * _SECONDS_PER_EPOCH + 5
    status = hparams.Status.FAILURE if trial.diverges else hparams.Status.SUCCESS
    with EventFile(run, started) as file:
        file.log(started, 0, hparams.build_session_start(values, wall_time=started))
        file.log(ended, 0, hparams.build_session_end(status, wall_time=ended))


def _simulate(trial: GridTrial, rng: np.random.Generator) -> Float64:
    """Return the accuracy after every epoch; it approaches a limit set by units and dropout."""
    epoch = np.arange(1, _EPOCHS + 1)
    ceiling = 0.81 + 0.045 * np.log2(trial.units / 16) - 0.4 * (trial.dropout - 0.1)
    rate = 0.06 * (trial.learning_rate / 0.001) ** 0.33
    learned = 1 - np.exp(-rate * epoch * (1 - 0.4 * trial.dropout))
    accuracy = 0.1 + (ceiling - 0.1 + rng.normal(0, 0.006)) * learned
    accuracy += rng.normal(0, 0.004 + 0.03 * trial.learning_rate, _EPOCHS)
    if trial.diverges:
        accuracy = np.append(accuracy[:6], np.nan)
    return np.asarray(np.clip(accuracy, 0, 0.995))
