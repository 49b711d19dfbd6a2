"""The ops of a small network that tells flowers apart, and the kernels that they run on a device.

How long a kernel takes follows from what it computes and moves, on a device about as fast as an L4:
it multiplies numbers of 16 bits three times as fast, and moves them in half the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod
from typing import NamedTuple

BATCH, SIDE, CHANNELS = 32, 180, 3
#: Filters of the three convolutions, then units of the two dense layers.
_FILTERS, _UNITS, _CLASSES = (16, 32, 64), 128, 5
_MODEL = "StatefulPartitionedCall/flowers_1"
_FLOPS_PER_US = {2: 15e6, 4: 5e6}
_BYTES_PER_US = 0.22e6
_SHORTEST_US = 2.2


_STORED = {2: "Eigen::bfloat16", 4: "float"}
_XMMA = "sm80_xmma_{{way}}_implicit_gemm_{}_nhwckrsc_nhwc_tilesize128x{}_tensor{}_kernel_cudnn"
#: By how many bytes numbers have; 0: those that are too narrow for tensor cores.
_CONVOLVES = {
    0: "void cudnn::cnn::{way}::implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1>",
    2: _XMMA.format("bf16bf16_bf16f32_f32", "128x32", "16x8x16"),
    4: _XMMA.format("tf32f32_tf32f32_f32", "64x16", "16x8x8"),
}
_MULTIPLIES = {
    2: "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_{order}",
    4: "ampere_sgemm_128x64_{order}",
}


class _LaunchShape(NamedTuple):
    """How a kernel is spread over the device."""

    grid: int
    block: int
    registers: int
    shared_bytes: int = 0
    occupancy: float = 100.0


class Kernel(NamedTuple):
    """What runs on the device, and the op that it is a part of."""

    name: str
    op: str
    type: str
    flops: float
    bytes: float
    shape: _LaunchShape
    output_shape: tuple[int, ...] = ()
    """The shape of what it makes and somebody keeps; nothing if nobody does."""
    item_bytes: int = 4
    """How many bytes a number has."""

    @property
    def duration_us(self) -> float:
        computing = self.flops / _FLOPS_PER_US[self.item_bytes]
        return _SHORTEST_US + max(computing, self.bytes / _BYTES_PER_US)

    @property
    def launch(self) -> str:
        """As the device's own profiler says it."""
        grid, block, registers, shared_bytes, occupancy = self.shape
        return (
            f"regs:{registers} static_shared:0 dynamic_shared:{shared_bytes} "
            f"grid:{grid},1,1 block:{block},1,1 occ_pct:{occupancy:g}"
        )


class _Layer(NamedTuple):
    name: str
    kind: str
    """conv, pool or dense."""
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    weights: tuple[int, ...] = ()

    @property
    def flops(self) -> float:
        return 2.0 * prod(self.output_shape) * prod(self.weights[:-1])


def list_kernels(mixed: bool) -> list[Kernel]:
    """The kernels of one step of training; ``mixed``: products in 16 bits, weights in 32."""
    width, layers = 2 if mixed else 4, list(_iter_layers())
    kernels = [
        _map("rescaling_1/mul", "Mul", (BATCH, SIDE, SIDE, CHANNELS), width),
        *(kernel for layer in layers for kernel in _run_forward(layer, width)),
        *_run_loss(width),
        *(kernel for layer in reversed(layers) for kernel in _run_backward(layer, width)),
        *(kernel for layer in layers if layer.weights for kernel in _update(layer, mixed)),
    ]
    return kernels


def list_weights() -> dict[str, tuple[int, ...]]:
    """The shapes of all that is learned, by layer."""
    return {layer.name: layer.weights for layer in _iter_layers() if layer.weights}


def _iter_layers() -> Iterator[_Layer]:
    side, depth = SIDE, CHANNELS
    for number, filters in enumerate(_FILTERS, 1):
        given, made = (BATCH, side, side, depth), (BATCH, side, side, filters)
        yield _Layer(f"conv2d_{number}", "conv", given, made, (3, 3, depth, filters))
        side, depth = side // 2, filters
        yield _Layer(f"max_pooling2d_{number}", "pool", made, (BATCH, side, side, depth))
    flat = side * side * depth
    for number, weights in enumerate(((flat, _UNITS), (_UNITS, _CLASSES)), 1):
        took, gives = ((BATCH, units) for units in weights)
        yield _Layer(f"dense_{number}", "dense", took, gives, weights)


