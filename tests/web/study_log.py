"""A study of eight trials: three models with several learning rates."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import NamedTuple

from tests import builders as b
from tests.web.event_writer import append_records
from tracklight.formats.hparams import build_session_start

HOUR_S = 3600


class Trial(NamedTuple):
    name: str
    lr: float
    optimizer: str
    accuracies: tuple[float, ...]
    hours_ago: float

    @property
    def model(self) -> str:
        return self.name.split("/")[0]

    @property
    def last(self) -> float:
        return self.accuracies[-1]


TRIALS = [
    Trial("conv/bn-lr3e-3", 0.003, "adam", (0.5, 0.8, 0.9142), 7.5),
    Trial("conv/lr1e-3", 0.001, "adam", (0.5, 0.95, 0.9087), 6.5),
    Trial("conv/lr3e-4", 0.0003, "sgd", (0.4, 0.7, 0.8991), 5.5),
    Trial("dense/256-lr1e-3", 0.001, "adam", (0.3, 0.6, 0.8712), 4.5),
    Trial("dense/512-lr1e-3", 0.001, "sgd", (0.3, 0.6, 0.8834), 3.5),
    Trial("vit/tiny-lr1e-4", 0.0001, "adam", (0.1, 0.2, 0.8412), 2.5),
    Trial("vit/tiny-lr3e-4/train", 0.0003, "sgd", (0.1, 0.3, 0.858), 1.5),
    Trial("vit/tiny-lr3e-4/validation", 0.0003, "sgd", (0.1, 0.25, 0.8), 0.5),
]
TRIAL_NAMES = [trial.name for trial in TRIALS]
LAST_ACCURACIES = {trial.name: trial.last for trial in TRIALS}


def write_study(logdir: Path) -> None:
    for trial in TRIALS:
        append_records(logdir / trial.name, *_records(trial))


def mean_and_stdev(trials: list[Trial]) -> tuple[float, float]:
    values = [trial.last for trial in trials]
    return statistics.mean(values), statistics.stdev(values)


def _records(trial: Trial) -> list[bytes]:
    start = time.time() - trial.hours_ago * HOUR_S
    settings = build_session_start({"lr": trial.lr, "optimizer": trial.optimizer, "seed": 1})
    session_start = b.event(b.summary(b.blob(1, settings.SerializeToString())), step=0, wall=start)
    points = [
        b.event(b.summary(b.value("val/acc", b.simple(value))), step=step, wall=start + 60 * step)
        for step, value in enumerate(trial.accuracies)
    ]
    return [b.record(payload) for payload in (session_start, *points)]
