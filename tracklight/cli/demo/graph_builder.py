"""Build TensorFlow graphs: a node builder, common layers, and a small convolutional network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType

Shape = Sequence[int]

#: The batch size, which is unknown when a graph is built.
BATCH = -1


class GraphBuilder:
    """Collects nodes; slashes in a name separate scopes.

    Attributes:
        variables: The read operations of all trained variables.
        device: The device of the nodes that are added next.
    """

    def __init__(self, device: str = "/device:GPU:0") -> None:
        self.nodes: list[Message] = []
        self.variables: list[str] = []
        self.device = device

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[str] = (),
        shape: Shape = (),
        *,
        dtype: DType = DType.FLOAT,
        attrs: Mapping[str, Message] | None = None,
    ) -> str:
        shapes = proto.AttrValue(list=proto.AttrList(shape=[make_shape(shape)]))
        all_attrs = {
            "dtype": proto.AttrValue(type=dtype),
            "_output_shapes": shapes,
            **(attrs or {}),
        }
        node = proto.NodeDef(
            name=name.encode(),
            op=op.encode(),
            input=[source.encode() for source in inputs],
            device=self.device.encode(),
            attr=[proto.Attr(key=key.encode(), value=value) for key, value in all_attrs.items()],
        )
        self.nodes.append(node)
        return name

    def add_variable(self, scope: str, shape: Shape, *, trained: bool = True) -> str:
        """Add a variable and its read operation; return the name of the latter."""
        size = proto.AttrValue(shape=make_shape(shape))
        handle = self.add(scope, "VarHandleOp", attrs={"shape": size})
        read = self.add(f"{scope}/Read", "ReadVariableOp", [handle], shape)
        if trained:
            self.variables.append(read)
        return read

    def graph(self) -> Message:
        return proto.GraphDef(node=self.nodes, versions=proto.VersionDef(producer=1882))


def make_shape(shape: Shape) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in shape])


def make_int_list(*numbers: int) -> Message:
    return proto.AttrValue(list=proto.AttrList(i=numbers))


# --- Layers ---

_SAME = proto.AttrValue(s=b"SAME")


def build_convnet_graph(*, batch_norm: bool) -> Message:
    """Return a graph of three convolution blocks, a dense layer, the loss and a training step."""
    builder = GraphBuilder()
    images = builder.add("data/images", "Placeholder", (), (BATCH, 32, 32, 3))
    labels = builder.add("data/labels", "Placeholder", (), (BATCH,), dtype=DType.INT64)
    flow, channels, side = images, 3, 32
    for block, width in enumerate((16, 32, 64), 1):
        flow = _add_convnet_block(
            builder, f"model/block{block}", flow, (side, channels, width), batch_norm
        )
        channels, side = width, side // 2
    logits = _add_dense(builder, flow, side * side * channels)
    add_training(builder, add_loss(builder, logits, labels))
    return builder.graph()


def _add_convnet_block(
    builder: GraphBuilder, scope: str, flow: str, sizes: tuple[int, int, int], batch_norm: bool
) -> str:
    side, channels, width = sizes
    shape = (BATCH, side, side, width)
    flow = add_convolution(builder, f"{scope}/conv", flow, (3, 3, channels, width), shape)
    if batch_norm:
        flow = add_norm(builder, f"{scope}/batch_norm", flow, shape)
    flow = builder.add(f"{scope}/Relu", "Relu", [flow], shape)
    window = make_int_list(1, 2, 2, 1)
    pooled = (BATCH, side // 2, side // 2, width)
    attrs = {"ksize": window, "strides": window, "padding": _SAME}
    return builder.add(f"{scope}/MaxPool", "MaxPool", [flow], pooled, attrs=attrs)


def add_convolution(
    builder: GraphBuilder,
    scope: str,
    flow: str,
    kernel: tuple[int, int, int, int],
    shape: tuple[int, ...],
    stride: int = 1,
) -> str:
    """Add a convolution; ``kernel`` is height, width, input and output channels."""
    weights = builder.add_variable(f"{scope}/kernel", kernel)
    attrs = {"strides": make_int_list(1, stride, stride, 1), "padding": _SAME}
    return builder.add(f"{scope}/Conv2D", "Conv2D", [flow, weights], shape, attrs=attrs)


def add_norm(builder: GraphBuilder, scope: str, flow: str, shape: tuple[int, ...]) -> str:
    parts = [
        builder.add_variable(f"{scope}/{part}", shape[-1:], trained=not part.startswith("moving"))
        for part in ("gamma", "beta", "moving_mean", "moving_variance")
    ]
    name = f"{scope}/FusedBatchNormV3"
    return builder.add(name, "FusedBatchNormV3", [flow, *parts], shape)


def add_classifier(
    builder: GraphBuilder, scope: str, flow: str, features: int, classes: int
) -> str:
    kernel = builder.add_variable(f"{scope}/kernel", (features, classes))
    bias = builder.add_variable(f"{scope}/bias", (classes,))
    product = builder.add(f"{scope}/MatMul", "MatMul", [flow, kernel], (BATCH, classes))
    return builder.add(f"{scope}/BiasAdd", "BiasAdd", [product, bias], (BATCH, classes))


def _add_dense(builder: GraphBuilder, flow: str, features: int) -> str:
    flow = builder.add("model/flatten/Reshape", "Reshape", [flow], (BATCH, features))
    return add_classifier(builder, "model/dense", flow, features, 10)


def add_loss(builder: GraphBuilder, logits: str, labels: str) -> str:
    op = "SparseSoftmaxCrossEntropyWithLogits"
    entropy = builder.add("loss/cross_entropy", op, [logits, labels], (BATCH,))
    guess = builder.add("metrics/accuracy/ArgMax", "ArgMax", [logits], (BATCH,), dtype=DType.INT64)
    equal = builder.add(
        "metrics/accuracy/Equal", "Equal", [guess, labels], (BATCH,), dtype=DType.BOOL
    )
    builder.add("metrics/accuracy/Mean", "Mean", [equal])
    return builder.add("loss/Mean", "Mean", [entropy])


def add_training(builder: GraphBuilder, loss: str) -> None:
    """Add gradients and momentum updates of all trained variables."""
    variables = list(builder.variables)
    rate = builder.add_variable("train/learning_rate", (), trained=False)
    updates = []
    for variable in variables:
        owner = variable.removesuffix("/Read")
        gradient = builder.add(f"train/gradients/{owner}", "SymbolicGradient", [loss, variable])
        name = f"train/momentum/{owner}"
        updates.append(builder.add(name, "ResourceApplyMomentum", [owner, rate, gradient]))
    # A caret marks a control dependency.
    builder.add("train/step", "NoOp", [f"^{update}" for update in updates])
