"""Blobs of a real log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests import builders as b
from tests.index import logs
from tests.server.waiting import wait_until
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    texts = b.tensor(7, b.shape(2), b.blob(8, "grüß".encode()), b.blob(8, b"<b>"))
    text = b.value("note", texts, b.metadata("text"))
    data = logs.picture(1, PNG) + logs.picture(2, b"<svg onload=alert(1)/>")
    data += b.record(b.event(b.summary(text), step=3, wall=1.7e9))
    return logs.write(tmp_path / "logs", "conv", data + logs.points(range(3)))


@pytest.fixture
def client(file: Path, tmp_path: Path) -> Iterator[TestClient]:
    catalog = logs.open_catalog(tmp_path / "logs")
    with Watcher(catalog.roots) as watcher:
        app = create_app(catalog, watcher, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def list_urls(client: TestClient, tag: str) -> list[str]:
    listed = client.get("/api/v1/blobs", params={"run": "conv", "tag": tag}).json()
    assert listed["total"] == len(listed["step"]) == len(listed["fingerprint"])
    return [
        f"/api/v1/blobs/{name}?run=conv&tag={tag}&index={index}"
        for index, name in enumerate(listed["fingerprint"])
    ]


def test_image_is_an_immutable_file(client: TestClient) -> None:
    first, second = list_urls(client, "picture")
    response = client.get(first)
    assert (response.content, response.headers["content-type"]) == (PNG, "image/png")
    assert "immutable" in response.headers["cache-control"]
    assert first.split("?")[0] != second.split("?")[0]


def test_svg_is_served_in_a_sandbox(client: TestClient) -> None:
    response = client.get(list_urls(client, "picture")[1])
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]


def test_array_of_texts_has_parts(client: TestClient) -> None:
    (url,) = list_urls(client, "note")
    assert client.get(url).text == "grüß"
    assert client.get(f"{url}&part=1").text == "<b>"
    assert client.get(f"{url}&part=1").headers["content-type"].startswith("text/plain")
    assert client.get(f"{url}&part=2").status_code == 404


def test_fingerprint_must_match_the_value(client: TestClient) -> None:
    first, second = list_urls(client, "picture")
    mixed = first.split("?")[0] + "?" + second.split("?")[1]
    response = client.get(mixed)
    assert response.status_code == 404
    assert "no longer has this value" in response.json()["error"]["message"]


def test_damaged_record_returns_error(client: TestClient, file: Path) -> None:
    url = list_urls(client, "picture")[0]
    data = bytearray(file.read_bytes())
    data[60] ^= 1
    file.write_bytes(data)
    response = client.get(url)
    assert response.status_code in (404, 422)
    assert response.json()["error"]["message"]


def test_scalars_have_no_blobs(client: TestClient) -> None:
    assert list_urls(client, "loss") == []


@pytest.mark.parametrize("query", ["", "run=conv", "run=conv&tag=no", "run=no&tag=loss"])
def test_unknown_values_return_client_errors(client: TestClient, query: str) -> None:
    response = client.get(f"/api/v1/blobs?{query}")
    assert response.status_code in (400, 404)
    assert response.json()["error"]["message"]
