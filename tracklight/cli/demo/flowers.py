"""Memory of a device while a step runs: what the way back needs is kept until it has come by."""

from __future__ import annotations

import time
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.cli.demo.flowers_model import (
    BATCH,
    CHANNELS,
    SIDE,
    Kernel,
    list_kernels,
    list_weights,
)
from tracklight.cli.demo.writers import EventFile, Line, Plane, StatValue, encode_space
from tracklight.formats import summary
from tracklight.formats.proto import Message

_ALLOCATOR = "GPU_0_bfc"

_LIMIT_BYTES = 21_458_059_264

_FLOAT, _BFLOAT16 = 1, 14

#: What is allocated is a multiple of this.
_GRAIN_BYTES = 256

#: Adam keeps two more numbers for each that is learned.
_COPIES_OF_WEIGHTS = 3


class _Allocation(NamedTuple):
    address: int
    requested: int
    allocated: int
    stats: dict[str, StatValue]


class DeviceMemory:
    def __init__(self, line: Line) -> None:
        self._line = line
        weights = sum(map(prod, list_weights().values()))
        self._used = self._peak = _round_up(_COPIES_OF_WEIGHTS * 4 * weights)
        self._next = 0x7F_0000_0000
        self._allocations: list[_Allocation] = []

    def allocate(self, kernel: Kernel, at_us: float) -> None:
        """Take memory for what a kernel makes; on its way back a step gives some back for it."""
        if "gradient_tape" in kernel.op and self._allocations:
            self._free(self._allocations.pop(), at_us)
        if not kernel.output_shape:
            return
        requested = kernel.item_bytes * prod(kernel.output_shape)
        told: dict[str, StatValue] = {
            "tf_op": f"{kernel.op}:{kernel.type}",
            "region_type": "output",
            "data_type": _BFLOAT16 if kernel.item_bytes == 2 else _FLOAT,
            "shape": f"[{','.join(map(str, kernel.output_shape))}]",
        }
        piece = _Allocation(self._next, requested, _round_up(requested), told)
        self._next += piece.allocated
        self._used += piece.allocated
        self._peak = max(self._peak, self._used)
        self._allocations.append(piece)
        self._record("MemoryAllocation", piece, at_us)

    def free_all(self, at_us: float) -> None:
        """Give back all that belongs to the step."""
        while self._allocations:
            self._free(self._allocations.pop(), at_us)

    def _free(self, piece: _Allocation, at_us: float) -> None:
        self._used -= piece.allocated
        self._record("MemoryDeallocation", piece, at_us)

    def _record(self, name: str, piece: _Allocation, at_us: float) -> None:
        sizes: dict[str, StatValue] = {
            "allocator_name": _ALLOCATOR,
            "bytes_reserved": 0,
            "bytes_allocated": self._used,
            "bytes_available": _LIMIT_BYTES - self._used,
            "fragmentation": 0.0,
            "peak_bytes_in_use": self._peak,
            "requested_bytes": piece.requested,
            "allocation_bytes": piece.allocated,
            "addr": piece.address,
        }
        self._line.add(name, at_us, 0, **sizes, **piece.stats)


