"""The application with a real index, from event files to JSON."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests import builders as b
from tests.server.waiting import wait_until
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import AccessMiddleware, create_policy

NAME = "events.out.tfevents.1700000000.host"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An event file with one damaged record and one number that is not finite."""
    file = tmp_path / "logs" / "conv" / NAME
    file.parent.mkdir(parents=True)
    records = [b.scalar("loss", step, 1 / (step + 1)) for step in range(10)]
    records[3] = b.flip(records[3], -6)
    file.write_bytes(b"".join(records) + b.scalar("loss", 10, float("nan")))
    return file


@pytest.fixture
def client(log: Path, tmp_path: Path) -> Iterator[TestClient]:
    roots = parse_roots(tmp_path / "logs")
    catalog = Catalog(roots, cache=False)
    with Watcher(roots) as watcher:
        app = create_app(catalog, watcher, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def test_serves_counts_damage_and_values(client: TestClient, log: Path) -> None:
    (run,) = client.get("/api/v1/runs").json()["runs"]
    assert (run["name"], run["points"], run["damaged"]) == ("conv", 10, 1)
    (tag,) = client.get("/api/v1/tags", params={"run": "conv"}).json()["tags"]
    assert (tag["tag"], tag["kind"], tag["count"]) == ("loss", "scalar", 10)
    (file,) = client.get("/api/v1/files", params={"damaged": "1"}).json()["files"]
    assert file["path"] == str(log)
    assert file["damage"][0][0] == 3 * len(b.scalar("loss", 1, 0.5))
    query = {"charts": [{"id": "loss", "tags": ["loss"]}]}
    (chart,) = client.post("/api/v1/scalars/query", json=query).json()["charts"]
    (line,) = chart["lines"]
    assert line["x"] == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert line["y"][:2] == [1.0, 0.5]
    assert line["y"][-1] == "NaN"


def test_appended_points_appear(client: TestClient, log: Path) -> None:
    with log.open("ab") as file:
        file.write(b.scalar("loss", 11, 0.25))
    wait_until(lambda: client.get("/api/v1/runs").json()["runs"][0]["points"] == 11)


def test_unknown_axis_metric_returns_error(client: TestClient) -> None:
    query = {"charts": [{"id": "loss", "tags": ["loss"]}], "x": "metric:epoch"}
    (chart,) = client.post("/api/v1/scalars/query", json=query).json()["charts"]
    assert chart["error"]["message"] == 'No run has a scalar "epoch" for the x axis.'


def test_app_is_a_starlette_application(client: TestClient) -> None:
    assert isinstance(client.app, Starlette)


def test_unexpected_errors_have_security_headers_and_are_counted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Catalog, "tags", fail)
    response = client.get("/api/v1/tags", params={"run": "conv"})
    assert response.status_code == 500
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "content-security-policy" in response.headers
    assert 'tracklight_http_requests_total{status="500"} 1' in client.get("/metrics").text


def test_errors_in_middleware_have_the_common_error_format(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(AccessMiddleware, "_find_response", fail)
    client = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False)
    response = client.get("/api/v1/runs")
    assert response.status_code == 500
    assert set(response.json()["error"]) >= {"message", "hint", "code", "hint_code"}


def test_uvicorn_is_imported_unchanged() -> None:
    program = (
        "import tracklight.server.serve, sys, uvicorn, uvicorn.server; "
        "assert uvicorn.Server is uvicorn.server.Server; "
        "assert sys.modules['uvicorn.main'].run is uvicorn.run"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
