"""Parameter counts computed from the JSON of a model agree with Keras."""

from __future__ import annotations

from tests.frameworks.programs import need, run_keras
from tracklight.analysis.graphs.keras import parse_keras


def test_parameter_counts_agree_with_keras() -> None:
    need("keras", "tensorflow")
    for result in run_keras("keras_sizes.py", backend="tensorflow"):
        graph = parse_keras(result["model"].encode())
        ours = {name: graph.describe(index).parameters for index, name in enumerate(graph.names)}
        assert ours == result["counts"]
