"""A classifier of photographs of which only the model was logged: layers and operations."""

from __future__ import annotations

from pathlib import Path

from tracklight.demo.eventfile import EventFile
from tracklight.demo.resnet import build_graph
from tracklight.demo.resnet_layers import describe_layers
from tracklight.sdk.graphs import build_tagged


def write_classifier(run: Path, *, now: float) -> None:
    started = now - 90 * 60
    with EventFile(run, started) as file:
        file.log_graph(started + 1, build_graph())
        file.log(started + 2, 0, build_tagged("keras", "graph_keras_model", describe_layers()))
