"""Fixtures: a server with logged images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests import builders as b
from tests.index import logs
from tests.server.waiting import wait_until
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

#: Writes values, each with some images, and serves them.
Serve = Callable[..., "Board"]


class Board:
    """Requests about values of the tag ``picture`` of run ``a``, one per step."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        response = client.post("/api/v1/images/steps", json={"tags": ["picture"]}).json()
        self.steps = next(iter(response["series"]), None)

    def get(self, verb: str, index: int = 0, **fields: Any) -> Any:
        value = {"run": "a", "tag": "picture", "index": index}
        value |= {"fingerprint": self.steps["fingerprint"][index]} if self.steps else {}
        return self.client.get(f"/api/v1/images/{verb}", params={**value, **fields})

    def about(self, index: int = 0) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = self.get("about", index).json()["parts"]
        return parts


def picture_record(step: int, parts: Sequence[bytes], *, tag: str = "picture") -> bytes:
    value = b.value(tag, b.metadata("images"), b.image_tensor(*parts))
    return b.record(b.event(b.summary(value), step=step, wall=1.7e9 + step))


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    with ExitStack() as stack:

        def start(*values: Sequence[bytes]) -> Board:
            logdir = tmp_path / "logs"
            if values:
                records = (picture_record(step, parts) for step, parts in enumerate(values))
                logs.write(logdir, "a", b"".join(records))
            catalog = logs.open_catalog(logdir)
            stack.callback(catalog.close)
            watch = stack.enter_context(Watcher(catalog.roots))
            app = create_app(catalog, watch, create_policy("localhost"), page_dir=tmp_path)
            client = stack.enter_context(TestClient(app, base_url="http://localhost"))
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            return Board(client)

        yield start
