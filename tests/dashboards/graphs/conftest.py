"""Fixtures of the Graphs dashboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dashboards.graphs.graph_log import GraphClient, write_graph
from tracklight.formats.proto import Message

OpenGraph = Callable[[Message], GraphClient]


@pytest.fixture
def open_graph(tmp_path: Path) -> Iterator[OpenGraph]:
    """Return a function that logs the graph of a run and opens the dashboard."""
    clients: list[GraphClient] = []

    def open_client(graph: Message) -> GraphClient:
        write_graph(tmp_path, graph)
        clients.append(GraphClient(tmp_path))
        return clients[-1]

    yield open_client
    for client in clients:
        client.catalog.close()
