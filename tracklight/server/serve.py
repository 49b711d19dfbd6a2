"""Hangs up on who takes forever, to send a request or to read an answer.

Every so often a connection is looked at: one that owes the rest of a request and has sent next to
nothing, or that has taken nothing of what waits for it, is cut. Others never wait for such a
client, but it would hold a connection and its answer in memory for as long as it likes.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tracklight.index.catalog import Catalog
from tracklight.logdir.roots import LogdirSpec
from tracklight.logdir.watch import PollIntervals, Watcher
from tracklight.reader.opening import create_catalog
from tracklight.server.app import AuthSettings, BoardApp, Settings, create_app
from tracklight.server.auth import AccessPolicy
from tracklight.server.events import LiveUpdates
from tracklight.server.instances import bind_socket, build_url, record_instance
from tracklight.server.source import LogSource, LogWatcher
from tracklight.util.files import (
    get_open_file_limit,
    raise_open_file_limit,
)

__all__ = ["Board", "MountedApp", "asgi", "serve"]

#: What fits neither into a minute at 4 kB/s nor makes any progress is not a slow line.
CHECK_INTERVAL_S = 15.0

MIN_BYTES_PER_CHECK = 64 << 10

_RECEIVING_STATES = (h11.IDLE, h11.SEND_BODY)


class TimeoutProtocol(H11Protocol):
    """A connection with an end to its patience."""

    check_interval_s = CHECK_INTERVAL_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._received_bytes = 0
        self._unsent_bytes = 0
        self._timer = self.loop.call_later(self.check_interval_s, self._check_progress)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        # Half way through an answer there is no room for another.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _check_progress(self) -> None:
        waiting_bytes = self.transport.get_write_buffer_size()
        takes_nothing = waiting_bytes > 0 and waiting_bytes >= self._unsent_bytes > 0
        if takes_nothing or self._is_request_stalled():
            self.transport.abort()
            return
        self._unsent_bytes, self._received_bytes = waiting_bytes, 0
        self._timer = self.loop.call_later(self.check_interval_s, self._check_progress)

    def _is_request_stalled(self) -> bool:
        """Whether a request is owed; between two of them the server's own timer waits."""
        is_between = self.timeout_keep_alive_task is not None
        owes = self.conn.their_state in _RECEIVING_STATES and not is_between
        return owes and self._received_bytes < MIN_BYTES_PER_CHECK


