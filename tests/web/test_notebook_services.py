"""Frames in Colab and VS Code, which use their own host names, with stand-ins for both."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest
from playwright.sync_api import Page, expect

from tests.index import logs
from tests.server.server_process import serve
from tracklight.notebook import list_service_flags, render_frame
from tracklight.server.serve import list_instances

pytestmark = pytest.mark.browser


class PageHandler(BaseHTTPRequestHandler):
    """Serve a page outside of Jupyter, where no proxy is available."""

    markup = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.markup)

    def log_message(self, *_: object) -> None:
        pass


class ProxyHandler(PageHandler):
    """Forward requests below a path to a board, with a host name of the service."""

    name = ""
    prefix = ""
    port = 0

    def do_GET(self) -> None:
        self._forward(None)

    def do_POST(self) -> None:
        self._forward(self.rfile.read(int(self.headers["content-length"])))

    def _forward(self, body: bytes | None) -> None:
        board = HTTPConnection("127.0.0.1", self.port)
        headers = {**dict(self.headers), "Host": self.name, "Connection": "close"}
        board.request(self.command, self.path.removeprefix(self.prefix), body, headers)
        response = board.getresponse()
        self.send_response(response.status)
        for header, value in response.getheaders():
            if header.lower() not in ("transfer-encoding", "connection"):
                self.send_header(header, value)
        self.end_headers()
        try:
            while chunk := response.read1():
                self.wfile.write(chunk)
                self.wfile.flush()
        except OSError:
            pass  # the page closed the stream
        finally:
            board.close()


@contextmanager
def serve_handler(handler: type[PageHandler]) -> Iterator[str]:
    """Serve requests with a handler and yield the URL of the server."""
    host = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    host.daemon_threads = True
    # Streams stay open until the browser closes, which is later.
    host.block_on_close = False
    threading.Thread(target=host.serve_forever, daemon=True).start()
    yield f"http://localhost:{host.server_port}"
    host.shutdown()
    host.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    for name in ("VSCODE_PROXY_URI", "CODESPACE_NAME", "KAGGLE_KERNEL_RUN_TYPE"):
        monkeypatch.delenv(name, raising=False)
    logs.write(tmp_path / "logs", "conv", logs.points(range(30)))
    return tmp_path


def test_frame_uses_the_port_without_a_proxy(folder: Path, open_page: Callable[..., Page]) -> None:
    with serve(folder / "logs", folder) as server:
        (board,) = list_instances()
        PageHandler.markup = f"<!doctype html><body>{render_frame(board, 500)}".encode()
        with serve_handler(PageHandler) as address:
            page = open_page(address)
            frame = page.locator("iframe[title=tracklight]")
            expect(frame).to_have_attribute("src", server.address)
            expect_chart(page)
            expect(page.get_by_role("link")).to_have_attribute("href", server.address)


COLAB = """\
<!doctype html><script>
globalThis.google = {colab: {kernel: {
    accessAllowed: %s,
    proxyPort: async (port, {cache}) => `${%r}/?port=${port}&cache=${cache}`,
}}};
</script><body>%s"""


def test_colab_uses_its_proxy(
    folder: Path, open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    with serve(folder / "logs", folder, *list_service_flags()) as server:
        (board,) = list_instances()
        ProxyHandler.name, ProxyHandler.prefix, ProxyHandler.port = (
            f"3xkq7-{server.port}-colab.googleusercontent.com",
            "",
            server.port,
        )
        with serve_handler(ProxyHandler) as proxy, serve_handler(PageHandler) as address:
            frame = render_frame(board, 500)
            PageHandler.markup = (COLAB % ("true", proxy, frame)).encode()
            page = open_page(address)
            expect(page.locator("iframe[title=tracklight]")).to_have_attribute("src", f"{proxy}/")
            expect_chart(page)
            logs.write(folder / "logs", "vit", logs.points(range(40)))
            content = page.frame_locator("iframe[title=tracklight]")
            expect(content.get_by_text("vit", exact=True).first).to_be_visible()

            # A reader of the notebook has no kernel, so there is no proxy.
            PageHandler.markup = (COLAB % ("false", proxy, frame)).encode()
            reader = open_page(address)
            expect(reader.get_by_text("appears here while its server is running")).to_be_visible()
            expect(reader.locator("iframe")).to_have_count(0)


def test_vs_code_in_a_browser_uses_its_port_forwarding(
    folder: Path, open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKLIGHT_PROXY_TOKEN", "only-this-notebook-knows")
    with serve(folder / "logs", folder) as server:
        (board,) = list_instances()
        ProxyHandler.name, ProxyHandler.prefix, ProxyHandler.port = (
            "code.lab.example",
            f"/proxy/{server.port}",
            server.port,
        )
        with serve_handler(ProxyHandler) as proxy, serve_handler(PageHandler) as address:
            monkeypatch.setenv("VSCODE_PROXY_URI", f"{proxy}/proxy/{{{{port}}}}/")
            PageHandler.markup = f"<!doctype html><body>{render_frame(board, 500)}".encode()
            page = open_page(address)
            expect(page.get_by_role("link")).to_have_attribute(
                "href", f"{proxy}/proxy/{server.port}/?token=only-this-notebook-knows"
            )
            expect_chart(page)


def expect_chart(page: Page) -> None:
    content = page.frame_locator("iframe[title=tracklight]")
    expect(content.get_by_text("loss", exact=True).first).to_be_visible()
    expect(content.get_by_text("conv", exact=True).first).to_be_visible()
