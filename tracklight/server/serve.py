"""Run a server: from the command line, in a thread of a program, or inside another application.

`run_server` is what ``tracklight --logdir`` calls. Programs use

    board = tracklight.serve("logs")              # returns at once; open board.url
    app.mount("/board", tracklight.asgi("logs"))  # Starlette, FastAPI and other ASGI frameworks

`bind_socket` opens the port, and `build_url` returns the URL for a browser. Each server records
itself in a small file in the user's data directory while it runs, so that notebooks find it again.
The file of a server that was killed stays behind, so `list_instances` asks every server whether it
is alive.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tracklight.errors import BindError
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import LogdirSpec
from tracklight.logdir.watch import PollIntervals, Watcher
from tracklight.server.app import AuthSettings, BoardApp, Settings, create_app
from tracklight.server.auth import WILDCARD_HOSTS, AccessPolicy
from tracklight.server.events import LiveUpdates
from tracklight.server.routing import API_PREFIX
from tracklight.server.source import LogSource, LogWatcher
from tracklight.util.files import (
    get_data_dir,
    get_open_file_limit,
    raise_open_file_limit,
    write_atomic,
)

if TYPE_CHECKING:
    from urllib.request import Request

# ---- addresses

_DEFAULT_PORTS = range(6006, 6106)
#: A server that has just started on a busy machine takes seconds to respond.
_TIMEOUT_S = 10.0
_MAX_RESPONSE_BYTES = 1 << 20


def bind_socket(settings: Settings) -> socket.socket:
    """Bind a socket to the port of the settings, or else to the first free default port.

    Raises:
        BindError: The address cannot be used.
    """
    host, reuse_port = settings.host, settings.reuse_port
    if settings.port is not None:
        return bind_address(host, settings.port, reuse_port=reuse_port)
    for port in _DEFAULT_PORTS:
        try:
            return bind_address(host, port, reuse_port=reuse_port)
        except BindError as error:
            if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                raise
    raise BindError(f"all ports from {_DEFAULT_PORTS[0]} to {_DEFAULT_PORTS[-1]} are in use")


def bind_address(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """Bind a listening socket to ``host`` and ``port``.

    Raises:
        BindError: The address cannot be used.
    """
    try:
        listener = _create_socket(host, port, reuse_port)
        # Connections inherit this. Without it, the end of many responses is delayed by 40 ms until
        # the client has acknowledged their beginning.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, ValueError) as error:  # ValueError: no SO_REUSEPORT on this system
        reason = _describe(error)
        raise BindError(
            f"cannot listen on {host or '*'}:{port} ({reason}); {_suggest_fix(error, port)}"
        ) from error


def _describe(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)  # without the address, which Python adds to its own text
    return getattr(error, "strerror", None) or str(error)


def _suggest_fix(error: OSError | ValueError, port: int) -> str:
    code = getattr(error, "errno", None)
    if isinstance(error, socket.gaierror | UnicodeError) or code == errno.EADDRNOTAVAIL:
        return "check --host: use localhost, an address of this machine, or --bind_all"
    if code == errno.EACCES and 0 < port < 1024:
        return "ports below 1024 need special rights: choose another port, or 0 for a free one"
    return "choose another port, or 0 for a free one"


def _create_socket(host: str, port: int, reuse_port: bool) -> socket.socket:
    if not host and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(
                ("", port),
                family=socket.AF_INET6,
                backlog=128,
                reuse_port=reuse_port,
                dualstack_ipv6=True,
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise
            # IPv6 is supported but disabled.
    # Bytes if possible: encoding a `str` loads the Unicode tables of IDNA, 1 MB.
    name = host.encode() if host.isascii() else host
    addresses = socket.getaddrinfo(
        name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    # Prefer IPv4 if a name has both: tunnels and scripts mostly try it first.
    family, _, _, _, address = min(addresses, key=lambda info: info[0] != socket.AF_INET)
    return socket.create_server(address[:2], family=family, backlog=128, reuse_port=reuse_port)


def build_url(listener: socket.socket, settings: Settings, token: str | None) -> str:
    """Return the URL to open in a browser."""
    port = listener.getsockname()[1]
    name = socket.gethostname() if settings.host in WILDCARD_HOSTS else settings.host
    name = f"[{name}]" if ":" in name else name
    path = settings.path_prefix.strip("/")
    prefix = f"/{path}" if path else ""
    query = f"?token={token}" if token else ""
    return f"{settings.auth.scheme}://{name}:{port}{prefix}/{query}"


# ---- running servers


class Instance(msgspec.Struct, frozen=True):
    """The record of a running server."""

    hostname: str
    pid: int
    port: int
    url: str
    """The URL on this machine, without a token."""
    token: str | None
    """A token that is valid under any host name."""
    logdir: str
    arguments: list[str]
    directory: str
    """The working directory in which it was started with ``arguments``."""
    started: float

    @property
    def path(self) -> str:
        """The path below which it serves: ``/``, or with a prefix such as ``/board/``."""
        return "/" + self.url.split("/", 3)[3]


def get_instances_dir() -> Path:
    return get_data_dir() / "instances"


@contextlib.contextmanager
def record_instance(
    listener: socket.socket, settings: Settings, policy: AccessPolicy, logdirs: Iterable[str]
) -> Iterator[None]:
    """Record the server of this process while the block runs; ignore errors in doing so."""
    is_wildcard = settings.host in WILDCARD_HOSTS
    local_settings = replace(settings, host="localhost") if is_wildcard else settings
    instance = Instance(
        hostname=socket.gethostname(),
        pid=os.getpid(),
        port=listener.getsockname()[1],
        url=build_url(listener, local_settings, None),
        token=policy.token or policy.proxy_token,
        logdir=", ".join(logdirs),
        arguments=sys.argv[1:],
        directory=os.getcwd(),
        started=time.time(),
    )
    file = get_instances_dir() / f"{instance.hostname}-{instance.pid}-{instance.port}.json"
    with contextlib.suppress(OSError, UnicodeError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(file, msgspec.json.encode(instance), mode=0o600)  # it contains a token
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def list_instances() -> list[Instance]:
    """Return the servers that are alive on this machine, oldest first; remove stale records."""
    instances = []
    for file in sorted(get_instances_dir().glob("*.json")):
        try:
            instance = msgspec.json.decode(file.read_bytes(), type=Instance)
        except (OSError, msgspec.MsgspecError):
            continue
        if instance.hostname != socket.gethostname():
            continue
        if is_alive(instance):
            instances.append(instance)
        elif not _is_running(instance.pid):
            file.unlink(missing_ok=True)
    return sorted(instances, key=lambda instance: instance.started)


def is_alive(instance: Instance) -> bool:
    """Return whether a tracklight server responds at the URL of the instance."""
    # Imported here, as servers themselves do not need an HTTP client.
    from urllib.error import HTTPError
    from urllib.request import Request

    request = Request(f"{instance.url}{API_PREFIX}/health")
    if instance.token:
        request.add_header("authorization", f"Bearer {instance.token}")
    try:
        with _open(request) as response:
            return "version" in json.loads(response.read(_MAX_RESPONSE_BYTES))
    except HTTPError as error:
        # A server that requires a password is alive as well.
        return "tracklight" in error.headers.get("www-authenticate", "")
    except (OSError, ValueError):
        return False


def _open(request: Request) -> contextlib.closing[Any]:
    """Open a URL of this machine, without a proxy and with any TLS certificate."""
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    return contextlib.closing(opener.open(request, timeout=_TIMEOUT_S))


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":  # os.kill() would end the process there, whatever the signal
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


if sys.platform == "win32":
    import ctypes

    _SYNCHRONIZE = 0x00100000
    _WAIT_TIMEOUT = 0x00000102

    def _is_running_on_windows(pid: int) -> bool:
        kernel = ctypes.WinDLL("kernel32")
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(kernel.OpenProcess(_SYNCHRONIZE, False, pid))
        if not handle:
            return False
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT)
        finally:
            kernel.CloseHandle(handle)


__all__ = ["Board", "MountedApp", "asgi", "serve"]

#: Connections are closed that receive less than this between two checks, or send nothing at all.
CHECK_INTERVAL_S = 15.0
MIN_BYTES_PER_CHECK = 64 << 10

_SHUTDOWN_TIMEOUT_S = 3
#: States of a client that has yet to send (the rest of) a request.
_RECEIVING_STATES = (h11.IDLE, h11.SEND_BODY)


# ---- public functions


def serve(
    logdir: LogdirSpec,
    port: int | None = 0,
    *,
    block: bool = False,
    host: str = "localhost",
    path_prefix: str = "",
    trusted_hosts: Iterable[str] = (),
    embed_origins: Iterable[str] = (),
    window_title: str = "",
    read_only: bool = False,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> Board:
    """Serve a log from a thread of this program.

    Args:
        logdir: The log directories, as for `tracklight.open`.
        port: The port; 0 uses any free one, None uses 6006 or the next free one after it.
        block: Wait until Ctrl-C and then close the server.
        host: The name or address to listen on. Other hosts than localhost require a token, which
            is part of ``board.url``.
        path_prefix: The path below which everything is served, for reverse proxies.
        trusted_hosts: Names under which a reverse proxy is reached.
        embed_origins: Origins of sites that may show the page in a frame; ``*`` for all.
        window_title: The title of the browser window.
        read_only: Do not let users change notes.
        include: Patterns of the runs to read.
        exclude: Patterns of the runs to skip.
        cache: Whether, or in which directory, to cache what was read.
        memory: How much memory the index may use.

    Returns:
        The running server. Close it with ``close()`` or a ``with`` block; otherwise it runs until
        the program ends.

    Raises:
        BindError: The address cannot be used.
        LogError: The log directory does not exist.

    Example:
        >>> with tracklight.serve("logs") as board:
        ...     print(board.url)
    """
    from tracklight.reader import create_catalog

    settings = Settings(
        host=host,
        port=port,
        path_prefix=path_prefix,
        trusted_hosts=tuple(trusted_hosts),
        embed_origins=tuple(embed_origins),
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
    embed_origins: Iterable[str] = (),
    window_title: str = "",
    read_only: bool = False,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> MountedApp:
    """Create an ASGI application that serves a log, to be mounted in another application.

    Authentication is up to the other application. Requests under host names other than
    localhost, IP addresses and ``trusted_hosts`` are rejected, to prevent DNS rebinding.

    Args:
        logdir: The log directories, as for `tracklight.open`.
        trusted_hosts: Names under which the application is reached.
        embed_origins: Origins of sites that may show the page in a frame; ``*`` for all.
        window_title: The title of the browser window.
        read_only: Do not let users change notes.
        include: Patterns of the runs to read.
        exclude: Patterns of the runs to skip.
        cache: Whether, or in which directory, to cache what was read.
        memory: How much memory the index may use.

    Returns:
        The application; its ``close`` method stops reading the log.

    Raises:
        LogError: The log directory does not exist.

    Example:
        >>> app.mount("/board", tracklight.asgi("logs", trusted_hosts=["ml.example.com"]))
    """
    settings = Settings(
        trusted_hosts=tuple(trusted_hosts),
        embed_origins=tuple(embed_origins),
        auth=AuthSettings(read_only=read_only),
        window_title=window_title,
    )
    from tracklight.reader import create_catalog

    return MountedApp(create_catalog(logdir, include, exclude, cache, memory), settings)


class Board:
    """A running server in a thread of this program, created by `serve`.

    Attributes:
        url: The URL to open in a browser.
        port: The port on which it listens.

    Example:
        >>> with tracklight.serve("logs", port=0) as board:
        ...     print(board.url)
        http://localhost:...
    """

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
        # Before Python 3.13, Ctrl-C during `Thread.join` marks a running thread as stopped.
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(prepared,), name="tracklight-board", daemon=True
        )
        self._thread.start()

    def _run(self, prepared: PreparedServer) -> None:
        try:
            prepared.run()
        finally:
            self._ended.set()

    @property
    def is_serving(self) -> bool:
        """Whether the server has not been closed."""
        return not self._ended.is_set()

    def wait(self) -> None:
        """Block until another thread closes the server; Ctrl-C interrupts it."""
        while not self._ended.wait(1.0):  # Without a timeout, Ctrl-C has no effect on Windows.
            pass

    def close(self) -> None:
        """Stop the server and save the cache."""
        self._server.stop()
        self._thread.join()
        self._exit_stack.close()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Board at {self.url}>" if self.is_serving else "<Board, closed>"


class MountedApp:
    """An ASGI application that serves a log inside another one, created by `asgi`.

    It starts reading with the first request and stops when the program ends. Frameworks do not
    tell mounted applications when they start and stop; pass ``lifespan=board.lifespan`` to the
    outer application, or enter it in its lifespan, to start and stop with it.
    """

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._catalog = catalog
        self._watcher = create_watcher(catalog, settings)
        policy = settings.auth.create_policy(
            settings.host, settings.trusted_hosts, True, settings.embed_origins
        )
        self._app = create_board_app(catalog, self._watcher, policy, settings)
        self._exit_stack = contextlib.AsyncExitStack()
        self._start_lock = asyncio.Lock()
        self._is_running = False
        atexit.register(self._close_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # it is the outermost application
            await self._handle_lifespan(receive, send)
            return
        await self._start()
        await self._app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Start reading, and close on exit; for the lifespan of the outer application."""
        await self._start()
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """End open streams, stop reading, and save the cache."""
        await self._exit_stack.aclose()
        self._close_log()

    async def _start(self) -> None:
        async with self._start_lock:
            if not self._is_running:
                self._is_running = True
                lifespan = self._app.router.lifespan_context(self._app)
                await self._exit_stack.enter_async_context(lifespan)

    async def _handle_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    def _close_log(self) -> None:
        atexit.unregister(self._close_log)
        self._watcher.stop()
        self._catalog.close()