def _run_forward(layer: _Layer, width: int) -> Iterator[Kernel]:
    if layer.kind == "pool":
        yield _map(
            f"{layer.name}/MaxPool2d", "MaxPool", layer.input_shape, width, made=layer.output_shape
        )
        return
    if width == 2:  # weights are kept in 32 bits
        yield _cast(layer.name, layer.weights)
    kind = "Conv2D" if layer.kind == "conv" else "MatMul"
    op = f"{layer.name}/{'convolution' if layer.kind == 'conv' else 'MatMul'}"
    yield _multiply(op, kind, layer, width, "fprop", made=layer.output_shape)
    yield _map(f"{layer.name}/BiasAdd", "BiasAdd", layer.output_shape, width)
    if layer.name != "dense_2":
        yield _map(f"{layer.name}/Relu", "Relu", layer.output_shape, width, made=layer.output_shape)


def _run_loss(width: int) -> Iterator[Kernel]:
    scope, shape = "compile_loss/sparse_categorical_crossentropy", (BATCH, _CLASSES)
    if width == 2:
        yield _cast(scope, shape)
    logits = "SparseSoftmaxCrossEntropyWithLogits"
    yield _map(f"{scope}/{logits}", logits, shape, 4, made=shape)
    yield _map(f"{scope}/Mean", "Mean", (BATCH,), 4)
    yield _map("accuracy/ArgMax", "ArgMax", shape, 4)


def _run_backward(layer: _Layer, width: int) -> Iterator[Kernel]:
    scope = f"gradient_tape/{layer.name}"
    if layer.kind == "pool":
        yield _map(
            f"{scope}/MaxPoolGrad",
            "MaxPoolGrad",
            layer.input_shape,
            width,
            2,
            made=layer.input_shape,
        )
        return
    if layer.name != "dense_2":
        yield _map(f"{scope}/ReluGrad", "ReluGrad", layer.output_shape, width, 2)
    yield _map(f"{scope}/BiasAddGrad", "BiasAddGrad", layer.output_shape, width)
    is_conv = layer.kind == "conv"
    back, weigh = (
        ("Conv2DBackpropInput", "Conv2DBackpropFilter") if is_conv else ("MatMul", "MatMul")
    )
    yield _multiply(f"{scope}/{weigh}_1", weigh, layer, width, "wgrad", made=layer.weights)
    if layer.name != "conv2d_1":  # nobody asks what the pictures should have been
        yield _multiply(f"{scope}/{back}", back, layer, width, "dgrad", made=layer.input_shape)


def _update(layer: _Layer, mixed: bool) -> Iterator[Kernel]:
    if mixed:
        yield _cast(f"adam/{layer.name}", layer.weights)
    yield _map(f"adam/{layer.name}/ResourceApplyAdam", "ResourceApplyAdam", layer.weights, 4, 3)


def _multiply(
    op: str, kind: str, layer: _Layer, width: int, way: str, made: tuple[int, ...]
) -> Kernel:
    form = _CONVOLVES if layer.kind == "conv" else _MULTIPLIES
    # Tensor cores take eight channels at a time.
    name = form[
        2 if width == 2 and layer.input_shape[-1] >= 8 else 4 if layer.input_shape[-1] >= 8 else 0
    ]
    order = "tn" if way == "fprop" else "nt"
    moved = width * (prod(layer.input_shape) + prod(layer.output_shape) + prod(layer.weights))
    shape = _LaunchShape(
        grid=max(1, ceil(prod(layer.output_shape) / 4096)), block=128, registers=234
    )
    return Kernel(
        name.format(way=way, order=order), f"{_MODEL}/{op}", kind, layer.flops, moved,
        shape._replace(shared_bytes=65_536, occupancy=16.67), made, width,
    )  # fmt: skip


def _map(
    op: str, kind: str, shape: tuple[int, ...], width: int, read: int = 1,
    made: tuple[int, ...] = (),
) -> Kernel:  # fmt: skip
    """A kernel that looks at each number by itself."""
    stored = _STORED[width]
    name = f"void tensorflow::functor::{kind}Kernel<{stored}>(int, {stored} const*, {stored}*)"
    return _elementwise(name, op, kind, shape, (read + 1) * width, made, width)


def _cast(op: str, shape: tuple[int, ...]) -> Kernel:
    name = "void tensorflow::functor::CastKernel<float, Eigen::bfloat16>(int, float const*)"
    return _elementwise(name, f"{op}/Cast", "Cast", shape, 6, (), 2)


def _elementwise(
    name: str, op: str, kind: str, shape: tuple[int, ...], bytes_each: int,
    made: tuple[int, ...], width: int,
) -> Kernel:  # fmt: skip
    count = prod(shape)
    launch = _LaunchShape(grid=max(1, ceil(count / (256 * 4))), block=256, registers=24)
    return Kernel(name, f"{_MODEL}/{op}", kind, count, bytes_each * count, launch, made, width)
