"""The classifier's graph: what a framework would log of a small convolutional network."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType

Shape = Sequence[int]

_BATCH = -1  # unknown when the graph is built


class _Builder:
    """Collects nodes; a name with slashes puts a node into nested boxes."""

    def __init__(self) -> None:
        self.nodes: list[Message] = []

    def add(
        self, name: str, op: str, inputs: Sequence[str] = (), shape: Shape = (), **attrs: Message
    ) -> str:
        shapes = proto.AttrList(shape=[_make_shape(shape)])
        attrs = {
            "T": proto.AttrValue(type=DType.FLOAT),
            "_output_shapes": proto.AttrValue(list=shapes),
            **attrs,
        }
        node = proto.NodeDef(
            name=name.encode(),
            op=op.encode(),
            input=[source.encode() for source in inputs],
            device=b"/device:GPU:0",
            attr=[proto.Attr(key=key.encode(), value=value) for key, value in attrs.items()],
        )
        self.nodes.append(node)
        return name

    def add_variable(self, scope: str, shape: Shape) -> str:
        """A variable and what reads it; gives the name of the reading node."""
        handle = self.add(scope, "VarHandleOp", (), ())
        return self.add(f"{scope}/Read", "ReadVariableOp", [handle], shape)


def build_graph(*, batch_norm: bool) -> Message:
    """Three blocks of convolution, a dense layer, the loss, and a step of gradient descent."""
    builder = _Builder()
    images = builder.add("data/images", "Placeholder", (), (_BATCH, 32, 32, 3))
    labels = builder.add("data/labels", "Placeholder", (), (_BATCH,))
    flow, channels, side = images, 3, 32
    variables: list[str] = []
    for block, width in enumerate((16, 32, 64), 1):
        scope = f"model/block{block}"
        flow = _add_block(builder, scope, flow, side, channels, width, batch_norm, variables)
        channels, side = width, side // 2
    logits = _add_dense(builder, flow, side * side * channels, variables)
    loss = _add_loss(builder, logits, labels)
    _add_training(builder, loss, variables)
    return proto.GraphDef(node=builder.nodes, versions=proto.VersionDef(producer=1882))


def _add_block(
    builder: _Builder,
    scope: str,
    flow: str,
    side: int,
    channels: int,
    width: int,
    batch_norm: bool,
    variables: list[str],
) -> str:
    shape = (_BATCH, side, side, width)
    kernel = builder.add_variable(f"{scope}/conv/kernel", (3, 3, channels, width))
    variables.append(kernel)
    strides = proto.AttrValue(list=proto.AttrList(i=[1, 1, 1, 1]))
    padding = proto.AttrValue(s=b"SAME")
    flow = builder.add(
        f"{scope}/conv/Conv2D", "Conv2D", [flow, kernel], shape, strides=strides, padding=padding
    )
    if batch_norm:
        parts = [
            builder.add_variable(f"{scope}/batch_norm/{part}", (width,))
            for part in ("gamma", "beta", "moving_mean", "moving_variance")
        ]
        variables += parts[:2]
        name = f"{scope}/batch_norm/FusedBatchNormV3"
        flow = builder.add(name, "FusedBatchNormV3", [flow, *parts], shape)
    flow = builder.add(f"{scope}/Relu", "Relu", [flow], shape)
    window = proto.AttrValue(list=proto.AttrList(i=[1, 2, 2, 1]))
    pooled = (_BATCH, side // 2, side // 2, width)
    return builder.add(
        f"{scope}/MaxPool", "MaxPool", [flow], pooled, ksize=window, strides=window, padding=padding
    )


def _add_dense(builder: _Builder, flow: str, features: int, variables: list[str]) -> str:
    flow = builder.add("model/flatten/Reshape", "Reshape", [flow], (_BATCH, features))
    kernel = builder.add_variable("model/dense/kernel", (features, 10))
    bias = builder.add_variable("model/dense/bias", (10,))
    variables += [kernel, bias]
    product = builder.add("model/dense/MatMul", "MatMul", [flow, kernel], (_BATCH, 10))
    return builder.add("model/dense/BiasAdd", "BiasAdd", [product, bias], (_BATCH, 10))


def _add_loss(builder: _Builder, logits: str, labels: str) -> str:
    op = "SparseSoftmaxCrossEntropyWithLogits"
    entropy = builder.add("loss/cross_entropy", op, [logits, labels], (_BATCH,))
    guess = builder.add("metrics/accuracy/ArgMax", "ArgMax", [logits], (_BATCH,))
    equal = builder.add("metrics/accuracy/Equal", "Equal", [guess, labels], (_BATCH,))
    builder.add("metrics/accuracy/Mean", "Mean", [equal])
    return builder.add("loss/Mean", "Mean", [entropy])


def _add_training(builder: _Builder, loss: str, variables: list[str]) -> None:
    rate = builder.add_variable("train/learning_rate", ())
    updates = []
    for variable in variables:
        owner = variable.removesuffix("/Read")
        gradient = builder.add(f"train/gradients/{owner}", "SymbolicGradient", [loss, variable])
        name = f"train/momentum/{owner}"
        updates.append(builder.add(name, "ResourceApplyMomentum", [owner, rate, gradient]))
    # A caret marks an input that is only waited for.
    builder.add("train/step", "NoOp", [f"^{update}" for update in updates])


def _make_shape(shape: Shape) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in shape])
