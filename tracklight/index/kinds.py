"""Which plugin a series belongs to, and what kind of thing it holds."""

from __future__ import annotations

from tracklight.formats.batch import Content
from tracklight.types import Kind

#: Values from before there was metadata name no plugin: what they are says it.
_PLUGIN_OF_CONTENT: dict[int, str] = {
    Content.SIMPLE_VALUE: "scalars",
    Content.OLD_HISTOGRAM: "histograms",
    Content.IMAGE: "images",
    Content.HISTOGRAM: "histograms",
    Content.AUDIO: "audio",
    Content.GRAPH: "graphs",
    Content.META_GRAPH: "graphs",
    Content.RUN_METADATA: "graph_tagged_run_metadata",
}

_KIND_OF_PLUGIN = {
    "scalars": Kind.SCALAR,
    "images": Kind.IMAGE,
    "audio": Kind.AUDIO,
    "text": Kind.TEXT,
    "histograms": Kind.HISTOGRAM,
    "graphs": Kind.GRAPH,
    "graph_run_metadata": Kind.GRAPH,
    "graph_run_metadata_graph": Kind.GRAPH,
    "graph_tagged_run_metadata": Kind.GRAPH,
    "graph_keras_model": Kind.GRAPH,
}


def plugin_of(content: int) -> str:
    """The plugin of a series without metadata, by the content of its first value."""
    return _PLUGIN_OF_CONTENT.get(content, "")


def is_known(plugin: str) -> bool:
    """Whether the plugin alone tells what kind of thing its series hold."""
    return plugin in _KIND_OF_PLUGIN


def kind_of(plugin: str, has_points: bool) -> Kind:
    """A number logged for an unknown plugin, or for none, is still a scalar."""
    return _KIND_OF_PLUGIN.get(plugin) or (Kind.SCALAR if has_points else Kind.TENSOR)
