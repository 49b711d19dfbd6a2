from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import tracklight
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.logdir.access import Root
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.types import DamageInfo


def test_status_has_roots_and_progress(client: TestClient) -> None:
    status = client.get("/api/v1/status").json()
    assert status["version"] == tracklight.__version__
    assert status["roots"] == [{"name": "", "path": "/logs"}]
    assert status["status"]["progress"]["bytes_done"] == 1000
    assert status["directories"] == []


def test_status_describes_directories_without_runs(
    client: TestClient, source: MemorySource, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").touch()
    source.logged.clear()
    source.refresh()
    source.roots = (Root("", str(tmp_path)), Root("b", "/nowhere/at/all"))
    here, nowhere = client.get("/api/v1/status").json()["directories"]
    assert (here["exists"], here["entries"], here["examples"]) == (True, 1, ["notes.txt"])
    assert (nowhere["exists"], nowhere["entries"]) == (False, 0)


def test_runs_have_counts_and_non_finite_times(client: TestClient) -> None:
    conv, vit = client.get("/api/v1/runs").json()["runs"]
    assert (conv["name"], conv["tags"], conv["points"]) == ("conv", 2, 4)
    assert (vit["start_wall"], vit["last_wall"]) == (10.0, "NaN")


def test_tags_of_one_run(client: TestClient) -> None:
    response = client.get("/api/v1/tags", params={"run": "conv"}).json()
    loss = next(tag for tag in response["tags"] if tag["tag"] == "loss")
    assert response["run"] == "conv"
    assert (loss["kind"], loss["plugin"], loss["count"], loss["runs"]) == (
        "scalar",
        "scalars",
        3,
        1,
    )
    assert loss["last"] == {"step": 2, "wall_time": 20.0}
    assert loss["description"] == "the loss"


def test_tags_of_all_runs_are_merged(client: TestClient) -> None:
    tags = {tag["tag"]: tag for tag in client.get("/api/v1/tags").json()["tags"]}
    assert (tags["loss"]["runs"], tags["loss"]["count"]) == (2, 6)
    assert (tags["acc"]["runs"], tags["acc"]["count"]) == (1, 1)


def test_tag_names_of_several_runs(client: TestClient) -> None:
    def name(*runs: str) -> list[str]:
        return client.post("/api/v1/tags", json={"runs": runs}).json()["tags"]

    assert name("conv", "vit") == ["acc", "loss"]
    assert name("vit") == ["loss"]
    assert name("gone") == name() == []


def test_merged_tags_are_updated(client: TestClient, source: MemorySource) -> None:
    assert len(client.get("/api/v1/tags").json()["tags"]) == 2
    source.logged["new"] = {"other": [1.0]}
    source.refresh()
    assert len(client.get("/api/v1/tags").json()["tags"]) == 3


def test_files_list_damage(client: TestClient, source: MemorySource) -> None:
    source.damaged["vit"] = [DamageInfo(18, 40, "header", "log.damaged_header")]
    source.version += 1
    every = client.get("/api/v1/files").json()["files"]
    damaged = client.get("/api/v1/files", params={"damaged": "1"}).json()["files"]
    assert [file["run"] for file in every] == ["conv", "vit"]
    reason = {"code": "log.damaged_header", "text": "header", "args": {}}
    assert [(file["run"], file["damage"]) for file in damaged] == [("vit", [[18, 40, reason]])]
    assert len(client.get("/api/v1/files", params={"run": "conv"}).json()["files"]) == 1


def test_responses_are_compressed_and_revalidated(client: TestClient, source: MemorySource) -> None:
    source.logged |= {f"run-{number}": {"loss": [1.0]} for number in range(50)}
    source.refresh()
    response = client.get("/api/v1/runs", headers={"accept-encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["cache-control"] == "no-cache"
    assert client.get("/api/v1/status").headers["cache-control"] == "no-store"


def test_server_responds_while_loading(source: MemorySource, tmp_path: Path) -> None:
    source.gate.clear()
    app = create_app(source, MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/api/v1/status").json()["status"]["loading"] is True
        assert client.get("/api/v1/runs").json()["runs"] == []
        source.gate.set()
        wait_until(lambda: len(client.get("/api/v1/runs").json()["runs"]) == 2)


def test_returns_304_until_the_log_changes(client: TestClient, source: MemorySource) -> None:
    for path in ("/api/v1/runs", "/api/v1/tags", "/api/v1/tags?run=conv", "/api/v1/files"):
        tag = client.get(path).headers["etag"]
        again = client.get(path, headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")
        source.version += 1
        assert client.get(path, headers={"if-none-match": tag}).status_code == 200


def test_equal_queries_are_answered_once_until_the_log_changes(
    client: TestClient, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[str] = []
    query = source.query

    def count(keys: Any, *arguments: Any) -> Any:
        answered.extend(tag for _, tag in keys)
        return query(keys, *arguments)

    monkeypatch.setattr(source, "query", count)

    def ask(tag: str, **headers: str) -> Any:
        body = {"charts": [{"id": "a", "tags": [tag]}]}
        return client.post("/api/v1/scalars/query", json=body, headers=headers)

    first, again = ask("loss"), ask("loss")
    assert answered
    assert (again.content, again.headers) == (first.content, first.headers)
    count_of_one = len(answered)
    ask("loss")
    assert len(answered) == count_of_one
    plain = ask("loss", **{"accept-encoding": "identity"})
    assert plain.json() == first.json()
    assert len(answered) == count_of_one
    source.version += 1
    ask("loss")
    assert len(answered) == 2 * count_of_one


def test_etags_of_different_queries_differ(client: TestClient) -> None:
    tag = client.get("/api/v1/tags?run=conv").headers["etag"]
    assert client.get("/api/v1/tags?run=vit", headers={"if-none-match": tag}).status_code == 200
