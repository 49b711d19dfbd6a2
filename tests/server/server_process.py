"""A board in a process of its own, for tests that need a real server and real connections."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.server.waiting import wait_until


@dataclass(frozen=True)
class Served:
    """A server that runs, and what it has said."""

    address: str
    process: subprocess.Popen[str]
    errors: Path

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def connect(self, timeout_s: float = 20.0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s)

    def send(self, request: bytes) -> bytes:
        """All that comes back for these bytes until the server hangs up."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
            except OSError:
                pass  # it has heard enough
            return receive_all(connection)

    def wait_until_read(self) -> None:
        """Until everything that lies in the log is known."""
        wait_until(lambda: self._ask_health() == "ok", 60)

    def _ask_health(self) -> str:
        with urllib.request.urlopen(self.address + "api/v1/health", timeout=60) as answer:
            return str(json.load(answer)["status"])

    def count_files(self) -> int:
        return psutil.Process(self.process.pid).num_fds()

    def memory_bytes(self) -> int:
        return psutil.Process(self.process.pid).memory_info().rss


def receive_all(connection: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := connection.recv(1 << 16):
            received += chunk
    except ConnectionError:
        pass
    return received


@contextmanager
def serve(logdir: Path, folder: Path, *flags: str) -> Iterator[Served]:
    """Serve a log from ``folder``, where the server keeps nothing of other tests."""
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
    said = re.search(r"https?://\S+", process.stdout.readline())
    assert said, errors.read_text()
    try:
        yield Served(said[0], process, errors)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
