"""Tensors on a GPU or with a gradient are logged like arrays in memory."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests.frameworks.devices import check_device, log_by_summary, log_by_writer
from tracklight.torch import SummaryWriter

torch = pytest.importorskip("torch")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def to_torch_gpu(array: Any) -> Any:
    return torch.tensor(array, device="cuda", requires_grad=True)


@needs_gpu
@pytest.mark.parametrize("log", [log_by_summary, log_by_writer])
def test_logs_arrays_on_a_gpu(log: Any, tmp_path: Path) -> None:
    check_device(log, tmp_path, to_torch_gpu)


def test_logs_a_loss_with_gradient_without_a_warning(tmp_path: Path) -> None:
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
