from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tests.dashboards.graphs.graph_log import Scene, write_graph
from tests.dashboards.graphs.test_groups import NET


def test_a_copy_carries_every_group_of_a_graph_that_can_be_read(tmp_path: Path) -> None:
    write_graph(tmp_path, graphdef(NET))
    write_graph(tmp_path, b"\x0a\xff", run="torn")
    scene = Scene(tmp_path)
    parts = dict(scene.dashboard.export_static(["run", "torn"]))
    assert list(parts) == [f"copy/{scene.id}", "list"]
    copy = parts[f"copy/{scene.id}"]
    assert [group.path for group in copy.groups] == ["", "net", "net/conv"]
    assert [row.run for row in parts["list"].graphs] == ["run"]
    assert {node.path for node in copy.nodes} >= {"x", "net", "net/conv/w"}
    assert [paint.by for paint in copy.paints[0].paints] == ["op"]
    scene.catalog.close()


@pytest.mark.slow
def test_of_a_huge_graph_only_so_much_is_carried(tmp_path: Path) -> None:
    names = [f"s{scope}/n{at}x" for scope in range(100) for at in range(100)]
    write_graph(tmp_path, graphdef({name: [] for name in names}))
    scene = Scene(tmp_path)
    copy = dict(scene.dashboard.export_static(["run"]))[f"copy/{scene.id}"]
    assert sum(len(group.children) for group in copy.groups) <= 5400
    assert len(copy.nodes) == 1000
    scene.catalog.close()
