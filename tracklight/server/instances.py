"""Which boards are being served on this machine, so that a notebook finds them again.

Each server keeps a small file in tracklight's own folder, which only its user can read, for as long
as it runs. One that was killed leaves its file behind: what stands there is asked whether it lives
before anybody is sent to it.
"""

from __future__ import annotations

import contextlib
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

from tracklight.notes.place import find_data_folder
from tracklight.server.listen import WILDCARD, address_of
from tracklight.server.security import Policy
from tracklight.server.settings import Settings
from tracklight.util.files import write_atomic

if TYPE_CHECKING:
    from urllib.request import Request

_ANSWER_S = 3.0
_MOST_ANSWER_BYTES = 1 << 20


class Instance(msgspec.Struct, frozen=True):
    """A server, as it wrote itself down."""

    machine: str
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


def find_folder() -> Path:
    return find_data_folder() / "instances"


@contextlib.contextmanager
def record_board(
    listener: socket.socket, settings: Settings, policy: Policy, logdirs: Iterable[str]
) -> Iterator[None]:
    """Keep the file of this process's server while the block runs; go without where that fails."""
    is_everywhere = settings.host in WILDCARD
    here = replace(settings, host="localhost") if is_everywhere else settings
    instance = Instance(
        machine=socket.gethostname(),
        pid=os.getpid(),
        port=listener.getsockname()[1],
        url=address_of(listener, here, None),
        token=policy.token or policy.proxy_token,
        logdir=", ".join(logdirs),
        arguments=sys.argv[1:],
        directory=os.getcwd(),
        started=time.time(),
    )
    file = find_folder() / f"{instance.machine}-{instance.pid}-{instance.port}.json"
    with contextlib.suppress(OSError, UnicodeError):
        _write(file, msgspec.json.encode(instance))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(file, content, mode=0o600)  # it holds a token


def read_instances() -> list[Instance]:
    """Those of this machine that answer, the oldest first; files of the others are cleared away."""
    found = []
    for file in sorted(find_folder().glob("*.json")):
        try:
            instance = msgspec.json.decode(file.read_bytes(), type=Instance)
        except (OSError, msgspec.MsgspecError):
            continue
        if instance.machine != socket.gethostname():
            continue
        if answers(instance):
            found.append(instance)
        elif not _is_running(instance.pid):
            file.unlink(missing_ok=True)
    return sorted(found, key=lambda instance: instance.started)


def answers(instance: Instance) -> bool:
    """Whether a board is there now, and not only a port or a process of that number."""
    # Here, as a board that only says where it is has no use for these megabytes.
    from urllib.error import HTTPError
    from urllib.request import Request

    request = Request(f"{instance.url}api/health")
    if instance.token:
        request.add_header("authorization", f"Bearer {instance.token}")
    try:
        with _open(request) as answer:
            return "version" in json.loads(answer.read(_MOST_ANSWER_BYTES))
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
    return contextlib.closing(opener.open(request, timeout=_ANSWER_S))


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":  # a signal would end it there, whatever its number
        return _has_handle(pid)
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

    def _has_handle(pid: int) -> bool:
        kernel = ctypes.WinDLL("kernel32")
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(kernel.OpenProcess(_MAY_WAIT, False, pid))
        if not handle:
            return False
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == _STILL_RUNS)
        finally:
            kernel.CloseHandle(handle)
