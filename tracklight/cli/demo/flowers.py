"""A network that classifies flowers, profiled before and after optimization.

The second run does what the profile of the first suggests: it prefetches batches and uses mixed
precision. Each run has scalars and a simulated capture of ten steps on a host with one GPU. The
host waits for a batch, copies it, launches kernels one after the other and reads the loss, for
which it waits until the device is done.

The duration of a kernel follows from its FLOPs and memory traffic, on a device about as fast as an
NVIDIA L4. With bfloat16, products are three times as fast, and half as many bytes are moved.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import ceil, prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.cli.demo.writers import EventFile, Line, Plane, StatValue, encode_space
from tracklight.formats import summary
from tracklight.formats.proto import Message

# ---- kernels

BATCH, SIDE, CHANNELS = 32, 180, 3
#: Filters of the three convolutions, then units of the two dense layers.
_FILTERS, _UNITS, _CLASSES = (16, 32, 64), 128, 5
_MODEL = "StatefulPartitionedCall/flowers_1"
_FLOPS_PER_US = {2: 15e6, 4: 5e6}
_BYTES_PER_US = 0.22e6
_MIN_DURATION_US = 2.2

#: C++ types by item size in bytes.
_ITEM_TYPES = {2: "Eigen::bfloat16", 4: "float"}
_XMMA = (
    "sm80_xmma_{{pass_name}}_implicit_gemm_{}_nhwckrsc_nhwc_tilesize128x{}_tensor{}_kernel_cudnn"
)
#: Kernel names by item size; 0 is for layers with too few channels for tensor cores.
_CONVOLUTION_KERNELS = {
    0: "void cudnn::cnn::{pass_name}::implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1>",
    2: _XMMA.format("bf16bf16_bf16f32_f32", "128x32", "16x8x16"),
    4: _XMMA.format("tf32f32_tf32f32_f32", "64x16", "16x8x8"),
}
_GEMM_KERNELS = {
    2: "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_{order}",
    4: "ampere_sgemm_128x64_{order}",
}


class _LaunchShape(NamedTuple):
    """Launch configuration of a kernel."""

    grid: int
    block: int
    registers: int
    shared_bytes: int = 0
    occupancy: float = 100.0


class Kernel(NamedTuple):
    """A kernel and the operation that launches it.

    Attributes:
        output_shape: Shape of the output, if it is allocated.
        item_bytes: Size of a number in bytes.
    """

    name: str
    op: str
    type: str
    flops: float
    bytes: float
    shape: _LaunchShape
    output_shape: tuple[int, ...] = ()
    item_bytes: int = 4

    @property
    def duration_us(self) -> float:
        compute_us = self.flops / _FLOPS_PER_US[self.item_bytes]
        return _MIN_DURATION_US + max(compute_us, self.bytes / _BYTES_PER_US)

    @property
    def launch(self) -> str:
        """The launch configuration in the format of the device tracer."""
        grid, block, registers, shared_bytes, occupancy = self.shape
        return (
            f"regs:{registers} static_shared:0 dynamic_shared:{shared_bytes} "
            f"grid:{grid},1,1 block:{block},1,1 occ_pct:{occupancy:g}"
        )


class _Layer(NamedTuple):
    name: str
    kind: str  #: ``conv``, ``pool`` or ``dense``
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    weights: tuple[int, ...] = ()

    @property
    def flops(self) -> float:
        return 2.0 * prod(self.output_shape) * prod(self.weights[:-1])


def list_kernels(mixed: bool) -> list[Kernel]:
    """Return the kernels of one training step; ``mixed``: bfloat16 products, float32 weights."""
    item_bytes, layers = 2 if mixed else 4, list(_iter_layers())
    kernels = [
        _make_elementwise("rescaling_1/mul", "Mul", (BATCH, SIDE, SIDE, CHANNELS), item_bytes),
        *(kernel for layer in layers for kernel in _iter_forward(layer, item_bytes)),
        *_iter_loss(item_bytes),
        *(kernel for layer in reversed(layers) for kernel in _iter_backward(layer, item_bytes)),
        *(kernel for layer in layers if layer.weights for kernel in _iter_update(layer, mixed)),
    ]
    return kernels


def list_weights() -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by layer."""
    return {layer.name: layer.weights for layer in _iter_layers() if layer.weights}


