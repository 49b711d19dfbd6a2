"""A log that looks like real training and holds every kind of data, for a first look at the board.

A sweep of an image classifier (one trial diverges, one crashes and is resumed), a grid search over
three hyperparameters, two denoisers of
sound, two painters of planets, two tellers of stories, an autoencoder of shapes, the model of a
classifier of photographs, a network that tells flowers apart and was profiled before and after it
was made faster, and the embeddings of a data set. Every part has its own module.
"""

from __future__ import annotations

import time
from pathlib import Path

from tracklight.cli.demo.embeddings import write_embeddings
from tracklight.cli.demo.flowers import write_flowers
from tracklight.cli.demo.grid import write_grid
from tracklight.cli.demo.media import write_denoiser, write_painter
from tracklight.cli.demo.resnet import write_resnet
from tracklight.cli.demo.shapes import write_shapes
from tracklight.cli.demo.storyteller import write_storyteller
from tracklight.cli.demo.sweep import write_sweep
from tracklight.errors import UsageError

__all__ = ["write_demo"]


def write_demo(logdir: Path, *, seed: int = 0, now: float | None = None) -> None:
    """Write the demo log into a new or empty folder, as if training had ended just ``now``."""
    if logdir.exists() and any(logdir.iterdir()):
        raise UsageError(f"{logdir} is not empty; name a new folder for the demo log")
    now = time.time() if now is None else now
    write_sweep(logdir / "sweep", seed=seed, now=now)
    write_grid(logdir / "grid", seed=seed, now=now)
    write_denoiser(logdir / "denoiser", seed=seed, now=now)
    write_painter(logdir / "painter", seed=seed, now=now)
    write_storyteller(logdir / "storyteller", seed=seed, now=now)
    write_shapes(logdir / "shapes", seed=seed, now=now)
    write_resnet(logdir / "resnet50", now=now)
    write_flowers(logdir / "flowers", seed=seed, now=now)
    write_embeddings(logdir / "embeddings", seed=seed, now=now)
