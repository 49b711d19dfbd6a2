"""The examples of docs/plugins.md run, and the page mentions the whole API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.contract.pages import ROOT, iter_blocks
from tests.server.static_export.test_writer import Everything
from tests.server.waiting import wait_until
from tracklight import plugin, summary
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.plugins import create_static_context
from tracklight.server.static_export import ExportContents, parse_view

PAGE = ROOT / "docs" / "plugins.md"


class EntryPoint:
    """An entry point of a package that is not installed."""

    def __init__(self, kind: type[plugin.Dashboard]) -> None:
        self.name = kind.name
        self._kind = kind

    def load(self) -> type[plugin.Dashboard]:
        return self._kind


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    with summary.create_file_writer(tmp_path / "logs" / "train").as_default():
        for step in range(3):
            summary.scalar("loss", 3.0 - step, step=step)
            summary.image("input", np.zeros((1, 4, 6, 3)), step=step)
    return tmp_path / "logs"


@pytest.fixture
def names(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the examples from top to bottom next to a folder ``logs``, and return their names."""
    web_dir = logdir.parent / "my_package" / "web"
    web_dir.mkdir(parents=True)
    (web_dir / "index.js").write_text("export function mount() {}", encoding="utf-8")
    monkeypatch.chdir(logdir.parent)
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(logdir.parent / "cache"))
    found: dict[str, Any] = {}
    for block in iter_blocks("python"):
        if block.page == PAGE:
            exec(compile(block.code, str(block), "exec"), found)
    kinds = [
        kind
        for kind in found.values()
        if isinstance(kind, type) and issubclass(kind, plugin.Dashboard) and "name" in vars(kind)
    ]
    entries = [EntryPoint(kind) for kind in kinds]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    return found


@pytest.fixture
def catalog(logdir: Path) -> Iterator[Catalog]:
    catalog = Catalog(parse_roots(logdir), cache=False)
    catalog.refresh()
    yield catalog
    catalog.close()


@pytest.fixture
def client(names: dict[str, Any], catalog: Catalog, tmp_path: Path) -> Iterator[TestClient]:
    with Watcher(catalog.roots) as watcher:
        app = create_app(catalog, watcher, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client


def test_documented_dashboards_work(client: TestClient) -> None:
    assert client.get("/api/v1/status").json()["status"]["problems"] == []
    means = client.post("/api/v1/means/query", json={"tag": "loss"}).json()
    assert means == {"runs": ["train"], "values": [2.0]}

    assert client.put("/api/v1/my-notes/notes/a", json={"text": "hello"}).status_code == 200
    assert client.put("/api/v1/my-notes/notes/b", json={}).status_code == 400
    assert client.get("/api/v1/my-notes/notes").json() == {"a": "hello"}
    assert client.get("/api/v1/my-notes/notes.txt").text == "hello"

    (series,) = client.post("/api/v1/sizes/steps", json={"tags": ["input"]}).json()["series"]
    params = {"run": "train", "tag": "input", "index": 0, "fingerprint": series["fingerprint"][0]}
    size = client.get("/api/v1/sizes/size", params=params)
    assert size.json() == [6, 4]
    assert "immutable" in size.headers["cache-control"]


def test_documented_queries_work(names: dict[str, Any], catalog: Catalog) -> None:
    log = create_static_context(catalog).log
    assert names["describe"](log) == (2, 1.0)
    last, smooth = names["compare"](log, ["train"])
    assert last == [pytest.approx(smooth[-1], rel=1e-6)]


def test_documented_job_ends(names: dict[str, Any]) -> None:
    assert (names["job"].state, names["job"].result) == ("done", 10)


def test_documented_export_has_the_paths_of_the_page(
    names: dict[str, Any], catalog: Catalog
) -> None:
    contents = ExportContents(catalog, parse_view(""), Everything(), Everything())
    assert "api/v1/exported-means/query?tag=loss" in {url for _, url, _ in contents.iter_parts()}


def test_all_fields_of_routes_and_dashboards_are_described() -> None:
    text = PAGE.read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", text))
    fields = {*plugin.Route.__dataclass_fields__, *plugin.Context.__dataclass_fields__}
    methods = {name for name in vars(plugin.Dashboard) if not name.startswith("_")}
    assert (fields | methods | {"name", "title"}) - words == set()