def _round_up(size: int) -> int:
    return -(-size // _GRAIN_BYTES) * _GRAIN_BYTES


# What tf.data does for a batch of photographs: reads them as they are asked for, or ahead.

_ASKS = "IteratorGetNextOp::DoCompute"

_ROOT, _BATCHES, _IMAGES, _ORDER, _PATHS, _AHEAD, _SHUFFLES, _KEPT = range(101, 109)

_SHAPES = f"[{BATCH},{SIDE},{SIDE},{CHANNELS}] [{BATCH}]"

_IMAGE_SHAPES = f"[{SIDE},{SIDE},{CHANNELS}] []"

_TYPES = "float int32"

#: What becomes of a file, and microseconds that each takes.
_READS = (
    ("ReadFile:ReadFile", 120.0),
    ("decode_image/DecodeImage:DecodeImage", 940.0),
    ("resize/ResizeBilinear:ResizeBilinear", 310.0),
    ("one_hot:OneHot", 4.0),
)


def record_batch_read(
    line: Line, rng: np.random.Generator, at_us: float, **asked: StatValue
) -> float:
    """Read a batch file by file while the step waits; gives when it is there."""
    start, now = at_us, at_us + 30
    for _ in range(BATCH):
        now = _read_image(line, rng, now)
    took = now - start
    line.add(_ASKS, start, took + 60, **asked)
    line.add("Iterator::Root", start + 8, took + 44, **_make_iterator_stats(_ROOT, "Root", _SHAPES))
    about: dict[str, StatValue] = {"batch_size": BATCH, "drop_remainder": "false", "parallelism": 1}
    told = _make_iterator_stats(_BATCHES, "BatchDatasetV2:3", _SHAPES, _ROOT)
    line.add("Iterator::Root::BatchV2", start + 14, took + 30, **told, **about)
    return now + 60


def _read_image(line: Line, rng: np.random.Generator, at_us: float) -> float:
    name = "Iterator::Root::BatchV2::Map"
    now = at_us + 6
    line.add(
        f"{name}::Shuffle",
        now,
        9,
        **_make_iterator_stats(_ORDER, "ShuffleDatasetV3:1", "[]", _IMAGES),
    )
    path = _make_iterator_stats(_PATHS, "TensorSliceDataset:0", "[]", _ORDER)
    line.add(f"{name}::Shuffle::TensorSlice", now + 2, 3, **path)
    began = now = now + 11
    for op, usual_us in _READS:
        took = usual_us * float(np.exp(rng.normal(0, 0.12)))
        line.add(op, now, took)
        now += took + 3
    line.add("InstantiatedCapturedFunction::Run", began - 1, now - began + 2, id=_IMAGES)
    line.add(
        name,
        at_us,
        now + 4 - at_us,
        **_make_iterator_stats(_IMAGES, "MapDataset:2", _IMAGE_SHAPES, _BATCHES),
    )
    return now + 6


def record_prefetched_batch(
    line: Line, ahead: Line, rng: np.random.Generator, number: int, at_us: float, **asked: StatValue
) -> float:
    """Take a batch that a thread of its own put together while the step before was computed."""
    line.add(_ASKS, at_us, 92, **asked)
    line.add("Iterator::Root", at_us + 8, 78, **_make_iterator_stats(_ROOT, "Root", _SHAPES))
    about: dict[str, StatValue] = {"autotune": "true", "buffer_limit": 4, "buffer_size": 3}
    told = _make_iterator_stats(_AHEAD, "PrefetchDataset:6", _SHAPES, _ROOT)
    line.add("Iterator::Root::Prefetch", at_us + 14, 66, **told, **about)
    line.add("PrefetchConsume", at_us + 22, 3, element_id=number)
    _prepare_batch(ahead, rng, number + 3, at_us + 110)
    return at_us + 92


def _prepare_batch(line: Line, rng: np.random.Generator, number: int, at_us: float) -> None:
    took = 1450 * float(np.exp(rng.normal(0, 0.1)))
    line.add("PrefetchProduce", at_us, took, element_id=number)
    name = "Iterator::Root::Prefetch::BatchV2"
    line.add(
        name,
        at_us + 6,
        took - 12,
        **_make_iterator_stats(_BATCHES, "BatchDatasetV2:5", _SHAPES, _AHEAD),
    )
    each = (took - 40) / BATCH
    for image in range(BATCH):
        start = at_us + 14 + image * each
        shuffled = _make_iterator_stats(_SHUFFLES, "ShuffleDatasetV3:4", _IMAGE_SHAPES, _BATCHES)
        line.add(f"{name}::Shuffle", start, each - 3, **shuffled, buffer_size=1000)
        kept = _make_iterator_stats(_KEPT, "CacheDatasetV2:3", _IMAGE_SHAPES, _SHUFFLES)
        line.add(f"{name}::Shuffle::MemoryCache", start + 4, each - 12, **kept)


def _make_iterator_stats(
    number: int, name: str, shapes: str, parent: int = 0
) -> dict[str, StatValue]:
    told: dict[str, StatValue] = {"name": name, "shapes": shapes, "types": _TYPES, "id": number}
    return told | {"parent_id": parent} if parent else told


# A capture of some steps of the network that tells flowers apart, on a host with one GPU.
#
# Everything is laid out in time as it would run: the host waits for a batch, copies it, launches
# kernels one after the other, and reads the loss, for which it must wait until the device is done.

_HOST = "trainer"

_STEPS = 10

_BATCH_BYTES = 4 * BATCH * SIDE * SIDE * CHANNELS

#: Bytes a microsecond: memory that may be swapped out is copied twice.
_COPIES = {"pageable": 5.4e3, "pinned": 11.2e3}

_LAUNCH_US = 4.2

#: What Python does of a step when its function is over.
_REST_US = 150

_DEVICE: dict[str, StatValue] = {
    "device_vendor": "Nvidia",
    "gpu_device_name": "NVIDIA L4",
    "clock_rate": 2_040_000,
    "core_count": 58,
    "memory_bandwidth": 300_048_000_000,
    "memory_size": 23_580_639_232,
    "compute_cap_major": 8,
    "compute_cap_minor": 9,
}


def encode_capture(
    began_s: float, *, first_step: int, tuned: bool, rng: np.random.Generator
) -> bytes:
    """The bytes of a capture; ``tuned``: with prefetched batches and in mixed precision."""
    program = _Program(tuned, rng)
    now = 300.0
    for number in range(first_step, first_step + _STEPS):
        now = program.run_step(number, now)
    began_ns = round(began_s * 1e9)
    end_ns = began_ns + round(now * 1000)
    times: dict[str, StatValue] = {"profile_start_time": began_ns, "profile_stop_time": end_ns}
    return encode_space([program.device, program.host, Plane("Task Environment", **times)], _HOST)


class _Program:
    """Where the host and the device are in time."""

    def __init__(self, tuned: bool, rng: np.random.Generator) -> None:
        self._tuned, self._rng = tuned, rng
        self._kernels = list_kernels(mixed=tuned)
        self.device = Plane("/device:GPU:0", **_DEVICE)
        self.host = Plane("/host:CPU")
        self._compute = self.device.add_line(20, "Stream #20(Compute)")
        self._copies = self.device.add_line(21, "Stream #21(MemcpyH2D)")
        self._reads = self.device.add_line(22, "Stream #22(MemcpyD2H)")
        self._python = self.host.add_line(1, "python")
        self._executor = self.host.add_line(2, "tf_Compute/2")
        self._input = self.host.add_line(3, "tf_data_iterator_get_next/3")
        self._ahead = self.host.add_line(4, "tf_data_prefetch/4") if tuned else self._input
        self._memory = DeviceMemory(self._executor)
        self._is_free = self._is_copied = 0.0
        self._launched = 0

    def run_step(self, number: int, at_us: float) -> float:
        """Do all that a step is, from ``at_us`` on; gives when the next one begins."""
        self._at = at_us + self._jitter(140)
        begins = self._at
        self._get_batch(number)
        self._copy_batch()
        self._at += self._jitter(40)
        for kernel in self._kernels:
            self._launch(kernel)
            self._memory.allocate(kernel, self._at)
        self._read_loss()
        self._memory.free_all(self._at)
        ends = self._at + self._jitter(60)
        self._record_python(number, at_us, begins, ends)
        return ends + _REST_US + self._jitter(15)

    def _get_batch(self, number: int) -> None:
        asked: dict[str, StatValue] = {"id": 1000 + number, "iter_num": 0}
        executor = self._at
        if self._tuned:
            self._at = record_prefetched_batch(
                self._input, self._ahead, self._rng, number, self._at + 20, **asked
            )
        else:
            self._at = record_batch_read(self._input, self._rng, self._at + 20, **asked)
        start = "ExecutorState::ProcessAsync::Start"
        self._executor.add(start, executor + 10, 6, name="IteratorGetNext")

    def _copy_batch(self) -> None:
        """Bring the batch to the device; that of a tuned program is there, and the next set out."""
        memory = "pinned" if self._tuned else "pageable"
        details = f"kind_src:{memory} kind_dst:device size:{_BATCH_BYTES} dest:0 async:1"
        took = _BATCH_BYTES / _COPIES[memory]
        self._is_copied = self._call(
            self._copies, "MemcpyH2D", "cuMemcpyHtoDAsync", took, self._at + 12,
            memcpy_details=details, tf_op="IteratorGetNext:IteratorGetNext",
        )  # fmt: skip
        if not self._tuned:
            self._is_free = max(self._is_free, self._is_copied)

    def _launch(self, kernel: Kernel) -> None:
        took = kernel.duration_us * float(np.exp(self._rng.normal(0, 0.03)))
        op, began = f"{kernel.op}:{kernel.type}", self._at
        ready = max(self._is_free + 0.8, began + _LAUNCH_US + 5)
        self._is_free = self._call(
            self._compute, kernel.name, "cuLaunchKernel", took, ready, tf_op=op,
            kernel_details=kernel.launch, theoretical_occupancy_pct=kernel.shape.occupancy,
        )  # fmt: skip
        self._executor.add(op, began, self._at - began + 3)
        self._at += 5 + self._jitter(3)

    def _call(
        self, stream: Line, name: str, call: str, took: float, ready: float, **told: StatValue
    ) -> float:
        """Call something on the device at once; gives when it will have been done."""
        self._launched += 1
        number = self._launched
        self._executor.add(call, self._at + 2, _LAUNCH_US, correlation_id=number)
        stream.add(name, ready, took, correlation_id=number, **told)
        self._at += _LAUNCH_US + 3
        return ready + took

    def _read_loss(self) -> None:
        ready = max(self._is_free, self._at) + 3
        details = "kind_src:device kind_dst:pageable size:8 dest:0 async:0"
        done = self._call(
            self._reads, "MemcpyD2H", "cuMemcpyDtoHAsync", 1.9, ready, memcpy_details=details
        )
        self._executor.add("cuStreamSynchronize", self._at, max(done - self._at, 1) + 6)
        self._at = max(done, self._at) + 10

    def _record_python(self, number: int, step: float, begins: float, ends: float) -> None:
        """What stands around all that: the step, and calls that only hand on to others."""
        turn: dict[str, StatValue] = {"id": 1000 + number}
        self._python.add("train", step, ends + _REST_US - step, step_num=number, _r=1)
        function = "__inference_multi_step_on_iterator_2011"
        calls = ("multi_step_on_iterator", "TFE_Py_ExecuteCancelable", "KernelAndDeviceFunc::Run")
        for depth, call in enumerate(calls):
            inner = begins - 30 + 8 * depth
            self._python.add(call, inner, ends - inner - 8 * depth, eager_op=function)
        self._python.add("FunctionRun", begins - 4, 12, **turn, _r=1, _pt=2, _p=number + 1)
        self._executor.add(
            "ExecutorState::Process", begins, ends - begins - 20, **turn, iter_num=0, _ct=2,
            _c=number + 1,
        )  # fmt: skip

    def _jitter(self, usual_us: float) -> float:
        return usual_us * float(np.exp(self._rng.normal(0, 0.1)))


# The tutorial's network that tells flowers apart, twice: as one first writes it, and after one has
# looked at its profile and done what that says: prefetched batches, and products in 16 bits.

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
        _write_run(logdir / version.name, version, now - version.started_ago_s, rng)


def _write_run(run: Path, version: _Version, started: float, rng: np.random.Generator) -> None:
    with EventFile(run, started) as file:
        for batch in range(0, _EPOCHS * _BATCHES_PER_EPOCH, _BATCHES_PER_POINT):
            wall_time = started + 8 + batch * version.step_s
            values = (
                *_make_training_scalars(version, batch, rng),
                *_make_system_scalars(version, batch, rng),
            )
            file.log(wall_time, batch, *values)
    began = started + 8 + _STARTS_AT_BATCH * version.step_s
    session = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(began))
    folder = run / "plugins" / "profile" / session
    folder.mkdir(parents=True)
    capture = encode_capture(began, first_step=_STARTS_AT_BATCH, tuned=version.is_tuned, rng=rng)
    (folder / "trainer.xplane.pb").write_bytes(capture)


def _make_training_scalars(
    version: _Version, batch: int, rng: np.random.Generator
) -> list[Message]:
    epoch = batch / _BATCHES_PER_EPOCH
    loss = 1.35 * np.exp(-epoch / 3.4) + 0.24
    speed = (1 - 0.6 * (batch == 0)) / version.step_s
    return [
        summary.scalar("loss", float(loss * np.exp(rng.normal(0, 0.08)))),
        summary.scalar("accuracy", float(np.clip(1.02 - 0.42 * loss + rng.normal(0, 0.03), 0, 1))),
        summary.scalar("steps_per_second", float(speed * np.exp(rng.normal(0, 0.03)))),
    ]


def _make_system_scalars(version: _Version, batch: int, rng: np.random.Generator) -> list[Message]:
    """What `tracklight.profile` samples of the machine while it runs."""

    def vary(usual: float) -> float:
        return float(np.clip(usual + rng.normal(0, 2), 0, 100))

    return [
        summary.scalar("system/cpu_percent", vary(version.cpu_percent)),
        summary.scalar("system/gpu0_percent", vary(version.gpu_percent if batch else 3)),
        summary.scalar("system/gpu0_memory_gb", version.gpu_memory_gb if batch else 0.4),
    ]
