"""Frames where services show notebooks by names of their own, with stand-ins for their programs."""

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
from tracklight.notebook.frame import list_service_flags, render_frame
from tracklight.server.instances import list_instances

pytestmark = pytest.mark.browser


class Plain(BaseHTTPRequestHandler):
    """A page that is no notebook of Jupyter's: no proxy is to be found there."""

    markup = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.markup)

    def log_message(self, *_: object) -> None:
        pass


class Proxy(Plain):
    """Hands what lies below a path over to a board, under a name that the service made up."""

    name = ""
    prefix = ""
    port = 0

    def do_GET(self) -> None:
        self._hand_over(None)

    def do_POST(self) -> None:
        self._hand_over(self.rfile.read(int(self.headers["content-length"])))

    def _hand_over(self, body: bytes | None) -> None:
        board = HTTPConnection("127.0.0.1", self.port)
        headers = {**dict(self.headers), "Host": self.name, "Connection": "close"}
        board.request(self.command, self.path.removeprefix(self.prefix), body, headers)
        answer = board.getresponse()
        self.send_response(answer.status)
        for header, value in answer.getheaders():
            if header.lower() not in ("transfer-encoding", "connection"):
                self.send_header(header, value)
        self.end_headers()
        try:
            while chunk := answer.read1():
                self.wfile.write(chunk)
                self.wfile.flush()
        except OSError:
            pass  # the page has left, as its streams do
        finally:
            board.close()


@contextmanager
def listen(handler: type[Plain]) -> Iterator[str]:
    """The address of such a host."""
    host = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    host.daemon_threads = True
    # Streams end with the browser, which ends after this.
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


def test_without_a_proxy_the_port_itself_is_shown(
    folder: Path, open_page: Callable[..., Page]
) -> None:
    with serve(folder / "logs", folder) as server:
        (board,) = list_instances()
        Plain.markup = f"<!doctype html><body>{render_frame(board, 500)}".encode()
        with listen(Plain) as address:
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


def test_colab_shows_the_board_through_its_own_proxy(
    folder: Path, open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    with serve(folder / "logs", folder, *list_service_flags()) as server:
        (board,) = list_instances()
        Proxy.name, Proxy.prefix, Proxy.port = (
            f"3xkq7-{server.port}-colab.googleusercontent.com",
            "",
            server.port,
        )
        with listen(Proxy) as proxy, listen(Plain) as address:
            frame = render_frame(board, 500)
            Plain.markup = (COLAB % ("true", proxy, frame)).encode()
            page = open_page(address)
            expect(page.locator("iframe[title=tracklight]")).to_have_attribute("src", f"{proxy}/")
            expect_chart(page)
            logs.write(folder / "logs", "vit", logs.points(range(40)))
            inside = page.frame_locator("iframe[title=tracklight]")
            expect(inside.get_by_text("vit", exact=True).first).to_be_visible()

            # Somebody who only reads the notebook has no kernel to ask.
            Plain.markup = (COLAB % ("false", proxy, frame)).encode()
            reader = open_page(address)
            expect(reader.get_by_text("appears here while its server is running")).to_be_visible()
            expect(reader.locator("iframe")).to_have_count(0)


def test_vs_code_in_a_browser_shows_the_board_where_it_forwards_ports(
    folder: Path, open_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKLIGHT_PROXY_TOKEN", "only-this-notebook-knows")
    with serve(folder / "logs", folder) as server:
        (board,) = list_instances()
        Proxy.name, Proxy.prefix, Proxy.port = (
            "code.lab.example",
            f"/proxy/{server.port}",
            server.port,
        )
        with listen(Proxy) as proxy, listen(Plain) as address:
            monkeypatch.setenv("VSCODE_PROXY_URI", f"{proxy}/proxy/{{{{port}}}}/")
            Plain.markup = f"<!doctype html><body>{render_frame(board, 500)}".encode()
            page = open_page(address)
            expect(page.get_by_role("link")).to_have_attribute(
                "href", f"{proxy}/proxy/{server.port}/?token=only-this-notebook-knows"
            )
            expect_chart(page)


def expect_chart(page: Page) -> None:
    inside = page.frame_locator("iframe[title=tracklight]")
    expect(inside.get_by_text("loss", exact=True).first).to_be_visible()
    expect(inside.get_by_text("conv", exact=True).first).to_be_visible()
