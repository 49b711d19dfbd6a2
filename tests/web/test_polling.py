"""Live updates where event streams or shared workers are not available."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records, write_sweep
from tests.web.locators import connection_status, run_row

pytestmark = pytest.mark.browser


@contextmanager
def proxy_without_streams(board: str) -> Iterator[tuple[str, list[str]]]:
    """Run a proxy that rejects event streams; yield its URL and the polls that it forwarded."""
    polls: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.startswith("/api/v1/live?"):
                self._reply(502, "text/plain", b"no streams here")
                return
            if self.path.startswith("/api/v1/live/poll"):
                polls.append(self.path)
            self._forward(None)

        def do_POST(self) -> None:
            self._forward(self.rfile.read(int(self.headers["content-length"])))

        def _forward(self, body: bytes | None) -> None:
            forwarded = ("accept", "content-type", "host", "origin", "sec-fetch-site")
            headers = {name: self.headers[name] for name in forwarded if self.headers[name]}
            request = urllib.request.Request(board.rstrip("/") + self.path, body, headers)
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    self._reply(response.status, response.headers["content-type"], response.read())
            except urllib.error.HTTPError as error:
                self._reply(error.code, error.headers["content-type"], error.read())

        def _reply(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/", polls
        server.shutdown()


def check_live(page: Page, logdir: Path) -> None:
    expect(connection_status(page, "Live")).to_be_visible()
    for name in ("late", "later"):
        append_records(logdir / name, *loss_records("train/loss", range(5)))
        expect(run_row(page, name)).to_be_visible()


def test_page_polls_without_shared_workers(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    page.add_init_script("delete window.SharedWorker")
    with page.expect_request("**/api/v1/live/poll?*"):
        page.goto(serve(logdir).address)
    check_live(page, logdir)


def test_page_polls_when_the_worker_script_is_missing(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    page.add_init_script(
        "const Real = SharedWorker;"
        "window.SharedWorker = class { constructor() { return new Real('assets/gone.js'); } };"
    )
    with page.expect_request("**/api/v1/live/poll?*"):
        page.goto(serve(logdir).address)
    check_live(page, logdir)


def test_worker_polls_behind_a_proxy_without_streams(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    with proxy_without_streams(serve(logdir).address) as (address, polls):
        page = open_page(address)
        expect(run_row(page, "vit")).to_be_visible()
        check_live(page, logdir)
        assert polls
        page.context.close()
