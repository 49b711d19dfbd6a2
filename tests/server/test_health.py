from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

import tracklight
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy


class UnavailableSource(MemorySource):
    """A network share that is unavailable."""

    def refresh(self, changes: object = None) -> object:  # type: ignore[override]
        raise OSError("the share is unavailable")


def test_health_is_ok_after_loading(client: TestClient) -> None:
    response = client.get("/api/v1/health")
    assert response.json() == {"status": "ok", "version": tracklight.__version__}


def test_health_is_failing_if_the_log_cannot_be_read(tmp_path: Path) -> None:
    app = create_app(
        UnavailableSource(), MemoryWatch(), create_policy("localhost"), page_dir=tmp_path
    )
    with TestClient(app, base_url="http://localhost") as client:
        wait_until(lambda: client.get("/api/v1/health").json()["status"] == "failing")
        assert client.get("/api/v1/health").status_code == 200
