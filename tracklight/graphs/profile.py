"""When each node ran and what memory it took, from the run metadata of one step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracklight.formats import proto
from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.graphs.attributes import format_shape, name_type, read_shape


@dataclass(frozen=True, slots=True)
class Execution:
    """One node's share of a step."""

    device: str
    start_us: float
    end_us: float
    memory_bytes: int
    """Taken while it ran, by all allocators together."""
    outputs: tuple[str, ...]
    """Types and shapes as they were, also where the graph does not tell them."""

    @property
    def time_us(self) -> float:
        return self.end_us - self.start_us


def read_profile(run_metadata: bytes) -> dict[str, Execution]:
    """By the names of nodes; nothing where the step was not recorded."""
    stats = proto.parse("StepStats", proto.parse("RunMetadata", run_metadata).step_stats)
    found: dict[str, Execution] = {}
    for name, execution in _iter_executions(stats):
        known = found.get(name)
        found[name] = execution if known is None else _join(known, execution)
    return found


def _iter_executions(stats: Message) -> Iterator[tuple[str, Execution]]:
    for device in stats.dev_stats:
        name = decode_text(device.device)
        for node in device.node_stats:
            yield decode_text(node.node_name), _read(name, node)


def _read(device: str, node: Message) -> Execution:
    start_us = float(node.all_start_micros)
    took_us = node.all_end_rel_nanos / 1000 or float(node.all_end_rel_micros)
    memory_bytes = sum(max(used.total_bytes, 0) for used in node.memory)
    outputs = sorted(node.output, key=lambda output: int(output.slot))
    return Execution(
        device,
        start_us,
        start_us + max(took_us, 0.0),
        memory_bytes,
        tuple(_describe(output.tensor_description) for output in outputs),
    )


def _describe(tensor: Message) -> str:
    return f"{name_type(tensor.dtype)} {format_shape(read_shape(tensor.shape))}".strip()


def _join(one: Execution, other: Execution) -> Execution:
    """A node that ran several times, or on several devices, took from its first start to its
    last end."""
    return Execution(
        one.device,
        min(one.start_us, other.start_us),
        max(one.end_us, other.end_us),
        max(one.memory_bytes, other.memory_bytes),
        one.outputs or other.outputs,
    )
