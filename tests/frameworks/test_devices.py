"""What a framework holds, on a GPU or with its gradient, is logged as what lies in memory is.

The tests of GPUs run only where there is one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracklight
from tracklight import summary
from tracklight.torch import SummaryWriter

torch = pytest.importorskip("torch")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

Values = dict[str, list[Any]]


def read_all(logdir: Path) -> Values:
    """Every value of the run, as bytes where it is no number."""
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


def log_by_summary(logdir: Path, place: Callable[[Any], Any]) -> None:
    numbers = np.random.default_rng(1)
    with summary.create_file_writer(logdir).as_default():
        summary.scalar("loss", place(np.float32(0.25)), step=1)
        summary.histogram("weights", place(numbers.standard_normal(1000, np.float32)), step=1)
        summary.image("grid", place(numbers.random((2, 8, 6, 3), np.float32)), step=1)
        summary.audio("tone", place(numbers.random((1, 400, 1), np.float32) - 0.5), 8000, step=1)
        summary.tensor("matrix", place(np.arange(6, dtype=np.float32).reshape(2, 3)), step=1)


def log_by_writer(logdir: Path, place: Callable[[Any], Any]) -> None:
    numbers = np.random.default_rng(2)
    with SummaryWriter(logdir) as writer:
        writer.add_scalar("loss", place(np.float32(0.5)), 1)
        writer.add_histogram("weights", place(numbers.standard_normal(1000, np.float32)), 1)
        writer.add_image("picture", place(numbers.random((3, 8, 6), np.float32)), 1)
        writer.add_images("pictures", place(numbers.random((2, 3, 8, 6), np.float32)), 1)
        writer.add_audio("tone", place(numbers.random((1, 400), np.float32) - 0.5), 1)


def to_torch_gpu(array: Any) -> Any:
    return torch.tensor(array, device="cuda", requires_grad=True)


def to_jax_gpu(array: Any) -> Any:
    jax = pytest.importorskip("jax")
    if jax.default_backend() == "cpu":
        pytest.skip("JAX sees no GPU")
    return jax.numpy.asarray(array)


@needs_gpu
@pytest.mark.parametrize("log", [log_by_summary, log_by_writer])
@pytest.mark.parametrize("place", [to_torch_gpu, to_jax_gpu])
def test_logs_what_lies_on_a_gpu(log: Any, place: Any, tmp_path: Path) -> None:
    log(tmp_path / "memory", np.asarray)
    log(tmp_path / "gpu", place)
    expected = read_all(tmp_path / "memory")
    assert len(expected) == 5
    assert read_all(tmp_path / "gpu") == expected


def test_logs_a_loss_that_holds_its_gradient_without_a_warning(tmp_path: Path) -> None:
    loss = torch.tensor(0.5, requires_grad=True) * 2
    with SummaryWriter(tmp_path) as writer, warnings.catch_warnings():
        warnings.simplefilter("error")
        writer.add_scalar("loss", loss, 1)


@needs_gpu
def test_logs_half_precision_from_a_gpu(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step, kind in enumerate([torch.float16, torch.bfloat16]):
            writer.add_scalar("loss", torch.tensor(0.5, dtype=kind, device="cuda"), step)
            writer.add_histogram("weights", torch.ones(100, dtype=kind, device="cuda"), step)
    log = tracklight.open(tmp_path, cache=False)
    assert log.scalar(".", "loss").value.tolist() == [0.5, 0.5]
    assert len(list(log.histograms(".", "weights"))) == 2
