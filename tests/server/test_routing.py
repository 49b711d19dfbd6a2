"""Asks in, answers out, over routes that are made for these tests."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from tests.server.columns_decoder import read_columns
from tracklight.errors import UsageError
from tracklight.plugin import Blob, Empty, Route
from tracklight.server import responses
from tracklight.server.responses import COLUMNS_MEDIA_TYPE
from tracklight.server.routing import create_routes

COLUMNS = {"accept": COLUMNS_MEDIA_TYPE}


class Ask(msgspec.Struct, forbid_unknown_fields=True):
    tag: str
    width: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    runs: list[str] | None = None
    mode: Literal["a", "b"] = "a"
    deep: bool = False
    id: str = ""


class Answer(msgspec.Struct):
    ask: Ask
    y: Any
    steps: Any


def echo(ask: Ask) -> Answer:
    y = np.array([0.5, np.nan, -np.inf, np.inf], np.float32)
    return Answer(ask, y, np.arange(3))


class Upload(msgspec.Struct):
    name: str
    body: bytes


def take(ask: Upload) -> dict[str, object]:
    return {"name": ask.name, "bytes": len(ask.body)}


def refuse(_: Empty) -> None:
    raise UsageError("that makes no sense")


def fail(_: Empty) -> None:
    raise RuntimeError("secret")


def send_file(_: Empty) -> Blob:
    return Blob(b"<svg/>", "image/svg+xml", "a “b”.svg", immutable=True)


def send_much(_: Empty) -> list[Any]:
    return [np.zeros(20_000), "x" * 100]


def send_noise(_: Empty) -> list[Any]:
    return [np.random.default_rng(1).random(20_000)]


ROUTES = [
    Route("echo", Ask, echo),
    Route("echo", Ask, echo, "GET"),
    Route("echo/{id}", Ask, echo, "PATCH"),
    Route("echo/{id}", Ask, echo, "DELETE"),
    Route("list", list[Ask], lambda asks: asks, "PUT"),
    Route("upload", Upload, take, upload_bytes=3 << 20),
    Route("refuse", Empty, refuse, "GET"),
    Route("fail", Empty, fail, "GET"),
    Route("file", Empty, send_file, "GET"),
    Route("much", Empty, send_much, "GET"),
    Route("noise", Empty, send_noise, "GET"),
    Route("named", Ask, echo, "GET", immutable=lambda ask: bool(ask.id)),
]


@pytest.fixture
def client() -> Iterator[TestClient]:
    routes = [Mount("/it", routes=create_routes(ROUTES))]
    app = Starlette(routes=routes, exception_handlers=responses.get_exception_handlers())
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_without_a_wish_arrays_are_lists(client: TestClient) -> None:
    answer = client.post("/it/echo", json={"tag": "loss"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["y"] == [0.5, "NaN", "-Infinity", "Infinity"]
    assert answer.json()["steps"] == [0, 1, 2]


def test_who_asks_for_columns_gets_them(client: TestClient) -> None:
    answer = client.post("/it/echo", json={"tag": "loss"}, headers=COLUMNS)
    assert answer.headers["content-type"] == COLUMNS_MEDIA_TYPE
    body = read_columns(answer.content)
    assert body["ask"]["tag"] == "loss"
    np.testing.assert_array_equal(body["y"], np.array([0.5, np.nan, -np.inf, np.inf], "f4"))


@pytest.mark.parametrize(
    ("accept", "columns"),
    [
        (f"{COLUMNS_MEDIA_TYPE}, application/json", True),
        (f"{COLUMNS_MEDIA_TYPE};q=0.5, application/json", False),
        (f"{COLUMNS_MEDIA_TYPE};q=0.5, application/json;q=0.1", True),
        (f"{COLUMNS_MEDIA_TYPE};q=0", False),
        (f"{COLUMNS_MEDIA_TYPE};q=much", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_the_wish_is_weighed(client: TestClient, accept: str, columns: bool) -> None:
    answer = client.post("/it/echo", json={"tag": "loss"}, headers={"accept": accept})
    assert (answer.headers["content-type"] == COLUMNS_MEDIA_TYPE) is columns


def test_a_query_is_read_field_by_field(client: TestClient) -> None:
    query = "tag=a%2Fb&width=7&runs=x&mode=b&deep=true"
    ask = client.get(f"/it/echo?{query}").json()["ask"]
    assert ask == {
        "tag": "a/b",
        "width": 7,
        "runs": ["x"],
        "mode": "b",
        "deep": True,
        "id": "",
    }
    assert client.get("/it/echo?tag=t&runs=x&runs=y").json()["ask"]["runs"] == ["x", "y"]


def test_a_query_may_hold_the_ask_as_a_whole(client: TestClient) -> None:
    answer = client.get("/it/echo", params={"ask": '{"tag": "t", "runs": ["x"]}'})
    assert answer.json()["ask"]["runs"] == ["x"]


def test_an_answer_that_will_never_be_another_is_kept(client: TestClient) -> None:
    named = client.get("/it/named?tag=t&id=7").headers["cache-control"]
    assert (named, "immutable" in named) == ("private, max-age=31536000, immutable", True)
    assert client.get("/it/named?tag=t").headers["cache-control"] == "no-store"


def test_parts_of_the_path_are_fields(client: TestClient) -> None:
    changed = client.patch("/it/echo/7", json={"tag": "t", "id": "other"}).json()
    assert changed["ask"]["id"] == "7"
    assert client.delete("/it/echo/8?tag=t").json()["ask"]["id"] == "8"


def test_an_ask_may_be_a_list(client: TestClient) -> None:
    assert client.put("/it/list", json=[{"tag": "a"}, {"tag": "b"}]).json()[1]["tag"] == "b"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"tag": 3}', b'{"tag": "t", "x": 1}', b"\xff"]
)
def test_a_body_that_is_not_the_ask_is_told(client: TestClient, body: bytes) -> None:
    answer = client.post("/it/echo", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["hint"].startswith("Send the JSON")


@pytest.mark.parametrize("query", ["", "tag=t&width=x", "tag=t&width=0", "tag=t&no=1", "ask=1"])
def test_a_query_that_is_not_the_ask_is_told(client: TestClient, query: str) -> None:
    assert client.get(f"/it/echo?{query}").status_code == 400


def test_errors_on_purpose_are_told_and_others_kept(client: TestClient) -> None:
    refused = client.get("/it/refuse")
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "That makes no sense."
    failed = client.get("/it/fail")
    assert failed.status_code == 500
    assert "secret" not in failed.text and "RuntimeError" in failed.json()["error"]["message"]


def test_a_body_that_is_too_large_is_refused(client: TestClient) -> None:
    assert client.post("/it/echo", content=b"x" * (2 << 20)).status_code == 413


def test_a_file_may_be_larger_where_one_is_taken(client: TestClient) -> None:
    answer = client.post("/it/upload?name=a.pb", content=b"x" * (2 << 20))
    assert answer.json() == {"name": "a.pb", "bytes": 2 << 20}
    assert client.post("/it/upload?name=a.pb", content=b"x" * (4 << 20)).status_code == 413
    assert client.post("/it/upload", content=b"x").status_code == 400


def test_a_file_is_confined_and_named(client: TestClient) -> None:
    answer = client.get("/it/file")
    assert answer.content == b"<svg/>"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "immutable" in answer.headers["cache-control"]
    disposition = answer.headers["content-disposition"]
    assert disposition == "attachment; filename*=utf-8''a%20%E2%80%9Cb%E2%80%9D.svg"


@pytest.mark.parametrize(("path", "shrinks"), [("much", True), ("noise", False), ("refuse", False)])
def test_only_what_shrinks_is_compressed(client: TestClient, path: str, shrinks: bool) -> None:
    headers = {**COLUMNS, "accept-encoding": "gzip"}
    with client.stream("GET", f"/it/{path}", headers=headers) as answer:
        raw = b"".join(answer.iter_raw())
    assert (answer.headers.get("content-encoding") == "gzip") is shrinks
    if shrinks:
        assert len(raw) < 2000
        assert len(read_columns(gzip.decompress(raw))[0]) == 20_000
