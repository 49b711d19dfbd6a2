"""The message in which graphs of functions are logged."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.sdk.graphs import build_tagged


def build_graphs(tag: str, graphs: Sequence[bytes], *, has_profile: bool = False) -> Message:
    """A value that holds the graph of each of some functions."""
    functions = [proto.FunctionGraphs(pre_optimization_graph=graph) for graph in graphs]
    metadata = proto.RunMetadata(function_graphs=functions)
    plugin = "graph_run_metadata" if has_profile else "graph_run_metadata_graph"
    return build_tagged(tag, plugin, metadata.SerializeToString())
