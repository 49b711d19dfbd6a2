"""A server with the What-If dashboard, called without a network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.analysis.source import DataAccess
from tracklight.dashboards.what_if import WhatIf
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.plugins import create_static_context


class Board:
    """Sends requests to the routes of the dashboard."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def request(self, method: str, route: str, **fields: Any) -> Any:
        url = f"/api/v1/what_if/{route}"
        if method == "POST":
            return self._client.post(url, json=fields)
        return self._client.request(method, url, params=fields)

    def get(self, route: str, **fields: Any) -> Any:
        return self._check(self.request("GET", route, **fields))

    def post(self, route: str, **fields: Any) -> Any:
        return self._check(self.request("POST", route, **fields))

    def delete(self, route: str, **fields: Any) -> Any:
        return self._check(self.request("DELETE", route, **fields))

    def fail(self, route: str, **fields: Any) -> str:
        return self._get_message(self.request("POST", route, **fields))

    def fail_get(self, route: str, **fields: Any) -> str:
        return self._get_message(self.request("GET", route, **fields))

    def list_active(self) -> list[str]:
        entries = self._client.get("/api/v1/dashboards").json()
        return [entry["name"] for entry in entries if entry["active"]]

    def _check(self, response: Any) -> Any:
        assert response.status_code == 200, response.text
        return response.json()

    def _get_message(self, response: Any) -> str:
        assert 400 <= response.status_code < 500, response.text
        return str(response.json()["error"]["message"])


@contextmanager
def start_board(logdir: Path, access: DataAccess) -> Iterator[Board]:
    """Start a server for an empty log. It waits for searches, however busy the machine is."""
    source = MemorySource(str(logdir))
    policy = create_policy("localhost")
    app = create_app(source, MemoryWatch(), policy, page_dir=logdir / "no", access=access)
    with limit_fast_searches(60.0), TestClient(app, base_url="http://localhost") as client:
        yield Board(client)


@contextmanager
def limit_fast_searches(limit_s: float) -> Iterator[None]:
    """Let requests for searches wait for the result for so long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracklight.dashboards.what_if.jobs._FAST_SEARCH_S", limit_s)
        yield


def create_dashboard(
    logdir: Path, access: DataAccess, view: Mapping[str, str] | None = None
) -> WhatIf:
    """Create the dashboard without a server, for an export of a view."""
    context = create_static_context(MemorySource(str(logdir)))
    return WhatIf(replace(context, access=access, view=view or {}))


def wait_for_job(board: Board, status: Any) -> Any:
    """Return the result of a job."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        result = board.get("job", job=status["job"])
        if result["status"]["state"] not in ("waiting", "running"):
            return result
        time.sleep(0.02)
    raise AssertionError("the job did not end")
