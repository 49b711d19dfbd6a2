from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.cli.flags import parse_flags
from tracklight.cli.serve import parse_settings
from tracklight.errors import UsageError
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy, hash_password
from tracklight.server.middleware import AuditLog

NOTE = {"runs": ["conv", "vit"], "note": "diverged"}
WRITES = [
    ("PATCH", "/api/v1/notes/runs", NOTE),
    ("POST", "/api/v1/notes/annotations", {"step": 3, "text": "warmup ends"}),
    ("DELETE", "/api/v1/notes/annotations/x", None),
    ("PUT", "/api/v1/notes/layouts", {"name": "mine", "categories": []}),
    ("PUT", "/api/v1/alerts/rules", []),
    ("DELETE", "/api/v1/what_if/models?id=x", None),
    ("POST", "/api/v1/projector/bookmark", {}),
]
UPLOADS = [
    "graphs/upload?name=model.pb",
    "graphs/upload_overlay?name=latency.csv",
    "profile/upload?name=trace.json",
    "projector/upload?name=vectors.tsv",
]
ANA, BEN = ("ana", "first secret"), ("ben", "second secret")

Open = Callable[..., TestClient]


@pytest.fixture(autouse=True)
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def open_board(tmp_path: Path, log_path: Path) -> Iterator[Open]:
    """Return a function that starts a server with an audit log and returns a client."""
    clients: list[TestClient] = []

    def open_client(**policy: Any) -> TestClient:
        app = create_app(
            MemorySource(),
            MemoryWatch(),
            create_policy("localhost", **policy),
            page_dir=tmp_path,
            audit_log=AuditLog(log_path),
        )
        clients.append(TestClient(app, base_url="http://localhost:6006"))
        return clients[-1].__enter__()

    yield open_client
    for client in clients:
        client.__exit__(None, None, None)


def read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def users() -> dict[str, Any]:
    return {name: hash_password(password) for name, password in (ANA, BEN)}


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_only_writers_change_something(
    method: str, path: str, body: object, open_board: Open, users: dict[str, Any]
) -> None:
    client = open_board(users=users, writers=["ana"])
    refused = client.request(method, path, json=body, auth=BEN)
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == '"ben" may view this board, but not change it.'
    assert client.request(method, path, json=body, auth=ANA).status_code != 403
    assert client.get("/api/v1/notes", auth=BEN).status_code == 200
    assert client.post("/api/v1/scalars/query", json={"charts": []}, auth=BEN).status_code == 200


@pytest.mark.parametrize("path", UPLOADS)
def test_only_writers_upload(
    path: str, open_board: Open, users: dict[str, Any], log_path: Path
) -> None:
    client = open_board(users=users, writers=["ana"])
    refused = client.post(f"/api/v1/{path}", content=b"x", auth=BEN)
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == '"ben" may view this board, but not change it.'
    assert client.post(f"/api/v1/{path}", content=b"x", auth=ANA).status_code not in (403, 415)
    assert [line["user"] for line in read_log(log_path)] == ["ben", "ana"]


@pytest.mark.parametrize("path", UPLOADS)
def test_read_only_server_refuses_uploads(path: str, open_board: Open) -> None:
    refused = open_board(read_only=True).post(f"/api/v1/{path}", content=b"x")
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == "This server is read-only."


def test_token_is_no_writer(open_board: Open, users: dict[str, Any]) -> None:
    client = open_board(users=users, writers=["ana"], token="secret")
    headers = {"authorization": "Bearer secret"}
    assert client.get("/api/v1/notes", headers=headers).status_code == 200
    refused = client.patch("/api/v1/notes/runs", json=NOTE, headers=headers)
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == (
        "Only users with a name may change something here."
    )


def test_read_only_applies_to_writers(open_board: Open, users: dict[str, Any]) -> None:
    client = open_board(users=users, writers=["ana"], read_only=True)
    assert client.patch("/api/v1/notes/runs", json=NOTE, auth=ANA).status_code == 403


