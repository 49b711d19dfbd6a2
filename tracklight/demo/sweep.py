"""A sweep of an image classifier: eight trials, each with a run for training and for validation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracklight.demo.details import Gallery, measure_classes
from tracklight.demo.eventfile import EventFile
from tracklight.demo.network import build_graph
from tracklight.demo.trial import (
    Curves,
    Evaluations,
    Trial,
    simulate_training,
    simulate_validation,
)
from tracklight.demo.weights import STEPS_PER_HISTOGRAM, Layers
from tracklight.formats import hparams, summary
from tracklight.formats.custom_scalars import Band, Margin, Multiline, layout
from tracklight.formats.hparam_names import HParamValue
from tracklight.formats.proto import Message
from tracklight.types import Int64

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
_EPOCHS_PER_SHOW = 3

_OVERVIEW = """\
# Shapes, ten classes

A small convolutional network on 32 x 32 pictures of ten shapes.

| | |
|---|---|
| varied | learning rate, batch norm |
| fixed | 30 epochs of 200 steps, momentum 0.9, rate / 10 after epochs 15 and 24 |
| wanted | **best validation accuracy** |

- `lr=0.3` without batch norm *diverges*; see its gradients before step 1400.
- `lr=0.03,bn` ran out of memory at step 3720 and was resumed from step 3000.
"""


@dataclass(frozen=True, slots=True)
class _Session:
    """One start of the program: the steps that it wrote, and when."""

    started: float
    first: int
    end: int

    def list_rows(self, step: Int64) -> list[int]:
        return [int(row) for row in np.flatnonzero((step >= self.first) & (step < self.end))]

    def tell_time(self, step: int) -> float:
        return self.started + _SECONDS_OF_SETUP + (step - self.first) * _SECONDS_PER_STEP


def write_sweep(root: Path, *, seed: int, now: float) -> None:
    first_start = now - len(TRIALS) * _SECONDS_PER_TRIAL
    _write_overview(root, first_start - 60)
    for number, trial in enumerate(TRIALS):
        started = first_start + number * _SECONDS_PER_TRIAL
        _write_trial(root / trial.name, trial, started, seed=(seed, number))


def _write_overview(root: Path, wall_time: float) -> None:
    experiment = hparams.experiment(
        [
            hparams.HParam("learning_rate", hparams.Interval(0.001, 1.0), "Learning rate"),
            hparams.HParam("batch_norm", [False, True], "Batch norm"),
            hparams.HParam("optimizer", ["momentum"], "Optimizer"),
        ],
        [
            hparams.Metric(
                "accuracy", "validation", "Accuracy", dataset=hparams.Dataset.VALIDATION
            ),
            hparams.Metric("loss", "validation", "Loss", dataset=hparams.Dataset.VALIDATION),
            hparams.Metric("loss", "train", "Training loss", dataset=hparams.Dataset.TRAINING),
        ],
        name="shapes",
        created_wall_time=wall_time,
    )
    charts = layout(
        {
            "Quality": [Multiline("Accuracy", ["accuracy"]), Multiline("Loss", ["loss$"])],
            "Spread": [
                Margin("Loss over batches", [Band("loss", "loss_range/low", "loss_range/high")])
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
    layers = Layers(trial, seed) if shows_weights else None
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
    restarted = first.tell_time(trial.crashed_at) + _SECONDS_TO_RESTART
    return [first, _Session(restarted, trial.resumed_from, trial.steps)]


def _write_settings(run: Path, trial: Trial, sessions: list[_Session]) -> None:
    """The run above training and validation: hyperparameters, notes, and how it ended."""
    settings: dict[str, HParamValue] = {
        "learning_rate": trial.learning_rate,
        "batch_norm": trial.batch_norm,
        "optimizer": "momentum",
    }
    table = [["setting", "value"], *([f"`{key}`", str(value)] for key, value in settings.items())]
    started = sessions[0].started
    ended = sessions[-1].tell_time(trial.steps)
    status = hparams.Status.SUCCESS if trial.diverged_at is None else hparams.Status.FAILURE
    with EventFile(run, started) as file:
        file.log(started, 0, hparams.session_start(settings, wall_time=started))
        file.log(started, 0, summary.text("config", table))
        for step, note in _make_notes(trial).items():
            file.log(sessions[0].tell_time(step), step, summary.text("notes", note))
        file.log(ended, trial.steps, hparams.session_end(status, wall_time=ended))


def _make_notes(trial: Trial) -> dict[int, str]:
    notes = {0: f"Started with a learning rate of **{trial.learning_rate:g}**."}
    if trial.diverged_at is not None:
        notes[trial.diverged_at] = "The loss is `nan`. Stopped; try *batch norm* or a lower rate."
    if trial.crashed_at is not None:
        notes[trial.crashed_at] = (
            "Died:\n\n```\nRuntimeError: out of memory (tried to allocate 1.50 GiB)\n```\n\n"
            f"Resumed from the checkpoint of step {trial.resumed_from}."
        )
    return notes


def _write_training(
    run: Path,
    trial: Trial,
    curves: Curves,
    session: _Session,
    rng: np.random.Generator,
    layers: Layers | None,
) -> None:
    with EventFile(run, session.started) as file:
        _open_session(file, session)
        if session.first == 0:
            file.log_graph(session.started + 1, build_graph(batch_norm=trial.batch_norm))
        for row in session.list_rows(curves.step):
            step = int(curves.step[row])
            wall_time = session.tell_time(step) + rng.uniform(0, 0.3)
            file.log(
                wall_time,
                step,
                summary.scalar("loss", curves.loss[row], description="Cross entropy of a batch."),
                summary.scalar("accuracy", curves.accuracy[row]),
                summary.scalar("learning_rate", curves.learning_rate[row]),
                summary.scalar("gradients/norm", curves.gradient_norm[row]),
            )
            if layers is not None and step % STEPS_PER_HISTOGRAM == 0:
                file.log(wall_time, step, *layers.describe(step, float(curves.gradient_norm[row])))


def _write_validation(
    run: Path,
    trial: Trial,
    evaluations: Evaluations,
    session: _Session,
    rng: np.random.Generator,
) -> None:
    gallery = Gallery(np.random.default_rng(1))
    with EventFile(run, session.started + 1) as file:
        _open_session(file, session)
        for row in session.list_rows(evaluations.step - 1):
            step = int(evaluations.step[row])
            accuracy = float(evaluations.accuracy[row])
            wall_time = session.tell_time(step) + 5
            file.log(wall_time, step, *_list_scalars(evaluations, row))
            if trial.detailed and row % _EPOCHS_PER_SHOW == 0:
                file.log(wall_time + 1, step, *gallery.show(accuracy, step / trial.steps))
                file.log(wall_time + 2, step, *measure_classes(accuracy, rng))


def _list_scalars(evaluations: Evaluations, row: int) -> list[Message]:
    return [
        summary.scalar("loss", evaluations.loss[row]),
        summary.scalar("accuracy", evaluations.accuracy[row]),
        summary.scalar("loss_range/low", evaluations.loss_low[row]),
        summary.scalar("loss_range/high", evaluations.loss_high[row]),
    ]


def _open_session(file: EventFile, session: _Session) -> None:
    if session.first:
        file.log_restart(session.started, session.first)
