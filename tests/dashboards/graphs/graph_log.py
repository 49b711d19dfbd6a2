"""Logs graphs and asks the dashboard about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.dashboards.opening import make_context
from tests.index import logs
from tracklight.dashboards.graphs.dashboard import Graphs
from tracklight.dashboards.graphs.library import RUN_GRAPH_TAG, make_graph_id
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import encode_record

#: Stands between the sizes of a shape.
X = "\N{MULTIPLICATION SIGN}"


def write_graph(folder: Path, graph: Message | bytes, run: str = "run", step: int = 0) -> None:
    """One more graph of a run, in an event file of its own."""
    event = proto.Event(wall_time=1.7e9 + step, step=step)
    event.graph_def = graph if isinstance(graph, bytes) else graph.SerializeToString()
    (folder / run).mkdir(parents=True, exist_ok=True)
    (folder / run / f"events.out.tfevents.{step + 1}").write_bytes(
        encode_record(event.SerializeToString())
    )


class Scene:
    """A log that was written before, behind the dashboard."""

    def __init__(self, folder: Path) -> None:
        self.catalog = logs.open_catalog(folder)
        self.catalog.refresh()
        self.context = make_context(self.catalog)
        self.dashboard = Graphs(self.context)
        self.id = make_graph_id("run", RUN_GRAPH_TAG, "graphs")

    def ask(self, route_path: str, /, **fields: object) -> Any:
        """Of the graph of ``run`` if no other is named."""
        route = next(route for route in self.dashboard.routes() if route.path == route_path)
        return route.handler(msgspec.convert({"id": self.id, **fields}, route.request_type))

    def group(self, path: str = "", **fields: object) -> Any:
        return self.ask("group", group=path, **fields)

    def edges(self, path: str = "", **fields: object) -> dict[tuple[str, str], str]:
        """What joins the children of a group, by their labels."""
        group = self.group(path, **fields)
        label = [child.label for child in group.children]
        pairs = zip(group.edges.source, group.edges.target, group.edges.label, strict=True)
        return {(label[source], label[target]): text for source, target, text in pairs}


def border(group: Any, columns: Any) -> Mapping[str, set[str]]:
    """The partners of each child."""
    found: dict[str, set[str]] = {}
    for child, partner in zip(columns.child.tolist(), columns.partner, strict=True):
        found.setdefault(group.children[child].label, set()).add(partner)
    return found
