"""Open a run in TensorBoard's projector: ``projector_reader.py LOGDIR RUN``."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.projector import projector_plugin
from werkzeug.test import Client


def open_projector(logdir: str) -> Any:
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(logdir)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, logdir)
    flags = SimpleNamespace(logdir=logdir)
    context = base_plugin.TBContext(
        multiplexer=multiplexer, logdir=logdir, flags=flags, data_provider=provider
    )
    return projector_plugin.ProjectorPlugin(context).get_plugin_apps()


def read(logdir: str, run: str) -> dict[str, Any]:
    routes = open_projector(logdir)

    def get(route: str, **query: str) -> bytes:
        data: bytes = Client(routes[route]).get("/", query_string={"run": run, **query}).data
        return data

    names = [item["tensorName"] for item in json.loads(get("/info"))["embeddings"]]
    return {
        "names": names,
        "tensor": np.frombuffer(get("/tensor", name=names[0]), "<f4").tolist(),
        "metadata": get("/metadata", name=names[0]).decode(),
    }


if __name__ == "__main__":
    print(json.dumps(read(*sys.argv[1:])))
