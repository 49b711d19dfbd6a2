"""Kernels: how they were launched, how well they fit the device, and who uses tensor cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.overview import explain_empty
from tracklight.dashboards.profile.placing import get_naming, get_placement
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.kernels.kernels import Kernel, find_kernels
from tracklight.types import Float32, Float64, Int32

_MS = 1e9


class DeviceRow(msgspec.Struct):
    """A device; 0 and the empty text where the capture does not say."""

    name: str
    multiprocessors: int
    memory_bytes: int
    capability: str


class KernelsAnswer(msgspec.Struct):
    """Kernels, those that ran longest first; one row for each way to launch one for an op.

    ``grids`` and ``blocks`` are the numbers with commas between them. ``occupancy`` is in percent,
    NaN where unknown, and as ``occupancy_is`` says: what the launch allows, or what was achieved at
    most. ``fill`` is the share of the multiprocessors that the grid is enough for. ``tensor_cores``
    is 0 for no, 1 for yes, 2 where nobody knows; ``eligible`` is 1 where the op could use them.
    Times are those of the whole capture, in milliseconds.
    """

    devices: list[DeviceRow]
    names: list[str]
    ops: list[str]
    types: list[str]
    grids: list[str]
    blocks: list[str]
    registers: Int32
    shared_bytes: Int32
    occupancy: Float32
    occupancy_is: Literal["theoretical", "achieved"]
    fill: Float32
    tensor_cores: NDArray[np.uint8]
    eligible: NDArray[np.uint8]
    counts: Int32
    total_ms: Float64
    min_ms: Float64
    max_ms: Float64
    longest: Int32
    steps: int


def answer_kernels(store: Store, ask: CaptureAsk) -> KernelsAnswer:
    def make(opened: Opened) -> KernelsAnswer:
        return _tell(opened, len(opened.find_steps(ask.marker).names))

    return store.find(ask, "kernels", KernelsAnswer, make)


def get_kernels(opened: Opened) -> list[Kernel]:
    def find() -> list[Kernel]:
        return find_kernels(opened.trace, get_naming(opened), get_placement(opened))

    return opened.find("kernels", find)


def _tell(opened: Opened, steps: int) -> KernelsAnswer:
    kernels, devices = get_kernels(opened), opened.trace.devices
    launches = [kernel.launch for kernel in kernels]
    cores = devices[0].multiprocessors if devices else 0
    return KernelsAnswer(
        devices=[
            DeviceRow(each.name, each.multiprocessors, each.memory_bytes, _version(each.capability))
            for each in devices
        ],
        names=[kernel.name for kernel in kernels],
        ops=[kernel.op.name for kernel in kernels],
        types=[kernel.op.type for kernel in kernels],
        grids=[",".join(map(str, launch.grid)) for launch in launches],
        blocks=[",".join(map(str, launch.block)) for launch in launches],
        registers=np.array([launch.registers for launch in launches], np.int32),
        shared_bytes=np.array([launch.shared_bytes for launch in launches], np.int32),
        occupancy=np.array([launch.occupancy for launch in launches], np.float32),
        occupancy_is="achieved" if any(opened.trace.categories) else "theoretical",
        fill=np.array([_fill(launch.blocks, cores) for launch in launches], np.float32),
        tensor_cores=np.array([kernel.tensor_cores for kernel in kernels], np.uint8),
        eligible=np.array([kernel.is_eligible for kernel in kernels], np.uint8),
        counts=np.array([kernel.count for kernel in kernels], np.int32),
        total_ms=np.array([kernel.total_ps for kernel in kernels], np.float64) / _MS,
        min_ms=np.array([kernel.min_ps for kernel in kernels], np.float64) / _MS,
        max_ms=np.array([kernel.max_ps for kernel in kernels], np.float64) / _MS,
        longest=np.array([kernel.longest for kernel in kernels], np.int32),
        steps=steps,
    )


def _version(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability)) if any(capability) else ""


def _fill(blocks: int, cores: int) -> float:
    return min(blocks / cores, 1.0) if blocks and cores else float("nan")


def _explain(opened: Opened) -> Why | None:
    trace = opened.trace
    if trace.on_device.any():
        if "kernel_details" in trace.keys or "kernel" in trace.categories:
            return None
        return Why("a device ran, but nothing says how its kernels were launched")
    return explain_empty(opened) or Why(
        "no device took part in this capture",
        "take one on a machine with a GPU; PyTorch needs ProfilerActivity.CUDA, and TensorFlow "
        "and JAX that libcupti can be loaded",
    )


def _routes(store: Store) -> Sequence[Route]:
    def kernels(ask: CaptureAsk) -> KernelsAnswer:
        """The kernels that ran on devices, and how they were launched."""
        return answer_kernels(store, ask)

    return [Route("kernels", CaptureAsk, kernels, "GET", immutable=has_mark)]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    yield f"kernels?capture={ask.capture}", answer_kernels(store, ask)


TOOL = Tool("kernels", "Kernels", _routes, _explain, _copies)
