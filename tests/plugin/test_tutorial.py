"""The plugin tutorial builds a working dashboard, and ends at the example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.pages import ROOT, iter_blocks
from tests.plugin.skeleton import SKELETON
from tracklight import plugin, summary
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.server.plugins import create_static_context

PAGE = ROOT / "docs" / "plugin-tutorial.md"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the Python examples from top to bottom, and return their names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    found: dict[str, Any] = {}
    for block in iter_blocks("python"):
        if block.page == PAGE:
            exec(compile(block.code, str(block), "exec"), found)
    return found


def test_ranks_runs(names: dict[str, Any], tmp_path: Path) -> None:
    for run, values in {"a": (3.0, 1.0), "b": (0.5, 2.0), "c": (float("nan"),)}.items():
        with summary.create_file_writer(tmp_path / "logs" / run).as_default():
            for step, value in enumerate(values):
                summary.scalar("loss", value, step=step)
    catalog = Catalog(parse_roots(str(tmp_path / "logs")), cache=False)
    catalog.refresh()
    kind: type[plugin.Dashboard] = names["ExportedLeaderboard"]
    dashboard: Any = kind(create_static_context(catalog))
    lowest = dashboard.rank(names["RankingRequest"]("loss"))
    assert (lowest.runs, lowest.values.tolist(), lowest.steps.tolist()) == (
        ["b", "a"],
        [0.5, 1.0],
        [0, 1],
    )
    highest = dashboard.rank(names["RankingRequest"]("loss", "max"))
    assert (highest.runs, highest.values.tolist()) == (["a", "b"], [3.0, 2.0])
    assert [path for path, _ in dashboard.export_static(["a", "b"])] == [
        "ranking?tag=loss&goal=min",
        "ranking?tag=loss&goal=max",
    ]
    catalog.close()


def test_entry_point_is_that_of_the_example() -> None:
    (block,) = (block for block in iter_blocks("toml") if block.page == PAGE)
    assert block.code in (SKELETON / "pyproject.toml").read_text(encoding="utf-8")


def test_web_part_uses_the_api_of_the_example() -> None:
    blocks = [block.code for block in iter_blocks("js") if block.page == PAGE]
    example = (SKELETON / "tracklight_leaderboard" / "web" / "index.js").read_text(encoding="utf-8")
    for call in ("context.subscribe(refresh)", "context.api.get(", "context.url.param('board-tag'"):
        assert any(call in code for code in blocks), call
        assert call in example, call
