"""Broken third-party dashboards are reported, and never stop the server."""

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
from tracklight.plugin import Dashboard, Empty, Route

class Good(Dashboard):
    name, title = "good", "Good"
    def routes(self):
        return [Route("hello", Empty, lambda request: {"hello": self.context.cursor()}, "GET")]

class Closing(Good):
    name = "closing"
    def close(self):
        print("closed")

class Stuck(Good):
    name = "stuck"
    def close(self):
        raise OSError("cannot close")

class Again(Good):
    title = "Another of that name"

class BadName(Good):
    name = "../etc"

class Reserved(Good):
    name = "runs"

class ReservedTags(Good):
    name = "tags"

class NoWeb(Good):
    name, web_dir = "noweb", __import__("pathlib").Path("/nowhere")

class Failing(Good):
    name = "failing"
    def __init__(self, context):
        raise OSError("no license")

class BadFiles(Good):
    name, files = "badfiles", ("photos",)

class BadRoutes(Good):
    name = "badroutes"
    def routes(self):
        return [1]

class BadPath(Good):
    name = "badpath"
    def routes(self):
        return [Route("{id", Empty, print), Route("{a}/{a}", Empty, print)]

class BadRequestType(Good):
    name = "badrequesttype"
    def routes(self):
        return [Route("x", "not a type", print)]

class Exits(Good):
    name = "exits"
    def routes(self):
        raise SystemExit(3)

not_a_class = 7
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "third_party_dashboards.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "third_party_dashboards", raising=False)
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
        ("third_party_dashboards:Missing", "Missing"),
        ("third_party_dashboards:not_a_class", "not a subclass"),
        ("third_party_dashboards:BadName", "../etc"),
        ("third_party_dashboards:Reserved", "runs"),
        ("third_party_dashboards:ReservedTags", "tags"),
        ("third_party_dashboards:NoWeb", "index.js"),
        ("third_party_dashboards:Failing", "no license"),
        ("third_party_dashboards:BadFiles", "photos"),
        ("third_party_dashboards:BadRoutes", "Route"),
        ("third_party_dashboards:BadPath", "path"),
        ("third_party_dashboards:BadRequestType", "not a type"),
        ("third_party_dashboards:Exits", "SystemExit"),
    ],
)
def test_broken_dashboard_is_reported_and_others_work(site: Path, entry: str, reason: str) -> None:
    client = serve(site, entry, "third_party_dashboards:Good")
    (problem,) = client.get("/api/v1/status").json()["status"]["problems"]
    assert problem["code"] == "plugins.cannot_load"
    assert problem["text"].startswith('the dashboard "0" cannot be loaded: ')
    assert reason in problem["text"]
    assert "hello" in client.get("/api/v1/good/hello").json()


def test_first_of_two_dashboards_with_the_same_name_wins(site: Path) -> None:
    client = serve(site, "third_party_dashboards:Good", "third_party_dashboards:Again")
    titles = [row["title"] for row in client.get("/api/v1/dashboards").json()]
    assert "Good" in titles and "Another of that name" not in titles


def test_dashboards_are_closed_at_shutdown(
    site: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with serve(site, "third_party_dashboards:Stuck", "third_party_dashboards:Closing") as client:
        assert client.get("/api/v1/status").status_code == 200
        assert capsys.readouterr().out == ""
    assert capsys.readouterr().out == "closed\n"
    assert "closing the dashboard stuck failed: cannot close (OSError)" in caplog.text


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


def test_dashboard_without_plugins_is_always_active(site: Path) -> None:
    rows = serve(site, "third_party_dashboards:Good").get("/api/v1/dashboards").json()
    assert next(row for row in rows if row["name"] == "good")["active"] is True


@pytest.mark.parametrize("built_in", BUILT_IN_DASHBOARDS, ids=lambda it: it.name)
def test_the_table_of_built_in_dashboards_matches_their_classes(built_in: BuiltInDashboard) -> None:
    module, _, name = built_in.import_path.partition(":")
    kind = getattr(import_module(module), name)
    assert (kind.name, kind.title, tuple(kind.plugins)) == built_in[:3]
    assert tuple(kind.files) == built_in.files
    assert (kind.prepare is not Dashboard.prepare) == built_in.has_prepare
    assert kind.needs_data_access == built_in.needs_data_access
    assert kind.web_dir is None


def test_server_does_not_name_dashboards() -> None:
    """What a dashboard needs belongs to the plugin API, not to the server."""
    names = {built_in.name for built_in in BUILT_IN_DASHBOARDS}
    folder = Path(server.__file__).parent
    found = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            # The run table has columns and files of kinds such as "text".
            is_name = isinstance(node, ast.Constant) and node.value in names
            if is_name and path.parent == folder:
                found.append(f"{path.name}:{node.lineno}: {node.value}")
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "tracklight.dashboards."
            ):
                found.append(f"{path.name}:{node.lineno}: {node.module}")
    assert found == []


def test_dashboards_are_loaded_on_first_request(tmp_path: Path) -> None:
    program = """
import sys
from starlette.testclient import TestClient
from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

app = create_app(MemorySource(), MemoryWatch(), create_policy("localhost"))
client = TestClient(app, base_url="http://localhost")
for path in ("api/v1/dashboards", "api/v1/runs", "api/v1/tags"):
    client.get(f"/{path}")
print(*sorted(name for name in sys.modules if name.startswith("tracklight.dashboards.")))
client.post("/api/v1/images/steps", json={"tags": []})
print("tracklight.dashboards.images" in sys.modules, "PIL" in sys.modules)
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["", "True False"]
