"""A classifier of photographs of which only the model was logged: layers and operations."""

from __future__ import annotations

from pathlib import Path

from tracklight.demo.eventfile import EventFile
from tracklight.demo.resnet import build_graph
from tracklight.demo.resnet_layers import describe_layers
from tracklight.demo.resnet_times import record_step
from tracklight.sdk.graphs import build_tagged

_STEP = 100


def write_classifier(run: Path, *, now: float) -> None:
    started = now - 90 * 60
    with EventFile(run, started) as file:
        graph = build_graph()
        file.log_graph(started + 1, graph)
        file.log_run_metadata(started + 3, _STEP, f"step {_STEP}", record_step(graph))
        file.log(started + 2, 0, build_tagged("keras", "graph_keras_model", describe_layers()))