def _iter_layers() -> Iterator[_Layer]:
    side, depth = SIDE, CHANNELS
    for number, filters in enumerate(_FILTERS, 1):
        input_shape, output_shape = (BATCH, side, side, depth), (BATCH, side, side, filters)
        yield _Layer(f"conv2d_{number}", "conv", input_shape, output_shape, (3, 3, depth, filters))
        side, depth = side // 2, filters
        yield _Layer(f"max_pooling2d_{number}", "pool", output_shape, (BATCH, side, side, depth))
    flat = side * side * depth
    for number, weights in enumerate(((flat, _UNITS), (_UNITS, _CLASSES)), 1):
        inputs, units = weights
        yield _Layer(f"dense_{number}", "dense", (BATCH, inputs), (BATCH, units), weights)


def _iter_forward(layer: _Layer, item_bytes: int) -> Iterator[Kernel]:
    if layer.kind == "pool":
        yield _make_elementwise(
            f"{layer.name}/MaxPool2d",
            "MaxPool",
            layer.input_shape,
            item_bytes,
            output_shape=layer.output_shape,
        )
        return
    if item_bytes == 2:  # weights are stored in 32 bits
        yield _make_cast(layer.name, layer.weights)
    kind = "Conv2D" if layer.kind == "conv" else "MatMul"
    op = f"{layer.name}/{'convolution' if layer.kind == 'conv' else 'MatMul'}"
    yield _make_product(op, kind, layer, item_bytes, "fprop", output_shape=layer.output_shape)
    yield _make_elementwise(f"{layer.name}/BiasAdd", "BiasAdd", layer.output_shape, item_bytes)
    if layer.name != "dense_2":
        yield _make_elementwise(
            f"{layer.name}/Relu",
            "Relu",
            layer.output_shape,
            item_bytes,
            output_shape=layer.output_shape,
        )


def _iter_loss(item_bytes: int) -> Iterator[Kernel]:
    scope, shape = "compile_loss/sparse_categorical_crossentropy", (BATCH, _CLASSES)
    if item_bytes == 2:
        yield _make_cast(scope, shape)
    logits = "SparseSoftmaxCrossEntropyWithLogits"
    yield _make_elementwise(f"{scope}/{logits}", logits, shape, 4, output_shape=shape)
    yield _make_elementwise(f"{scope}/Mean", "Mean", (BATCH,), 4)
    yield _make_elementwise("accuracy/ArgMax", "ArgMax", shape, 4)


def _iter_backward(layer: _Layer, item_bytes: int) -> Iterator[Kernel]:
    scope = f"gradient_tape/{layer.name}"
    if layer.kind == "pool":
        yield _make_elementwise(
            f"{scope}/MaxPoolGrad",
            "MaxPoolGrad",
            layer.input_shape,
            item_bytes,
            2,
            output_shape=layer.input_shape,
        )
        return
    if layer.name != "dense_2":
        yield _make_elementwise(f"{scope}/ReluGrad", "ReluGrad", layer.output_shape, item_bytes, 2)
    yield _make_elementwise(f"{scope}/BiasAddGrad", "BiasAddGrad", layer.output_shape, item_bytes)
    is_conv = layer.kind == "conv"
    back, weigh = (
        ("Conv2DBackpropInput", "Conv2DBackpropFilter") if is_conv else ("MatMul", "MatMul")
    )
    yield _make_product(
        f"{scope}/{weigh}_1", weigh, layer, item_bytes, "wgrad", output_shape=layer.weights
    )
    if layer.name != "conv2d_1":  # the input needs no gradient
        yield _make_product(
            f"{scope}/{back}", back, layer, item_bytes, "dgrad", output_shape=layer.input_shape
        )


def _iter_update(layer: _Layer, mixed: bool) -> Iterator[Kernel]:
    if mixed:
        yield _make_cast(f"adam/{layer.name}", layer.weights)
    yield _make_elementwise(
        f"adam/{layer.name}/ResourceApplyAdam", "ResourceApplyAdam", layer.weights, 4, 3
    )


