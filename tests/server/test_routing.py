"""Requests and responses of routes that are defined for these tests."""

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
from tracklight.plugin import Blob, Empty, Route, Stream
from tracklight.server import responses
from tracklight.server.responses import COLUMNS_MEDIA_TYPE
from tracklight.server.routing import create_routes

COLUMNS = {"accept": COLUMNS_MEDIA_TYPE}


class EchoRequest(msgspec.Struct, forbid_unknown_fields=True):
    tag: str
    width: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    runs: list[str] | None = None
    mode: Literal["a", "b"] = "a"
    deep: bool = False
    id: str = ""


class EchoResponse(msgspec.Struct):
    request: EchoRequest
    y: Any
    steps: Any


def echo(request: EchoRequest) -> EchoResponse:
    y = np.array([0.5, np.nan, -np.inf, np.inf], np.float32)
    return EchoResponse(request, y, np.arange(3))


class Upload(msgspec.Struct):
    name: str
    body: bytes


def describe_upload(request: Upload) -> dict[str, object]:
    return {"name": request.name, "bytes": len(request.body)}


def raise_usage_error(_: Empty) -> None:
    raise UsageError("that is not valid")


def fail(_: Empty) -> None:
    raise RuntimeError("secret")


def send_file(_: Empty) -> Blob:
    return Blob(b"<svg/>", "image/svg+xml", "a “b”.svg", immutable=True)


def send_much(_: Empty) -> list[Any]:
    return [np.zeros(20_000), "x" * 100]


def send_noise(_: Empty) -> list[Any]:
    return [np.random.default_rng(1).random(20_000)]


ROUTES = [
    Route("echo", EchoRequest, echo),
    Route("echo", EchoRequest, echo, "GET"),
    Route("echo/{id}", EchoRequest, echo, "PATCH"),
    Route("echo/{id}", EchoRequest, echo, "DELETE"),
    Route("list", list[EchoRequest], lambda requests: requests, "PUT"),
    Route("upload", Upload, describe_upload, upload_bytes=3 << 20),
    Route("refuse", Empty, raise_usage_error, "GET"),
    Route("fail", Empty, fail, "GET"),
    Route("file", Empty, send_file, "GET"),
    Route("much", Empty, send_much, "GET"),
    Route("noise", Empty, send_noise, "GET"),
    Route("named", EchoRequest, echo, "GET", immutable=lambda request: bool(request.id)),
]


@pytest.fixture
def client() -> Iterator[TestClient]:
    routes = [Mount("/test", routes=create_routes(ROUTES))]
    app = Starlette(routes=routes, exception_handlers=responses.get_exception_handlers())
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_arrays_are_json_lists_by_default(client: TestClient) -> None:
    response = client.post("/test/echo", json={"tag": "loss"})
    assert response.headers["content-type"] == "application/json"
    assert response.json()["y"] == [0.5, "NaN", "-Infinity", "Infinity"]
    assert response.json()["steps"] == [0, 1, 2]


def test_arrays_are_columns_if_accepted(client: TestClient) -> None:
    response = client.post("/test/echo", json={"tag": "loss"}, headers=COLUMNS)
    assert response.headers["content-type"] == COLUMNS_MEDIA_TYPE
    body = read_columns(response.content)
    assert body["request"]["tag"] == "loss"
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
def test_accept_weights_are_compared(client: TestClient, accept: str, columns: bool) -> None:
    response = client.post("/test/echo", json={"tag": "loss"}, headers={"accept": accept})
    assert (response.headers["content-type"] == COLUMNS_MEDIA_TYPE) is columns


def test_query_parameters_are_decoded(client: TestClient) -> None:
    query = "tag=a%2Fb&width=7&runs=x&mode=b&deep=true"
    request = client.get(f"/test/echo?{query}").json()["request"]
    assert request == {
        "tag": "a/b",
        "width": 7,
        "runs": ["x"],
        "mode": "b",
        "deep": True,
        "id": "",
    }
    assert client.get("/test/echo?tag=t&runs=x&runs=y").json()["request"]["runs"] == ["x", "y"]


def test_query_may_contain_the_whole_request_as_json(client: TestClient) -> None:
    response = client.get("/test/echo", params={"request": '{"tag": "t", "runs": ["x"]}'})
    assert response.json()["request"]["runs"] == ["x"]


def test_immutable_responses_are_cacheable(client: TestClient) -> None:
    named = client.get("/test/named?tag=t&id=7").headers["cache-control"]
    assert (named, "immutable" in named) == ("private, max-age=31536000, immutable", True)
    assert client.get("/test/named?tag=t").headers["cache-control"] == "no-store"


