"""A server in a process of its own, for tests that need real connections."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.server.waiting import wait_until
from tracklight.server.serve import get_instances_dir


@dataclass(frozen=True)
class ServerProcess:
    """A running server; ``errors`` has its standard error."""

    address: str
    process: subprocess.Popen[str]
    errors: Path

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def connect(self, timeout_s: float = 60.0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s)

    def send(self, request: bytes) -> bytes:
        """Send bytes and return what is received until the server closes the connection."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
            except OSError:
                pass  # the server has already closed the connection
            return receive_all(connection)

    def wait_until_read(self) -> None:
        """Wait until the log has been read."""
        wait_until(lambda: self._get_health() == "ok", 60)

    def _get_health(self) -> str:
        with urllib.request.urlopen(self.address + "api/v1/health", timeout=60) as response:
            return str(json.load(response)["status"])

    def count_files(self) -> int:
        return psutil.Process(self.process.pid).num_fds()

    def memory_bytes(self) -> int:
        return psutil.Process(self.process.pid).memory_info().rss


def get_free_port() -> int:
    """Return a port below those that the system gives to other sockets in the meantime."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def end_recorded_servers() -> None:
    """End all servers in the data directory, also those that do not respond in time."""
    for file in get_instances_dir().glob("*.json"):
        with suppress(OSError):
            os.kill(json.loads(file.read_text())["pid"], signal.SIGTERM)


def receive_all(connection: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := connection.recv(1 << 16):
            received += chunk
    except ConnectionError:
        pass
    return received


@contextmanager
def serve(logdir: Path, folder: Path, *flags: str) -> Iterator[ServerProcess]:
    """Serve a log; the output goes to ``folder``."""
    errors = folder / "errors.txt"
    command = [sys.executable, "-m", "tracklight", "--logdir", str(logdir), "--no-cache"]
    with errors.open("w") as stderr:
        process = subprocess.Popen(
            [*command, "--no-config", "--port", "0", *flags],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    url = re.search(r"https?://\S+", process.stdout.readline())
    assert url, errors.read_text()
    try:
        yield ServerProcess(url[0], process, errors)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
