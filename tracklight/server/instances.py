"""The address of a server, and the servers that run on this machine.

`bind_socket` opens the port and `build_url` tells how a browser reaches it. Each server records
itself in a small file in the user's data directory while it runs, so that notebooks find it again.
The file of a server that was killed stays behind, so `list_instances` asks every server whether
it is alive.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import ssl
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tracklight.errors import BindError
from tracklight.server.app import Settings
from tracklight.server.auth import WILDCARD_HOSTS, AccessPolicy
from tracklight.server.routing import API_PREFIX
from tracklight.util.files import get_data_dir, write_atomic

if TYPE_CHECKING:
    from urllib.request import Request

_DEFAULT_PORTS = range(6006, 6106)
#: A server that has just started on a busy machine takes seconds to respond.
_TIMEOUT_S = 10.0
_MAX_RESPONSE_BYTES = 1 << 20


# ---- addresses


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
