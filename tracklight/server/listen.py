"""Where the server listens, and what a browser calls that place."""

from __future__ import annotations

import errno
import os
import socket

from tracklight.errors import CannotListen
from tracklight.server.settings import Settings

_USUAL_PORTS = range(6006, 6106)
WILDCARD = frozenset({"", "0.0.0.0", "::"})


def bind_any(settings: Settings) -> socket.socket:
    """A socket at the port that was asked for, or at the first usual one that is free."""
    host, reuse_port = settings.host, settings.reuse_port
    if settings.port is not None:
        return bind(host, settings.port, reuse_port=reuse_port)
    for candidate in _USUAL_PORTS:
        try:
            return bind(host, candidate, reuse_port=reuse_port)
        except CannotListen as error:
            if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                raise
    raise CannotListen(f"no port from {_USUAL_PORTS[0]} to {_USUAL_PORTS[-1]} is free")


def bind(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """A socket that listens at ``host`` and ``port``."""
    try:
        listener = _create(host, port, reuse_port)
        # Connections take this over. Without it the end of many an answer waits 40 ms for the other
        # side to confirm its beginning.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, ValueError) as error:  # systems without SO_REUSEPORT raise the latter
        reason = _describe(error)
        raise CannotListen(
            f"cannot listen at {host or '*'}:{port} ({reason}); {_advise(error, port)}"
        ) from error


def _describe(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)  # without the address, which Python adds to its own text
    return getattr(error, "strerror", None) or str(error)


def _advise(error: OSError | ValueError, port: int) -> str:
    """Say what to change, which depends on whether the host or the port is wrong."""
    code = getattr(error, "errno", None)
    if isinstance(error, socket.gaierror | UnicodeError) or code == errno.EADDRNOTAVAIL:
        return "check --host: use localhost, an address of this machine, or --bind_all"
    if code == errno.EACCES and 0 < port < 1024:
        return "ports below 1024 need special rights: choose another port, or 0 for a free one"
    return "choose another port, or 0 for a free one"


def _create(host: str, port: int, reuse_port: bool) -> socket.socket:
    if not host and socket.has_dualstack_ipv6():
        try:
            return _create_for_both(port, reuse_port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise
            # The new kind of address is known here, and switched off.
    # As bytes where it can be: a `str` brings along the tables of Unicode in names, 1 MB.
    name = host.encode() if host.isascii() else host
    places = socket.getaddrinfo(
        name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    # A name may have both kinds of address; tunnels and scripts mostly try the old one.
    family, _, _, _, address = min(places, key=lambda place: place[0] != socket.AF_INET)
    return socket.create_server(address[:2], family=family, backlog=128, reuse_port=reuse_port)


def _create_for_both(port: int, reuse_port: bool) -> socket.socket:
    return socket.create_server(
        ("", port),
        family=socket.AF_INET6,
        backlog=128,
        reuse_port=reuse_port,
        dualstack_ipv6=True,
    )


def address_of(listener: socket.socket, settings: Settings, token: str | None) -> str:
    """Where a browser finds the server."""
    scheme = "https" if settings.door.tls_cert else "http"
    port = listener.getsockname()[1]
    name = socket.gethostname() if settings.host in WILDCARD else settings.host
    name = f"[{name}]" if ":" in name else name
    path = settings.path_prefix.strip("/")
    prefix = f"/{path}" if path else ""
    return f"{scheme}://{name}:{port}{prefix}/" + (f"?token={token}" if token else "")
