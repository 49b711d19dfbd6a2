"""A third-party dashboard gets what built-in ones get: prepare(), routes and static export."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.plugin import third_party
from tests.plugin.skeleton import register
from tests.plugin.third_party import Everything, Failing
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.static_export.test_writer import Everything as All
from tests.server.waiting import wait_until
from tracklight.plugin import DataAccess
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.static_export import ExportContents, parse_view

LOGGED = {"conv": {"loss": [3.0, 1.0]}, "vit": {"loss": [9.0, 7.0], "acc": [0.5]}}
WEB = "export function mount(target) { target.textContent = 'mounted'; return () => {}; }\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = (
        "everything = tests.plugin.third_party:Everything\n"
        "failing = tests.plugin.third_party:Failing"
    )
    monkeypatch.syspath_prepend(str(register(tmp_path / "site", entries)))
    web = tmp_path / "web"
    web.mkdir()
    (web / "index.js").write_text(WEB)
    monkeypatch.setattr(Everything, "web_dir", web)
    monkeypatch.setattr(Failing, "web_dir", web)
    monkeypatch.setattr(third_party, "instances", [])


@pytest.fixture
def client(installed: None, tmp_path: Path) -> Iterator[TestClient]:
    source = MemorySource(logged=LOGGED)
    app = create_app(source, MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
        yield client


def get_instance() -> Everything:
    (instance,) = (it for it in third_party.instances if type(it) is Everything)
    return instance


def test_prepare_is_called_after_the_first_load(client: TestClient) -> None:
    assert get_instance().prepared.wait(60)
    assert client.get("/api/v1/status").json()["status"]["problems"] == []


def test_a_dashboard_whose_prepare_fails_still_works(client: TestClient) -> None:
    assert client.post("/api/v1/failing/mean", json={"tag": "acc"}).json()["runs"] == ["vit"]


@pytest.mark.parametrize("data_dirs", [(), ("data",)])
def test_a_dashboard_that_needs_data_is_active_if_there_is_some(
    data_dirs: tuple[str, ...], installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Everything, "needs_data_access", True)
    monkeypatch.setattr(Everything, "plugins", ())
    monkeypatch.setattr(Everything, "files", ())
    app = create_app(
        MemorySource(),
        MemoryWatch(),
        create_policy("localhost"),
        page_dir=tmp_path,
        access=DataAccess(data_dirs),
    )
    with TestClient(app, base_url="http://localhost") as client:
        rows = client.get("/api/v1/dashboards").json()
    assert [row["active"] for row in rows if row["name"] == "everything"] == [bool(data_dirs)]


def test_close_is_called_at_shutdown(installed: None, tmp_path: Path) -> None:
    app = create_app(MemorySource(), MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/api/v1/status").is_success
        assert not get_instance().is_closed
    assert get_instance().is_closed


def test_series_are_queried_and_smoothed(client: TestClient) -> None:
    plain = client.post("/api/v1/everything/mean", json={"tag": "loss"}).json()
    assert plain == {"runs": ["conv", "vit"], "values": [2.0, 8.0]}
    smooth = client.post("/api/v1/everything/mean", json={"tag": "loss", "smoothing": 0.9}).json()
    assert smooth["values"] != plain["values"]


def test_errors_have_the_common_format(client: TestClient) -> None:
    response = client.post("/api/v1/everything/mean", json={"tag": "none"})
    assert response.status_code == 400
    assert response.json()["error"]["message"] == 'No run has the scalar "none".'


def test_a_job_runs_in_the_background(client: TestClient) -> None:
    def get_total() -> object:
        return client.post("/api/v1/everything/total", json={"tag": "loss"}).json()

    wait_until(lambda: get_total() == {"state": "done", "total": 10.0})


def test_mutating_routes_and_etags(client: TestClient) -> None:
    path = "/api/v1/everything/notes/a"
    assert client.put(path, json={"text": "hello"}).status_code == 200
    assert client.put(path, data={"text": "hello"}).status_code == 415
    notes = client.get("/api/v1/everything/notes")
    assert notes.json() == {"a": "hello"}
    headers = {"if-none-match": notes.headers["etag"]}
    assert client.get("/api/v1/everything/notes", headers=headers).status_code == 304
    assert "immutable" in client.get("/api/v1/everything/runs.txt").headers["cache-control"]


def test_a_read_only_server_refuses_mutating_routes(installed: None, tmp_path: Path) -> None:
    policy = create_policy("localhost", read_only=True)
    app = create_app(MemorySource(), MemoryWatch(), policy, page_dir=tmp_path)
    client = TestClient(app, base_url="http://localhost")
    assert client.put("/api/v1/everything/notes/a", json={"text": "x"}).status_code == 403


def test_files_make_a_dashboard_active(installed: None, tmp_path: Path) -> None:
    source = MemorySource(beside={"conv": {"hparams.yaml": b"lr: 1"}})
    app = create_app(source, MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    rows = TestClient(app, base_url="http://localhost").get("/api/v1/dashboards").json()
    active = {row["name"] for row in rows if row["active"]}
    assert active == {"everything", "failing", "hparams", "workspaces"}


def test_static_export_has_the_data_and_the_module(
    installed: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = MemorySource(path=str(tmp_path), logged=LOGGED)
    source.refresh()
    contents = ExportContents(source, parse_view(""), All(), All())
    parts = {url: (name, part) for name, url, part in contents.iter_parts()}
    name, means = parts["api/v1/everything/mean?tag=loss"]
    assert name == "everything"
    assert isinstance(means, third_party.Means) and means.runs == ["conv", "vit"]
    assert "api/v1/everything/runs.txt" in parts

    # A plugin that fails is left out completely, with a warning.
    assert "api/v1/failing/runs.txt" not in parts
    assert "the dashboard failing is not exported: cannot export (RuntimeError)" in caplog.text

    head = contents.build_head({name for name, _ in parts.values()})
    rows = {row.name: row for row in head.responses["api/v1/dashboards"]}  # type: ignore[attr-defined]
    assert rows["everything"].active and not rows["failing"].active
    kind, _, module = rows["everything"].module_url.partition(",")
    assert kind == "data:text/javascript;base64"
    assert base64.b64decode(module).decode() == WEB
    assert rows["failing"].module_url is rows["scalars"].module_url is None
