"""Dashboards of others that do not work: each is told of, none stops the server."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.plugin.skeleton import register
from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight import server
from tracklight.dashboards import BUILT_IN_DASHBOARDS, BuiltInDashboard
from tracklight.plugin import Dashboard
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

MODULE = """
from tracklight.plugin import Dashboard, Nothing, Route

class Good(Dashboard):
    name, title = "good", "Good"
    def routes(self):
        return [Route("hello", Nothing, lambda ask: {"hello": self.context.cursor()}, "GET")]

class Ending(Good):
    name = "ending"
    def close(self):
        print("has ended")

class Stuck(Good):
    name = "stuck"
    def close(self):
        raise OSError("will not end")

class Again(Good):
    title = "Another of that name"

class BadName(Good):
    name = "../etc"

class Reserved(Good):
    name = "runs"

class NoWeb(Good):
    name, web_dir = "noweb", __import__("pathlib").Path("/nowhere")

class Failing(Good):
    name = "failing"
    def __init__(self, context):
        raise OSError("no licence")

class BadFiles(Good):
    name, files = "badfiles", ("photos",)

class BadRoutes(Good):
    name = "badroutes"
    def routes(self):
        return [1]

class BadPath(Good):
    name = "badpath"
    def routes(self):
        return [Route("{id", Nothing, print), Route("{a}/{a}", Nothing, print)]

class BadAsk(Good):
    name = "badask"
    def routes(self):
        return [Route("x", "no type at all", print)]

class Exits(Good):
    name = "exits"
    def routes(self):
        raise SystemExit(3)

not_a_class = 7
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "somebodys.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "somebodys", raising=False)
    return tmp_path


def serve(site: Path, *entries: str) -> TestClient:
    names = [f"{number} = {entry}" for number, entry in enumerate(entries)]
    register(site, "\n".join(names))
    app = create_app(
        MemorySource(), MemoryWatch(), create_policy("localhost"), page_dir=site / "no"
    )
    return TestClient(app, base_url="http://localhost")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("no_such_module:X", "no_such_module"),
        ("somebodys:Missing", "Missing"),
        ("somebodys:not_a_class", "not a subclass"),
        ("somebodys:BadName", "../etc"),
        ("somebodys:Reserved", "runs"),
        ("somebodys:NoWeb", "index.js"),
        ("somebodys:Failing", "no licence"),
        ("somebodys:BadFiles", "photos"),
        ("somebodys:BadRoutes", "Route"),
        ("somebodys:BadPath", "path"),
        ("somebodys:BadAsk", "no type at all"),
        ("somebodys:Exits", "SystemExit"),
    ],
)
def test_a_broken_dashboard_is_told_of_and_the_rest_works(
    site: Path, entry: str, reason: str
) -> None:
    client = serve(site, entry, "somebodys:Good")
    (problem,) = client.get("/api/v1/status").json()["status"]["problems"]
    assert problem.startswith('the dashboard "0" cannot be used: ') and reason in problem
    assert "hello" in client.get("/api/v1/good/hello").json()


def test_the_first_of_two_with_one_name_counts(site: Path) -> None:
    client = serve(site, "somebodys:Good", "somebodys:Again")
    titles = [row["title"] for row in client.get("/api/v1/dashboards").json()]
    assert "Good" in titles and "Another of that name" not in titles


def test_dashboards_are_ended_with_the_server(
    site: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with serve(site, "somebodys:Stuck", "somebodys:Ending") as client:
        assert client.get("/api/v1/status").status_code == 200
        assert capsys.readouterr().out == ""
    assert capsys.readouterr().out == "has ended\n"
    assert "closing the dashboard stuck failed: will not end (OSError)" in caplog.text


def test_dashboards_in_a_zip_archive_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entry points come from all importers, not only from folders."""
    archive = tmp_path / "zipped_dashboard-1.0-py3-none-any.whl"
    info = "zipped_dashboard-1.0.dist-info"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_dashboard.py", MODULE)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: zipped-dashboard\n")
        file.writestr(
            f"{info}/entry_points.txt", "[tracklight.dashboards]\ngood = zipped_dashboard:Good\n"
        )
    monkeypatch.syspath_prepend(str(archive))
    app = create_app(MemorySource(), MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    client = TestClient(app, base_url="http://localhost")
    assert "hello" in client.get("/api/v1/good/hello").json()


def test_without_plugins_of_its_own_a_dashboard_is_always_active(site: Path) -> None:
    rows = serve(site, "somebodys:Good").get("/api/v1/dashboards").json()
    assert next(row for row in rows if row["name"] == "good")["active"] is True


@pytest.mark.parametrize("built_in", BUILT_IN_DASHBOARDS, ids=lambda it: it.name)
def test_the_table_of_built_in_dashboards_matches_their_classes(built_in: BuiltInDashboard) -> None:
    module, _, name = built_in.import_path.partition(":")
    kind = getattr(import_module(module), name)
    assert (kind.name, kind.title, tuple(kind.plugins)) == built_in[:3]
    assert tuple(kind.files) == built_in.files
    assert (kind.prepare is not Dashboard.prepare) == built_in.has_prepare
    assert kind.web_dir is None


def test_the_server_names_no_dashboard() -> None:
    """What a dashboard needs is part of the plugin API, not of the server."""
    names = {built_in.name for built_in in BUILT_IN_DASHBOARDS}
    found = []
    for path in Path(server.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in names:
                found.append(f"{path.name}:{node.lineno}: {node.value}")
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "tracklight.dashboards."
            ):
                found.append(f"{path.name}:{node.lineno}: {node.module}")
    assert found == []


def test_a_dashboard_is_loaded_when_it_is_first_asked(tmp_path: Path) -> None:
    program = """
import subprocess
import sys
from importlib import import_module
from starlette.testclient import TestClient
from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.dashboards import BUILT_IN, BuiltIn
from tracklight.server.app import create_app
from tracklight.server.auth import policy_for

app = create_app(MemorySource(), MemoryWatch(), policy_for("localhost"))
client = TestClient(app, base_url="http://localhost")
for path in ("api/v1/dashboards", "api/v1/runs", "api/v1/tags"):
    client.get(f"/{path}")
print(*sorted(name for name in sys.modules if name.startswith("tracklight.dashboards.")))
client.post("/api/v1/images/steps", json={"tags": []})
print("tracklight.dashboards.images" in sys.modules, "PIL" in sys.modules)
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["", "True False"]
