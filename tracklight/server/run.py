"""Start the server, say where it is, and stop it at once when asked."""

from __future__ import annotations

import contextlib
import errno
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType

import uvicorn

from tracklight.errors import UsageError
from tracklight.logdir.watch import Watcher
from tracklight.server.alerts import NO_ALERTS, AlertSettings
from tracklight.server.app import create_app
from tracklight.server.live import Live
from tracklight.server.security import is_loopback, policy_for
from tracklight.server.source import Source

_DRAIN_S = 3
_USUAL_PORTS = range(6006, 6106)


class BoardServer(uvicorn.Server):
    """Ends the live streams on Ctrl-C, for which the server would otherwise wait forever."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._live.bell.end()
        super().handle_exit(sig, frame)


def serve(
    catalog: Source,
    host: str = "localhost",
    port: int | None = None,
    *,
    path_prefix: str = "",
    trusted_hosts: Iterable[str] = (),
    open_to_all: bool = False,
    alerts: AlertSettings = NO_ALERTS,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve ``catalog`` until Ctrl-C; ``announce`` gets the address once it can be opened.

    Bound to other than this machine, the address carries a token without which nobody gets in,
    unless ``open_to_all`` waives that. Port 0 takes a free one; no port at all takes 6006, or the
    next after it that is free.
    """
    token = None if open_to_all or is_loopback(host) else secrets.token_urlsafe(16)
    policy = policy_for(host, trusted_hosts, token)
    with _bind_any(host, port) as listener, Watcher(catalog.roots) as watch:
        app = create_app(catalog, watch, policy, path_prefix=path_prefix, alerts=alerts)
        announce(address_of(listener, host, path_prefix, token))
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            # Without a configuration of its own, warnings go to standard error as everybody's do.
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_DRAIN_S,
        )
        # Uvicorn raises the signal again after a clean end; that end is what was asked for.
        with contextlib.suppress(KeyboardInterrupt), _end_as_by_keyboard():
            BoardServer(config, app.state.live).run([listener])


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


def _bind_any(host: str, port: int | None) -> socket.socket:
    if port is not None:
        return bind(host, port)
    for candidate in _USUAL_PORTS:
        try:
            return bind(host, candidate)
        except UsageError as error:
            if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                raise
    raise UsageError(f"no port from {_USUAL_PORTS[0]} to {_USUAL_PORTS[-1]} is free")


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at ``host`` and ``port``."""
    try:
        places = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # A name may have both kinds of address; tunnels and scripts mostly try the old one.
        family, _, _, _, address = min(places, key=lambda place: place[0] != socket.AF_INET)
        listener = socket.create_server(address[:2], family=family, backlog=128)
        # Connections take this over. Without it the end of many an answer waits 40 ms for the other
        # side to confirm its beginning.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"cannot listen at {host}:{port} ({reason}); choose another port, or 0 for a free one"
        ) from error


def address_of(listener: socket.socket, host: str, path_prefix: str, token: str | None) -> str:
    """Where a browser finds the server."""
    port = listener.getsockname()[1]
    name = socket.gethostname() if host in ("", "0.0.0.0", "::") else host
    name = f"[{name}]" if ":" in name else name
    prefix = f"/{path_prefix.strip('/')}" if path_prefix.strip("/") else ""
    return f"http://{name}:{port}{prefix}/" + (f"?token={token}" if token else "")
