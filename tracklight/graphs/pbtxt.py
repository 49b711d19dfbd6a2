"""Reads a ``GraphDef`` in protobuf's text form, as ``tf.io.write_graph`` writes it."""

from __future__ import annotations

import re

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.graphs.attributes import number_type
from tracklight.graphs.graphdef import build_graph
from tracklight.graphs.model import Graph

#: Types by name, which are numbers in our declarations; texts are passed over.
_TYPE = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\bDT_(\w+)')
#: By the first field of the text.
_MESSAGES = {"saved_model_schema_version": "SavedModel", "meta_graphs": "SavedModel"}
_MESSAGES |= dict.fromkeys(("meta_info_def", "graph_def"), "MetaGraphDef")
_MESSAGES |= dict.fromkeys(("node", "library", "versions", "version"), "GraphDef")
#: About half a minute's worth; the same graph as bytes is read in a second.
MOST_TEXT = 32_000_000
_FIRST_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")


def find_message(text: str) -> str | None:
    """Which message a text begins like."""
    first = _FIRST_FIELD.match(text)
    return _MESSAGES.get(first[1]) if first else None


def read_pbtxt(text: str) -> Graph:
    from google.protobuf import text_format

    if len(text) > MOST_TEXT:
        size = f"{len(text) / 1e6:,.0f} MB"
        raise FormatError(f"{size} of text take minutes to read; write the graph as bytes (.pb)")
    name = find_message(text) or "GraphDef"
    numbered = _TYPE.sub(lambda found: str(number_type(found[1])) if found[1] else found[0], text)
    message = getattr(proto, name)()
    try:
        text_format.Parse(numbered, message, allow_unknown_field=True)
    except (text_format.ParseError, RecursionError) as error:
        raise FormatError(f"the text is no {name} message: {error}") from error
    return build_graph(get_graph(message))


def get_graph(message: Message) -> Message:
    """The graph in what TensorFlow exports; the first where there are several."""
    name = message.DESCRIPTOR.name
    if name == "SavedModel":
        if not message.meta_graphs:
            raise FormatError("the saved model holds no graph")
        message = message.meta_graphs[0]
    return message if name == "GraphDef" else message.graph_def
