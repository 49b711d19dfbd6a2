from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracklight
from tests.builders import scalar
from tests.logdir.web_server import (
    BareHandler,
    DeniedHandler,
    NginxHandler,
    PlainHandler,
    WebServer,
    serve_directory,
)
from tests.server.server_process import get_free_port
from tracklight.errors import MissingDependencyError
from tracklight.logdir import http
from tracklight.logdir.access import open_filesystem, parse_roots
from tracklight.logdir.discover import Discovery, discover
from tracklight.logdir.http import HttpFileSystem

NAME = "events.out.tfevents.1.host"
HANDLERS = [PlainHandler, NginxHandler, BareHandler]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def write_points(path: Path, steps: range) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(scalar("loss", step, step / 2) for step in steps))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_points(tmp_path / "logs/a" / NAME, range(100))
    write_points(tmp_path / "logs/b c&d/ü#1" / NAME, range(7))
    (tmp_path / "logs/a/notes.txt").write_text("not for us")
    (tmp_path / "logs/empty").mkdir()
    return tmp_path / "logs"


@pytest.fixture(params=HANDLERS, ids=lambda handler: handler.__name__)
def server(logdir: Path, request: pytest.FixtureRequest) -> Iterator[WebServer]:
    with serve_directory(logdir, request.param) as running:
        yield running


def discover_runs(url: str) -> Discovery:
    (root,) = parse_roots(url)
    return discover(root, open_filesystem(root.path)[0])


def test_reads_every_point(server: WebServer) -> None:
    with tracklight.open(server.url, cache=False) as log:
        assert log.problems == ()
        assert log.runs == ("a", "b c&d/ü#1")
        assert log.scalar("a", "loss").value.tolist() == [step / 2 for step in range(100)]
        assert len(log.scalar("b c&d/ü#1", "loss")) == 7


def test_follows_growing_file(server: WebServer, logdir: Path) -> None:
    with tracklight.open(server.url, cache=False) as log:
        write_points(logdir / "a" / NAME, range(100, 150))
        write_points(logdir / "new" / NAME, range(3))
        assert set(log.refresh().changed) == {"a"}
        assert log.scalar("a", "loss").step.tolist() == list(range(150))
        assert log.runs == ("a", "b c&d/ü#1", "new")


def test_rereads_replaced_file(server: WebServer, logdir: Path) -> None:
    with tracklight.open(server.url, cache=False) as log:
        (logdir / "a" / NAME).unlink()
        write_points(logdir / "a" / NAME, range(500, 700))
        log.refresh()
        assert log.scalar("a", "loss").step.tolist() == list(range(500, 700))


def test_reads_any_range_of_file(server: WebServer, logdir: Path) -> None:
    data = (logdir / "a" / NAME).read_bytes()
    url = f"{server.url}/a/{NAME}"
    with HttpFileSystem().open(url) as file:
        # Forward, backward, across the end and beyond it.
        for offset, size in [(0, 10), (500, 100), (20, 30), (len(data) - 5, 4096)]:
            assert file.read(offset, size) == data[offset : offset + size]
        assert file.read(len(data), 10) == b""
        assert file.read(len(data) + 5000, 10) == b""
        assert file.read(5, 0) == b""
    assert HttpFileSystem().read(url, 900, 1 << 20) == data[900:]


def test_root_may_be_an_event_file(server: WebServer) -> None:
    with tracklight.open(f"{server.url}/a/{NAME}", cache=False) as log:
        assert log.runs == (".",)
        assert len(log.scalar(".", "loss")) == 100


def test_directory_named_like_event_file(server: WebServer, logdir: Path) -> None:
    write_points(logdir / "old-tfevents/run" / NAME, range(5))
    with tracklight.open(f"{server.url}/old-tfevents", cache=False) as log:
        assert log.runs == ("run",)
        assert len(log.scalar("run", "loss")) == 5


def test_links_to_parent_directory_terminate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_MAX_DIRECTORIES", 20)
    write_points(tmp_path / "a" / NAME, range(5))
    for name in ("x", "y"):
        (tmp_path / "a" / name).symlink_to(tmp_path / "a")
    with serve_directory(tmp_path) as server:
        found = discover_runs(server.url)
    assert [*map(str, found.problems)] == [
        f'"{server.url}" has more than 20 directories; the others are ignored'
    ]
    assert "a" in found.runs


