"""What scanners and hostile clients do to a real server.

Other clients still get responses, nothing outside of the log is revealed, there are no server
errors, and no resources leak.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator

import pytest

from tests.index import logs
from tests.server.server_process import ServerProcess, receive_all, serve
from tests.server.test_http_api import REQUESTS
from tests.server.waiting import wait_until

SECRET = "content-outside-of-the-log"
TRAVERSALS = [
    "../secret.txt",
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "..%252f..%252fsecret.txt",
    "..%5c..%5csecret.txt",
    "....//....//secret.txt",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "secret.txt%00.png",
    "%c0%ae%c0%ae/secret.txt",
    "%ff%fe",
    # Paths on Windows: drives, devices, and alternate data streams.
    "C:/Windows/win.ini",
    "C:%5cWindows%5cwin.ini",
    "%5c%5c?%5cC:%5cWindows%5cwin.ini",
    "%5c%5cevil.example%5cshare%5csecret.txt",
    "..%5csecret.txt::$DATA",
    "CON",
    "nul.txt",
]
PREFIXES = [
    "",
    "api/",
    "api/v1/",
    "api/v1/blobs/",
    "assets/",
    "plugins/",
    "plugins/scalars/",
    "api/v1/graphs/",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.txt").write_text(SECRET)
    logs.write(folder / "logs", "conv", logs.points(range(3)) + logs.picture(1, b"GIF89a"))
    # A log may contain links to files outside of it.
    os.symlink(folder / "secret.txt", folder / "logs" / "conv" / "notes.txt")
    capture = folder / "logs" / "conv" / "plugins" / "profile" / "first"
    capture.mkdir(parents=True)
    os.symlink(folder / "secret.txt", capture / "host.xplane.pb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKLIGHT_DATA_DIR", str(folder / "data"))
        with serve(folder / "logs", folder) as server:
            server.wait_until_read()
            yield server
    assert server.errors.read_text() == ""


@pytest.fixture(autouse=True)
def others_get_responses(server: ServerProcess) -> Iterator[None]:
    yield
    with urllib.request.urlopen(server.address + "api/v1/runs", timeout=60) as response:
        assert [run["name"] for run in json.load(response)["runs"]] == ["conv"]


def send_request(
    server: ServerProcess, target: str, headers: str = "", method: str = "GET"
) -> bytes:
    host = f"localhost:{server.port}"
    head = f"{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n"
    return server.send(head.encode("latin-1"))


def status_of(response: bytes) -> int:
    return int(response.split(b" ", 2)[1]) if response.startswith(b"HTTP/1.1 ") else 0


@pytest.mark.parametrize("prefix", PREFIXES)
def test_paths_cannot_leave_the_served_folders(server: ServerProcess, prefix: str) -> None:
    for traversal in TRAVERSALS:
        response = send_request(server, f"/{prefix}{traversal}")
        assert 200 <= status_of(response) < 500
        assert not any(
            secret in response.lower() for secret in (SECRET.encode(), b"root:", b"[mail]")
        )


def test_request_fields_cannot_leave_the_log(server: ServerProcess) -> None:
    for name, fields in REQUESTS.items():
        method, path = name.split()
        if method != "GET" or not isinstance(fields, dict):
            continue
        for traversal in ("../secret.txt", "..%2fsecret.txt", "%2fetc%2fpasswd"):
            query = "&".join(f"{field}={traversal}" for field in fields)
            target = f"/{path.format(fingerprint=traversal, id=traversal)}?{query}"
            response = send_request(server, target)
            assert 200 <= status_of(response) < 500, (target, response[-300:])
            assert SECRET.encode() not in response and b"root:" not in response


def test_linked_captures_outside_of_the_log_are_not_read(server: ServerProcess) -> None:
    with urllib.request.urlopen(server.address + "api/v1/profile/captures", timeout=60) as response:
        (capture,) = json.load(response)["captures"]
    for name in ("overview", "opening", "ops", "file"):
        response = send_request(server, f"/api/v1/profile/{name}?capture={capture['id']}")
        assert b"is outside the log directory" in response
        assert status_of(response) == (200 if name == "opening" else 404), response


def test_rejects_rebound_host_names(server: ServerProcess) -> None:
    for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example", "[::1"):
        request = f"GET /api/v1/runs HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        assert status_of(server.send(request.encode())) == 403
    assert status_of(server.send(b"GET /api/v1/runs HTTP/1.0\r\n\r\n")) == 403
    both = b"GET /api/v1/runs HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n"
    assert status_of(server.send(both)) == 400


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 50_000 + b"\r\n",
        b"GET /api/v1/runs?run=" + b"%ff" * 60_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300),
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n"
        b"transfer-encoding: chunked\r\n\r\nzzz\r\n",
        b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\n"
        b"transfer-encoding: chunked\r\n\r\nzzz\r\n",
        b"\r\n" * 20_000,
        bytes(range(256)) * 300,
    ],
)
def test_invalid_http_is_rejected(server: ServerProcess, request_: bytes) -> None:
    with server.connect() as connection:
        try:
            connection.sendall(request_)
            connection.shutdown(1)
        except OSError:
            pass
        response = receive_all(connection)
    assert status_of(response) in (0, 400)


def test_unknown_http_version_is_harmless(server: ServerProcess) -> None:
    request = b"GET / HTTP/9.9\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    assert status_of(server.send(request)) in (200, 400)


def test_body_size_is_limited(server: ServerProcess) -> None:
    head = b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    declared = head + b"content-length: 9000000\r\n\r\n" + b" " * 1_100_000
    assert status_of(server.send(declared)) == 413
    chunks = (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 20
    assert status_of(server.send(head + b"transfer-encoding: chunked\r\n\r\n" + chunks)) == 413


@pytest.mark.parametrize("body", [b"\xff\xfe", b'{"runs": ["\xc3("]}', b'"\\ud800"', b"\x00" * 99])
def test_invalid_utf8_returns_400(server: ServerProcess, body: bytes) -> None:
    head = b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    response = server.send(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert status_of(response) == 400
    assert json.loads(response.partition(b"\r\n\r\n")[2])["error"]["message"]


def test_deeply_nested_body_returns_400(server: ServerProcess) -> None:
    body = b"[" * 500_000
    head = b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    response = server.send(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert status_of(response) == 400


def test_slow_clients_do_not_delay_others(server: ServerProcess) -> None:
    """Incomplete headers, incomplete bodies, and responses that are not read."""
    incomplete = [
        b"GET /api/v1/runs HTTP/1.1\r\nhost: loc",
        b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
        b"GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50,
    ]
    slow = [server.connect() for _ in range(60)]
    for number, connection in enumerate(slow):
        connection.sendall(incomplete[number % len(incomplete)])
    # The timeouts of slow clients are longer than this.
    with urllib.request.urlopen(server.address + "api/v1/status", timeout=60) as response:
        assert response.status == 200
    for connection in slow:
        connection.close()


def test_many_streams_are_cleaned_up(server: ServerProcess) -> None:
    """TRACKLIGHT_STREAMS sets the number; 10,000 need ``ulimit -n`` above 20,000."""
    many = int(os.environ.get("TRACKLIGHT_STREAMS", "300"))
    before = server.count_files()
    streams = [server.connect(60) for _ in range(many)]
    for stream in streams:
        stream.sendall(b"GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
    for stream in streams:
        assert b"200 OK" in stream.recv(1 << 12)
    others: list[int] = []

    def request_runs() -> None:
        for _ in range(20):
            with urllib.request.urlopen(server.address + "api/v1/runs", timeout=60) as response:
                others.append(response.status)

    thread = threading.Thread(target=request_runs)
    thread.start()
    thread.join(60)
    assert others == [200] * 20
    for stream in streams:
        stream.close()
    wait_until(lambda: server.count_files() <= before + 2, 60)
