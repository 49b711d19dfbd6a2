"""Files out of a real log."""

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
    with Watcher(catalog.roots) as watch:
        app = create_app(catalog, watch, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def addresses(client: TestClient, tag: str) -> list[str]:
    listed = client.get("/api/v1/blobs", params={"run": "conv", "tag": tag}).json()
    assert listed["total"] == len(listed["step"]) == len(listed["fingerprint"])
    return [
        f"/api/v1/blobs/{name}?run=conv&tag={tag}&index={index}"
        for index, name in enumerate(listed["fingerprint"])
    ]


def test_a_picture_is_a_file_that_keeps_forever(client: TestClient) -> None:
    first, second = addresses(client, "picture")
    answer = client.get(first)
    assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
    assert "immutable" in answer.headers["cache-control"]
    assert first.split("?")[0] != second.split("?")[0]


def test_a_file_that_could_run_is_only_saved(client: TestClient) -> None:
    answer = client.get(addresses(client, "picture")[1])
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_texts_come_part_by_part(client: TestClient) -> None:
    (address,) = addresses(client, "note")
    assert client.get(address).text == "grüß"
    assert client.get(f"{address}&part=1").text == "<b>"
    assert client.get(f"{address}&part=1").headers["content-type"].startswith("text/plain")
    assert client.get(f"{address}&part=2").status_code == 404


def test_an_address_never_gives_another_value(client: TestClient) -> None:
    first, second = addresses(client, "picture")
    mixed = first.split("?")[0] + "?" + second.split("?")[1]
    answer = client.get(mixed)
    assert answer.status_code == 404
    assert "no longer has this value" in answer.json()["error"]["message"]


def test_a_damaged_record_is_told(client: TestClient, file: Path) -> None:
    address = addresses(client, "picture")[0]
    data = bytearray(file.read_bytes())
    data[60] ^= 1
    file.write_bytes(data)
    answer = client.get(address)
    assert answer.status_code in (404, 422)
    assert answer.json()["error"]["message"]


def test_scalars_have_no_files(client: TestClient) -> None:
    assert addresses(client, "loss") == []


@pytest.mark.parametrize("query", ["", "run=conv", "run=conv&tag=no", "run=no&tag=loss"])
def test_what_is_not_there_is_told(client: TestClient, query: str) -> None:
    answer = client.get(f"/api/v1/blobs?{query}")
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["message"]