def test_stat_has_size_and_mtime(logdir: Path) -> None:
    stat = os.stat(logdir / "a" / NAME)
    with serve_directory(logdir) as server:
        found = HttpFileSystem().find_stat(f"{server.url}/a/{NAME}")
        assert found is not None
        assert (found.size, found.mtime_ns // 10**9) == (stat.st_size, int(stat.st_mtime))
        assert HttpFileSystem().find_stat(f"{server.url}/a/missing") is None


def test_downloads_only_new_bytes_with_ranges(logdir: Path) -> None:
    first = (logdir / "a" / NAME).stat().st_size
    with serve_directory(logdir, NginxHandler) as server:
        with tracklight.open(server.url, cache=False) as log:
            write_points(logdir / "a" / NAME, range(100, 110))
            server.requests.clear()
            log.refresh()
        size = (logdir / "a" / NAME).stat().st_size
        assert f"bytes={first}-{size - 1}" in [request.range for request in server.requests]
        gets = [it for it in server.requests if it.method == "GET" and it.path.endswith(NAME)]
        assert all(it.range is not None for it in gets)


def test_downloads_file_once_without_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = HttpFileSystem.read_sizes._replace(min_bytes=4096, initial_bytes=4096, max_bytes=8192)
    monkeypatch.setattr(HttpFileSystem, "read_sizes", sizes)
    write_points(tmp_path / "a" / NAME, range(3000))
    with serve_directory(tmp_path) as server:
        with tracklight.open(server.url, cache=False) as log:
            assert len(log.scalar("a", "loss")) == 3000
        gets = [it for it in server.requests if it.method == "GET" and it.path.endswith(NAME)]
        # One request for all windows, and one for each end of the fingerprint.
        assert len(gets) <= 3


@pytest.mark.parametrize(
    ("handler", "path", "sentence"),
    [
        (PlainHandler, "/missing", 'nothing found at "URL/missing"'),
        (DeniedHandler, "", 'cannot list "URL": the server denied access (403)'),
        (PlainHandler, "/a/notes.txt", "nothing found at"),
        (PlainHandler, "/site", '"URL/site" is not a directory listing'),
    ],
)
def test_reports_what_cannot_be_listed(
    handler: type[PlainHandler], path: str, sentence: str, logdir: Path
) -> None:
    (logdir / "site").mkdir()
    (logdir / "site/index.html").write_text("<title>Welcome</title><a href='/elsewhere'>x</a>")
    with serve_directory(logdir, handler) as server:
        found = discover_runs(server.url + path)
        assert found.runs == []
        (problem,) = map(str, found.problems)
        assert sentence.replace("URL", server.url) in problem


def test_empty_directory_is_not_a_problem(server: WebServer) -> None:
    assert discover_runs(f"{server.url}/empty").problems == []


def test_reports_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_RETRY_DELAYS_S", ())
    with socket.socket() as unused:  # bound and never listening
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        found = discover_runs(f"http://{address}/logs")
    assert [*map(str, found.problems)] == [
        f'cannot list "http://{address}/logs": cannot connect to {address}'
    ]
    assert found.failed_directories == [f"http://{address}/logs"]


class HeadlessHandler(NginxHandler):
    """Only the response to a range has the size of a file."""

    def do_HEAD(self) -> None:
        self.send_error(501)


class GzipHandler(NginxHandler):
    """Responds to HEAD with the size of the compressed file."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", "10")
        self.end_headers()


@pytest.mark.parametrize("handler", [*HANDLERS, HeadlessHandler, GzipHandler])
def test_size_of_a_file(logdir: Path, handler: type[PlainHandler]) -> None:
    (logdir / "a/new").touch()
    with serve_directory(logdir, handler) as server:
        files = HttpFileSystem()
        stats = [files.find_stat(f"{server.url}/a/{name}") for name in (NAME, "new")]
        sizes = [None if stat is None else stat.size for stat in stats]
        assert sizes[0] == (logdir / "a" / NAME).stat().st_size
        assert sizes[1] == 0 or handler is GzipHandler
        assert files.find_stat(f"{server.url}/a/none") is None


class OtherRangeHandler(PlainHandler):
    """Sends the start of a file, whatever is requested."""

    def do_GET(self) -> None:
        self.send_response(206)
        self.send_header("Content-Range", "bytes 0-3/4")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"data")


class CutHandler(PlainHandler):
    """Closes the connection before the end of a file."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"data")
        self.close_connection = True


class FailingHandler(PlainHandler):
    def do_GET(self) -> None:
        self.send_error(503)


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (OtherRangeHandler, r"another range \(bytes 0-3/4\) than requested \(from byte 2\)"),
        (CutHandler, "payload is not completed"),
        (FailingHandler, "503"),
        (DeniedHandler, r"denied access \(403\)"),
    ],
)
def test_reports_what_cannot_be_read(
    tmp_path: Path,
    handler: type[PlainHandler],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "_RETRY_DELAYS_S", ())
    with serve_directory(tmp_path, handler) as server:
        with pytest.raises(OSError, match=message):
            HttpFileSystem().read(f"{server.url}/file", 2, 500)


