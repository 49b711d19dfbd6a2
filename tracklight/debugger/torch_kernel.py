"""Compute the health of CUDA tensors with one Triton kernel that reads every value once.

The operations of PyTorch would read a tensor about twenty times, which takes several times as long
as a training step. Triton comes with PyTorch on Linux; elsewhere `torch_watch` uses the operations.

Each program of the kernel reduces a part of a tensor to one row of partial results. They stay on
the device until the end of the step, when the rows of all tensors are combined at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from tracklight.debugger.recorder import RANGES

#: Columns of a row of partial results that are added; the minimum and the maximum follow.
_SUMS = 9
_COLUMNS = _SUMS + 2
#: Programs per tensor, values that each of them reads at once, and its threads in units of 32: the
#: fastest of 60 combinations on an H200.
_PROGRAMS = 1056
_BLOCK = 256
_WARPS = 8
_DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def can_compute(tensor: torch.Tensor) -> bool:
    """Return whether the kernel supports a tensor."""
    return tensor.is_cuda and tensor.dtype in _DTYPES and tensor.numel() > 0


def start(tensor: torch.Tensor) -> torch.Tensor:
    """Compute the partial results of a tensor, without waiting for the device."""
    if tensor.is_contiguous(memory_format=torch.channels_last) and tensor.ndim == 4:
        tensor = tensor.permute(0, 2, 3, 1)
    tensor = tensor.contiguous()
    # Comparisons with NaN are false: float32 has no such columns.
    limit, tiny = RANGES.get(_DTYPES[tensor.dtype], (torch.nan, 0.0))
    size = tensor.numel()
    partial = torch.empty((_PROGRAMS, _COLUMNS), dtype=torch.float64, device=tensor.device)
    with torch.cuda.device(tensor.device):
        _reduce[(_PROGRAMS,)](
            tensor, partial, size, limit, tiny, _PROGRAMS, _BLOCK, _COLUMNS, num_warps=_WARPS
        )
    return partial


def finish(partials: Sequence[torch.Tensor], sizes: Sequence[int]) -> torch.Tensor:
    """Return the columns of `recording.STATS` after ``order`` of each tensor; dead units are 0."""
    stacked = torch.stack(list(partials))
    sums = stacked[:, :, :_SUMS].sum(1)
    nan, negative_inf, positive_inf, zeros, negative, total, squares, overflow, underflow = (
        sums.unbind(1)
    )
    size = torch.tensor(sizes, dtype=torch.float64, device=stacked.device)
    count = (size - nan - negative_inf - positive_inf).clamp(min=1)
    mean = total / count
    columns = (
        nan,
        negative_inf,
        positive_inf,
        zeros,
        negative,
        stacked[:, :, _SUMS].amin(1),
        stacked[:, :, _SUMS + 1].amax(1),
        mean,
        (squares / count - mean * mean).clamp(min=0).sqrt(),
        squares.sqrt(),
        overflow,
        underflow,
        torch.zeros_like(nan),
    )
    return torch.stack(columns, 1).float()


@triton.jit  # type: ignore[untyped-decorator]
def _reduce(  # type: ignore[no-untyped-def]  # Triton resolves annotations
    values_pointer,
    partial_pointer,
    size,
    limit,
    tiny,
    PROGRAMS: tl.constexpr,
    BLOCK: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    nan = tl.zeros([BLOCK], tl.int32)
    negative_inf = tl.zeros([BLOCK], tl.int32)
    positive_inf = tl.zeros([BLOCK], tl.int32)
    zeros = tl.zeros([BLOCK], tl.int32)
    negative = tl.zeros([BLOCK], tl.int32)
    overflow = tl.zeros([BLOCK], tl.int32)
    underflow = tl.zeros([BLOCK], tl.int32)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    lowest = tl.full([BLOCK], float("inf"), tl.float32)
    highest = tl.full([BLOCK], float("-inf"), tl.float32)
    for first in range(program * BLOCK, size, PROGRAMS * BLOCK):
        offsets = first + lanes
        is_inside = offsets < size
        values = tl.load(values_pointer + offsets, mask=is_inside, other=0.0).to(tl.float32)
        is_nan = values != values
        is_positive_inf = values == float("inf")
        is_negative_inf = values == float("-inf")
        is_finite = is_inside & ~(is_nan | is_positive_inf | is_negative_inf)
        magnitude = tl.abs(values)
        nan += is_nan.to(tl.int32)
        positive_inf += is_positive_inf.to(tl.int32)
        negative_inf += is_negative_inf.to(tl.int32)
        zeros += (is_inside & (values == 0.0)).to(tl.int32)
        negative += (is_finite & (values < 0.0)).to(tl.int32)
        overflow += (magnitude >= limit).to(tl.int32)
        underflow += ((magnitude > 0.0) & (magnitude < tiny)).to(tl.int32)
        finite = tl.where(is_finite, values, 0.0)
        total += finite
        squares += finite * finite
        lowest = tl.minimum(lowest, tl.where(is_finite, values, float("inf")))
        highest = tl.maximum(highest, tl.where(is_finite, values, float("-inf")))
    row = partial_pointer + program * COLUMNS
    tl.store(row, tl.sum(nan).to(tl.float64))
    tl.store(row + 1, tl.sum(negative_inf).to(tl.float64))
    tl.store(row + 2, tl.sum(positive_inf).to(tl.float64))
    tl.store(row + 3, tl.sum(zeros).to(tl.float64))
    tl.store(row + 4, tl.sum(negative).to(tl.float64))
    tl.store(row + 5, tl.sum(total.to(tl.float64)))
    tl.store(row + 6, tl.sum(squares.to(tl.float64)))
    tl.store(row + 7, tl.sum(overflow).to(tl.float64))
    tl.store(row + 8, tl.sum(underflow).to(tl.float64))
    tl.store(row + 9, tl.min(lowest).to(tl.float64))
    tl.store(row + 10, tl.max(highest).to(tl.float64))
