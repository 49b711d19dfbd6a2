"""Which tags of a log hold graphs, and how each is read."""

from __future__ import annotations

from collections.abc import Callable

from tracklight.errors import FormatError
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
    """The graph that was logged for a plugin; an empty one is said to be."""
    if not data:
        raise FormatError("the writer left the graph empty")
    return READERS[plugin](data)
