from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

import tracklight
from tests.demo_log import get_demo_log
from tests.server.waiting import wait_until
from tests.web.chinese_log import write_chinese_log
from tests.web.embedding_log import write_embedding_log
from tests.web.event_writer import write_sweep
from tests.web.image_log import write_image_log
from tests.web.page_pool import ContextPool
from tests.web.scalar_log import write_scalar_log
from tests.web.study_log import write_study
from tests.web.text_log import write_text_log
from tools.chromium import find_chromium
from tracklight.server.routing import PAGE_DIR

CHROMIUM = find_chromium()
DISABLED_FEATURES = [
    # These parse scripts on another thread although the process has them compiled, which is a
    # thirteenth of the CPU time of loading the page.
    "BackgroundResourceFetch",
    "ScriptStreaming",
    # What Playwright disables; Chromium only heeds the last of these flags.
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    # Fewer processes and garbage collections: a load of the page needs a tenth less CPU time.
    "--in-process-gpu",
    "--js-flags=--min-semi-space-size=64",
    f"--disable-features={','.join(DISABLED_FEATURES)}",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Pages of a context share a process; see page_pool.py.
    "--renderer-process-limit=1",
]
# Generous, for busy machines: only a failing test waits this long.
TIMEOUT_MS = 60_000
expect.set_options(timeout=TIMEOUT_MS)

Serve = Callable[..., "Board"]


class Board:
    """A server that runs in a thread of this process and has read its log."""

    def __init__(self, logdir: Path, port: int = 0, prefix: str = "") -> None:
        self._board = tracklight.serve(logdir, port, path_prefix=prefix, cache=False)
        self.address = self._board.url
        # While the log is read, runs without a start time and without all tags are listed.
        wait_until(lambda: not self._is_loading())

    def _is_loading(self) -> bool:
        with urllib.request.urlopen(self.address + "api/v1/health", timeout=60) as response:
            return bool(json.load(response)["status"] == "loading")

    def stop(self) -> None:
        self._board.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; set TRACKLIGHT_CHROMIUM to the path of one")
    if not (PAGE_DIR / "index.html").exists():
        pytest.skip("the page is not built: make test builds it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context_pool(browser: Browser) -> Iterator[ContextPool]:
    pool = ContextPool(browser)
    yield pool
    pool.close()


@pytest.fixture
def open_page(context_pool: ContextPool) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page of a given width, with a storage of its own.

    Options are those of a browser context, such as ``color_scheme``. An error or a warning in the
    browser console fails the test.
    """
    errors: list[str] = []

    def record_message(message: ConsoleMessage) -> None:
        # Failed requests also appear in the console, and some tests make requests fail on
        # purpose. Without a GPU, reading pixels back from WebGL logs a performance warning.
        ignored = ("Failed to load", "net::ERR", "GL Driver Message")
        if message.type in ("error", "warning"):
            if not any(part in message.text for part in ignored):
                errors.append(message.text)

    with ExitStack() as stack:

        def open_page(address: str, width: int = 1440, **options: Any) -> Page:
            context = context_pool.take(**options)
            stack.callback(context_pool.put_back, context)
            page = context.open_page({"width": width, "height": 900})
            page.set_default_timeout(TIMEOUT_MS)
            page.on("console", record_message)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(address)
            return page

        yield open_page
    assert errors == []


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves a log once it is read; servers stop when the test ends."""
    boards: list[Board] = []

    def start(logdir: Path, port: int = 0, prefix: str = "") -> Board:
        boards.append(Board(logdir, port, prefix))
        return boards[-1]

    yield start
    for board in boards:
        board.stop()


@contextmanager
def serve_log(folder: Path, write: Callable[[Path], object]) -> Iterator[str]:
    """Write a log, serve it and yield the URL of the board once the log has been read."""
    write(folder / "logs")
    board = Board(folder / "logs")
    yield board.address
    board.stop()


def board_fixture(
    write: Callable[[Path], object],
    scope: Literal["session", "module"] = "session",
    query: str = "",
) -> Any:
    """Return a fixture that writes and serves a log once and yields the URL of the board."""

    @pytest.fixture(scope=scope)
    def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        with serve_log(tmp_path_factory.mktemp("board"), write) as address:
            yield address + query

    return address


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the demo log."""
    board = Board(get_demo_log(tmp_path_factory))
    yield board.address
    board.stop()


#: Three short runs with scalars.
sweep = board_fixture(write_sweep)


#: Scalars with known values.
board = board_fixture(write_scalar_log)


#: Trials with known hyperparameters and results.
study = board_fixture(write_study, "module")


#: Data for every dashboard; all names are Chinese.
chinese_board = board_fixture(write_chinese_log)


#: Embeddings with known positions; the URL opens the Projector.
points = board_fixture(write_embedding_log, "module", "?tab=projector")


#: Images with known pixels.
image_board = board_fixture(write_image_log)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve texts with known content; the URL opens the Text dashboard."""
    with serve_log(tmp_path_factory.mktemp("library"), write_text_log) as address:
        yield f"{address}?tab=text"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    return path
