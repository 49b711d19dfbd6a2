from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from tests.index import logs
from tests.server.server_process import serve
from tests.server.waiting import wait_until
from tracklight.server import serve as server_module
from tracklight.server.serve import Instance, get_instances_dir, is_alive, list_instances


@pytest.fixture(autouse=True)
def own_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


def test_running_server_is_listed(tmp_path: Path) -> None:
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    with serve(tmp_path / "logs", tmp_path, "--path_prefix", "/board") as server:
        (instance,) = list_instances()
        assert (instance.pid, instance.port, instance.url) == (
            server.process.pid,
            server.port,
            server.address,
        )
        assert instance.path == "/board/" and instance.logdir == str(tmp_path / "logs")
        assert instance.arguments[:2] == ["--logdir", str(tmp_path / "logs")]
        assert instance.directory == os.getcwd()
    assert list(get_instances_dir().iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
def test_only_the_user_can_read_the_token(tmp_path: Path) -> None:
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    with serve(tmp_path / "logs", tmp_path, "--host", "0.0.0.0") as server:
        (file,) = get_instances_dir().iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(get_instances_dir().stat().st_mode) == 0o700
        (instance,) = list_instances()
        assert instance.url == f"http://localhost:{server.port}/"
        assert instance.token and server.address.endswith(f"?token={instance.token}")


def test_killed_server_is_not_listed(tmp_path: Path) -> None:
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    with serve(tmp_path / "logs", tmp_path) as server:
        assert len(list_instances()) == 1
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        assert len(list(get_instances_dir().iterdir())) == 1
        assert list_instances() == []
        wait_until(lambda: list(get_instances_dir().iterdir()) == [])


def test_invalid_records_are_ignored() -> None:
    get_instances_dir().mkdir(parents=True)
    far = Instance("elsewhere", 1, 6006, "http://localhost:6006/", None, "logs", [], "/", 0.0)
    (get_instances_dir() / "far.json").write_bytes(msgspec.json.encode(far))
    (get_instances_dir() / "torn.json").write_bytes(b'{"pid": 1')
    assert list_instances() == []
    assert len(list(get_instances_dir().iterdir())) == 2


def test_closed_port_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    here = server_module.socket.gethostname()
    closed = Instance(here, os.getpid(), 1, "http://localhost:1/", None, "logs", [], "/", 0.0)
    assert not server_module.is_alive(closed)


def make_instance(url: str) -> Instance:
    host = server_module.socket.gethostname()
    return Instance(host, os.getpid(), 1, url, None, "logs", [], "/", 0.0)


class AnyHandler(BaseHTTPRequestHandler):
    """Responds with the status, header and body that the path says."""

    def do_GET(self) -> None:
        status, challenge, body = RESPONSES[self.path.split("/")[1]]
        self.send_response(status)
        self.send_header("www-authenticate", challenge)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


RESPONSES = {
    "tracklight": (200, "", b'{"version": "1.0"}'),
    "password": (401, 'Basic realm="tracklight"', b""),
    "other": (200, "", b'{"status": "ok"}'),
    "page": (200, "", b"<html>"),
    "binary": (200, "", b"\xff\xfe"),
    "router": (401, 'Basic realm="router"', b""),
    "missing": (404, "", b""),
    "failing": (500, "", b""),
}


def test_other_programs_on_the_port_are_not_alive() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), AnyHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        alive = [name for name in RESPONSES if is_alive(make_instance(f"{base}/{name}/"))]
        server.shutdown()
    assert alive == ["tracklight", "password"]


def test_record_of_a_process_of_another_user_is_kept() -> None:
    """It may run; whether it can be signaled does not matter."""
    get_instances_dir().mkdir(parents=True)
    instance = make_instance("http://localhost:1/")
    for pid in (1, os.getpid()):
        changed = msgspec.structs.replace(instance, pid=pid)
        (get_instances_dir() / f"{pid}.json").write_bytes(msgspec.json.encode(changed))
    assert list_instances() == []
    assert len(list(get_instances_dir().iterdir())) == 2