# ---- running a server


def run_server(
    source: LogSource, settings: Settings, announce: Callable[[str], None] = print
) -> None:
    """Serve a log until Ctrl-C or SIGTERM.

    Args:
        source: The log.
        settings: Where and how to serve it.
        announce: Called with the URL once it can be opened.

    Raises:
        BindError: The address cannot be used.
    """
    with prepare_server(source, settings) as prepared:
        # Uvicorn raises the signal again after a clean shutdown. It may also arrive earlier.
        with contextlib.suppress(KeyboardInterrupt), _treat_sigterm_as_interrupt():
            announce(prepared.url)
            prepared.run()


@dataclass(frozen=True)
class PreparedServer:
    """A server whose socket is bound; it responds at ``url`` as soon as it runs."""

    server: BoardServer
    listener: socket.socket
    url: str

    def run(self) -> None:
        self.server.run([self.listener])


@contextlib.contextmanager
def prepare_server(source: LogSource, settings: Settings) -> Iterator[PreparedServer]:
    """Bind the socket and create the application; the log is not read yet."""
    policy = settings.auth.create_policy(
        settings.host, settings.trusted_hosts, settings.open_to_all, settings.embed_origins
    )
    with bind_socket(settings) as listener, create_watcher(source, settings) as watcher:
        app = create_board_app(source, watcher, policy, settings)
        server = BoardServer(_create_config(app, settings), app.live)
        url = build_url(listener, settings, policy.token)
        with record_instance(listener, settings, policy, (root.path for root in source.roots)):
            yield PreparedServer(server, listener, url)