def get_max_connections() -> int:
    """How many connections there may be, so that files of the log can still be opened."""
    most_files = get_open_file_limit()
    return max(64, most_files - max(128, most_files // 8))


# Start the server, say where it is, and stop it at once when asked.

_SHUTDOWN_TIMEOUT_S = 3


class BoardServer(uvicorn.Server):
    """Ends the live streams on Ctrl-C, for which the server would otherwise wait forever."""

    def __init__(self, config: uvicorn.Config, live: LiveUpdates) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._live.notifier.close()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """Let the server end soon; from any thread."""
        self._live.notifier.close()
        self.should_exit = True


@dataclass(frozen=True)
class PreparedServer:
    """A server that can be reached at ``address`` as soon as it runs."""

    server: BoardServer
    listener: socket.socket
    url: str

    def run(self) -> None:
        self.server.run([self.listener])


@contextlib.contextmanager
def prepare_server(catalog: LogSource, settings: Settings) -> Iterator[PreparedServer]:
    """Take the address and put everything together; nothing is read or answered yet."""
    door = settings.auth
    policy = door.create_policy(settings.host, settings.trusted_hosts, settings.open_to_all)
    with bind_socket(settings) as listener, create_watcher(catalog, settings) as watch:
        app = create_board_app(catalog, watch, policy, settings)
        server = BoardServer(_create_config(app, settings), app.live)
        address = build_url(listener, settings, policy.token)
        with record_instance(listener, settings, policy, (root.path for root in catalog.roots)):
            yield PreparedServer(server, listener, address)


def create_board_app(
    catalog: LogSource, watch: LogWatcher, policy: AccessPolicy, settings: Settings
) -> BoardApp:
    """The application that the settings describe."""
    return create_app(
        catalog,
        watch,
        policy,
        path_prefix=settings.path_prefix,
        alerts=settings.alerts,
        window_title=settings.window_title,
    )


def run_server(
    catalog: LogSource, settings: Settings, announce: Callable[[str], None] = print
) -> None:
    """Serve ``catalog`` until Ctrl-C; ``announce`` gets the address once it can be opened."""
    with prepare_server(catalog, settings) as prepared:
        # Uvicorn raises the signal again after a clean end; that end is what was asked for, by who
        # ends the board before it has begun as well.
        with contextlib.suppress(KeyboardInterrupt), _treat_sigterm_as_interrupt():
            announce(prepared.url)
            prepared.run()


def create_watcher(catalog: LogSource, settings: Settings) -> Watcher:
    """Watches the log; one that is to be read once is looked at in the beginning only."""
    every_s = settings.reload_interval_s
    if every_s is None:
        return Watcher(catalog.roots)
    return Watcher(catalog.roots, PollIntervals(every_s, every_s, every_s), once=every_s == 0)


def _create_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    raise_open_file_limit()
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=TimeoutProtocol,
        ws="none",
        limit_concurrency=get_max_connections(),
        # Without a configuration of its own, errors go to standard error as everybody's do.
        # Warnings are of clients that speak no HTTP, who could fill a disk with them.
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
        ssl_certfile=settings.auth.tls_cert,
        ssl_keyfile=settings.auth.tls_key,
    )


@contextlib.contextmanager
def _treat_sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the server like Ctrl-C, so that what was read is still stored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# A server in a thread of its own, for programs that go on meanwhile.


class Board:
    """A log that is being served at ``url``. Close it, or use it in a ``with`` block."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._exit_stack = contextlib.ExitStack()
        self._exit_stack.callback(catalog.close)
        try:
            prepared = self._exit_stack.enter_context(prepare_server(catalog, settings))
        except BaseException:
            self._exit_stack.close()
            raise
        self._server = prepared.server
        self.url = prepared.url
        self.port: int = prepared.listener.getsockname()[1]
        self._thread = threading.Thread(target=prepared.run, name="tracklight-board", daemon=True)
        self._thread.start()

    @property
    def is_serving(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """Block until the board is closed by another thread; Ctrl-C interrupts it."""
        while self._thread.is_alive():
            # Without a timeout Ctrl-C is not heard on Windows.
            self._thread.join(1.0)

    def close(self) -> None:
        """Stop serving, and keep what was read for the next time."""
        self._server.stop()
        self._thread.join()
        self._exit_stack.close()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Board at {self.url}>" if self.is_serving else "<Board, closed>"


# A board as a part of another ASGI application.


class MountedApp:
    """Begins to read with the first request, or with the lifespan of the application it is part of.

    An application that mounts another does not tell it when it starts and ends. Where that is
    wanted, ``lifespan=board.lifespan`` tells it; else the board ends with the program.
    """

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._catalog = catalog
        self._watcher = create_watcher(catalog, settings)
        policy = settings.auth.create_policy(settings.host, settings.trusted_hosts, True)
        self._app = create_board_app(catalog, self._watcher, policy, settings)
        self._exit_stack = contextlib.AsyncExitStack()
        self._start_lock = asyncio.Lock()
        self._is_running = False
        atexit.register(self._close_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # of a server that runs nothing but this
            await _handle_lifespan(self, receive, send)
            return
        await self._start()
        await self._app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """For the application that this one is part of: begins to read, and ends."""
        await self._start()
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """End open streams, stop reading, and keep what was read for the next time."""
        await self._exit_stack.aclose()
        self._close_log()

    async def _start(self) -> None:
        async with self._start_lock:
            if not self._is_running:
                self._is_running = True
                lifespan = self._app.router.lifespan_context(self._app)
                await self._exit_stack.enter_async_context(lifespan)

    def _close_log(self) -> None:
        atexit.unregister(self._close_log)
        self._watcher.stop()
        self._catalog.close()


async def _handle_lifespan(board: MountedApp, receive: Receive, send: Send) -> None:
    await receive()
    async with board.lifespan():
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})


# Serving a log from a program: beside what it does, or as a part of its own web application.
#
# board = tracklight.serve("logs")             # goes on at once; board.url is where it is
# app.mount("/board", tracklight.asgi("logs"))  # Starlette, FastAPI and other ASGI applications


def serve(
    logdir: LogdirSpec,
    port: int | None = 0,
    *,
    block: bool = False,
    host: str = "localhost",
    path_prefix: str = "",
    trusted_hosts: Iterable[str] = (),
    window_title: str = "",
    read_only: bool = False,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> Board:
    """Serve a log from a thread of this program; ``board.url`` tells where.

    Port 0 takes any that is free, None takes 6006 or the next after it. The board ends with
    ``board.close()``, with the ``with`` block that it stands in, or with the program; ``block``
    waits until Ctrl-C. What is read is said as for `tracklight.open`.
    """
    settings = Settings(
        host=host,
        port=port,
        path_prefix=path_prefix,
        trusted_hosts=tuple(trusted_hosts),
        auth=AuthSettings(read_only=read_only),
        window_title=window_title,
    )
    board = Board(create_catalog(logdir, include, exclude, cache, memory), settings)
    if block:
        with board, contextlib.suppress(KeyboardInterrupt):
            print(f"tracklight at {board.url} (Ctrl-C to quit)", flush=True)
            board.wait()
    return board


def asgi(
    logdir: LogdirSpec,
    *,
    trusted_hosts: Iterable[str] = (),
    window_title: str = "",
    read_only: bool = False,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> MountedApp:
    """A board as an ASGI application, to be mounted below a path of another one.

    Who gets in is for the other application to say. By which names it is reached is not: requests
    for other names than localhost, addresses and ``trusted_hosts`` are turned away, as a page
    that some other site rebinds to this server would make them.
    """
    settings = Settings(
        trusted_hosts=tuple(trusted_hosts),
        auth=AuthSettings(read_only=read_only),
        window_title=window_title,
    )
    return MountedApp(create_catalog(logdir, include, exclude, cache, memory), settings)
