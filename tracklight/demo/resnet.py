"""ResNet-50 as TensorFlow would log it: every operation, its variables, and a step of training."""

from __future__ import annotations

from tracklight.demo.graph_builder import BATCH, GraphBuilder, integers
from tracklight.demo.network import (
    add_classifier,
    add_convolution,
    add_loss,
    add_norm,
    add_training,
)
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType

#: How many blocks each stage has, and how many channels are inside of its blocks.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
#: A block gives as many channels as it has inside, times this.
EXPANSION = 4
SIDE, CLASSES = 224, 1000


def build_graph() -> Message:
    builder = GraphBuilder("/device:CPU:0")
    images = builder.add("data/images", "Placeholder", (), (BATCH, SIDE, SIDE, 3))
    labels = builder.add("data/labels", "Placeholder", (), (BATCH,), dtype=DType.INT64)
    builder.device = "/device:GPU:0"
    flow, side, channels = _add_stem(builder, images), SIDE // 4, 64
    for number, (blocks, width) in enumerate(STAGES, 1):
        builder.device = f"/device:GPU:{number // 3}"
        for block in range(1, blocks + 1):
            stride = 2 if block == 1 and number > 1 else 1
            side //= stride
            scope = f"resnet50/stage{number}/block{block}"
            flow = _add_block(builder, scope, flow, (side, channels, width), stride)
            channels = EXPANSION * width
    pooled = builder.add("resnet50/head/pool/Mean", "Mean", [flow], (BATCH, channels))
    logits = add_classifier(builder, "resnet50/head/dense", pooled, channels, CLASSES)
    add_training(builder, add_loss(builder, logits, labels))
    return builder.graph()


def _add_stem(builder: GraphBuilder, flow: str) -> str:
    shape = (BATCH, SIDE // 2, SIDE // 2, 64)
    flow = add_convolution(builder, "resnet50/stem/conv", flow, (7, 7, 3, 64), shape, 2)
    flow = add_norm(builder, "resnet50/stem/norm", flow, shape)
    flow = builder.add("resnet50/stem/Relu", "Relu", [flow], shape)
    attrs = {"ksize": integers(1, 3, 3, 1), "strides": integers(1, 2, 2, 1)}
    attrs["padding"] = proto.AttrValue(s=b"SAME")
    pooled = (BATCH, SIDE // 4, SIDE // 4, 64)
    return builder.add("resnet50/stem/MaxPool", "MaxPool", [flow], pooled, attrs=attrs)


def _add_block(
    builder: GraphBuilder, scope: str, flow: str, sizes: tuple[int, int, int], stride: int
) -> str:
    """Three convolutions, and a way around them that is one itself where the size changes."""
    side, channels, width = sizes
    given, wide = flow, (BATCH, side, side, EXPANSION * width)
    narrow = (BATCH, side, side, width)
    plan = (((1, 1, channels, width), narrow, stride), ((3, 3, width, width), narrow, 1))
    for number, (kernel, shape, step) in enumerate(plan, 1):
        flow = add_convolution(builder, f"{scope}/conv{number}", flow, kernel, shape, step)
        flow = add_norm(builder, f"{scope}/norm{number}", flow, shape)
        flow = builder.add(f"{scope}/Relu_{number}", "Relu", [flow], shape)
    last = (1, 1, width, EXPANSION * width)
    flow = add_convolution(builder, f"{scope}/conv3", flow, last, wide)
    flow = add_norm(builder, f"{scope}/norm3", flow, wide)
    around = given
    if channels != wide[-1]:
        kernel = (1, 1, channels, wide[-1])
        around = add_convolution(builder, f"{scope}/shortcut/conv", given, kernel, wide, stride)
        around = add_norm(builder, f"{scope}/shortcut/norm", around, wide)
    total = builder.add(f"{scope}/add", "AddV2", [flow, around], wide)
    return builder.add(f"{scope}/Relu_3", "Relu", [total], wide)
