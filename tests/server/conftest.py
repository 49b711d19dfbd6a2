from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy


@pytest.fixture
def source() -> MemorySource:
    return MemorySource(
        logged={
            "conv": {"loss": [3.0, 2.0, float("nan")], "acc": [0.5]},
            "vit": {"loss": [9.0, float("inf"), 7.0]},
        }
    )


@pytest.fixture
def watch() -> MemoryWatch:
    return MemoryWatch()


@pytest.fixture
def client(source: MemorySource, watch: MemoryWatch, tmp_path: Path) -> Iterator[TestClient]:
    """A client of a server that has read the source once."""
    app = create_app(source, watch, create_policy("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost:6006") as client:
        wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
        yield client
