"""A graph in a few lines: how large, how deep, made of what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest

from tracklight.graphs.attributes import format_shape
from tracklight.graphs.model import Detail, Graph

_MOST_TENSORS = 5
_MOST_OPS = 12


@dataclass(frozen=True, slots=True)
class LargeTensor:
    name: str
    dtype: str
    shape: str
    count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """``functions`` are counted, their nodes are not."""

    nodes: int
    edges: int
    control_edges: int
    depth: int
    functions: int
    ops: dict[str, int]
    """The most frequent first."""
    parameters: int
    largest: tuple[LargeTensor, ...]
    problems: tuple[str, ...]


def sum_up(graph: Graph) -> Summary:
    control = int(graph.edges.control.sum())
    details = [graph.describe(place) for place in range(len(graph))]
    tensors = _iter_tensors(graph.names, details)
    return Summary(
        nodes=len(graph),
        edges=len(graph.edges) - control,
        control_edges=control,
        depth=max((name.count("/") + 1 for name in graph.names), default=0),
        functions=len(graph.functions),
        ops=dict(Counter(graph.ops).most_common()),
        parameters=sum(detail.parameters for detail in details),
        largest=tuple(nlargest(_MOST_TENSORS, tensors, key=lambda it: it.count)),
        problems=graph.problems,
    )


def iter_lines(summary: Summary) -> Iterator[str]:
    """The summary for people."""
    counts = [(summary.edges, "edge"), (summary.control_edges, "control edge")]
    counts.append((summary.functions, "function"))
    rest = [_count(number, noun) for number, noun in counts if number]
    size = f"{_count(summary.nodes, 'node')} in {_count(summary.depth, 'level')}"
    yield ", ".join([size, *rest])
    if summary.parameters:
        yield f"{summary.parameters:,} parameters"
    if summary.ops:
        yield f"operations: {_list_ops(summary.ops)}"
    if summary.largest:
        tensors = (f"{it.name} {it.dtype} {it.shape}".replace("  ", " ") for it in summary.largest)
        yield f"largest tensors: {', '.join(tensors)}"
    yield from summary.problems


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _list_ops(ops: dict[str, int]) -> str:
    first = [f"{name or 'unnamed'} {count:,}" for name, count in list(ops.items())[:_MOST_OPS]]
    more = len(ops) - len(first)
    return ", ".join(first) + (f" and {more:,} other kinds" if more else "")


def _iter_tensors(names: Sequence[str], details: Sequence[Detail]) -> Iterator[LargeTensor]:
    for name, detail in zip(names, details, strict=True):
        for output in detail.outputs:
            count = output.count()
            if count is not None and count > 1:
                yield LargeTensor(name, output.dtype, format_shape(output.shape), count)
