"""Model files have as many nodes and edges as in Netron."""

from __future__ import annotations

import json
from pathlib import Path

from tests.frameworks.torch.netron_models import COUNT, write_models
from tracklight.analysis.graphs import INPUT, OUTPUT, Graph
from tracklight.analysis.graphs.model_files import INITIALIZER
from tracklight.analysis.graphs.parsers import parse_graph_file

_RECORDED = Path(__file__).with_name("netron_counts.json")


def count_operations(graph: Graph) -> dict[str, int]:
    """Count operations and the edges between them, without inputs, outputs and weights."""
    is_operation = [op not in (INPUT, OUTPUT, INITIALIZER) for op in graph.ops]
    ends = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    edges = sum(is_operation[source] and is_operation[target] for source, target in ends)
    return {"nodes": sum(is_operation), "edges": edges}


def test_counts_equal_those_of_netron(tmp_path: Path) -> None:
    files = write_models(tmp_path)
    recorded = json.loads(_RECORDED.read_text())
    counts = {
        path.name: count_operations(parse_graph_file(path.name, path.read_bytes()))
        for path in files
    }
    assert counts == recorded
    suffixes = [path.suffix for path in files]
    assert {suffixes.count(suffix) for suffix in suffixes} == {COUNT}
