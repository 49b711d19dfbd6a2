"""Puts graphs together as TensorFlow writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType

Shape = Sequence[int]

#: The size of a batch, which is unknown when a graph is built.
BATCH = -1


class GraphBuilder:
    """Collects nodes; a name with slashes puts a node into nested boxes."""

    def __init__(self, device: str = "/device:GPU:0") -> None:
        self.nodes: list[Message] = []
        self.variables: list[str] = []
        """What reads each variable that is trained."""
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
        told = {"dtype": proto.AttrValue(type=dtype), "_output_shapes": shapes, **(attrs or {})}
        node = proto.NodeDef(
            name=name.encode(),
            op=op.encode(),
            input=[source.encode() for source in inputs],
            device=self.device.encode(),
            attr=[proto.Attr(key=key.encode(), value=value) for key, value in told.items()],
        )
        self.nodes.append(node)
        return name

    def add_variable(self, scope: str, shape: Shape, *, trained: bool = True) -> str:
        """A variable and what reads it; gives the name of the reading node."""
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


def integers(*numbers: int) -> Message:
    return proto.AttrValue(list=proto.AttrList(i=numbers))
