from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import tracklight
from tests.server.waiting import wait_until
from tracklight.errors import BindError


@pytest.fixture(autouse=True)
def own_dirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


def get_json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as response:
        return json.load(response)


def test_serve_runs_in_a_thread(small_logdir: Path) -> None:
    with tracklight.serve(small_logdir, exclude="kinds") as board:
        assert board.url == f"http://localhost:{board.port}/"
        assert repr(board) == f"<Board at {board.url}>"
        wait_until(lambda: get_json(board.url + "api/v1/health")["status"] == "ok")
        names = [run["name"] for run in get_json(board.url + "api/v1/runs")["runs"]]
        assert "run10/train" in names
        assert "kinds" not in names
    assert not board.is_serving
    with pytest.raises(urllib.error.URLError):
        get_json(board.url + "api/v1/health")


def test_two_servers_close_in_any_order(small_logdir: Path) -> None:
    first, second = (tracklight.serve(small_logdir, cache=False) for _ in range(2))
    assert first.port != second.port
    first.close()
    assert get_json(second.url + "api/v1/health")["version"] == tracklight.__version__
    second.close()
    second.close()


def test_serve_raises_bind_error_for_a_used_port(small_logdir: Path) -> None:
    with tracklight.serve(small_logdir, cache=False) as board:
        with pytest.raises(BindError):
            tracklight.serve(small_logdir, board.port, cache=False)


@pytest.fixture(params=["lifespan", "no lifespan"])
def mounted(request: pytest.FixtureRequest, small_logdir: Path) -> Iterator[TestClient]:
    """An application with a mounted app below /board, with or without its lifespan."""
    board = tracklight.asgi(small_logdir, cache=False, trusted_hosts=["lab.example"])
    options = {"lifespan": board.lifespan} if request.param == "lifespan" else {}
    app = Starlette(routes=[Mount("/board", app=board)], **options)  # type: ignore[arg-type]
    with TestClient(app, base_url="http://lab.example") as client:
        yield client
        if not options:
            client.portal.call(board.close)  # type: ignore[union-attr]


def test_asgi_app_can_be_mounted(mounted: TestClient) -> None:
    wait_until(lambda: mounted.get("/board/api/v1/health").json()["status"] == "ok")
    assert len(mounted.get("/board/api/v1/runs").json()["runs"]) == 3
    assert mounted.get("/board/metrics").status_code == 200
    assert mounted.get("/board").url.path == "/board/"
    assert mounted.get("/api/v1/health").status_code == 404
    rebound = mounted.get("/board/api/v1/runs", headers={"host": "evil.example"})
    assert rebound.status_code == 403


def test_asgi_app_can_be_the_outermost_application(small_logdir: Path) -> None:
    board = tracklight.asgi(small_logdir, cache=False)
    with TestClient(board, base_url="http://localhost") as client:
        wait_until(lambda: client.get("/api/v1/health").json()["status"] == "ok")


def test_read_only_asgi_app_rejects_notes(small_logdir: Path) -> None:
    board = tracklight.asgi(small_logdir, cache=False, read_only=True)
    change = {"runs": ["run2/train"], "alias": "best"}
    with TestClient(board, base_url="http://localhost") as client:
        assert client.patch("/api/v1/notes/runs", json=change).status_code == 403
        query = {"charts": [{"id": "loss", "tags": ["loss"]}]}
        assert client.post("/api/v1/scalars/query", json=query).status_code == 200


def test_block_waits_until_ctrl_c(small_logdir: Path) -> None:
    # Processes started in the background may ignore Ctrl-C.
    handle = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    serve = f"import tracklight; tracklight.serve({str(small_logdir)!r}, block=True, cache=False)"
    names = "[thread.name for thread in threading.enumerate()]"
    check = f"import threading; print('tracklight-board' in {names})"
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", f"{handle}; {serve}; {check}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("tracklight at http://localhost:")
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "False\n"
        assert process.wait(60) == 0
