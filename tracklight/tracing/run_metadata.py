"""The message in which graphs of functions are logged."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.formats.proto import Message
from tracklight.sdk.graphs import build_tagged

_FUNCTION_GRAPHS = 4
_PRE_OPTIMIZATION_GRAPH = 2
_BYTES = 2


def build_graphs(tag: str, graphs: Sequence[bytes], *, has_profile: bool = False) -> Message:
    """A value that holds the graph of each of some functions."""
    plugin = "graph_run_metadata" if has_profile else "graph_run_metadata_graph"
    return build_tagged(tag, plugin, encode_graphs(graphs))


def encode_graphs(graphs: Sequence[bytes]) -> bytes:
    """A ``RunMetadata`` message with a GraphDef for each function."""
    return b"".join(
        _encode_field(_FUNCTION_GRAPHS, _encode_field(_PRE_OPTIMIZATION_GRAPH, graph))
        for graph in graphs
    )


def _encode_field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _encode_varint(len(content)) + content


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
