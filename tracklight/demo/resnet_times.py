"""How long each operation of a graph took in one step, and what memory, on made-up devices."""

from __future__ import annotations

from math import prod

from tracklight.formats import proto
from tracklight.formats.proto import Message

_BATCH_SIZE = 32
_FLOPS_PER_US = 12e6
_BYTES_PER_US = 0.6e6
_LAUNCH_US = 3.0
_STARTED_US = 1_700_000_000_000_000


def record_step(graph: Message) -> Message:
    """The metadata of a run in which operations ran one after the other."""
    devices: dict[bytes, list[Message]] = {}
    shapes = {node.name: _get_shape(node) for node in graph.node}
    at_us = 0.0
    for node in graph.node:
        if node.op in (b"Placeholder", b"NoOp", b"VarHandleOp"):
            continue
        took_us = _estimate_us(node, shapes)
        devices.setdefault(node.device, []).append(_tell(node, shapes[node.name], at_us, took_us))
        at_us += took_us
    listed = [proto.DeviceStepStats(device=it, node_stats=done) for it, done in devices.items()]
    stats = proto.StepStats(dev_stats=listed)
    return proto.RunMetadata(step_stats=stats.SerializeToString())


def _tell(node: Message, shape: tuple[int, ...], at_us: float, took_us: float) -> Message:
    used = proto.AllocatorMemoryUsed(allocator_name=b"GPU_0_bfc", total_bytes=4 * prod(shape))
    return proto.NodeExecStats(
        node_name=node.name,
        all_start_micros=_STARTED_US + int(at_us),
        all_end_rel_micros=max(1, round(took_us)),
        all_end_rel_nanos=round(1000 * took_us),
        memory=[used],
    )


def _estimate_us(node: Message, shapes: dict[bytes, tuple[int, ...]]) -> float:
    """Products take as long as they multiply, all others as long as they move numbers."""
    inputs = [shapes[name] for name in node.input if name in shapes]
    made = shapes[node.name]
    if node.op in (b"Conv2D", b"MatMul"):
        multiplied = prod(made) * prod(inputs[1][:-1])
        return _LAUNCH_US + 2 * multiplied / _FLOPS_PER_US
    moved = 4 * (prod(made) + sum(map(prod, inputs)))
    return _LAUNCH_US + moved / _BYTES_PER_US


def _get_shape(node: Message) -> tuple[int, ...]:
    for attribute in node.attr:
        if attribute.key == b"_output_shapes":
            (shape,) = attribute.value.list.shape
            return tuple(_BATCH_SIZE if dim.size < 0 else dim.size for dim in shape.dim)
    return ()
