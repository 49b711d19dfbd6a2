from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

import tracklight
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy


class AwaySource(MemorySource):
    """A share that is away."""

    def refresh(self, changes: object = None) -> object:  # type: ignore[override]
        raise OSError("the share is away")


def test_a_server_that_has_read_its_log_is_well(client: TestClient) -> None:
    answer = client.get("/api/v1/health")
    assert answer.json() == {"status": "ok", "version": tracklight.__version__}


def test_a_server_that_cannot_read_its_log_says_so_and_goes_on(tmp_path: Path) -> None:
    app = create_app(AwaySource(), MemoryWatch(), create_policy("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        wait_until(lambda: client.get("/api/v1/health").json()["status"] == "failing")
        assert client.get("/api/v1/health").status_code == 200
