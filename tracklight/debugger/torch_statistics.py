"""Statistics of PyTorch tensors on a device, transferred together at the end of a step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch

from tracklight.debugger.health import RANGES, get_sample_stride
from tracklight.formats.debug_events.recording import STATS
from tracklight.types import Float32

_DEAD = STATS.index("dead")


class _DeviceRow(NamedTuple):
    row: int
    order: int
    size: int
    values: torch.Tensor
    """The columns after ``order``, or the partial results of the kernel."""
    dead: torch.Tensor | None
    """The number of dead units, if the kernel computed the rest."""
    is_partial: bool


class DeviceStatistics:
    """The statistics of the tensors of one step that are not in main memory."""

    def __init__(self) -> None:
        self._rows: list[_DeviceRow] = []

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, row: int, order: int, tensor: torch.Tensor, channel_axis: int | None) -> None:
        """Start to compute the statistics of a tensor, without waiting for the device.

        Args:
            row: The row of the tensor in the health matrix.
            order: The column ``order``.
            tensor: The tensor.
            channel_axis: The axis of units that may be dead.
        """
        if tensor.is_sparse:
            tensor = tensor.to_dense()
        partial = _start_kernel(tensor)
        if partial is None:
            values = _compute_with_operations(tensor, channel_axis)
            self._rows.append(_DeviceRow(row, order, tensor.numel(), values, None, False))
        else:
            dead = None if channel_axis is None else _count_dead(tensor, channel_axis)
            self._rows.append(_DeviceRow(row, order, tensor.numel(), partial, dead, True))

    def collect(self) -> dict[int, Float32]:
        """Return the rows of the health matrix; there is one transfer per device."""
        groups: dict[tuple[torch.device, bool], list[_DeviceRow]] = defaultdict(list)
        for each in self._rows:
            groups[each.values.device, each.is_partial].append(each)
        found: dict[int, Float32] = {}
        for (_, is_partial), rows in groups.items():
            table = (_finish_kernel(rows) if is_partial else _stack(rows)).cpu().numpy()
            for each, values in zip(rows, table, strict=True):
                found[each.row] = np.concatenate([[np.float32(each.order)], values])
        return found


def take_device_sample(tensor: torch.Tensor) -> torch.Tensor:
    """Return values of a tensor for its histogram."""
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    flat = tensor.reshape(-1)
    return flat[:: get_sample_stride(flat.numel())].to(torch.float32)


def transfer_samples(samples: Mapping[int, Float32 | torch.Tensor]) -> dict[int, Float32]:
    """Return samples in main memory; those on a device are transferred together."""
    found = {row: it for row, it in samples.items() if isinstance(it, np.ndarray)}
    groups: dict[torch.device, dict[int, torch.Tensor]] = defaultdict(dict)
    for row, it in samples.items():
        if isinstance(it, torch.Tensor):
            groups[it.device][row] = it
    for group in groups.values():
        with torch.no_grad(), torch._C.DisableTorchFunction():
            merged = torch.cat(list(group.values())).cpu().numpy()
        ends = np.cumsum([len(it) for it in group.values()])
        found.update(zip(group, np.split(merged, ends[:-1]), strict=True))
    return found


class _Kernel:
    """The Triton kernel, if there is one."""

    def __init__(self) -> None:
        self._is_loaded = False
        self.module: ModuleType | None = None

    def find(self) -> ModuleType | None:
        if not self._is_loaded:
            self._is_loaded = True
            try:
                from tracklight.debugger import torch_kernel

                self.module = torch_kernel
            except Exception:  # Triton is missing, or does not load on this machine
                self.module = None
        return self.module


_kernel = _Kernel()


def _start_kernel(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the partial results of the kernel; None where it cannot be used."""
    if not tensor.is_cuda or (module := _kernel.find()) is None or not module.can_compute(tensor):
        return None
    try:
        partial: torch.Tensor = module.start(tensor)
    except Exception:
        # Triton needs a C compiler and may not support the device; that must not stop a training.
        _kernel.module = None
        return None
    return partial


def _finish_kernel(rows: list[_DeviceRow]) -> torch.Tensor:
    from tracklight.debugger import torch_kernel

    table: torch.Tensor = torch_kernel.finish([it.values for it in rows], [it.size for it in rows])
    has_dead = [at for at, it in enumerate(rows) if it.dead is not None]
    if has_dead:
        dead = torch.stack([it.dead for it in rows if it.dead is not None])
        table[has_dead, _DEAD - 1] = dead.to(table.dtype)
    return table


def _stack(rows: list[_DeviceRow]) -> torch.Tensor:
    return torch.stack([it.values for it in rows])


def _count_dead(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """Return how many slices along an axis are zero everywhere."""
    others = [it for it in range(tensor.ndim) if it != axis]
    return (torch.linalg.vector_norm(tensor, torch.inf, others) == 0).sum()


def _compute_with_operations(tensor: torch.Tensor, axis: int | None) -> torch.Tensor:
    """Return the columns after ``order`` as a tensor on the same device."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    values = tensor if tensor.dtype == torch.float64 else tensor.float()
    is_finite = torch.isfinite(values)
    finite = torch.where(is_finite, values, torch.zeros_like(values))
    count = is_finite.sum().clamp(min=1)
    total, squares = finite.sum(), (finite * finite).sum()
    mean = total / count
    zero = torch.zeros((), device=values.device)
    overflow = underflow = dead = zero
    if dtype in RANGES:
        limit, tiny = RANGES[dtype]
        magnitude = values.abs()
        overflow = (magnitude >= limit).sum()
        underflow = ((magnitude > 0) & (magnitude < tiny)).sum()
    if axis is not None:
        dead = _count_dead(values, axis)
    columns = (
        torch.isnan(values).sum(),
        (values == -torch.inf).sum(),
        (values == torch.inf).sum(),
        (values == 0).sum(),
        (finite < 0).sum(),
        torch.where(is_finite, values, torch.full_like(values, torch.inf)).amin(),
        torch.where(is_finite, values, torch.full_like(values, -torch.inf)).amax(),
        mean,
        (squares / count - mean * mean).clamp(min=0).sqrt(),
        squares.sqrt(),
        overflow,
        underflow,
        dead,
    )
    return torch.stack(
        [torch.as_tensor(it, dtype=torch.float32, device=values.device) for it in columns]
    )