def test_path_parameters_are_fields(client: TestClient) -> None:
    changed = client.patch("/test/echo/7", json={"tag": "t", "id": "other"}).json()
    assert changed["request"]["id"] == "7"
    assert client.delete("/test/echo/8?tag=t").json()["request"]["id"] == "8"


def test_request_may_be_a_list(client: TestClient) -> None:
    assert client.put("/test/list", json=[{"tag": "a"}, {"tag": "b"}]).json()[1]["tag"] == "b"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"tag": 3}', b'{"tag": "t", "x": 1}', b"\xff"]
)
def test_invalid_body_returns_400(client: TestClient, body: bytes) -> None:
    response = client.post("/test/echo", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["hint"].startswith("Send JSON")


@pytest.mark.parametrize("query", ["", "tag=t&width=x", "tag=t&width=0", "tag=t&no=1", "request=1"])
def test_invalid_query_returns_400(client: TestClient, query: str) -> None:
    assert client.get(f"/test/echo?{query}").status_code == 400


def test_only_expected_errors_show_their_message(client: TestClient) -> None:
    refused = client.get("/test/refuse")
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "That is not valid."
    failed = client.get("/test/fail")
    assert failed.status_code == 500
    assert "secret" not in failed.text and "RuntimeError" in failed.json()["error"]["message"]


def test_too_large_body_returns_413(client: TestClient) -> None:
    response = client.post("/test/echo", content=b"x" * (2 << 20))
    assert response.status_code == 413
    error = response.json()["error"]
    assert (error["code"], error["args"]) == ("http.request_too_large", {"max_mb": 1})


def test_uploads_have_their_own_size_limit(client: TestClient) -> None:
    response = client.post("/test/upload?name=a.pb", content=b"x" * (2 << 20))
    assert response.json() == {"name": "a.pb", "bytes": 2 << 20}
    assert client.post("/test/upload?name=a.pb", content=b"x" * (4 << 20)).status_code == 413
    assert client.post("/test/upload", content=b"x").status_code == 400


def test_file_response_is_sandboxed_and_named(client: TestClient) -> None:
    response = client.get("/test/file")
    assert response.content == b"<svg/>"
    assert "sandbox" in response.headers["content-security-policy"]
    assert "immutable" in response.headers["cache-control"]
    disposition = response.headers["content-disposition"]
    assert disposition == "attachment; filename*=utf-8''a%20%E2%80%9Cb%E2%80%9D.svg"


@pytest.mark.parametrize(
    ("path", "is_compressed"), [("much", True), ("noise", False), ("refuse", False)]
)
def test_only_compressible_responses_are_compressed(
    client: TestClient, path: str, is_compressed: bool
) -> None:
    headers = {**COLUMNS, "accept-encoding": "gzip"}
    with client.stream("GET", f"/test/{path}", headers=headers) as response:
        raw = b"".join(response.iter_raw())
    assert (response.headers.get("content-encoding") == "gzip") is is_compressed
    if is_compressed:
        assert len(raw) < 2000
        assert len(read_columns(gzip.decompress(raw))[0]) == 20_000


def test_equal_requests_are_handled_once_until_the_etag_changes() -> None:
    handled: list[str] = []
    state = ["1"]

    def handle(request: EchoRequest) -> EchoRequest:
        handled.append(request.tag)
        return request

    def stream(request: EchoRequest) -> Stream:
        handled.append(request.tag)
        return Stream(iter([request.tag.encode()]), "text/plain", "tag.txt")

    def get_etag() -> str:
        return state[0]

    routes = [
        Route("echo", EchoRequest, handle, "GET", get_etag),
        Route("echo", EchoRequest, handle, "POST", get_etag),
        Route("stream", EchoRequest, stream, "GET", get_etag),
    ]
    with TestClient(Starlette(routes=create_routes(routes))) as client:
        first, again = client.get("/echo?tag=a"), client.get("/echo?tag=a")
        assert (again.content, again.headers) == (first.content, first.headers)
        assert again.json()["tag"] == "a"
        assert handled == ["a"]
        assert client.get("/echo?tag=b").json()["tag"] == "b"
        assert client.post("/echo", json={"tag": "a"}).json()["tag"] == "a"
        assert handled == ["a", "b", "a"]
        state[0] = "2"
        assert client.get("/echo?tag=a").headers["etag"] != first.headers["etag"]
        assert handled == ["a", "b", "a", "a"]
        assert [client.get("/stream?tag=c").text for _ in range(2)] == ["c", "c"]
