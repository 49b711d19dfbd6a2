"""Uploaded data of nodes as a color scale."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.dashboards.graphs.conftest import OpenGraph
from tests.dashboards.graphs.graph_log import GraphClient
from tracklight.dashboards.graphs.schemas import UploadRequest
from tracklight.errors import FormatError, LogError
from tracklight.plugin import Empty

CSV = b"node,before,after\na/x,1,4\na/y,2,1\nb,3,3\nlost,1,1\n"


def upload(client: GraphClient, content: bytes = CSV) -> str:
    return client.dashboard.upload_overlay(UploadRequest("latency.csv", content)).id


@pytest.fixture
def client(open_graph: OpenGraph) -> GraphClient:
    return open_graph(graphdef({"a/x": [], "a/y": ["a/x"], "b": ["a/y"]}))


def test_nodes_and_groups_are_colored_by_a_column(client: GraphClient) -> None:
    overlay = upload(client)
    (listed,) = client.dashboard.graphs(Empty()).overlays
    assert (listed.id, listed.name, listed.columns) == (overlay, "latency.csv", ["before", "after"])
    for combine, value in [("max", 4.0), ("sum", 5.0), ("mean", 2.5)]:
        coloring = client.request(
            "paint", by="overlay", overlay=f"{overlay}:after", combine=combine
        )
        np.testing.assert_array_equal(coloring.value, [value, 3.0])
    inside = client.request("paint", by="overlay", overlay=f"{overlay}:after", group="a")
    np.testing.assert_array_equal(inside.value, [4.0, 1.0])


def test_two_columns_are_compared(client: GraphClient) -> None:
    overlay = upload(client)
    fields = {"overlay": f"{overlay}:after", "baseline": f"{overlay}:before"}
    coloring = client.request("paint", by="overlay", group="a", **fields)
    np.testing.assert_array_equal(coloring.value, [3.0, -1.0])
    np.testing.assert_array_equal(coloring.overlay_value, [4.0, 1.0])
    np.testing.assert_array_equal(coloring.baseline_value, [1.0, 2.0])
    summary = client.request("overlay", **fields)
    assert [(row.path, row.value, row.ancestors) for row in summary.top] == [
        ("a/x", 3.0, ["a"]),
        ("a/y", -1.0, ["a"]),
        ("b", 0.0, []),
    ]
    assert (summary.low, summary.high, summary.nodes) == (-1.0, 3.0, 3)


def test_the_summary_names_what_the_graph_does_not_have(client: GraphClient) -> None:
    summary = client.request("overlay", overlay=f"{upload(client)}:before")
    assert (summary.unknown, summary.unknown_total) == (["lost"], 1)
    stranger = upload(client, b"node,v\nq,1")
    nothing = client.request("overlay", overlay=f"{stranger}:v")
    assert (nothing.nodes, nothing.low, nothing.high, nothing.top) == (0, 0.0, 0.0, [])


def test_nodes_of_functions_have_values(open_graph: OpenGraph) -> None:
    graph = graphdef({"call": []})
    add_function(graph, "f", [], {"inner": []}, {"y": "inner:0"})
    call(graph, 0, "f", "f")
    client = open_graph(graph)
    overlay = upload(client, b"node,v\ninner,5\n")
    summary = client.request("overlay", overlay=f"{overlay}:v")
    assert [(row.path, row.value) for row in summary.top] == [("call|f|inner", 5.0)]
    inside = client.request("paint", by="overlay", overlay=f"{overlay}:v", group="call|f|")
    assert 5.0 in inside.value


def test_the_oldest_file_is_dropped_and_reported(client: GraphClient) -> None:
    first = upload(client)
    for _ in range(16):
        upload(client)
    assert first not in [row.id for row in client.dashboard.graphs(Empty()).overlays]
    for reference in (f"{first}:before", "no such"):
        with pytest.raises(LogError, match="no longer has this file"):
            client.request("overlay", overlay=reference)
    with pytest.raises(FormatError, match=r"latency\.csv has no numbers"):
        upload(client, b"not a table")
