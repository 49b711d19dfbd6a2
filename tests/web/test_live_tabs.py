"""Many tabs and frames on one board share one event stream per browser."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Frame, Page, expect
from starlette.types import Message, Receive, Scope, Send

from tests.server.server_process import serve as serve_with_flags
from tests.server.waiting import wait_until
from tests.web.cards import card, drawn_chart
from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records, write_sweep
from tests.web.live_updates import count_streams, set_hidden
from tests.web.locators import connection_status, run_row
from tests.web.scalar_log import loss, scalar_records, write_scalar_log
from tests.web.waiting import wait_for_condition
from tracklight.reader import create_catalog
from tracklight.server.app import Settings
from tracklight.server.serve import MountedApp

pytestmark = pytest.mark.browser

TABS = 12
FRAMES = 4
#: Generous for slow machines; a page that waits for a free connection hangs for 30 s or more.
DRAWN_MS = 120_000
VIEW = "?tab=scalars&tags=train/loss"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        context.set_default_timeout(DRAWN_MS)
        yield context


@contextmanager
def serve_notebook(board: str) -> Iterator[str]:
    """Serve a page of another site that shows a board in four frames, as a notebook does."""
    frame = f'<iframe src="{board}" width="600" height="500"></iframe>'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html>" + frame.encode() * FRAMES)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def open_tab(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address, wait_until="commit")
    return page


@pytest.mark.slow
def test_twelve_tabs_and_four_frames_draw_and_stay_live(
    logdir: Path, serve: Serve, context: BrowserContext
) -> None:
    write_scalar_log(logdir)
    board = serve(logdir).address
    with serve_notebook(board + VIEW) as notebook:
        tabs = [context.new_page() for _ in range(TABS + 1)]
        for tab in tabs[1:]:
            tab.goto(board + VIEW, wait_until="commit")
        tabs[0].goto(notebook)
        views: list[Page | Frame] = [*tabs[1:], *tabs[0].frames[1:]]
        assert len(views) == TABS + FRAMES
        for view in views:
            title = view.get_by_role("article", name="train/loss", exact=True)
            expect(title.get_by_role("img")).to_be_visible(timeout=DRAWN_MS)
            expect(title).to_have_attribute("data-last-step", "590", timeout=DRAWN_MS)
        # Browsers that partition storage by site give the frames a worker of their own.
        wait_until(lambda: 1 <= count_streams(board) <= 2)
        append_records(logdir / "vit", *scalar_records("train/loss", [600], loss("vit", [600])))
        for view in views:
            title = view.get_by_role("article", name="train/loss", exact=True)
            expect(title).to_have_attribute("data-last-step", "600", timeout=DRAWN_MS)
        wait_until(lambda: 1 <= count_streams(board) <= 2)


def test_two_tabs_share_a_stream_and_outlive_the_first(
    logdir: Path, serve: Serve, context: BrowserContext
) -> None:
    write_scalar_log(logdir)
    board = serve(logdir).address
    first, second = (open_tab(context, board + VIEW) for _ in range(2))
    for page in (first, second):
        drawn_chart(page, "train/loss")
    wait_until(lambda: count_streams(board) == 1)
    first.close()
    append_records(logdir / "vit", *scalar_records("train/loss", [600], loss("vit", [600])))
    expect(card(second, "train/loss")).to_have_attribute("data-last-step", "600")
    wait_until(lambda: count_streams(board) == 1)
    set_hidden(second, True)
    wait_until(lambda: count_streams(board) == 0)


def test_late_tab_is_up_to_date(logdir: Path, serve: Serve, context: BrowserContext) -> None:
    write_sweep(logdir)
    board = serve(logdir).address
    first = open_tab(context, board)
    expect(run_row(first, "vit")).to_be_visible()
    second = open_tab(context, board)
    expect(run_row(second, "vit")).to_be_visible()
    set_hidden(second, True)
    append_records(logdir / "late", *loss_records("train/loss", range(5)))
    expect(run_row(first, "late")).to_be_visible()
    set_hidden(second, False)  # now it has an older cursor than the stream
    expect(run_row(second, "late")).to_be_visible()
    append_records(logdir / "later", *loss_records("train/loss", range(5)))
    for page in (first, second):
        expect(run_row(page, "later")).to_be_visible()
    wait_until(lambda: count_streams(board) == 1)


def test_pausing_one_tab_leaves_the_others_live(
    logdir: Path, serve: Serve, context: BrowserContext
) -> None:
    write_sweep(logdir)
    board = serve(logdir).address
    paused, live = (open_tab(context, board) for _ in range(2))
    for page in (paused, live):
        expect(run_row(page, "vit")).to_be_visible()
    paused.get_by_role("button", name="Pause live updates").click()
    append_records(logdir / "late", *loss_records("train/loss", range(5)))
    expect(run_row(live, "late")).to_be_visible()
    expect(run_row(paused, "late")).to_have_count(0)
    paused.keyboard.press("l")
    expect(run_row(paused, "late")).to_be_visible()


def test_boards_do_not_share_streams(tmp_path: Path, serve: Serve, context: BrowserContext) -> None:
    """Boards under different path prefixes, as behind a proxy, have separate streams."""
    boards = []
    for name, prefix in (("one", ""), ("two", "/team/board")):
        write_sweep(tmp_path / name)
        boards.append((tmp_path / name, serve(tmp_path / name, prefix=prefix).address))
    pages = [open_tab(context, address) for _, address in boards]
    for page in pages:
        expect(run_row(page, "vit")).to_be_visible()
    for page, (logdir, address) in zip(pages, boards, strict=True):
        wait_until(lambda address=address: count_streams(address) == 1)
        append_records(logdir / f"new-{logdir.name}", *loss_records("train/loss", range(5)))
        expect(run_row(page, f"new-{logdir.name}")).to_be_visible()
    expect(run_row(pages[0], "new-two")).to_have_count(0)
    expect(run_row(pages[1], "new-one")).to_have_count(0)


def test_all_tabs_recover_from_a_server_restart(
    logdir: Path, serve: Serve, context: BrowserContext
) -> None:
    write_sweep(logdir)
    board = serve(logdir)
    pages = [open_tab(context, board.address) for _ in range(2)]
    for page in pages:
        expect(run_row(page, "vit")).to_be_visible()
    board.stop()
    for page in pages:
        expect(connection_status(page, "Server unreachable")).to_be_visible()
    append_records(logdir / "late", *loss_records("train/loss", range(5)))
    restarted = serve(logdir, port=int(board.address.rstrip("/").rpartition(":")[2]))
    for page in pages:
        expect(connection_status(page, "Live")).to_be_visible()
        expect(run_row(page, "late")).to_be_visible()
    wait_until(lambda: count_streams(restarted.address) == 1)


@contextmanager
def serve_with_fast_pings(logdir: Path, pings_by_stream: list[int]) -> Iterator[str]:
    """Serve a log with a ping every two seconds, and count the pings of each event stream."""
    catalog = create_catalog(logdir, (), (), False, "1GB")
    board = MountedApp(catalog, Settings(heartbeat_s=2.0))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope.get("path", "").endswith("/api/v1/live"):
            await board(scope, receive, send)
            return
        stream = len(pings_by_stream)
        pings_by_stream.append(0)

        async def count_pings(message: Message) -> None:
            if message.get("body", b"").startswith(b"event: ping"):
                pings_by_stream[stream] += 1
            await send(message)

        await board(scope, receive, count_pings)

    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.force_exit = server.should_exit = True
            thread.join(60)


def test_idle_board_stays_connected(logdir: Path, open_page: Callable[..., Page]) -> None:
    """A page takes a stream for lost after three intervals without a ping."""
    write_sweep(logdir)
    pings_by_stream: list[int] = []
    with serve_with_fast_pings(logdir, pings_by_stream) as address:
        page = open_page(address)
        expect(run_row(page, "vit")).to_be_visible()
        expect(connection_status(page, "Live|Idle")).to_be_visible()
        page.evaluate(
            """() => {
                const mark = document.querySelector('header [role=status]');
                window.marks = new Set([mark.textContent]);
                new MutationObserver(() => window.marks.add(mark.textContent)).observe(mark, {
                    characterData: true, childList: true, subtree: true,
                });
            }"""
        )
        wait_for_condition(page, lambda: max(pings_by_stream, default=0) >= 5)
        assert set(page.evaluate("[...window.marks]")) <= {"Live", "Idle"}
        page.close()


def test_stream_is_authorized_by_the_cookie_of_the_page(
    logdir: Path,
    tmp_path: Path,
    context: BrowserContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACKLIGHT_TOKEN", "secret")
    write_sweep(logdir)
    with serve_with_flags(logdir, tmp_path, "--bind_all", "--path_prefix", "/team") as server:
        board = f"http://localhost:{server.port}/team/"
        page = open_tab(context, f"{board}?token=secret")
        expect(run_row(page, "vit")).to_be_visible()
        wait_until(lambda: count_streams(board, token="secret") == 1)
        append_records(logdir / "late", *loss_records("train/loss", range(5)))
        expect(run_row(page, "late")).to_be_visible()
        page.close()
