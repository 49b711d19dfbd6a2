"""Where the server listens, and what a browser calls that place."""

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
from tracklight.server.auth import AccessPolicy
from tracklight.util.files import write_atomic
from tracklight.util.user_dirs import get_data_dir

if TYPE_CHECKING:
    from urllib.request import Request

_DEFAULT_PORTS = range(6006, 6106)

WILDCARD_HOSTS = frozenset({"", "0.0.0.0", "::"})


def bind_socket(settings: Settings) -> socket.socket:
    """A socket at the port that was asked for, or at the first usual one that is free."""
    host, reuse_port = settings.host, settings.reuse_port
    if settings.port is not None:
        return bind_address(host, settings.port, reuse_port=reuse_port)
    for candidate in _DEFAULT_PORTS:
        try:
            return bind_address(host, candidate, reuse_port=reuse_port)
        except BindError as error:
            if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                raise
    raise BindError(f"no port from {_DEFAULT_PORTS[0]} to {_DEFAULT_PORTS[-1]} is free")


def bind_address(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """A socket that listens at ``host`` and ``port``."""
    try:
        listener = _create_socket(host, port, reuse_port)
        # Connections take this over. Without it the end of many an answer waits 40 ms for the other
        # side to confirm its beginning.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, ValueError) as error:  # systems without SO_REUSEPORT raise the latter
        reason = _describe(error)
        raise BindError(
            f"cannot listen at {host or '*'}:{port} ({reason}); {_suggest_fix(error, port)}"
        ) from error


def _describe(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)  # without the address, which Python adds to its own text
    return getattr(error, "strerror", None) or str(error)


def _suggest_fix(error: OSError | ValueError, port: int) -> str:
    """Say what to change, which depends on whether the host or the port is wrong."""
    code = getattr(error, "errno", None)
    if isinstance(error, socket.gaierror | UnicodeError) or code == errno.EADDRNOTAVAIL:
        return "check --host: use localhost, an address of this machine, or --bind_all"
    if code == errno.EACCES and 0 < port < 1024:
        return "ports below 1024 need special rights: choose another port, or 0 for a free one"
    return "choose another port, or 0 for a free one"


def _create_socket(host: str, port: int, reuse_port: bool) -> socket.socket:
    if not host and socket.has_dualstack_ipv6():
        try:
            return _create_dual_stack_socket(port, reuse_port)
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


def _create_dual_stack_socket(port: int, reuse_port: bool) -> socket.socket:
    return socket.create_server(
        ("", port),
        family=socket.AF_INET6,
        backlog=128,
        reuse_port=reuse_port,
        dualstack_ipv6=True,
    )


def build_url(listener: socket.socket, settings: Settings, token: str | None) -> str:
    """Where a browser finds the server."""
    scheme = "https" if settings.auth.tls_cert else "http"
    port = listener.getsockname()[1]
    name = socket.gethostname() if settings.host in WILDCARD_HOSTS else settings.host
    name = f"[{name}]" if ":" in name else name
    path = settings.path_prefix.strip("/")
    prefix = f"/{path}" if path else ""
    return f"{scheme}://{name}:{port}{prefix}/" + (f"?token={token}" if token else "")


# Which boards are being served on this machine, so that a notebook finds them again.
#
# Each server keeps a small file in tracklight's own folder, which only its user can read, for as long
# as it runs. One that was killed leaves its file behind: what stands there is asked whether it lives
# before anybody is sent to it.

_TIMEOUT_S = 3.0

_MAX_RESPONSE_BYTES = 1 << 20


class Instance(msgspec.Struct, frozen=True):
    """A server, as it wrote itself down."""

    hostname: str
    pid: int
    port: int
    url: str
    """Where this machine reaches it, without a token."""
    token: str | None
    """Opens it by whatever name."""
    logdir: str
    arguments: list[str]
    directory: str
    """Where it was started with these arguments."""
    started: float

    @property
    def path(self) -> str:
        """Below which path it serves: ``/``, or with a prefix ``/board/``."""
        return "/" + self.url.split("/", 3)[3]


def get_instances_dir() -> Path:
    return get_data_dir() / "instances"


@contextlib.contextmanager
def record_instance(
    listener: socket.socket, settings: Settings, policy: AccessPolicy, logdirs: Iterable[str]
) -> Iterator[None]:
    """Keep the file of this process's server while the block runs; go without where that fails."""
    is_everywhere = settings.host in WILDCARD_HOSTS
    here = replace(settings, host="localhost") if is_everywhere else settings
    instance = Instance(
        hostname=socket.gethostname(),
        pid=os.getpid(),
        port=listener.getsockname()[1],
        url=build_url(listener, here, None),
        token=policy.token or policy.proxy_token,
        logdir=", ".join(logdirs),
        arguments=sys.argv[1:],
        directory=os.getcwd(),
        started=time.time(),
    )
    file = get_instances_dir() / f"{instance.hostname}-{instance.pid}-{instance.port}.json"
    with contextlib.suppress(OSError, UnicodeError):
        _write_record(file, msgspec.json.encode(instance))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _write_record(file: Path, content: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(file, content, mode=0o600)  # it holds a token


def list_instances() -> list[Instance]:
    """Those of this machine that answer, the oldest first; files of the others are cleared away."""
    found = []
    for file in sorted(get_instances_dir().glob("*.json")):
        try:
            instance = msgspec.json.decode(file.read_bytes(), type=Instance)
        except (OSError, msgspec.MsgspecError):
            continue
        if instance.hostname != socket.gethostname():
            continue
        if is_alive(instance):
            found.append(instance)
        elif not _is_running(instance.pid):
            file.unlink(missing_ok=True)
    return sorted(found, key=lambda instance: instance.started)


def is_alive(instance: Instance) -> bool:
    """Whether a board is there now, and not only a port or a process of that number."""
    # Here, as a board that only says where it is has no use for these megabytes.
    from urllib.error import HTTPError
    from urllib.request import Request

    request = Request(f"{instance.url}api/health")
    if instance.token:
        request.add_header("authorization", f"Bearer {instance.token}")
    try:
        with _open(request) as answer:
            return "version" in json.loads(answer.read(_MAX_RESPONSE_BYTES))
    except HTTPError as error:
        # One that asks for a name and a password is alive as well.
        return "tracklight" in error.headers.get("www-authenticate", "")
    except (OSError, ValueError):
        return False


def _open(request: Request) -> contextlib.closing[Any]:
    """No proxy stands between a machine and itself, and no authority knows its certificate."""
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    return contextlib.closing(opener.open(request, timeout=_TIMEOUT_S))


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":  # a signal would end it there, whatever its number
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

    _MAY_WAIT = 0x00100000
    _STILL_RUNS = 0x00000102

    def _is_running_on_windows(pid: int) -> bool:
        kernel = ctypes.WinDLL("kernel32")
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(kernel.OpenProcess(_MAY_WAIT, False, pid))
        if not handle:
            return False
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == _STILL_RUNS)
        finally:
            kernel.CloseHandle(handle)