def _make_product(
    op: str,
    kind: str,
    layer: _Layer,
    item_bytes: int,
    pass_name: str,
    output_shape: tuple[int, ...],
) -> Kernel:
    form = _CONVOLUTION_KERNELS if layer.kind == "conv" else _GEMM_KERNELS
    # Tensor cores need at least eight channels.
    name = form[
        2
        if item_bytes == 2 and layer.input_shape[-1] >= 8
        else 4
        if layer.input_shape[-1] >= 8
        else 0
    ]
    order = "tn" if pass_name == "fprop" else "nt"
    moved_bytes = item_bytes * (
        prod(layer.input_shape) + prod(layer.output_shape) + prod(layer.weights)
    )
    shape = _LaunchShape(
        grid=max(1, ceil(prod(layer.output_shape) / 4096)), block=128, registers=234
    )
    return Kernel(
        name.format(pass_name=pass_name, order=order), f"{_MODEL}/{op}", kind, layer.flops,
        moved_bytes, shape._replace(shared_bytes=65_536, occupancy=16.67), output_shape, item_bytes,
    )  # fmt: skip


def _make_elementwise(
    op: str, kind: str, shape: tuple[int, ...], item_bytes: int, read: int = 1,
    output_shape: tuple[int, ...] = (),
) -> Kernel:  # fmt: skip
    """Return an elementwise kernel."""
    item_type = _ITEM_TYPES[item_bytes]
    arguments = f"int, {item_type} const*, {item_type}*"
    name = f"void tensorflow::functor::{kind}Kernel<{item_type}>({arguments})"
    return _make_kernel(name, op, kind, shape, (read + 1) * item_bytes, output_shape, item_bytes)


def _make_cast(op: str, shape: tuple[int, ...]) -> Kernel:
    name = "void tensorflow::functor::CastKernel<float, Eigen::bfloat16>(int, float const*)"
    return _make_kernel(name, f"{op}/Cast", "Cast", shape, 6, (), 2)


def _make_kernel(
    name: str, op: str, kind: str, shape: tuple[int, ...], bytes_each: int,
    output_shape: tuple[int, ...], item_bytes: int,
) -> Kernel:  # fmt: skip
    count = prod(shape)
    launch = _LaunchShape(grid=max(1, ceil(count / (256 * 4))), block=256, registers=24)
    return Kernel(
        name, f"{_MODEL}/{op}", kind, count, bytes_each * count, launch, output_shape, item_bytes
    )


# ---- device memory

_ALLOCATOR = "GPU_0_bfc"
_DEVICE_BYTES = 21_458_059_264
_FLOAT, _BFLOAT16 = 1, 14
#: Allocations are multiples of this size.
_ALIGNMENT_BYTES = 256
#: Adam stores two moments per weight.
_COPIES_OF_WEIGHTS = 3


class _Allocation(NamedTuple):
    address: int
    requested: int
    allocated: int
    stats: dict[str, StatValue]


class DeviceMemory:
    """Allocations of one step: activations are cached until the backward pass has used them."""

    def __init__(self, line: Line) -> None:
        self._line = line
        weights = sum(map(prod, list_weights().values()))
        self._used = self._peak = _round_up(_COPIES_OF_WEIGHTS * 4 * weights)
        self._next = 0x7F_0000_0000
        self._allocations: list[_Allocation] = []

    def allocate(self, kernel: Kernel, at_us: float) -> None:
        """Allocate the output of a kernel; backward kernels free an activation first."""
        if "gradient_tape" in kernel.op and self._allocations:
            self._free(self._allocations.pop(), at_us)
        if not kernel.output_shape:
            return
        requested = kernel.item_bytes * prod(kernel.output_shape)
        stats: dict[str, StatValue] = {
            "tf_op": f"{kernel.op}:{kernel.type}",
            "region_type": "output",
            "data_type": _BFLOAT16 if kernel.item_bytes == 2 else _FLOAT,
            "shape": f"[{','.join(map(str, kernel.output_shape))}]",
        }
        allocation = _Allocation(self._next, requested, _round_up(requested), stats)
        self._next += allocation.allocated
        self._used += allocation.allocated
        self._peak = max(self._peak, self._used)
        self._allocations.append(allocation)
        self._record("MemoryAllocation", allocation, at_us)

    def free_all(self, at_us: float) -> None:
        """Free everything that belongs to the step."""
        while self._allocations:
            self._free(self._allocations.pop(), at_us)

    def _free(self, allocation: _Allocation, at_us: float) -> None:
        self._used -= allocation.allocated
        self._record("MemoryDeallocation", allocation, at_us)

    def _record(self, name: str, allocation: _Allocation, at_us: float) -> None:
        sizes: dict[str, StatValue] = {
            "allocator_name": _ALLOCATOR,
            "bytes_reserved": 0,
            "bytes_allocated": self._used,
            "bytes_available": _DEVICE_BYTES - self._used,
            "fragmentation": 0.0,
            "peak_bytes_in_use": self._peak,
            "requested_bytes": allocation.requested,
            "allocation_bytes": allocation.allocated,
            "addr": allocation.address,
        }
        self._line.add(name, at_us, 0, **sizes, **allocation.stats)


