"""Graphs of programs in the forms that frameworks hand them out."""

from __future__ import annotations

import time
from typing import Any

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.summary import tensor
from tracklight.sdk.lenient import Misuse

#: What readers want to see in the metadata of a graph that has a tag.
_GRAPH_CONTENT = b"1"


def encode_graph_event(graph: Any, step: int) -> bytes:
    """The event that holds a run's graph."""
    data: bytes = proto.Event(
        wall_time=time.time(), step=step, graph_def=_serialize(graph)
    ).SerializeToString()
    return data


def build_model(tag: str, model: Any) -> Message:
    """A Keras model's layers and how they are joined, as the JSON it gives of itself."""
    return build_tagged(tag, "graph_keras_model", model.to_json().encode())


def build_tagged(tag: str, plugin: str, content: bytes) -> Message:
    """A graph under a tag of its own; ``plugin`` says in which form."""
    # Without a data class: TensorBoard would take the value for a list that it is not.
    metadata = proto.SummaryMetadata(
        plugin_data=proto.PluginData(plugin_name=plugin.encode(), content=_GRAPH_CONTENT)
    )
    return tensor(tag, content, metadata)


def _serialize(graph: Any) -> bytes:
    if isinstance(graph, (bytes, bytearray)):
        proto.parse("GraphDef", graph)
        return bytes(graph)
    if hasattr(graph, "as_graph_def"):
        graph = graph.as_graph_def(add_shapes=True)
    if not hasattr(graph, "SerializeToString"):
        raise Misuse("graph_data", f"must be a GraphDef, not a {type(graph).__name__}")
    data: bytes = graph.SerializeToString()
    return data
