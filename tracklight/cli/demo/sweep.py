"""A sweep of an image classifier with eight trials, and a grid search with 36.

Each trial of the sweep has a training and a validation run. The first part simulates the curves of
a trial, the second the weights of its layers; `write_sweep` writes both to event files. In the grid
search, many units, little dropout and a high learning rate are best, as the HParams dashboard
shows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.cli.demo.embeddings import Gallery, make_pr_curves
from tracklight.cli.demo.writers import EventFile, build_convnet_graph
from tracklight.formats import hparams, summary
from tracklight.formats.hparams import HParamValue
from tracklight.formats.proto import Message
from tracklight.formats.summary import (
    MarginChart,
    MarginSeries,
    MultilineChart,
    custom_scalars_layout,
)
from tracklight.types import Float64, Int64

STEPS_PER_EPOCH = 200
EPOCHS = 30
STEPS_PER_POINT = 10
_WARMUP_STEPS = 300
_DECAY_EPOCHS = (15, 24)
_INITIAL_LOSS = 2.36  # slightly above log(10), the loss of guessing among ten classes


@dataclass(frozen=True, slots=True)
class Trial:
    """Hyperparameters of a trial, and how it develops."""

    learning_rate: float
    batch_norm: bool
    #: Step at which the loss becomes NaN; the trial ends soon after.
    diverged_at: int | None = None
    #: Step at which the program crashes, and step of the checkpoint from which it is resumed.
    crashed_at: int | None = None
    resumed_from: int | None = None
    #: Whether to log images, histograms and PR curves as well.
    detailed: bool = False

    @property
    def name(self) -> str:
        return f"lr={self.learning_rate:g}" + (",bn" if self.batch_norm else "")

    @property
    def steps(self) -> int:
        if self.diverged_at is not None:
            return self.diverged_at + 2 * STEPS_PER_EPOCH
        return EPOCHS * STEPS_PER_EPOCH


class TrainingCurves(NamedTuple):
    """Training scalars, one row per `STEPS_PER_POINT` steps."""

    step: Int64
    learning_rate: Float64
    loss: Float64
    accuracy: Float64
    gradient_norm: Float64


class ValidationCurves(NamedTuple):
    """Validation scalars, one row per epoch."""

    step: Int64
    loss: Float64
    accuracy: Float64
    loss_low: Float64
    loss_high: Float64


def simulate_training(trial: Trial, rng: np.random.Generator) -> TrainingCurves:
    """Simulate a noisy loss that drops whenever the learning rate decays."""
    step = np.arange(0, trial.steps, STEPS_PER_POINT)
    rate = _schedule(trial, step)
    loss = _descend(trial, rate)
    wander = _smooth_noise(len(step), rng)
    noise = np.exp(0.05 * wander + rng.normal(0, 0.045, len(step)))
    loss = loss * noise
    if trial.diverged_at is not None:
        loss = np.where(step < trial.diverged_at, _explode(loss, step, trial.diverged_at), np.nan)
    norm = 1.8 * np.sqrt(np.abs(loss)) * np.exp(rng.normal(0, 0.18, len(step)))
    return TrainingCurves(step, rate, loss, _to_accuracy(loss, rng), norm)


def simulate_validation(
    trial: Trial, training: TrainingCurves, rng: np.random.Generator
) -> ValidationCurves:
    """Simulate validation with a growing generalization gap, larger without batch norm."""
    last = np.arange(1, trial.steps // STEPS_PER_EPOCH + 1) * STEPS_PER_EPOCH
    points = STEPS_PER_EPOCH // STEPS_PER_POINT
    mean = training.loss[: len(last) * points].reshape(-1, points)[:, -points // 2 :].mean(1)
    epoch = np.arange(len(last))
    gap = (0.05 if trial.batch_norm else 0.09) * (1 - np.exp(-epoch / 12))
    loss = mean * (1 + rng.normal(0, 0.02, len(last))) + gap
    spread = 0.12 * loss * np.exp(rng.normal(0, 0.15, len(last)))
    return ValidationCurves(last, loss, _to_accuracy(loss, rng), loss - spread, loss + 1.3 * spread)


def _schedule(trial: Trial, step: Int64) -> Float64:
    decays = sum((step >= epoch * STEPS_PER_EPOCH).astype(int) for epoch in _DECAY_EPOCHS)
    warmup = np.minimum(1, (step + 1) / _WARMUP_STEPS)
    return np.asarray(trial.learning_rate * warmup * 0.1**decays)


def _descend(trial: Trial, rate: Float64) -> Float64:
    """Approach the loss that a learning rate can reach; a high rate is faster but ends higher."""
    penalty = 1.0 if trial.batch_norm else 1.7
    floor = 0.11 * penalty + 1.1 * penalty * rate**0.7
    pull = np.minimum(0.3, 0.14 * rate**0.5 / penalty + 0.002)
    loss = np.empty(len(rate))
    current = _INITIAL_LOSS
    for i in range(len(rate)):
        current += pull[i] * (min(floor[i], _INITIAL_LOSS) - current)
        loss[i] = current
    return loss


def _explode(loss: Float64, step: Int64, diverged_at: int) -> Float64:
    growth = np.clip((step - diverged_at + 150) / 150, 0, None)
    return loss * np.exp(4.5 * growth**2)


def _to_accuracy(loss: Float64, rng: np.random.Generator) -> Float64:
    # With a NaN loss the classifier always predicts the first class: an accuracy of 0.1.
    skill = np.nan_to_num(np.exp(-0.7 * loss**1.6))
    return np.asarray(np.clip(0.1 + 0.9 * skill + rng.normal(0, 0.008, len(loss)), 0, 1))


def _smooth_noise(count: int, rng: np.random.Generator) -> Float64:
    """Return autocorrelated noise."""
    kernel = np.exp(-np.arange(40) / 12)
    raw = rng.normal(0, 1, count + len(kernel) - 1)
    return np.convolve(raw, kernel / np.sqrt(np.square(kernel).sum()), "valid")


# ---- histograms of weights and gradients

#: Steps between histograms.
STEPS_PER_HISTOGRAM = 100
#: Number of weights of a layer, and number of inputs per unit.
_LAYERS = {"conv1": (864, 27), "conv2": (4608, 288), "dense": (8000, 512)}
_GROWTH = {"conv1": 2.4, "conv2": 0.9, "dense": 1.5}
_WEIGHTS_DESCRIPTION = "Uniform at initialization, with long tails after training."


class LayerWeights:
    """The weights of one trial at any step, reproducible after a restart."""

    def __init__(self, trial: Trial, seed: tuple[int, ...]) -> None:
        rng = np.random.default_rng([*seed, 77])
        self._trial = trial
        self._rng = rng
        self._start: dict[str, Float64] = {}
        self._learned: dict[str, Float64] = {}
        for name, (count, inputs) in _LAYERS.items():
            bound = 1 / math.sqrt(inputs)
            self._start[name] = rng.uniform(-bound, bound, count)
            self._learned[name] = bound * rng.standard_t(9, count) - 0.15 * bound
        self._bias = rng.normal(0, 0.5, 10)
        self._scale = rng.normal(0, 0.35, 64)

    def make_histograms(self, step: int, gradient_norm: float) -> list[Message]:
        """Return histograms of all layers after a step."""
        progress = self._get_progress(step)
        values = [
            summary.histogram(
                f"{name}/weights", self._weights(name, progress), description=_WEIGHTS_DESCRIPTION
            )
            for name in _LAYERS
        ]
        values.append(
            summary.histogram("dense/bias", self._nan_if_diverged(progress * self._bias, progress))
        )
        values.append(
            summary.histogram(
                "norm/scale", self._nan_if_diverged(1 + progress * self._scale, progress)
            )
        )
        spread = gradient_norm * math.exp(-1.5 * min(1.0, step / 6000))
        for name in ("conv1", "dense"):
            width = spread / _LAYERS[name][1] / (3 if name == "dense" else 1)
            numbers = width * self._rng.standard_t(4, _LAYERS[name][0])
            values.append(
                summary.histogram(f"{name}/gradients", self._nan_if_diverged(numbers, progress))
            )
        sums = self._rng.normal(0.1 + 0.4 * min(progress, 3), 0.8 + 0.7 * min(progress, 3), 5000)
        active = sums / (1 + np.exp(-sums))
        values.append(
            summary.histogram("conv2/activations", self._nan_if_diverged(active, progress))
        )
        return values

    def _get_progress(self, step: int) -> float:
        """Return the learning progress, which saturates; NaN once the trial has diverged."""
        diverged_at = self._trial.diverged_at
        speed = 1 + 0.45 * math.log10(self._trial.learning_rate / 0.01)
        progress = speed * (1 - math.exp(-step / 1500))
        if diverged_at is None:
            return progress
        left = (step - diverged_at + 500) / 500
        return math.nan if step >= diverged_at else progress * math.exp(2.2 * max(0.0, left) ** 2)

    def _weights(self, name: str, progress: float) -> Float64:
        kept = math.exp(-0.4 * progress) if progress < 10 else 0.0
        weights = kept * self._start[name] + _GROWTH[name] * progress * self._learned[name]
        return self._nan_if_diverged(weights, progress)

    def _nan_if_diverged(self, numbers: Float64, progress: float) -> Float64:
        return np.full(len(numbers), np.nan) if math.isnan(progress) else numbers


# ---- event files

TRIALS = (
    Trial(0.3, False, diverged_at=1400),
    Trial(0.3, True),
    Trial(0.1, False),
    Trial(0.1, True, detailed=True),
    Trial(0.03, False),
    Trial(0.03, True, detailed=True, crashed_at=3720, resumed_from=3000),
    Trial(0.01, True, detailed=True),
    Trial(0.003, True),
)

_SECONDS_PER_STEP = 0.4
_SECONDS_PER_TRIAL = 50 * 60
_SECONDS_OF_SETUP = 25
_SECONDS_TO_RESTART = 7 * 60
_EPOCHS_PER_GALLERY = 3

_OVERVIEW = """\
# Shapes, ten classes

