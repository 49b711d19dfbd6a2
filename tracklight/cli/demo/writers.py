"""Write event files, profiler captures in TensorFlow's XSpace format, and TensorFlow graphs."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tracklight.formats import proto
from tracklight.formats.proto import FIXED64, LENGTH_DELIMITED, VARINT, Message, encode_varint
from tracklight.formats.summary import (
    SessionStatus,
    encode_event,
    encode_file_version,
    encode_graph,
    encode_run_metadata,
    encode_session_status,
)
from tracklight.formats.tensor import DType
from tracklight.formats.tfrecord import encode_record


class EventFile:
    """An event file of a run with arbitrary wall times."""

    def __init__(self, run: Path, started: float) -> None:
        run.mkdir(parents=True, exist_ok=True)
        self._stream = (run / f"events.out.tfevents.{int(started):010d}.demo.1.0").open("xb")
        self._metadata: dict[bytes, bytes] = {}
        self._write(encode_file_version(started))

    def __enter__(self) -> EventFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def log(self, wall_time: float, step: int, *values: Message) -> None:
        """Write values in one event; unchanged metadata is written only once per tag."""
        for value in values:
            metadata = value.metadata.SerializeToString()
            if self._metadata.get(value.tag) == metadata:
                value.ClearField("metadata")
            self._metadata[value.tag] = metadata
        self._write(encode_event(wall_time, step, values))

    def log_graph(self, wall_time: float, graph: Message) -> None:
        self._write(encode_graph(wall_time, 0, graph))

    def log_run_metadata(self, wall_time: float, step: int, tag: str, metadata: Message) -> None:
        """Write times and memory of the operations of the run's graph in one step."""
        self._write(encode_run_metadata(wall_time, step, tag, metadata))

    def log_restart(self, wall_time: float, step: int) -> None:
        """Write that training restarts at ``step``, which overwrites later values."""
        self._write(encode_session_status(wall_time, step, SessionStatus.START))

    def _write(self, event: bytes) -> None:
        self._stream.write(encode_record(event))


# ---- XSpace: planes (hosts and devices) hold lines (threads and streams), which hold events

StatValue = int | float | str | bytes

_PS_PER_US = 1_000_000
_UINT64 = (1 << 64) - 1
#: Fields of XStat by type of value. Strings are references to the table of stat names.
_DOUBLE, _INT64, _BYTES, _REFERENCE = 2, 4, 6, 7


class _Event(NamedTuple):
    start_ps: int
    duration_ps: int
    name: int
    stats: bytes


class Line:
    """A thread of a host or a stream of a device."""

    def __init__(self, plane: Plane, number: int, name: str) -> None:
        self.number, self.name, self.timestamp_ns = number, name, 0
        self._plane = plane
        self._events: list[_Event] = []

    def add(self, event: str, start_us: float, duration_us: float, /, **stats: StatValue) -> None:
        """Add an event, in any order; ``stats`` have the names that TensorFlow uses."""
        start_ps, duration_ps = round(start_us * _PS_PER_US), round(duration_us * _PS_PER_US)
        encoded = b"".join(_encode_bytes_field(4, stat) for stat in self._plane.encode_stats(stats))
        event_id = self._plane.get_event_id(event)
        self._events.append(_Event(start_ps, duration_ps, event_id, encoded))

    def encode(self) -> bytes:
        events = sorted(self._events, key=lambda event: (event.start_ps, -event.duration_ps))
        head = (
            _encode_int_field(1, self.number)
            + _encode_bytes_field(2, self.name.encode())
            + _encode_int_field(3, self.timestamp_ns)
        )
        return head + b"".join(_encode_bytes_field(4, _encode_xevent(event)) for event in events)


class Plane:
    """A host, a device, or the metadata of the capture."""

    def __init__(self, name: str, /, **stats: StatValue) -> None:
        self.name, self._stats = name, stats
        self._lines: list[Line] = []
        self._event_names: dict[str, int] = {}
        self._stat_names: dict[str, int] = {}

    def add_line(self, number: int, name: str) -> Line:
        self._lines.append(Line(self, number, name))
        return self._lines[-1]

    def get_event_id(self, name: str) -> int:
        return self._event_names.setdefault(name, len(self._event_names) + 1)

    def encode_stats(self, stats: dict[str, StatValue]) -> Iterator[bytes]:
        for key, value in stats.items():
            yield _encode_int_field(1, self._get_stat_id(key)) + self._encode_value(value)

    def encode(self, number: int) -> bytes:
        stats = b"".join(_encode_bytes_field(6, stat) for stat in self.encode_stats(self._stats))
        lines = b"".join(_encode_bytes_field(3, line.encode()) for line in self._lines)
        tables = ((4, self._event_names), (5, self._stat_names))
        names = b"".join(
            _encode_bytes_field(
                table,
                _encode_int_field(1, key)
                + _encode_bytes_field(
                    2, _encode_int_field(1, key) + _encode_bytes_field(2, name.encode())
                ),
            )
            for table, ids in tables
            for name, key in ids.items()
        )
        return (
            _encode_int_field(1, number)
            + _encode_bytes_field(2, self.name.encode())
            + lines
            + names
            + stats
        )

    def _get_stat_id(self, name: str) -> int:
        return self._stat_names.setdefault(name, len(self._stat_names) + 1)

    def _encode_value(self, value: StatValue) -> bytes:
        if isinstance(value, str):
            return _encode_int_field(_REFERENCE, self._get_stat_id(value))
        if isinstance(value, bytes):
            return _encode_bytes_field(_BYTES, value)
        if isinstance(value, float):
            return encode_varint(_DOUBLE << 3 | FIXED64) + struct.pack("<d", value)
        return _encode_int_field(_INT64, value)


def encode_space(planes: list[Plane], host: str) -> bytes:
    """Encode the planes of a host as an ``.xplane.pb`` file."""
    parts = [_encode_bytes_field(1, plane.encode(number)) for number, plane in enumerate(planes)]
    return b"".join([*parts, _encode_bytes_field(4, host.encode())])


def _encode_xevent(event: _Event) -> bytes:
    times = _encode_int_field(2, event.start_ps) + _encode_int_field(3, event.duration_ps)
    return _encode_int_field(1, event.name) + times + event.stats


def _encode_int_field(field: int, value: int) -> bytes:
    return encode_varint(field << 3 | VARINT) + encode_varint(value & _UINT64)


def _encode_bytes_field(field: int, content: bytes) -> bytes:
    return encode_varint(field << 3 | LENGTH_DELIMITED) + encode_varint(len(content)) + content


# ---- TensorFlow graphs

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


# ---- layers

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