def _round_up(size: int) -> int:
    return -(-size // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


# ---- input pipeline (tf.data): batches are read on demand or prefetched

_GET_NEXT = "IteratorGetNextOp::DoCompute"
_ROOT, _BATCHES, _IMAGES, _ORDER, _PATHS, _PREFETCH, _SHUFFLES, _CACHE = range(101, 109)
_SHAPES = f"[{BATCH},{SIDE},{SIDE},{CHANNELS}] [{BATCH}]"
_IMAGE_SHAPES = f"[{SIDE},{SIDE},{CHANNELS}] []"
_TYPES = "float int32"

#: Operations per image, and their typical duration in microseconds.
_IMAGE_OPS = (
    ("ReadFile:ReadFile", 120.0),
    ("decode_image/DecodeImage:DecodeImage", 940.0),
    ("resize/ResizeBilinear:ResizeBilinear", 310.0),
    ("one_hot:OneHot", 4.0),
)


def record_batch_read(
    line: Line, rng: np.random.Generator, at_us: float, **request_stats: StatValue
) -> float:
    """Record reading a batch file by file while the step waits; return when it is complete."""
    start, now = at_us, at_us + 30
    for _ in range(BATCH):
        now = _read_image(line, rng, now)
    duration_us = now - start
    line.add(_GET_NEXT, start, duration_us + 60, **request_stats)
    line.add(
        "Iterator::Root",
        start + 8,
        duration_us + 44,
        **_make_iterator_stats(_ROOT, "Root", _SHAPES),
    )
    extra: dict[str, StatValue] = {"batch_size": BATCH, "drop_remainder": "false", "parallelism": 1}
    stats = _make_iterator_stats(_BATCHES, "BatchDatasetV2:3", _SHAPES, _ROOT)
    line.add("Iterator::Root::BatchV2", start + 14, duration_us + 30, **stats, **extra)
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
    start = now = now + 11
    for op, typical_us in _IMAGE_OPS:
        duration_us = typical_us * float(np.exp(rng.normal(0, 0.12)))
        line.add(op, now, duration_us)
        now += duration_us + 3
    line.add("InstantiatedCapturedFunction::Run", start - 1, now - start + 2, id=_IMAGES)
    line.add(
        name,
        at_us,
        now + 4 - at_us,
        **_make_iterator_stats(_IMAGES, "MapDataset:2", _IMAGE_SHAPES, _BATCHES),
    )
    return now + 6


def record_prefetched_batch(
    line: Line,
    prefetch: Line,
    rng: np.random.Generator,
    number: int,
    at_us: float,
    **request_stats: StatValue,
) -> float:
    """Record taking a batch that a background thread prepared during the previous step."""
    line.add(_GET_NEXT, at_us, 92, **request_stats)
    line.add("Iterator::Root", at_us + 8, 78, **_make_iterator_stats(_ROOT, "Root", _SHAPES))
    extra: dict[str, StatValue] = {"autotune": "true", "buffer_limit": 4, "buffer_size": 3}
    stats = _make_iterator_stats(_PREFETCH, "PrefetchDataset:6", _SHAPES, _ROOT)
    line.add("Iterator::Root::Prefetch", at_us + 14, 66, **stats, **extra)
    line.add("PrefetchConsume", at_us + 22, 3, element_id=number)
    _prepare_batch(prefetch, rng, number + 3, at_us + 110)
    return at_us + 92


def _prepare_batch(line: Line, rng: np.random.Generator, number: int, at_us: float) -> None:
    duration_us = 1450 * float(np.exp(rng.normal(0, 0.1)))
    line.add("PrefetchProduce", at_us, duration_us, element_id=number)
    name = "Iterator::Root::Prefetch::BatchV2"
    line.add(
        name,
        at_us + 6,
        duration_us - 12,
        **_make_iterator_stats(_BATCHES, "BatchDatasetV2:5", _SHAPES, _PREFETCH),
    )
    each = (duration_us - 40) / BATCH
    for image in range(BATCH):
        start = at_us + 14 + image * each
        shuffled = _make_iterator_stats(_SHUFFLES, "ShuffleDatasetV3:4", _IMAGE_SHAPES, _BATCHES)
        line.add(f"{name}::Shuffle", start, each - 3, **shuffled, buffer_size=1000)
        cached = _make_iterator_stats(_CACHE, "CacheDatasetV2:3", _IMAGE_SHAPES, _SHUFFLES)
        line.add(f"{name}::Shuffle::MemoryCache", start + 4, each - 12, **cached)


def _make_iterator_stats(
    number: int, name: str, shapes: str, parent: int = 0
) -> dict[str, StatValue]:
    stats: dict[str, StatValue] = {"name": name, "shapes": shapes, "types": _TYPES, "id": number}
    return stats | {"parent_id": parent} if parent else stats


# ---- capture

_HOST = "trainer"
_STEPS = 10
_BATCH_BYTES = 4 * BATCH * SIDE * SIDE * CHANNELS
#: Copy speed in bytes per microsecond; pageable memory is copied twice.
_COPY_SPEEDS = {"pageable": 5.4e3, "pinned": 11.2e3}
_LAUNCH_US = 4.2
#: Python overhead after each step.
_OVERHEAD_US = 150

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
    start_s: float, *, first_step: int, tuned: bool, rng: np.random.Generator
) -> bytes:
    """Return an encoded capture; ``tuned``: with prefetched batches and mixed precision."""
    program = _Program(tuned, rng)
    now = 300.0
    for number in range(first_step, first_step + _STEPS):
        now = program.run_step(number, now)
    start_ns = round(start_s * 1e9)
    end_ns = start_ns + round(now * 1000)
    times: dict[str, StatValue] = {"profile_start_time": start_ns, "profile_stop_time": end_ns}
    return encode_space([program.device, program.host, Plane("Task Environment", **times)], _HOST)