class DeniedFileHandler(PlainHandler):
    """Denies access to files; directories are listed in a charset that does not exist."""

    def do_GET(self) -> None:
        if self.path.endswith("/"):
            super().do_GET()
        else:
            self.send_error(403)

    do_HEAD = do_GET

    def send_header(self, keyword: str, value: str) -> None:
        super().send_header(keyword, value.replace("charset=utf-8", "charset=unknown"))


def test_reports_files_that_cannot_be_read(logdir: Path) -> None:
    with serve_directory(logdir, DeniedFileHandler) as server:
        found = discover_runs(f"{server.url}/a")
    assert [*map(str, found.problems)] == [
        f'cannot read "{server.url}/a/{NAME}": the server denied access (403)'
    ]


@pytest.mark.parametrize("handler", [PlainHandler, DeniedHandler])
def test_whether_a_directory_exists(logdir: Path, handler: type[PlainHandler]) -> None:
    """What cannot be read may exist: the problem is reported when the log is read."""
    with serve_directory(logdir, handler) as server:
        assert HttpFileSystem().exists(f"{server.url}/a/")
        assert HttpFileSystem().exists(f"{server.url}/none/") == (handler is DeniedHandler)


def parse(text: str, *, content_type: str = "text/html") -> list[tuple[str, bool]] | None:
    links = http.parse_links(http.ListingPage("http://host/logs/run/", content_type, text))
    return None if links is None else [tuple(link) for link in links]


def test_does_not_follow_links_elsewhere() -> None:
    page = """<title>Index of /logs/run</title>
        <a href="?C=N;O=D">Name</a> <a href="../">up</a> <a href="/logs/">up</a>
        <a href="http://other/logs/run/x">x</a> <a href="deep/er">x</a> <a href="mailto:a@b">x</a>
        <a href="http://[broken/">x</a>
        <a href="/logs/run/absolute">y</a> <a href='./dir/'>z</a> <a href="a%20b&amp;c">w</a>
        <A HREF="http://host/logs/run/full">v</A> <a name="none">n</a> <a href="absolute">y</a>"""
    assert parse(page) == [
        ("absolute", False),
        ("dir", True),
        ("a b&c", False),
        ("full", False),
    ]


def test_parses_json_listing_of_nginx() -> None:
    entries = [
        {"name": "a", "type": "directory", "mtime": "Mon, 16 Nov 2026 04:00:00 GMT"},
        {"name": NAME, "type": "file", "mtime": "Mon, 16 Nov 2026 04:00:00 GMT", "size": 5},
    ]
    assert parse(json.dumps(entries), content_type="application/json") == [
        ("a", True),
        (NAME, False),
    ]
    assert parse('{"detail": 1}', content_type="application/json") is None


def test_error_names_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_clients", [])
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[remote\]'"):
        open_filesystem("http://host/logs")


def test_extra_includes_dependencies() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("remote = ")]
    assert "aiohttp" in line and "fsspec" in line


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx here")
@pytest.mark.parametrize("listing", ["html", "json"])
def test_nginx(logdir: Path, tmp_path: Path, listing: str) -> None:
    port = get_free_port()
    for path in (tmp_path.parent, tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    config = tmp_path / "nginx.conf"
    user = "user root;" if os.name == "posix" and os.geteuid() == 0 else ""
    config.write_text(
        f"""{user} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;
        events {{}}
        http {{ access_log off; client_body_temp_path {tmp_path}/body;
          proxy_temp_path {tmp_path}/proxy; fastcgi_temp_path {tmp_path}/fastcgi;
          uwsgi_temp_path {tmp_path}/uwsgi; scgi_temp_path {tmp_path}/scgi;
          server {{ listen 127.0.0.1:{port}; root {logdir};
            location / {{ autoindex on; autoindex_format {listing}; }} }} }}"""
    )
    with subprocess.Popen(["nginx", "-e", f"{tmp_path}/error.log", "-c", str(config)]) as nginx:
        try:
            wait_for_port(port)
            with tracklight.open(f"http://127.0.0.1:{port}", cache=False) as log:
                assert log.problems == ()
                assert log.runs == ("a", "b c&d/ü#1")
                assert len(log.scalar("a", "loss")) == 100
                write_points(logdir / "a" / NAME, range(100, 130))
                log.refresh()
                assert len(log.scalar("a", "loss")) == 130
        finally:
            nginx.terminate()


def wait_for_port(port: int) -> None:
    deadline_s = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline_s, "nothing listens"
            time.sleep(0.02)
