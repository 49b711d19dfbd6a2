"""Start the server, say where it is, and stop it at once when asked."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from tracklight.logdir.watch import Intervals, Watcher
from tracklight.server.app import BoardApp, create_app
from tracklight.server.instances import record_board
from tracklight.server.listen import address_of, bind_any
from tracklight.server.live import Live
from tracklight.server.patience import PatientProtocol, limit_connections, raise_file_limit
from tracklight.server.security import Policy
from tracklight.server.settings import Settings
from tracklight.server.source import Source, Watch

_DRAIN_S = 3


class BoardServer(uvicorn.Server):
    """Ends the live streams on Ctrl-C, for which the server would otherwise wait forever."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._live.bell.end()
        super().handle_exit(sig, frame)

    def end(self) -> None:
        """Let the server end soon; from any thread."""
        self._live.bell.end()
        self.should_exit = True


@dataclass(frozen=True)
class Prepared:
    """A server that can be reached at ``address`` as soon as it runs."""

    server: BoardServer
    listener: socket.socket
    address: str

    def run(self) -> None:
        self.server.run([self.listener])


@contextlib.contextmanager
def prepare(catalog: Source, settings: Settings) -> Iterator[Prepared]:
    """Take the address and put everything together; nothing is read or answered yet."""
    door = settings.door
    policy = door.make_policy(settings.host, settings.trusted_hosts, settings.open_to_all)
    with bind_any(settings) as listener, open_watch(catalog, settings) as watch:
        app = create_board_app(catalog, watch, policy, settings)
        server = BoardServer(_configure(app, settings), app.live)
        address = address_of(listener, settings, policy.token)
        with record_board(listener, settings, policy, (root.path for root in catalog.roots)):
            yield Prepared(server, listener, address)


def create_board_app(catalog: Source, watch: Watch, policy: Policy, settings: Settings) -> BoardApp:
    """The application that the settings describe."""
    return create_app(
        catalog,
        watch,
        policy,
        path_prefix=settings.path_prefix,
        alerts=settings.alerts,
        window_title=settings.window_title,
    )


def serve(catalog: Source, settings: Settings, announce: Callable[[str], None] = print) -> None:
    """Serve ``catalog`` until Ctrl-C; ``announce`` gets the address once it can be opened."""
    with prepare(catalog, settings) as prepared:
        # Uvicorn raises the signal again after a clean end; that end is what was asked for, by who
        # ends the board before it has begun as well.
        with contextlib.suppress(KeyboardInterrupt), _end_as_by_keyboard():
            announce(prepared.address)
            prepared.run()


def open_watch(catalog: Source, settings: Settings) -> Watcher:
    """Watches the log; one that is to be read once is looked at in the beginning only."""
    every_s = settings.reload_interval_s
    if every_s is None:
        return Watcher(catalog.roots)
    return Watcher(catalog.roots, Intervals(every_s, every_s, every_s), once=every_s == 0)


def _configure(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    raise_file_limit()
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=PatientProtocol,
        ws="none",
        limit_concurrency=limit_connections(),
        # Without a configuration of its own, errors go to standard error as everybody's do.
        # Warnings are of clients that speak no HTTP, who could fill a disk with them.
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_DRAIN_S,
        ssl_certfile=settings.door.tls_cert,
        ssl_keyfile=settings.door.tls_key,
    )


@contextlib.contextmanager
def _end_as_by_keyboard() -> Iterator[None]:
    """Let SIGTERM end the server like Ctrl-C, so that what was read is still stored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
