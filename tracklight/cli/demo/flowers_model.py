"""GPU kernels of one training step of the flower classifier.

The duration of a kernel follows from its FLOPs and memory traffic, on a device about as fast as an
NVIDIA L4. With bfloat16, products are three times as fast, and half as many bytes are moved_bytes.
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
