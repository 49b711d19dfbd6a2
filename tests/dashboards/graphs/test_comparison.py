from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import Scene, X, write_graph
from tracklight.dashboards.graphs.library import RUN_GRAPH_TAG, make_graph_id
from tracklight.errors import UsageError

SMALL, LARGE = f"8{X}4", f"8{X}6"


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Scene]:
    """A node gives another shape, and three edges came or went."""
    before = {"x": [], "s/a": ["x"], "s/b": ["s/a", "x"], "end": ["s/b"]}
    after = {"x": [], "s/a": ["x"], "s/b": ["^x", "s/a"], "end": ["s/b", "x"]}
    shapes = {"x": [8, 4], "s/b": [8, 4]}
    write_graph(tmp_path, graphdef(before, shapes={**shapes, "s/a": [8, 4]}), run="before")
    write_graph(tmp_path, graphdef(after, shapes={**shapes, "s/a": [8, 6]}), run="after")
    scene = Scene(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    scene.id = f"compare~{one}~{other}"
    yield scene
    scene.catalog.close()


def test_edges_that_came_went_or_carry_something_else_are_told(both: Scene) -> None:
    counts = both.ask("about").edge_changes
    assert (counts.same, counts.added, counts.removed, counts.changed) == (2, 2, 1, 1)
    found = {(it.source, it.target, it.control): it for it in both.ask("changes").edges}
    assert {key: (it.change, it.before, it.after) for key, it in found.items()} == {
        ("x", "s/b", True): ("added", "", ""),
        ("x", "end", False): ("added", "", SMALL),
        ("x", "s/b", False): ("removed", SMALL, ""),
        ("s/a", "s/b", False): ("changed", SMALL, LARGE),
    }
    assert found["s/a", "s/b", False].inside == ["s"]


def test_nodes_that_differ_are_listed_by_what_became_of_them(both: Scene) -> None:
    found = both.ask("changes").nodes
    assert [(it.path, it.change) for it in found] == [
        ("s/a", "changed"),
        ("s/b", "changed"),
        ("end", "changed"),
    ]
    assert [it.path for it in both.ask("changes", most=1).nodes] == ["s/a"]


def test_a_bundle_in_which_not_all_edges_are_alike_has_changed(both: Scene) -> None:
    group = both.group()
    label = [child.label for child in group.children]
    rows = zip(group.edges.source, group.edges.target, group.edges.change, strict=True)
    assert {(label[source], label[target]): change for source, target, change in rows} == {
        ("x", "s"): "changed",
        ("x", "end"): "added",
        ("s", "end"): "same",
    }
    inner = both.group("s")
    assert dict(zip(inner.ins.child.tolist(), inner.ins.change, strict=True)) == {
        0: "same",
        1: "changed",
    }


def test_neighbours_tell_what_flowed_before(both: Scene) -> None:
    inputs = both.ask("node", path="s/b").inputs
    assert {(it.path, it.control): (it.change, it.was) for it in inputs} == {
        ("x", True): ("added", ""),
        ("x", False): ("removed", SMALL),
        ("s/a", False): ("changed", SMALL),
    }
    assert {it.path: it.change for it in both.ask("node", path="s").outputs} == {"end": "same"}


def test_an_edge_is_the_same_behind_one_more_input(tmp_path: Path) -> None:
    write_graph(tmp_path, graphdef({"x": [], "y": [], "sum": ["x"]}), run="before")
    write_graph(tmp_path, graphdef({"x": [], "y": [], "sum": ["y", "x"]}), run="after")
    scene = Scene(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    scene.id = f"compare~{one}~{other}"
    assert {it.source: it.change for it in scene.ask("changes").edges} == {"y": "added"}
    assert [it.path for it in scene.ask("node", path="sum").inputs] == ["y", "x"]
    scene.catalog.close()


def test_shapes_of_two_graphs_are_not_held_against_each_other(tmp_path: Path) -> None:
    ops = {"a": "Placeholder", "b": "Placeholder", "sum": "AddV2"}
    old = graphdef({"a": [], "b": [], "sum": ["a", "b"]}, ops, {"a": [4, 8], "b": [4, 8]})
    new = graphdef({"a": [], "sum": ["a", "a"]}, ops, {"a": [4, 6]})
    write_graph(tmp_path, old, run="before")
    write_graph(tmp_path, new, run="after")
    scene = Scene(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    assert scene.ask("statistics", id=f"compare~{one}~{other}").misfits == []
    scene.catalog.close()


def test_a_graph_by_itself_differs_in_nothing(show: Show) -> None:
    scene = show(graphdef({"a": [], "b": ["a"]}))
    assert scene.ask("about").edge_changes is None
    assert scene.group().edges.change == [None]
    with pytest.raises(UsageError, match="compared"):
        scene.ask("changes")
