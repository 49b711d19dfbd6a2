"""Statistics of CUDA tensors equal those in main memory, by the kernel and by operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tracklight.debugger import torch_statistics
from tracklight.debugger.recorder import compute_health, make_row
from tracklight.debugger.torch_statistics import DeviceStatistics
from tracklight.formats.tensor_health import STATS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]

SHAPES = [(1,), (7,), (1024,), (3, 1025), (8, 16, 31, 33), (2, 3, 512, 512)]
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


def make_values(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return values with zeros, subnormal, huge and non-finite numbers."""
    values = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    flat = values.view(-1)
    odd = [0.0, -0.0, torch.nan, torch.inf, -torch.inf, 65504.0, -65504.0, 1e-6, -1e-6, 1e-39, 0]
    flat[: len(odd)] = torch.tensor(odd, dtype=torch.float64)[: len(flat)]
    return values.to(dtype)


def compute_expected(tensor: torch.Tensor, axis: int | None) -> Any:
    row = make_row()
    array = (
        tensor.view(torch.int16).numpy().view(np.uint16)
        if (tensor.dtype == torch.bfloat16)
        else tensor.numpy()
    )
    compute_health(array, str(tensor.dtype).removeprefix("torch."), row, axis)
    return row


@pytest.mark.parametrize("uses_kernel", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_statistics_equal_those_in_main_memory(
    dtype: torch.dtype, uses_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not uses_kernel:
        monkeypatch.setattr(torch_statistics, "_start_kernel", lambda tensor: None)
    tensors = [make_values(shape, dtype) for shape in SHAPES]
    statistics = DeviceStatistics()
    for row, tensor in enumerate(tensors):
        statistics.add(row, row, tensor.cuda(), 1 if tensor.ndim > 1 else None)
    # Other memory layouts have the same values.
    statistics.add(6, 6, tensors[4].cuda().to(memory_format=torch.channels_last), 1)
    statistics.add(7, 7, tensors[3].cuda().t(), None)
    rows = statistics.collect()
    assert sorted(rows) == list(range(8))
    for row, index in {**{it: it for it in range(6)}, 6: 4, 7: 3}.items():
        axis = None if row == 7 or tensors[index].ndim < 2 else 1
        expected = compute_expected(tensors[index], axis)
        expected[0] = row
        for name, actual, wanted in zip(STATS, rows[row], expected, strict=True):
            assert actual == pytest.approx(wanted, rel=2e-5, abs=1e-6, nan_ok=True), (row, name)


def test_kernel_is_used() -> None:
    assert torch_statistics._start_kernel(torch.ones(8, device="cuda")) is not None