A small convolutional network on 32 x 32 images of ten shapes.

| | |
|---|---|
| varied | learning rate, batch norm |
| fixed | 30 epochs of 200 steps, momentum 0.9, rate / 10 after epochs 15 and 24 |
| objective | **best validation accuracy** |

- `lr=0.3` without batch norm *diverges*; see its gradients before step 1400.
- `lr=0.03,bn` ran out of memory at step 3720 and was resumed from step 3000.
"""


@dataclass(frozen=True, slots=True)
class _Session:
    """One start of the program: the range of steps that it wrote, and when it started."""

    started: float
    first: int
    end: int

    def list_rows(self, step: Int64) -> list[int]:
        return [int(row) for row in np.flatnonzero((step >= self.first) & (step < self.end))]

    def get_wall_time(self, step: int) -> float:
        return self.started + _SECONDS_OF_SETUP + (step - self.first) * _SECONDS_PER_STEP


def write_sweep(root: Path, *, seed: int, now: float) -> None:
    first_start = now - len(TRIALS) * _SECONDS_PER_TRIAL
    _write_overview(root, first_start - 60)
    for number, trial in enumerate(TRIALS):
        started = first_start + number * _SECONDS_PER_TRIAL
        _write_trial(root / trial.name, trial, started, seed=(seed, number))


def _write_overview(root: Path, wall_time: float) -> None:
    experiment = hparams.build_experiment(
        [
            hparams.HParam("learning_rate", hparams.Interval(0.001, 1.0), "Learning rate"),
            hparams.HParam("batch_norm", [False, True], "Batch norm"),
            hparams.HParam("optimizer", ["momentum"], "Optimizer"),
        ],
        [
            hparams.Metric(
                "accuracy", "validation", "Accuracy", dataset=hparams.DatasetType.VALIDATION
            ),
            hparams.Metric("loss", "validation", "Loss", dataset=hparams.DatasetType.VALIDATION),
            hparams.Metric("loss", "train", "Training loss", dataset=hparams.DatasetType.TRAINING),
        ],
        name="shapes",
        created_wall_time=wall_time,
    )
    charts = custom_scalars_layout(
        {
            "Quality": [
                MultilineChart("Accuracy", ["accuracy"]),
                MultilineChart("Loss", ["loss$"]),
            ],
            "Spread": [
                MarginChart(
                    "Loss over batches", [MarginSeries("loss", "loss_range/low", "loss_range/high")]
                )
            ],
        }
    )
    with EventFile(root, wall_time) as file:
        file.log(wall_time, 0, experiment)
        file.log(wall_time, 0, charts, summary.text("overview", _OVERVIEW))


def _write_trial(run: Path, trial: Trial, started: float, *, seed: tuple[int, int]) -> None:
    sessions = _plan_sessions(trial, started)
    _write_settings(run, trial, sessions)
    shows_weights = trial.detailed or trial.diverged_at is not None
    layers = LayerWeights(trial, seed) if shows_weights else None
    for number, session in enumerate(sessions):
        rng = np.random.default_rng([*seed, number])
        curves = simulate_training(trial, rng)
        evaluations = simulate_validation(trial, curves, rng)
        _write_training(run / "train", trial, curves, session, rng, layers)
        _write_validation(run / "validation", trial, evaluations, session, rng)


def _plan_sessions(trial: Trial, started: float) -> list[_Session]:
    if trial.crashed_at is None or trial.resumed_from is None:
        return [_Session(started, 0, trial.steps)]
    first = _Session(started, 0, trial.crashed_at)
    restarted = first.get_wall_time(trial.crashed_at) + _SECONDS_TO_RESTART
    return [first, _Session(restarted, trial.resumed_from, trial.steps)]


def _write_settings(run: Path, trial: Trial, sessions: list[_Session]) -> None:
    """Write the run above training and validation: hyperparameters, notes and final status."""
    settings: dict[str, HParamValue] = {
        "learning_rate": trial.learning_rate,
        "batch_norm": trial.batch_norm,
        "optimizer": "momentum",
    }
    table = [["setting", "value"], *([f"`{key}`", str(value)] for key, value in settings.items())]
    started = sessions[0].started
    ended = sessions[-1].get_wall_time(trial.steps)
    status = hparams.Status.SUCCESS if trial.diverged_at is None else hparams.Status.FAILURE
    with EventFile(run, started) as file:
        file.log(started, 0, hparams.build_session_start(settings, wall_time=started))
        file.log(started, 0, summary.text("config", table))
        for step, note in _make_notes(trial).items():
            file.log(sessions[0].get_wall_time(step), step, summary.text("notes", note))
        file.log(ended, trial.steps, hparams.build_session_end(status, wall_time=ended))


def _make_notes(trial: Trial) -> dict[int, str]:
    notes = {0: f"Started with a learning rate of **{trial.learning_rate:g}**."}
    if trial.diverged_at is not None:
        notes[trial.diverged_at] = "The loss is `nan`. Stopped; try *batch norm* or a lower rate."
    if trial.crashed_at is not None:
        notes[trial.crashed_at] = (
            "Crashed:\n\n```\nRuntimeError: out of memory (tried to allocate 1.50 GiB)\n```\n\n"
            f"Resumed from the checkpoint of step {trial.resumed_from}."
        )
    return notes


def _write_training(
    run: Path,
    trial: Trial,
    curves: TrainingCurves,
    session: _Session,
    rng: np.random.Generator,
    layers: LayerWeights | None,
) -> None:
    with EventFile(run, session.started) as file:
        _log_restart(file, session)
        if session.first == 0:
            file.log_graph(session.started + 1, build_convnet_graph(batch_norm=trial.batch_norm))
        for row in session.list_rows(curves.step):
            step = int(curves.step[row])
            wall_time = session.get_wall_time(step) + rng.uniform(0, 0.3)
            file.log(
                wall_time,
                step,
                summary.scalar("loss", curves.loss[row], description="Cross entropy of a batch."),
                summary.scalar("accuracy", curves.accuracy[row]),
                summary.scalar("learning_rate", curves.learning_rate[row]),
                summary.scalar("gradients/norm", curves.gradient_norm[row]),
            )
            if layers is not None and step % STEPS_PER_HISTOGRAM == 0:
                file.log(
                    wall_time, step, *layers.make_histograms(step, float(curves.gradient_norm[row]))
                )


def _write_validation(
    run: Path,
    trial: Trial,
    evaluations: ValidationCurves,
    session: _Session,
    rng: np.random.Generator,
) -> None:
    gallery = Gallery(np.random.default_rng(1))
    with EventFile(run, session.started + 1) as file:
        _log_restart(file, session)
        for row in session.list_rows(evaluations.step - 1):
            step = int(evaluations.step[row])
            accuracy = float(evaluations.accuracy[row])
            wall_time = session.get_wall_time(step) + 5
            file.log(wall_time, step, *_list_scalars(evaluations, row))
            if trial.detailed and row % _EPOCHS_PER_GALLERY == 0:
                file.log(wall_time + 1, step, *gallery.make_summaries(accuracy, step / trial.steps))
                file.log(wall_time + 2, step, *make_pr_curves(accuracy, rng))


def _list_scalars(evaluations: ValidationCurves, row: int) -> list[Message]:
    return [
        summary.scalar("loss", evaluations.loss[row]),
        summary.scalar("accuracy", evaluations.accuracy[row]),
        summary.scalar("loss_range/low", evaluations.loss_low[row]),
        summary.scalar("loss_range/high", evaluations.loss_high[row]),
    ]


def _log_restart(file: EventFile, session: _Session) -> None:
    if session.first:
        file.log_restart(session.started, session.first)


# ---- the grid search

UNITS = (16, 32, 64, 128)
DROPOUTS = (0.1, 0.3, 0.5)
RATES = (0.001, 0.01, 0.1)
_EPOCHS = 20
_SECONDS_PER_EPOCH = 24
_SECONDS_PER_GRID_TRIAL = 8.5 * 60


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


GRID_TRIALS = tuple(GridTrial(*values) for values in itertools.product(UNITS, DROPOUTS, RATES))


def write_grid(root: Path, *, seed: int, now: float) -> None:
    first = now - len(GRID_TRIALS) * _SECONDS_PER_GRID_TRIAL
    _write_experiment(root, first - 30)
    for number, trial in enumerate(GRID_TRIALS):
        rng = np.random.default_rng([seed, 601, number])
        _write_grid_trial(root / trial.name, trial, first + number * _SECONDS_PER_GRID_TRIAL, rng)


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


def _write_grid_trial(
    run: Path, trial: GridTrial, started: float, rng: np.random.Generator
) -> None:
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
