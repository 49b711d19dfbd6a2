from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.errors import UsageError
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
def test_rejects_unknown_host_names(client: TestClient, host: str, status: int) -> None:
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
def test_rejects_posts_from_other_origins(client: TestClient, origin: str, status: int) -> None:
    response = client.post("/api/v1/scalars/query", json=QUERY, headers={"origin": origin})
    assert response.status_code == status


def test_accepts_posts_without_origin(client: TestClient) -> None:
    assert client.post("/api/v1/scalars/query", json=QUERY).status_code == 200


def test_accepts_requests_through_a_trusted_proxy(tmp_path: Path) -> None:
    client = make_client(create_policy("localhost", ["Hub.example"]), tmp_path)
    proxied = {"host": "hub.example", "origin": "https://hub.example"}
    rewritten = {"origin": "https://hub.example"}
    for headers in (proxied, rewritten):
        assert client.post("/api/v1/scalars/query", json=QUERY, headers=headers).status_code == 200


def test_all_responses_have_security_headers(client: TestClient) -> None:
    refused = client.get("/api/v1/runs", headers={"host": "rebound.example"})
    for response in (client.get("/api/v1/runs"), client.get("/nothing"), refused):
        csp = response.headers["content-security-policy"]
        assert "default-src 'none'" in csp and "unsafe" not in csp
        assert response.headers["x-content-type-options"] == "nosniff"


def test_token_in_url_is_exchanged_for_a_cookie(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/v1/runs").status_code == 403
    assert client.get("/api/v1/runs?token=guess").status_code == 403
    entry = client.get("/?token=secret&run=conv")
    assert (entry.status_code, entry.headers["location"]) == (303, "./?run=conv")
    assert "httponly" in entry.headers["set-cookie"].lower()
    assert client.get("/api/v1/runs").status_code == 200


def test_accepts_token_in_authorization_header(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/v1/runs", headers={"authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "stays"),
    [("localhost", True), ("127.0.0.5", True), ("::1", True), ("0.0.0.0", False), ("box", False)],
)
def test_is_loopback(host: str, stays: bool) -> None:
    assert is_loopback(host) is stays


