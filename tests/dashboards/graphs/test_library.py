from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.conftest import Show
from tests.dashboards.graphs.graph_log import Scene, write_graph
from tracklight.analysis.graphs.model import Graph
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.dashboards.graphs import library
from tracklight.dashboards.graphs.library import RUN_GRAPH_TAG, make_graph_id
from tracklight.errors import FormatError, LogError
from tracklight.plugin import Empty


def test_every_graph_is_listed_with_its_steps(tmp_path: Path) -> None:
    write_graph(tmp_path, graphdef({"a": []}), step=0)
    write_graph(tmp_path, graphdef({"a": [], "b": []}), step=7)
    write_graph(tmp_path, graphdef({"c": []}), run="other")
    scene = Scene(tmp_path)
    listed = scene.dashboard.graphs(Empty()).graphs
    assert [(row.run, row.tag, row.kind) for row in listed] == [
        ("other", RUN_GRAPH_TAG, "op"),
        ("run", RUN_GRAPH_TAG, "op"),
    ]
    assert [step.step for step in listed[1].steps] == [0, 7]
    assert scene.ask("about").nodes == 2
    first = listed[1].steps[0]
    assert scene.ask("about", index=first.index, mark=first.mark).nodes == 1
    with pytest.raises(LogError, match="no longer"):
        scene.ask("about", index=first.index, mark=first.mark + 1)
    with pytest.raises(LogError, match="no longer"):
        scene.ask("about", id="nothing")
    scene.catalog.close()


def test_who_asks_at_the_same_time_waits_for_one_reading(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = show(graphdef({"a": []}))
    read: list[str] = []

    def read_slowly(plugin: str, data: bytes) -> Graph:
        read.append(plugin)
        time.sleep(0.05)
        return parse_logged_graph(plugin, data)

    monkeypatch.setattr(library, "read_graph", read_slowly)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: scene.ask("about").nodes, range(4)))
    assert (answers, read) == ([1, 1, 1, 1], ["graphs"])


def test_a_large_graph_is_read_before_it_is_asked_for(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = show(graphdef({"a": []}))
    read: list[str] = []

    def count(plugin: str, data: bytes) -> Graph:
        read.append(plugin)
        return parse_logged_graph(plugin, data)

    monkeypatch.setattr(library, "read_graph", count)
    scene.dashboard.prepare()
    assert read == []
    monkeypatch.setattr(library, "_PREPARE_BYTES", 1)
    scene.dashboard.prepare()
    assert read == ["graphs"]
    assert scene.ask("about").nodes == 1
    assert read == ["graphs"]


def test_what_is_wrong_with_a_large_graph_is_told_to_who_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_PREPARE_BYTES", 1)
    write_graph(tmp_path, b"no graph")
    scene = Scene(tmp_path)
    scene.dashboard.prepare()
    with pytest.raises(FormatError):
        scene.ask("about")
    scene.catalog.close()


def test_a_graph_is_brought_along(show: Show) -> None:
    scene = show(graphdef({"a": []}))
    body = graphdef({"u": [], "v": ["u"]}).SerializeToString()
    row = scene.ask("upload", name="model.pb", body=body)
    assert (row.kind, row.title) == ("upload", "model.pb")
    assert scene.ask("about", id=row.id).edges == 1
    assert row.id in [listed.id for listed in scene.dashboard.graphs(Empty()).graphs]
    for _ in range(8):
        scene.ask("upload", name="another.pb", body=body)
    with pytest.raises(LogError):
        scene.ask("about", id=row.id)


def test_a_file_that_is_no_graph_is_refused_in_words(show: Show) -> None:
    with pytest.raises(FormatError):
        show(graphdef({"a": []})).ask("upload", name="cat.jpg", body=b"\xff\xd8\xff\xe0 a cat")


def test_two_graphs_are_compared(tmp_path: Path) -> None:
    before = {"x": [], "old": ["x"], "s/kept": ["x"], "s/moved": ["x"], "t/kept": []}
    after = {"x": [], "new": ["x"], "s/kept": ["x"], "s/moved": ["s/kept"], "t/kept": []}
    write_graph(tmp_path, graphdef(before), run="before")
    write_graph(tmp_path, graphdef(after, ops={"new": "New"}), run="after")
    scene = Scene(tmp_path)
    one, other = (make_graph_id(run, RUN_GRAPH_TAG, "graphs") for run in ("before", "after"))
    scene.id = f"compare~{one}~{other}"
    changes = scene.ask("about").changes
    assert (changes.same, changes.added, changes.removed, changes.changed) == (3, 1, 1, 1)
    assert {child.label: child.change for child in scene.group().children} == {
        "x": "same",
        "old": "removed",
        "s": "changed",
        "new": "added",
        "t": "same",
    }
    moved = scene.ask("node", path="s/moved")
    assert [(it.what, it.before, it.after) for it in moved.changes] == [
        ("inputs", "x:0", "s/kept:0")
    ]
    assert {it.path for it in moved.inputs} == {"x", "s/kept"}
    paint = scene.ask("paint", by="change", group="s")
    assert [paint.names[child[0][0]] for child in paint.share] == ["same", "changed"]
    scene.catalog.close()


def test_a_graph_compared_with_itself_is_the_same(show: Show) -> None:
    scene = show(graphdef({"a": [], "b": ["a", "a"], "c": ["b:1", "^a"]}))
    scene.id = f"compare~{scene.id}~{scene.id}"
    assert scene.ask("about").changes.same == 3
    assert scene.ask("about").edges == 3
    assert scene.ask("about").edge_changes.same == 4