def create_board_app(
    source: LogSource, watcher: LogWatcher, policy: AccessPolicy, settings: Settings
) -> BoardApp:
    """Create the application for the given settings."""
    return create_app(
        source,
        watcher,
        policy,
        path_prefix=settings.path_prefix,
        alerts=settings.alerts,
        access=settings.access,
        audit_log=settings.audit_log,
        window_title=settings.window_title,
        heartbeat_s=settings.heartbeat_s,
    )


def create_watcher(source: LogSource, settings: Settings) -> Watcher:
    """Create the watcher of the log directories; an interval of 0 reports changes only once."""
    interval_s = settings.reload_interval_s
    if interval_s is None:
        return Watcher(source.roots)
    intervals = PollIntervals(interval_s, interval_s, interval_s)
    return Watcher(source.roots, intervals, once=interval_s == 0)


class BoardServer(uvicorn.Server):
    """A server that ends live update streams on Ctrl-C; it would wait for them forever."""

    def __init__(self, config: uvicorn.Config, live: LiveUpdates) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._live.notifier.close()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """Make the server stop soon. May be called from any thread."""
        self._live.notifier.close()
        self.should_exit = True


def _create_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    raise_open_file_limit()
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=TimeoutProtocol,
        ws="none",
        limit_concurrency=get_max_connections(),
        # Use the logging configuration of the program. Uvicorn's warnings are about clients that
        # send invalid HTTP, which could fill a disk with them.
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
    """Let SIGTERM end the server like Ctrl-C, so that the cache is saved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# ---- connections


class TimeoutProtocol(H11Protocol):
    """Close connections that stall while sending a request or reading a response.

    Such a client does not delay others, but it would occupy a connection and the memory of its
    response as long as it likes.
    """

    check_interval_s = CHECK_INTERVAL_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._received_bytes = 0
        self._unsent_bytes = 0
        self._timer = self.loop.call_later(self.check_interval_s, self.check_progress)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        # An error response cannot be sent in the middle of another one.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def check_progress(self) -> None:
        """Abort the connection if it has stalled since the last check, or schedule the next."""
        self._timer.cancel()
        unsent_bytes = self.transport.get_write_buffer_size()
        is_response_stalled = unsent_bytes > 0 and unsent_bytes >= self._unsent_bytes > 0
        if is_response_stalled or self._is_request_stalled():
            self.transport.abort()
            return
        self._unsent_bytes, self._received_bytes = unsent_bytes, 0
        self._timer = self.loop.call_later(self.check_interval_s, self.check_progress)

    def _is_request_stalled(self) -> bool:
        # Between two requests, the keep-alive timeout of uvicorn applies.
        is_idle = self.timeout_keep_alive_task is not None
        is_receiving = self.conn.their_state in _RECEIVING_STATES and not is_idle
        return is_receiving and self._received_bytes < MIN_BYTES_PER_CHECK


def get_max_connections() -> int:
    """Return how many connections to accept, so that files of the log can still be opened."""
    max_files = get_open_file_limit()
    return max(64, max_files - max(128, max_files // 8))