def test_token_cookie_is_limited_to_its_path(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    cookie = client.get("/?token=secret").headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    # Other servers behind the same proxy have other paths and must not get it.
    assert "path=" not in cookie and "domain=" not in cookie


@pytest.mark.parametrize("leaf", ["https:evil.example", "javascript:alert(1)", "%0d%0ax:y"])
def test_token_redirect_stays_on_the_server(tmp_path: Path, leaf: str) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    target = client.get(f"/{leaf}?token=secret").headers["location"]
    assert target.startswith("./") and "\n" not in target


def test_unknown_host_name_requires_the_proxy_token(tmp_path: Path) -> None:
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


def test_accepts_user_and_password(tmp_path: Path, users: dict[str, PasswordHash]) -> None:
    client = make_client(create_policy("0.0.0.0", users=users), tmp_path)
    refused = client.get("/api/v1/runs")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic")
    for pair in (("ada", "wrong"), ("bob", "p:ss wörd"), ("", "")):
        assert client.get("/api/v1/runs", auth=pair).status_code == 401
    for header in ("Basic", "Basic !", "Basic " + "A" * 5000, "Basic /w==", "Bearer x"):
        assert client.get("/api/v1/runs", headers={"authorization": header}).status_code == 401
    assert client.get("/api/v1/runs", auth=("ada", "p:ss wörd".encode())).status_code == 200


def test_blocks_address_after_too_many_failed_attempts(
    tmp_path: Path, users: dict[str, PasswordHash], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "MAX_FAILED_ATTEMPTS", 3)
    client = make_client(create_policy("0.0.0.0", users=users), tmp_path)
    right = {"auth": ("ada", "p:ss wörd".encode())}
    assert client.get("/api/v1/runs", **right).status_code == 200
    statuses = [client.get("/api/v1/runs", auth=("ada", str(n))).status_code for n in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    # Verified credentials still work while the address is blocked.
    assert client.get("/api/v1/runs", **right).status_code == 200


def test_only_health_needs_no_token(tmp_path: Path) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/v1/health").status_code == 200
    for path in ("/", "/api/v1/status", "/api/v1/live", "/metrics", "/api/v1/runs", "/nothing"):
        assert client.get(path).status_code == 403
    assert client.get("/api/v1/health", headers={"host": "rebound.example"}).status_code == 403


WRITES = [
    ("PATCH", "/api/v1/notes/runs", {"runs": ["conv"], "note": "good"}),
    ("POST", "/api/v1/notes/annotations", {"step": 1, "text": "here"}),
    ("PUT", "/api/v1/notes/layouts", {"name": "mine", "categories": []}),
    ("PUT", "/api/v1/notes/metrics", {"name": "twice"}),
    ("PUT", "/api/v1/alerts/rules", []),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_rejects_writes_from_other_sites(
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
def test_writes_require_the_token(tmp_path: Path, method: str, path: str, body: object) -> None:
    client = make_client(create_policy("0.0.0.0", token="secret"), tmp_path)
    assert client.request(method, path, json=body).status_code == 403


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_read_only_server_rejects_writes(
    tmp_path: Path, method: str, path: str, body: object
) -> None:
    client = make_client(create_policy("localhost", read_only=True), tmp_path)
    refused = client.request(method, path, json=body)
    assert refused.status_code == 403 and "read-only" in refused.json()["error"]["message"]
    assert client.delete("/api/v1/notes/annotations/x").status_code == 403
    assert client.get("/api/v1/notes").status_code == 200
    assert client.post("/api/v1/scalars/query", json=QUERY).status_code == 200


@pytest.mark.parametrize("host", ["localhost:6006", "box.lab:6006"])
def test_notebooks_on_the_same_machine_may_embed_the_page(tmp_path: Path, host: str) -> None:
    client = make_client(create_policy("box.lab", ["*.hub.example"]), tmp_path)
    csp = client.get("/api/v1/runs", headers={"host": host}).headers["content-security-policy"]
    name = host.partition(":")[0]
    local = {f"{scheme}://{it}:*" for scheme in ("http", "https") for it in _LOCAL | {name}}
    ancestors = csp.partition("frame-ancestors ")[2].split()
    assert {*ancestors} == local | {"'self'", "vscode-webview:", "https://*.hub.example"}


def test_other_sites_may_embed_the_page_if_allowed(tmp_path: Path) -> None:
    origins = ["https://wiki.example/", "HTTPS://*.docs.example:8443"]
    client = make_client(create_policy("localhost", embed_origins=origins), tmp_path)
    csp = client.get("/api/v1/runs").headers["content-security-policy"]
    ancestors = csp.partition("frame-ancestors ")[2].split()
    assert {"https://wiki.example", "https://*.docs.example:8443"} <= {*ancestors}
    assert "*" not in ancestors


@pytest.mark.parametrize("text", ["wiki.example", "https://a.example; script-src *", ""])
def test_rejects_origins_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="is not an origin"):
        create_policy("localhost", embed_origins=[text])


def test_host_header_cannot_inject_into_csp(client: TestClient) -> None:
    odd = {"host": "x; script-src *"}
    csp = client.get("/api/v1/runs", headers=odd).headers["content-security-policy"]
    assert "script-src *" not in csp


def test_trusted_host_pattern_matches_subdomains(tmp_path: Path) -> None:
    client = make_client(create_policy("localhost", ["*.hub.example"]), tmp_path)
    assert client.get("/api/v1/runs", headers={"host": "a.hub.example"}).status_code == 200
    assert client.get("/api/v1/runs", headers={"host": "hub.example.evil"}).status_code == 403


def test_health_needs_no_token_when_mounted(tmp_path: Path) -> None:
    policy = create_policy("0.0.0.0", token="secret")
    board = create_app(MemorySource(), MemoryWatch(), policy, page_dir=tmp_path)
    client = TestClient(Starlette(routes=[Mount("/deep/board", app=board)]))
    client.base_url = client.base_url.copy_with(host="localhost")
    assert client.get("/deep/board/api/v1/health").status_code == 200
    assert client.get("/deep/board/api/v1/runs").status_code == 403
