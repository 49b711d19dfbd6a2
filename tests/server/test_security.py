from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server.app import create_app
from tracklight.server.security import Policy, is_loopback, policy_for

QUERY = {"charts": []}


def make_client(policy: Policy, tmp_path: Path) -> TestClient:
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
    assert client.get("/api/runs", headers={"host": host}).status_code == status


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
    answer = client.post("/api/scalars/query", json=QUERY, headers={"origin": origin})
    assert answer.status_code == status


def test_posts_without_a_page_are_fine(client: TestClient) -> None:
    assert client.post("/api/scalars/query", json=QUERY).status_code == 200


def test_a_trusted_proxy_may_have_another_name(tmp_path: Path) -> None:
    client = make_client(policy_for("localhost", ["Hub.example"]), tmp_path)
    proxied = {"host": "hub.example", "origin": "https://hub.example"}
    rewritten = {"origin": "https://hub.example"}
    for headers in (proxied, rewritten):
        assert client.post("/api/scalars/query", json=QUERY, headers=headers).status_code == 200


def test_every_answer_has_the_safety_headers(client: TestClient) -> None:
    refused = client.get("/api/runs", headers={"host": "rebound.example"})
    for answer in (client.get("/api/runs"), client.get("/nothing"), refused):
        csp = answer.headers["content-security-policy"]
        assert "default-src 'none'" in csp and "unsafe" not in csp
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_token_is_asked_for_once(tmp_path: Path) -> None:
    client = make_client(policy_for("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/runs").status_code == 403
    assert client.get("/api/runs?token=guess").status_code == 403
    entry = client.get("/?token=secret&run=conv")
    assert (entry.status_code, entry.headers["location"]) == (303, "./?run=conv")
    assert "httponly" in entry.headers["set-cookie"].lower()
    assert client.get("/api/runs").status_code == 200


def test_a_program_sends_the_token_as_a_header(tmp_path: Path) -> None:
    client = make_client(policy_for("0.0.0.0", token="secret"), tmp_path)
    assert client.get("/api/runs", headers={"authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "stays"),
    [("localhost", True), ("127.0.0.5", True), ("::1", True), ("0.0.0.0", False), ("box", False)],
)
def test_loopback_is_known(host: str, stays: bool) -> None:
    assert is_loopback(host) is stays
