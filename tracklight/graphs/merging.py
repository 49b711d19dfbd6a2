"""Reads ``RunMetadata``: the graphs of all functions that ran while a trace was on, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.graphs.graphdef import read_graphdef
from tracklight.graphs.model import Detail, Edges, Graph


def read_run_metadata(data: bytes) -> Graph:
    """Each graph as it was before it was optimised; where there are several, in scopes."""
    metadata = proto.parse("RunMetadata", data)
    written = [entry.pre_optimization_graph for entry in metadata.function_graphs]
    written = [graph for graph in written if graph] or list(metadata.partition_graphs)
    if not written:
        raise FormatError("the trace holds no graph")
    graphs = [read_graphdef(graph) for graph in written]
    return graphs[0] if len(graphs) == 1 else _merge(graphs)


def _merge(graphs: Sequence[Graph]) -> Graph:
    """Side by side, each in a scope of its own; equal names of functions mean one function."""
    starts = np.cumsum([0, *map(len, graphs)])
    scopes = [f"graph_{number}" for number in range(1, len(graphs) + 1)]

    def describe(place: int) -> Detail:
        which = int(np.searchsorted(starts, place, side="right")) - 1
        return graphs[which].describe(place - int(starts[which]))

    return Graph(
        [
            f"{scope}/{name}"
            for scope, graph in zip(scopes, graphs, strict=True)
            for name in graph.names
        ],
        [op for graph in graphs for op in graph.ops],
        _join([graph.edges for graph in graphs], starts),
        describe,
        {name: body for graph in graphs for name, body in graph.functions.items()},
        tuple(
            f"in {scope}, {problem}"
            for scope, graph in zip(scopes, graphs, strict=True)
            for problem in graph.problems
        ),
    )


def _join(parts: Sequence[Edges], starts: np.ndarray) -> Edges:
    shifts = [start.astype(np.int32) for start in starts]
    return Edges(
        np.concatenate([part.source + shift for part, shift in zip(parts, shifts, strict=False)]),
        np.concatenate([part.target + shift for part, shift in zip(parts, shifts, strict=False)]),
        np.concatenate([part.position for part in parts]),
        [output for part in parts for output in part.output],
        np.concatenate([part.control for part in parts]),
    )
