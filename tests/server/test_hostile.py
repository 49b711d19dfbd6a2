"""A hostile afternoon in a minute: what a scanner and worse clients do to a real server.

Whatever they do, others are answered, nothing is told that lies beside the log, nothing fails on
the server's side, and nothing is left behind.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator

import pytest

from tests.index import logs
from tests.server.server_process import Served, receive_all, serve
from tests.server.test_http_api import ASKS
from tests.server.waiting import wait_until

SECRET = "what-lies-beside-the-log"
CLIMBS = [
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
    # What Windows understands as paths: drives, devices, and a file's own stream.
    "C:/Windows/win.ini",
    "C:%5cWindows%5cwin.ini",
    "%5c%5c?%5cC:%5cWindows%5cwin.ini",
    "%5c%5cevil.example%5cshare%5csecret.txt",
    "..%5csecret.txt::$DATA",
    "CON",
    "nul.txt",
]
PLACES = ["", "api/v1/", "api/v1/blobs/", "assets/", "plugins/", "plugins/scalars/", "api/v1/graphs/"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.txt").write_text(SECRET)
    logs.write(folder / "logs", "conv", logs.points(range(3)) + logs.picture(1, b"GIF89a"))
    # A log may hold links to what lies elsewhere; they are no event files.
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
def others_are_answered(server: Served) -> Iterator[None]:
    yield
    with urllib.request.urlopen(server.address + "api/v1/runs", timeout=60) as answer:
        assert [run["name"] for run in json.load(answer)["runs"]] == ["conv"]


def ask(server: Served, target: str, headers: str = "", method: str = "GET") -> bytes:
    host = f"localhost:{server.port}"
    head = f"{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n"
    return server.send(head.encode("latin-1"))


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


@pytest.mark.parametrize("place", PLACES)
def test_no_path_climbs_out(server: Served, place: str) -> None:
    for climb in CLIMBS:
        answer = ask(server, f"/{place}{climb}")
        assert 200 <= status_of(answer) < 500
        assert not any(
            secret in answer.lower() for secret in (SECRET.encode(), b"root:", b"[mail]")
        )


def test_no_field_of_an_ask_climbs_out(server: Served) -> None:
    for name, fields in ASKS.items():
        method, path = name.split()
        if method != "GET" or not isinstance(fields, dict):
            continue
        for climb in ("../secret.txt", "..%2fsecret.txt", "%2fetc%2fpasswd"):
            query = "&".join(f"{field}={climb}" for field in fields)
            target = f"/{path.format(fingerprint=climb, id=climb)}?{query}"
            answer = ask(server, target)
            assert 200 <= status_of(answer) < 500, (target, answer[-300:])
            assert SECRET.encode() not in answer and b"root:" not in answer


def test_a_capture_that_is_a_link_is_not_read(server: Served) -> None:
    with urllib.request.urlopen(server.address + "api/v1/profile/captures", timeout=60) as answer:
        (capture,) = json.load(answer)["captures"]
    for name in ("overview", "opening", "ops", "file"):
        answer = ask(server, f"/api/v1/profile/{name}?capture={capture['id']}")
        assert b"is outside the log directory" in answer
        assert status_of(answer) == (200 if name == "opening" else 404), answer


def test_a_rebound_name_is_turned_away(server: Served) -> None:
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
        b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n",
        b"\r\n" * 20_000,
        bytes(range(256)) * 300,
    ],
)
def test_what_is_no_request_is_cut_off(server: Served, request_: bytes) -> None:
    with server.connect() as connection:
        try:
            connection.sendall(request_)
            connection.shutdown(1)
        except OSError:
            pass
        answer = receive_all(connection)
    assert status_of(answer) in (0, 400)


def test_a_version_to_come_does_no_harm(server: Served) -> None:
    request = b"GET / HTTP/9.9\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    assert status_of(server.send(request)) in (200, 400)


def test_a_body_has_an_end(server: Served) -> None:
    head = b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    declared = head + b"content-length: 9000000\r\n\r\n" + b" " * 1_100_000
    assert status_of(server.send(declared)) == 413
    chunks = (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 20
    assert status_of(server.send(head + b"transfer-encoding: chunked\r\n\r\n" + chunks)) == 413


@pytest.mark.parametrize("body", [b"\xff\xfe", b'{"runs": ["\xc3("]}', b'"\\ud800"', b"\x00" * 99])
def test_bad_text_is_told(server: Served, body: bytes) -> None:
    head = b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    answer = server.send(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert status_of(answer) == 400
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]


def test_a_deep_body_is_told(server: Served) -> None:
    body = b"[" * 500_000
    head = b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    answer = server.send(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert status_of(answer) == 400


def test_slow_clients_are_waited_for_by_nobody(server: Served) -> None:
    """Half a head, half a body, and answers that nobody takes."""
    halves = [
        b"GET /api/v1/runs HTTP/1.1\r\nhost: loc",
        b"POST /api/v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
        b"GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 50,
    ]
    slow = [server.connect() for _ in range(60)]
    for number, connection in enumerate(slow):
        connection.sendall(halves[number % len(halves)])
    # They would be waited for longer than this.
    with urllib.request.urlopen(server.address + "api/v1/status", timeout=60) as answer:
        assert answer.status == 200
    for connection in slow:
        connection.close()


def test_many_streams_leave_nothing_behind(server: Served) -> None:
    """As many as TRACKLIGHT_STREAMS says; 10,000 need ``ulimit -n`` above 20,000 for this test."""
    many = int(os.environ.get("TRACKLIGHT_STREAMS", "300"))
    before = server.count_files()
    streams = [server.connect(60) for _ in range(many)]
    for stream in streams:
        stream.sendall(b"GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
    for stream in streams:
        assert b"200 OK" in stream.recv(1 << 12)
    others: list[int] = []

    def look() -> None:
        for _ in range(20):
            with urllib.request.urlopen(server.address + "api/v1/runs", timeout=60) as answer:
                others.append(answer.status)

    looking = threading.Thread(target=look)
    looking.start()
    looking.join(60)
    assert others == [200] * 20
    for stream in streams:
        stream.close()
    wait_until(lambda: server.count_files() <= before + 2, 60)
