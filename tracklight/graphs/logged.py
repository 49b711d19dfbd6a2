"""Which tags of a log hold graphs, and how each is read."""

from __future__ import annotations

from collections.abc import Callable

from tracklight.errors import EmptyGraphError
from tracklight.graphs.graphdef import read_graphdef
from tracklight.graphs.keras import read_keras
from tracklight.graphs.merging import read_run_metadata
from tracklight.graphs.model import Graph

READERS: dict[str, Callable[[bytes], Graph]] = {
    "graphs": read_graphdef,
    "graph_run_metadata": read_run_metadata,
    "graph_run_metadata_graph": read_run_metadata,
    "graph_keras_model": read_keras,
}
"""By the plugin of the tag. The times that a tagged run took are no graph."""


def read_graph(plugin: str, data: bytes) -> Graph:
    """Read a graph that was logged for a plugin.

    Raises:
        EmptyGraphError: The logged value has no bytes.
        FormatError: The bytes are not a graph.
    """
    if not data:
        raise EmptyGraphError("this graph is empty: it was logged without any nodes")
    return READERS[plugin](data)
