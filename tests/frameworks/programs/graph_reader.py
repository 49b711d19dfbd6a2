"""Open a log in TensorBoard's graph dashboard: ``graph_reader.py LOGDIR``."""

from __future__ import annotations

import json
import sys
from typing import Any

from google.protobuf import text_format
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.graph import graphs_plugin


def read(logdir: str) -> dict[str, Any]:
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(logdir)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, logdir)
    context = base_plugin.TBContext(multiplexer=multiplexer, data_provider=provider)
    plugin = graphs_plugin.GraphsPlugin(context)
    request = RequestContext()
    (run,) = plugin.info_impl(request, "").values()
    tags = sorted(run["tags"])
    nodes = {}
    for tag in tags:
        text, _ = plugin.graph_impl(request, run["run"], tag, False, "")
        nodes[tag] = len(text_format.Parse(text, GraphDef()).node)
    return {"tags": tags, "nodes": nodes}


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1])))
