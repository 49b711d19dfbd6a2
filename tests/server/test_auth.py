from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server import auth
from tracklight.server.app import create_app
from tracklight.server.auth import (
    AccessPolicy,
    PasswordHash,
    create_policy,
    hash_password,
    is_loopback,
)

QUERY = {"charts": []}
_LOCAL = {"localhost", "127.0.0.1"}


def make_client(policy: AccessPolicy, tmp_path: Path) -> TestClient:
    app = create_app(MemorySource(), MemoryWatch(), policy, page_dir=tmp_path)
    return TestClient(app, base_url="http://localhost:6006", follow_redirects=False)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:6006", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:6006", 200),
        ("[::1]:6006", 200),
        ("192.168.1.7:6006", 200),
        ("rebound.example:6006", 403),
        ("localhost.example", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_host_must_be_a_name_of_the_server(client: TestClient, host: str, status: int) -> None:
    assert client.get("/api/v1/runs", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6006", 200),
        ("http://localhost:3000", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ],
)
def test_posts_must_come_from_our_page(client: TestClient, origin: str, status: int) -> None:
    answer = client.post("/api/v1/scalars/query", json=QUERY, headers={"origin": origin})
    assert answer.status_code == status


def test_posts_without_a_page_are_fine(client: TestClient) -> None:
    assert client.post("/api/v1/scalars/query", json=QUERY).status_code == 200


def test_a_trusted_proxy_may_have_another_name(tmp_path: Path) -> None:
    client = make_client(create_policy("localhost", ["Hub.example"]), tmp_path)
    proxied = {"host": "hub.example", "origin": "https://hub.example"}
    rewritten = {"origin": "https://hub.example"}
    for headers in (proxied, rewritten):
        assert client.post("/api/v1/scalars/query", json=QUERY, headers=headers).status_code == 200


def test_every_answer_has_the_safety_headers(client: TestClient) -> None:
    refused = client.get("/api/v1/runs", headers={"host": "rebound.example"})
    for answer in (client.get("/api/v1/runs"), client.get("/nothing"), refused):
        csp = answer.headers["content-security-policy"]
        assert "default-src 'none'" in csp and "unsafe" not in csp
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_token_is_asked_for_once(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/v1/runs").status_code == 403
    assert client.get("/api/v1/runs?token=guess").status_code == 403
    entry = client.get("/?token=secret&run=conv")
    assert (entry.status_code, entry.headers["location"]) == (303, "./?run=conv")
    assert "httponly" in entry.headers["set-cookie"].lower()
    assert client.get("/api/v1/runs").status_code == 200


def test_a_program_sends_the_token_as_a_header(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/v1/runs", headers={"authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "stays"),
    [("localhost", True), ("127.0.0.5", True), ("::1", True), ("0.0.0.0", False), ("box", False)],
)
def test_loopback_is_known(host: str, stays: bool) -> None:
    assert is_loopback(host) is stays


def test_a_token_leaves_the_address_for_a_cookie_of_its_own_place(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    cookie = client.get("/?token=secret").headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    # Other servers behind the same proxy live at other paths, and do not get it.
    assert "path=" not in cookie and "domain=" not in cookie


@pytest.mark.parametrize("leaf", ["https:evil.example", "javascript:alert(1)", "%0d%0ax:y"])
def test_handing_over_a_token_leads_nowhere_else(tmp_path: Path, leaf: str) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    target = client.get(f"/{leaf}?token=secret").headers["location"]
    assert target.startswith("./") and "\n" not in target


def test_a_rebound_name_gets_in_with_a_token_only(tmp_path: Path) -> None:
    client = make_client(create_policy("localhost", proxy_token="secret"), tmp_path)
    assert client.get("/api/v1/runs").status_code == 200
    foreign = {"host": "hub.example"}
    assert client.get("/api/v1/runs", headers=foreign).status_code == 403
    assert client.get("/api/v1/runs?token=guess", headers=foreign).status_code == 403
    entry = client.get("/?token=secret", headers=foreign)
    assert entry.status_code == 303
    carried = {**foreign, "cookie": entry.headers["set-cookie"].partition(";")[0]}
    assert client.get("/api/v1/runs", headers=carried).status_code == 200


@pytest.fixture(scope="module")
def users() -> dict[str, PasswordHash]:
    return {"ada": hash_password("p:ss wörd")}


def test_a_name_and_a_password_open_the_board(
    tmp_path: Path, users: dict[str, PasswordHash]
) -> None:
    client = make_client(create_policy("0.0.0.0", users=users), tmp_path)
    refused = client.get("/api/v1/runs")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic")
    for pair in (("ada", "wrong"), ("bob", "p:ss wörd"), ("", "")):
        assert client.get("/api/v1/runs", auth=pair).status_code == 401
    for header in ("Basic", "Basic !", "Basic " + "A" * 5000, "Basic /w==", "Bearer x"):
        assert client.get("/api/v1/runs", headers={"authorization": header}).status_code == 401
    assert client.get("/api/v1/runs", auth=("ada", "p:ss wörd".encode())).status_code == 200


def test_guessing_comes_to_an_end(
    tmp_path: Path, users: dict[str, PasswordHash], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "MAX_FAILED_ATTEMPTS", 3)
    client = make_client(create_policy("0.0.0.0", users=users), tmp_path)
    right = {"auth": ("ada", "p:ss wörd".encode())}
    assert client.get("/api/v1/runs", **right).status_code == 200
    statuses = [client.get("/api/v1/runs", auth=("ada", str(n))).status_code for n in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    # Who was let in before is not kept out by another's guessing.
    assert client.get("/api/v1/runs", **right).status_code == 200


def test_health_is_told_to_everybody_and_nothing_else(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/v1/health").status_code == 200
    for path in ("/", "/api/v1/status", "/api/v1/live", "/metrics", "/api/v1/openapi.json", "/nothing"):
        assert client.get(path).status_code == 403
    assert client.get("/api/v1/health", headers={"host": "rebound.example"}).status_code == 403


WRITES = [
    ("PATCH", "/api/v1/notes/runs", {"names": ["conv"], "note": "good"}),
    ("POST", "/api/v1/notes/annotations", {"step": 1, "text": "here"}),
    ("PUT", "/api/v1/notes/layouts", {"name": "mine", "categories": []}),
    ("PUT", "/api/v1/alerts/rules", []),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_only_our_page_and_programs_may_write(
    client: TestClient, method: str, path: str, body: object
) -> None:
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert client.request(method, path, json=body, headers=headers).status_code == 403
    form = client.request(method, path, content=b"{}", headers={"content-type": "text/plain"})
    assert form.status_code == 415
    own = {"origin": "http://localhost:6006"}
    assert client.request(method, path, json=body, headers=own).status_code == 200
    behind = {"origin": "https://hub.example", "sec-fetch-site": "same-origin"}
    assert client.request(method, path, json=body, headers=behind).status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_writing_needs_the_token(tmp_path: Path, method: str, path: str, body: object) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.request(method, path, json=body).status_code == 403


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_board_may_be_read_only(tmp_path: Path, method: str, path: str, body: object) -> None:
    client = make_client(create_policy("localhost", read_only=True), tmp_path)
    refused = client.request(method, path, json=body)
    assert refused.status_code == 403 and "read-only" in refused.json()["error"]["message"]
    assert client.delete("/api/v1/notes/annotations/x").status_code == 403
    assert client.get("/api/v1/notes").status_code == 200
    assert client.post("/api/v1/scalars/query", json=QUERY).status_code == 200


@pytest.mark.parametrize("host", ["localhost:6006", "box.lab:6006"])
def test_notebooks_of_the_same_machine_may_show_the_board(tmp_path: Path, host: str) -> None:
    client = make_client(create_policy("box.lab", ["*.hub.example"]), tmp_path)
    csp = client.get("/api/v1/runs", headers={"host": host}).headers["content-security-policy"]
    name = host.partition(":")[0]
    local = {f"{scheme}://{it}:*" for scheme in ("http", "https") for it in _LOCAL | {name}}
    ancestors = csp.partition("frame-ancestors ")[2].split()
    assert {*ancestors} == local | {"'self'", "vscode-webview:", "https://*.hub.example"}


def test_a_host_does_not_write_the_policy(client: TestClient) -> None:
    odd = {"host": "x; script-src *"}
    csp = client.get("/api/v1/runs", headers=odd).headers["content-security-policy"]
    assert "script-src *" not in csp


def test_names_below_a_trusted_one_are_trusted(tmp_path: Path) -> None:
    client = make_client(create_policy("localhost", ["*.hub.example"]), tmp_path)
    assert client.get("/api/v1/runs", headers={"host": "a.hub.example"}).status_code == 200
    assert client.get("/api/v1/runs", headers={"host": "hub.example.evil"}).status_code == 403


def test_health_is_told_where_another_application_holds_the_board(tmp_path: Path) -> None:
    policy = create_policy("0.0.0.0", token="secret")
    board = create_app(MemorySource(), MemoryWatch(), policy, page_dir=tmp_path)
    client = TestClient(Starlette(routes=[Mount("/deep/board", app=board)]))
    client.base_url = client.base_url.copy_with(host="localhost")
    assert client.get("/deep/board/api/v1/health").status_code == 200
    assert client.get("/deep/board/api/v1/runs").status_code == 403
