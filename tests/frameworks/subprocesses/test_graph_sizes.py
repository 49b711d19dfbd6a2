"""Sizes of layers that are computed from a description are those that Keras itself counts."""

from __future__ import annotations

from tests.frameworks.programs import need, run_program
from tracklight.analysis.graphs.keras import parse_keras


def test_parameters_are_those_that_keras_counts() -> None:
    need("keras", "tensorflow")
    for told in run_program("keras_sizes.py", KERAS_BACKEND="tensorflow"):
        graph = parse_keras(told["model"].encode())
        ours = {name: graph.describe(place).parameters for place, name in enumerate(graph.names)}
        assert ours == told["counts"]
