"""Write logs with graphs and call the Graphs dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.dashboards.opening import make_context
from tests.index import logs
from tracklight.dashboards.graphs import RUN_GRAPH_TAG, Graphs, make_graph_id
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import encode_record

#: Separates the sizes of a shape.
X = "\N{MULTIPLICATION SIGN}"


def write_graph(folder: Path, graph: Message | bytes, run: str = "run", step: int = 0) -> None:
    """Write a graph of a run to a new event file."""
    event = proto.Event(wall_time=1.7e9 + step, step=step)
    event.graph_def = graph if isinstance(graph, bytes) else graph.SerializeToString()
    (folder / run).mkdir(parents=True, exist_ok=True)
    (folder / run / f"events.out.tfevents.{step + 1}").write_bytes(
        encode_record(event.SerializeToString())
    )


class GraphClient:
    """Calls the handlers of the dashboard for an existing log."""

    def __init__(self, folder: Path) -> None:
        self.catalog = logs.open_catalog(folder)
        self.catalog.refresh()
        self.context = make_context(self.catalog)
        self.dashboard = Graphs(self.context)
        self.id = make_graph_id("run", RUN_GRAPH_TAG, "graphs")

    def request(self, route_path: str, /, **fields: object) -> Any:
        """Call a route; by default for the graph of ``run``."""
        route = next(route for route in self.dashboard.routes() if route.path == route_path)
        return route.handler(msgspec.convert({"id": self.id, **fields}, route.request_type))

    def group(self, path: str = "", **fields: object) -> Any:
        return self.request("group", group=path, **fields)

    def edges(self, path: str = "", **fields: object) -> dict[tuple[str, str], str]:
        """Return the labels of edges by the labels of the children that they connect."""
        group = self.group(path, **fields)
        label = [child.label for child in group.children]
        pairs = zip(group.edges.source, group.edges.target, group.edges.label, strict=True)
        return {(label[source], label[target]): text for source, target, text in pairs}


def get_partners(group: Any, columns: Any) -> Mapping[str, set[str]]:
    """Return the partners of each child across the boundary."""
    partners: dict[str, set[str]] = {}
    for child, partner in zip(columns.child.tolist(), columns.partner, strict=True):
        partners.setdefault(group.children[child].label, set()).add(partner)
    return partners