@pytest.mark.parametrize(
    ("names", "status"), [(["ana"], 200), (["ben"], 403), (["ana", "ben"], 403), ([], 403)]
)
def test_user_from_a_proxy(names: list[str], status: int, open_board: Open) -> None:
    client = open_board(writers=["ana"], user_header="X-Forwarded-User")
    headers = [("x-forwarded-user", name) for name in names]
    response = client.patch("/api/v1/notes/runs", json=NOTE, headers=headers)
    assert response.status_code == status


def test_header_is_ignored_unless_configured(
    open_board: Open, users: dict[str, Any], log_path: Path
) -> None:
    client = open_board(users=users, writers=["ana"])
    headers = {"x-forwarded-user": "ana"}
    response = client.patch("/api/v1/notes/runs", json=NOTE, headers=headers, auth=BEN)
    assert response.status_code == 403
    assert read_log(log_path)[0]["user"] == "ben"


def test_password_counts_more_than_a_header(open_board: Open, users: dict[str, Any]) -> None:
    client = open_board(users=users, writers=["ana"], user_header="x-user")
    headers = {"x-user": "ana"}
    response = client.patch("/api/v1/notes/runs", json=NOTE, headers=headers, auth=BEN)
    assert response.status_code == 403


def test_changes_are_logged(open_board: Open, users: dict[str, Any], log_path: Path) -> None:
    client = open_board(users=users, writers=["ana"])
    client.get("/api/v1/notes", auth=ANA)
    client.post("/api/v1/scalars/query", json={"charts": []}, auth=ANA)
    assert read_log(log_path) == []
    for user in (ANA, BEN):
        client.patch("/api/v1/notes/runs", json=NOTE, auth=user)
    client.patch("/api/v1/notes/runs", json={**NOTE, "note": ""}, auth=ANA)
    first, refused, removed = read_log(log_path)
    assert first["time"].endswith("Z")
    assert (first["user"], first["method"], first["path"], first["status"]) == (
        "ana",
        "PATCH",
        "/api/v1/notes/runs",
        200,
    )
    assert first["subjects"] == ["conv", "vit"]
    assert first["request_bytes"] == len(json.dumps(NOTE, separators=(",", ":")))
    assert first["old_bytes"] == 0 < first["new_bytes"]
    assert (refused["user"], refused["status"]) == ("ben", 403)
    assert "new_bytes" not in refused
    assert removed["old_bytes"] == first["new_bytes"] > removed["new_bytes"]


def test_failed_changes_are_logged(open_board: Open, log_path: Path) -> None:
    client = open_board()
    client.delete("/api/v1/notes/annotations/missing")
    client.patch("/api/v1/notes/runs", json={"runs": 3})
    missing, invalid = read_log(log_path)
    assert (missing["subjects"], missing["user"]) == (["missing"], "")
    assert missing["status"] in (400, 404)
    assert invalid["status"] == 400


def test_log_may_be_renamed(open_board: Open, log_path: Path) -> None:
    client = open_board()
    client.patch("/api/v1/notes/runs", json=NOTE)
    log_path.rename(log_path.with_suffix(".1"))
    client.patch("/api/v1/notes/runs", json=NOTE)
    assert len(read_log(log_path)) == len(read_log(log_path.with_suffix(".1"))) == 1


@pytest.mark.skipif(os.name == "nt", reason="permissions work differently on this system")
def test_log_is_private(log_path: Path) -> None:
    AuditLog(log_path)
    assert stat.S_IMODE(log_path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--writers=ana"], "--writers needs users: give --auth or --user-header as well"),
        (["--audit-log=missing/x.jsonl"], 'cannot write the audit log "missing/x.jsonl": No such'),
    ],
)
def test_invalid_flags(flags: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings = parse_settings(parse_flags(["logs", "--no-config", *flags]))
        settings.auth.create_policy("localhost", (), open_to_all=False)


def test_writer_must_be_a_user(users: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match='there is no user "eva" among those of --auth'):
        create_policy("localhost", users=users, writers=["ana", "eva"])
    flags = parse_flags(["logs", "--no-config", "--user-header=x-user", "--writers=a, b,"])
    assert parse_settings(flags).auth.writers == ("a", "b")
