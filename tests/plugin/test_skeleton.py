"""The example plugin works as its README says."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.plugin.skeleton import SKELETON, register
from tests.server.columns_decoder import read_columns
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.static_export.test_writer import Everything
from tests.server.waiting import wait_until
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.responses import COLUMNS_MEDIA_TYPE
from tracklight.server.static_export import ExportContents, parse_view


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = register(tmp_path / "site", "leaderboard = tracklight_leaderboard:Leaderboard")
    monkeypatch.syspath_prepend(str(SKELETON))
    monkeypatch.syspath_prepend(str(site))


@pytest.fixture
def client(installed: None, tmp_path: Path) -> Iterator[TestClient]:
    logged = {"conv": {"loss": [3.0, 2.0]}, "vit": {"loss": [9.0, 1.0, 7.0]}, "odd": {"acc": [1.0]}}
    app = create_app(
        MemorySource(logged=logged), MemoryWatch(), create_policy("localhost"), page_dir=tmp_path
    )
    with TestClient(app, base_url="http://localhost") as client:
        wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
        yield client


def test_skeleton_is_listed(client: TestClient) -> None:
    rows = {row["name"]: row for row in client.get("/api/v1/dashboards").json()}
    assert rows["leaderboard"] == {
        "name": "leaderboard",
        "title": "Leaderboard",
        "plugins": ["scalars"],
        "active": True,
        "module_url": "plugins/leaderboard/index.js",
    }
    assert rows["scalars"]["module_url"] is None
    assert client.get("/api/v1/status").json()["status"]["problems"] == []


def test_skeleton_ranks_runs(client: TestClient) -> None:
    lowest = client.get("/api/v1/leaderboard/ranking", params={"tag": "loss"}).json()
    assert lowest == {"runs": ["vit", "conv"], "steps": [1, 1], "values": [1.0, 2.0]}
    request = {"tag": "loss", "goal": "max"}
    headers = {"accept": COLUMNS_MEDIA_TYPE}
    response = client.get("/api/v1/leaderboard/ranking", params=request, headers=headers)
    highest = read_columns(response.content)
    assert highest["runs"] == ["vit", "conv"]
    np.testing.assert_array_equal(highest["values"], [9.0, 3.0])


def test_skeleton_rejects_invalid_requests(client: TestClient) -> None:
    params = {"tag": "loss", "goal": "best"}
    response = client.get("/api/v1/leaderboard/ranking", params=params)
    assert response.status_code == 400
    assert "goal" in response.json()["error"]["message"]


def test_only_web_files_of_the_skeleton_are_served(client: TestClient) -> None:
    module = client.get("/plugins/leaderboard/index.js")
    assert "export function mount" in module.text
    assert module.headers["content-type"].startswith("text/javascript")
    assert module.headers["cache-control"] == "no-cache"
    for path in ("../__init__.py", "%2e%2e/__init__.py", "..%2f__init__.py", "__init__.py", ""):
        assert client.get(f"/plugins/leaderboard/{path}").status_code == 404


def test_skeleton_imports_only_the_plugin_api() -> None:
    modules = set()
    for path in SKELETON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                modules.add(node.module)
            elif isinstance(node, ast.Import):
                modules.update(alias.name for alias in node.names)
    ours = {name for name in modules if name and name.partition(".")[0] == "tracklight"}
    assert ours == {"tracklight.plugin"}


def test_skeleton_exports_all_rankings(installed: None, tmp_path: Path) -> None:
    source = MemorySource(path=str(tmp_path), logged={"a": {"eval/loss": [2.0, 1.0]}})
    source.refresh()
    contents = ExportContents(source, parse_view(""), Everything(), Everything())
    parts = {url: part for name, url, part in contents.iter_parts() if name == "leaderboard"}
    assert set(parts) == {
        "api/v1/leaderboard/ranking?tag=eval%2Floss&goal=min",
        "api/v1/leaderboard/ranking?tag=eval%2Floss&goal=max",
    }


@pytest.mark.slow
def test_pip_installs_the_skeleton(tmp_path: Path) -> None:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building a package needs hatchling")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(tmp_path), str(SKELETON)]
    subprocess.run(command, check=True, timeout=500)
    (entry,) = tmp_path.glob("tracklight_leaderboard-*.dist-info/entry_points.txt")
    assert "leaderboard = tracklight_leaderboard:Leaderboard" in entry.read_text()
    assert (tmp_path / "tracklight_leaderboard" / "web" / "index.js").is_file()
