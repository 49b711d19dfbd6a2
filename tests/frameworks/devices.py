"""Log the same values from host memory and from a GPU, and read them back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracklight
from tracklight import summary
from tracklight.torch import SummaryWriter

Values = dict[str, list[Any]]


def read_all(logdir: Path) -> Values:
    """Return all values of a run by tag; images and audio as bytes."""
    log = tracklight.open(logdir, cache=False)
    kinds: dict[str, Callable[[str, str], Any]] = {
        "scalar": lambda run, tag: log.scalar(run, tag).value.tolist(),
        "image": lambda run, tag: [value.encoded for value in log.images(run, tag)],
        "audio": lambda run, tag: [value.clips for value in log.audio(run, tag)],
        "histogram": lambda run, tag: [value.counts.tolist() for value in log.histograms(run, tag)],
        "tensor": lambda run, tag: [value.tolist() for value in log.tensors(run, tag)],
    }
    (run,) = log.runs
    return {tag: kinds[str(info.kind)](run, tag) for tag, info in log.tags(run).items()}


def log_by_summary(logdir: Path, to_device: Callable[[Any], Any]) -> None:
    numbers = np.random.default_rng(1)
    with summary.create_file_writer(logdir).as_default():
        summary.scalar("loss", to_device(np.float32(0.25)), step=1)
        summary.histogram("weights", to_device(numbers.standard_normal(1000, np.float32)), step=1)
        summary.image("grid", to_device(numbers.random((2, 8, 6, 3), np.float32)), step=1)
        summary.audio(
            "tone", to_device(numbers.random((1, 400, 1), np.float32) - 0.5), 8000, step=1
        )
        summary.tensor("matrix", to_device(np.arange(6, dtype=np.float32).reshape(2, 3)), step=1)


def log_by_writer(logdir: Path, to_device: Callable[[Any], Any]) -> None:
    numbers = np.random.default_rng(2)
    with SummaryWriter(logdir) as writer:
        writer.add_scalar("loss", to_device(np.float32(0.5)), 1)
        writer.add_histogram("weights", to_device(numbers.standard_normal(1000, np.float32)), 1)
        writer.add_image("image", to_device(numbers.random((3, 8, 6), np.float32)), 1)
        writer.add_images("images", to_device(numbers.random((2, 3, 8, 6), np.float32)), 1)
        writer.add_audio("tone", to_device(numbers.random((1, 400), np.float32) - 0.5), 1)


def check_device(log: Callable[..., None], logdir: Path, to_device: Callable[[Any], Any]) -> None:
    """Check that ``log`` writes the same for arrays in memory and on a device."""
    log(logdir / "memory", np.asarray)
    log(logdir / "gpu", to_device)
    expected = read_all(logdir / "memory")
    assert len(expected) == 5
    assert read_all(logdir / "gpu") == expected
