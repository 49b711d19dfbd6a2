"""Statistics of PyTorch tensors, in main memory and on a device."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tracklight.debugger.recorder import (
    KERNEL_KINDS,
    RANGES,
    compute_health,
    compute_in_memory,
    get_sample_size,
    get_sample_stride,
    has_kernel,
    make_row,
)
from tracklight.formats.tensor_health import STATS
from tracklight.types import Float32

_DEAD = STATS.index("dead")
#: The dtypes that the kernel reads; none without the kernel.
_KERNEL_KINDS: dict[torch.dtype, int] = (
    {getattr(torch, name): kind for name, kind in KERNEL_KINDS.items()} if has_kernel() else {}
)


class _DeviceRow(NamedTuple):
    row: int
    order: int
    size: int
    values: torch.Tensor
    """The columns after ``order``, or the partial results of the kernel."""
    dead: torch.Tensor | None
    """The number of dead units, if the kernel computed the rest."""
    is_partial: bool


class _ComputedTensor(NamedTuple):
    """The statistics of a tensor in main memory.

    The same tensor is often seen again: an addition passes its gradient on to both inputs.
    """

    tensor: weakref.ref[torch.Tensor]
    version: int
    channel_axis: int | None
    order: int
    values: Float32
    sample: Float32

    def is_same(self, tensor: torch.Tensor, channel_axis: int | None) -> bool:
        """Whether a tensor would have the same statistics."""
        version: int = tensor._version
        return (
            self.tensor() is tensor
            and self.version == version
            # Otherwise the row is that of another tensor now.
            and self.values[0] == self.order
            and channel_axis in (None, self.channel_axis)
        )


class MemoryStatistics:
    """The statistics of the tensors of one step that are in main memory.

    Their memory is used again in the next step. PyTorch allocates the same amounts of memory in
    every step; arrays of our own between them would split that memory, and it would have to get new
    pages from the system: that took 3 % of a training step on the CPU.
    """

    def __init__(self) -> None:
        self._row_buffers: dict[int, Float32] = {}
        self._sample_buffers: dict[int, Float32] = {}
        self.reset()

    def reset(self) -> None:
        """Begin a step."""
        self.rows: dict[int, Float32] = {}
        self.samples: dict[int, Float32] = {}
        self._computed: dict[int, _ComputedTensor] = {}

    def compute(self, row: int, order: int, tensor: torch.Tensor, channel_axis: int | None) -> None:
        """Compute a row, and a sample for the histogram; see `DeviceStatistics.add`."""
        values = self.rows[row] = self._get_row_buffer(row)
        sample = self.samples[row] = self._get_sample_buffer(row, tensor.numel())
        known = self._computed.get(id(tensor))
        if known is not None and known.is_same(tensor, channel_axis):
            values[:], sample[:] = known.values, known.sample
            values[0] = order
            if channel_axis is None:
                values[_DEAD] = 0
            return
        values[0] = order
        kind, threads = _KERNEL_KINDS.get(tensor.dtype), torch.get_num_threads()
        if kind is not None and tensor.is_contiguous():
            address, shape = tensor.data_ptr(), tensor.shape
            compute_in_memory(address, shape, kind, values, channel_axis, sample, threads=threads)
        else:
            array, axis = _to_array(tensor.detach(), channel_axis)
            compute_health(array, get_dtype(tensor), values, axis, sample=sample, threads=threads)
        if not tensor.is_inference():  # such tensors have no version
            self._computed[id(tensor)] = _ComputedTensor(
                weakref.ref(tensor), tensor._version, channel_axis, order, values, sample
            )

    def _get_row_buffer(self, row: int) -> Float32:
        values = self._row_buffers.get(row)
        if values is None:
            values = self._row_buffers[row] = make_row()
        return values

    def _get_sample_buffer(self, row: int, size: int) -> Float32:
        sample, count = self._sample_buffers.get(row), get_sample_size(size)
        if sample is None or len(sample) != count:
            sample = self._sample_buffers[row] = np.empty(count, np.float32)
        return sample


class DeviceStatistics:
    """The statistics of the tensors of one step that are not in main memory.

    They are transferred together at the end of the step.
    """

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
        for row in self._rows:
            groups[row.values.device, row.is_partial].append(row)
        found: dict[int, Float32] = {}
        for (_, is_partial), rows in groups.items():
            table = (_finish_kernel(rows) if is_partial else _stack(rows)).cpu().numpy()
            for row, values in zip(rows, table, strict=True):
                found[row.row] = np.concatenate([[np.float32(row.order)], values])
        return found


def take_device_sample(tensor: torch.Tensor) -> torch.Tensor:
    """Return values of a tensor for its histogram."""
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    flat = tensor.reshape(-1)
    return flat[:: get_sample_stride(flat.numel())].to(torch.float32)


def transfer_samples(samples: Mapping[int, torch.Tensor]) -> dict[int, Float32]:
    """Return samples in main memory, with one transfer per device."""
    found: dict[int, Float32] = {}
    groups: dict[torch.device, dict[int, torch.Tensor]] = defaultdict(dict)
    for row, item in samples.items():
        groups[item.device][row] = item
    for group in groups.values():
        with torch.no_grad(), torch._C.DisableTorchFunction():
            merged = torch.cat(list(group.values())).cpu().numpy()
        ends = np.cumsum([len(item) for item in group.values()])
        found.update(zip(group, np.split(merged, ends[:-1]), strict=True))
    return found


def get_dtype(tensor: torch.Tensor) -> str:
    """Return the name of a dtype, the same as in other frameworks."""
    return str(tensor.dtype).removeprefix("torch.")


def _to_array(tensor: torch.Tensor, axis: int | None) -> tuple[NDArray[Any], int | None]:
    """Return the memory of a tensor as an array, and the axis of its channels in memory."""
    if tensor.ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        tensor = tensor.permute(0, 2, 3, 1)
        axis = None if axis is None else 3
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16), axis
    if tensor.dtype not in (torch.float32, torch.float64, torch.float16):
        tensor = tensor.float()
    return tensor.numpy(), axis


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

    table: torch.Tensor = torch_kernel.finish(
        [row.values for row in rows], [row.size for row in rows]
    )
    has_dead = [at for at, row in enumerate(rows) if row.dead is not None]
    if has_dead:
        dead = torch.stack([row.dead for row in rows if row.dead is not None])
        table[has_dead, _DEAD - 1] = dead.to(table.dtype)
    return table


def _stack(rows: list[_DeviceRow]) -> torch.Tensor:
    return torch.stack([row.values for row in rows])


def _count_dead(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """Return how many slices along an axis are zero everywhere."""
    others = [item for item in range(tensor.ndim) if item != axis]
    return (torch.linalg.vector_norm(tensor, torch.inf, others) == 0).sum()


def _compute_with_operations(tensor: torch.Tensor, axis: int | None) -> torch.Tensor:
    """Return the columns after ``order`` as a tensor on the same device."""
    dtype = get_dtype(tensor)
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
        [torch.as_tensor(column, dtype=torch.float32, device=values.device) for column in columns]
    )