class _Program:
    """Simulates the training program and records its events."""

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
        self._prefetch = self.host.add_line(4, "tf_data_prefetch/4") if tuned else self._input
        self._memory = DeviceMemory(self._executor)
        self._device_free_us = self._copied_us = 0.0
        self._launched = 0

    def run_step(self, number: int, at_us: float) -> float:
        """Record one step that starts at ``at_us``; return when the next one starts."""
        self._now_us = at_us + self._jitter(140)
        start_us = self._now_us
        self._get_batch(number)
        self._copy_batch()
        self._now_us += self._jitter(40)
        for kernel in self._kernels:
            self._launch(kernel)
            self._memory.allocate(kernel, self._now_us)
        self._read_loss()
        self._memory.free_all(self._now_us)
        end_us = self._now_us + self._jitter(60)
        self._record_python(number, at_us, start_us, end_us)
        return end_us + _OVERHEAD_US + self._jitter(15)

    def _get_batch(self, number: int) -> None:
        request_stats: dict[str, StatValue] = {"id": 1000 + number, "iter_num": 0}
        executor = self._now_us
        if self._tuned:
            self._now_us = record_prefetched_batch(
                self._input, self._prefetch, self._rng, number, self._now_us + 20, **request_stats
            )
        else:
            self._now_us = record_batch_read(
                self._input, self._rng, self._now_us + 20, **request_stats
            )
        start = "ExecutorState::ProcessAsync::Start"
        self._executor.add(start, executor + 10, 6, name="IteratorGetNext")

    def _copy_batch(self) -> None:
        """Record the copy of the batch; the tuned program does not wait for it."""
        memory = "pinned" if self._tuned else "pageable"
        details = f"kind_src:{memory} kind_dst:device size:{_BATCH_BYTES} dest:0 async:1"
        duration_us = _BATCH_BYTES / _COPY_SPEEDS[memory]
        self._copied_us = self._call(
            self._copies, "MemcpyH2D", "cuMemcpyHtoDAsync", duration_us, self._now_us + 12,
            memcpy_details=details, tf_op="IteratorGetNext:IteratorGetNext",
        )  # fmt: skip
        if not self._tuned:
            self._device_free_us = max(self._device_free_us, self._copied_us)

    def _launch(self, kernel: Kernel) -> None:
        duration_us = kernel.duration_us * float(np.exp(self._rng.normal(0, 0.03)))
        op, start = f"{kernel.op}:{kernel.type}", self._now_us
        ready = max(self._device_free_us + 0.8, start + _LAUNCH_US + 5)
        self._device_free_us = self._call(
            self._compute, kernel.name, "cuLaunchKernel", duration_us, ready, tf_op=op,
            kernel_details=kernel.launch, theoretical_occupancy_pct=kernel.shape.occupancy,
        )  # fmt: skip
        self._executor.add(op, start, self._now_us - start + 3)
        self._now_us += 5 + self._jitter(3)

    def _call(
        self,
        stream: Line,
        name: str,
        call: str,
        duration_us: float,
        ready: float,
        **stats: StatValue,
    ) -> float:
        """Record a call and the device event that it starts; return when the event end_us."""
        self._launched += 1
        number = self._launched
        self._executor.add(call, self._now_us + 2, _LAUNCH_US, correlation_id=number)
        stream.add(name, ready, duration_us, correlation_id=number, **stats)
        self._now_us += _LAUNCH_US + 3
        return ready + duration_us

    def _read_loss(self) -> None:
        ready = max(self._device_free_us, self._now_us) + 3
        details = "kind_src:device kind_dst:pageable size:8 dest:0 async:0"
        done = self._call(
            self._reads, "MemcpyD2H", "cuMemcpyDtoHAsync", 1.9, ready, memcpy_details=details
        )
        self._executor.add("cuStreamSynchronize", self._now_us, max(done - self._now_us, 1) + 6)
        self._now_us = max(done, self._now_us) + 10

    def _record_python(self, number: int, step: float, start_us: float, end_us: float) -> None:
        """Record the step and the Python calls around it."""
        ids: dict[str, StatValue] = {"id": 1000 + number}
        self._python.add("train", step, end_us + _OVERHEAD_US - step, step_num=number, _r=1)
        function = "__inference_multi_step_on_iterator_2011"
        calls = ("multi_step_on_iterator", "TFE_Py_ExecuteCancelable", "KernelAndDeviceFunc::Run")
        for depth, call in enumerate(calls):
            inner = start_us - 30 + 8 * depth
            self._python.add(call, inner, end_us - inner - 8 * depth, eager_op=function)
        self._python.add("FunctionRun", start_us - 4, 12, **ids, _r=1, _pt=2, _p=number + 1)
        self._executor.add(
            "ExecutorState::Process", start_us, end_us - start_us - 20, **ids, iter_num=0, _ct=2,
            _c=number + 1,
        )  # fmt: skip

    def _jitter(self, typical_us: float) -> float:
        return typical_us * float(np.exp(self._rng.normal(0, 0.1)))


# ---- event files

_EPOCHS, _BATCHES_PER_EPOCH = 10, 92
_BATCHES_PER_POINT = 4
#: The first steps are not profiled, because they compile and fill caches.
_FIRST_PROFILED_BATCH = 460


class _Version(NamedTuple):
    """A version of the program: speed, start time and resource use."""

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
    start = started + 8 + _FIRST_PROFILED_BATCH * version.step_s
    session = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(start))
    folder = run / "plugins" / "profile" / session
    folder.mkdir(parents=True)
    capture = encode_capture(
        start, first_step=_FIRST_PROFILED_BATCH, tuned=version.is_tuned, rng=rng
    )
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
    """Return the system metrics that `tracklight.profile` logs."""

    def vary(mean: float) -> float:
        return float(np.clip(mean + rng.normal(0, 2), 0, 100))

    return [
        summary.scalar("system/cpu_percent", vary(version.cpu_percent)),
        summary.scalar("system/gpu0_percent", vary(version.gpu_percent if batch else 3)),
        summary.scalar("system/gpu0_memory_gb", version.gpu_memory_gb if batch else 0.4),
    ]
