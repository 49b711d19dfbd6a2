"""The tutorial's network that tells flowers apart, twice: as one first writes it, and after one has
looked at its profile and done what that says: prefetched batches, and products in 16 bits.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.demo.eventfile import EventFile
from tracklight.demo.flowers_capture import write_capture
from tracklight.formats import summary
from tracklight.formats.proto import Message

_EPOCHS, _BATCHES_PER_EPOCH = 10, 92
_BATCHES_PER_POINT = 4
#: Of the first steps a profile would tell little: they compile, and fill caches.
_STARTS_AT_BATCH = 460


class _Version(NamedTuple):
    """What is seen of a program from outside."""

    name: str
    is_tuned: bool
    step_s: float
    started_ago_s: float
    cpu_percent: float
    gpu_percent: float
    gpu_memory_gb: float


_VERSIONS = (
    _Version("before", False, 0.0598, 70 * 60, 24, 20, 1.9),
    _Version("after", True, 0.0064, 40 * 60, 31, 91, 1.2),
)


def write_flowers(logdir: Path, *, seed: int, now: float) -> None:
    for number, version in enumerate(_VERSIONS):
        rng = np.random.default_rng([seed, 170 + number])
        _train(logdir / version.name, version, now - version.started_ago_s, rng)


def _train(run: Path, version: _Version, started: float, rng: np.random.Generator) -> None:
    with EventFile(run, started) as file:
        for batch in range(0, _EPOCHS * _BATCHES_PER_EPOCH, _BATCHES_PER_POINT):
            wall_time = started + 8 + batch * version.step_s
            values = (*_measure(version, batch, rng), *_sample(version, batch, rng))
            file.log(wall_time, batch, *values)
    began = started + 8 + _STARTS_AT_BATCH * version.step_s
    session = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(began))
    folder = run / "plugins" / "profile" / session
    folder.mkdir(parents=True)
    capture = write_capture(began, first_step=_STARTS_AT_BATCH, tuned=version.is_tuned, rng=rng)
    (folder / "trainer.xplane.pb").write_bytes(capture)


def _measure(version: _Version, batch: int, rng: np.random.Generator) -> list[Message]:
    epoch = batch / _BATCHES_PER_EPOCH
    loss = 1.35 * np.exp(-epoch / 3.4) + 0.24
    speed = (1 - 0.6 * (batch == 0)) / version.step_s
    return [
        summary.scalar("loss", float(loss * np.exp(rng.normal(0, 0.08)))),
        summary.scalar("accuracy", float(np.clip(1.02 - 0.42 * loss + rng.normal(0, 0.03), 0, 1))),
        summary.scalar("steps_per_second", float(speed * np.exp(rng.normal(0, 0.03)))),
    ]


def _sample(version: _Version, batch: int, rng: np.random.Generator) -> list[Message]:
    """What `tracklight.profile` samples of the machine while it runs."""

    def vary(usual: float) -> float:
        return float(np.clip(usual + rng.normal(0, 2), 0, 100))

    return [
        summary.scalar("system/cpu_percent", vary(version.cpu_percent)),
        summary.scalar("system/gpu0_percent", vary(version.gpu_percent if batch else 3)),
        summary.scalar("system/gpu0_memory_gb", version.gpu_memory_gb if batch else 0.4),
    ]
