"""Many clients of a real server on a growing log miss nothing, and memory does not grow."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.index import logs
from tests.server.waiting import wait_until

pytestmark = pytest.mark.slow

CLIENTS = 10
ROUNDS = 300
RUNS = [f"run{number}" for number in range(5)]
_MAX_GROWTH_BYTES = 16 << 20


class Server:
    """A server in a process of its own."""

    def __init__(self, logdir: Path) -> None:
        command = [sys.executable, "-m", "tracklight", "--logdir", str(logdir), "--no-cache"]
        self.process = subprocess.Popen(
            [*command, "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        url = re.search(r"http://\S+", self.process.stdout.readline())
        assert url
        self.url = url[0]

    def get(self, path: str) -> dict[str, object]:
        with urllib.request.urlopen(self.url + path, timeout=60) as response:
            return json.load(response)

    def memory_bytes(self) -> int:
        return psutil.Process(self.process.pid).memory_info().rss


class Client(threading.Thread):
    """Count the points of each run from the events of a stream alone."""

    def __init__(self, server: Server, cursor: str, drops: bool) -> None:
        super().__init__(daemon=True)
        self.server, self.cursor, self.drops = server, cursor, drops
        self.points: dict[str, int] = {}
        self.last: dict[str, list[float]] = {}
        self.events = 0

    def run(self) -> None:
        while True:
            url = f"{self.server.url}api/v1/live?since={self.cursor}"
            try:
                with urllib.request.urlopen(url, timeout=60) as stream:
                    self._read(stream)
            except OSError:
                return  # the server has ended

    def _read(self, stream: Iterator[bytes]) -> None:
        name = ""
        for line in stream:
            if line.startswith(b"event: "):
                name = line[7:].decode().strip()
            elif line.startswith(b"data: ") and name == "delta":
                self._apply(json.loads(line[6:]))
                if self.drops and self.events % 20 == 0:
                    return  # simulate a lost connection now and then

    def _apply(self, delta: dict[str, object]) -> None:
        self.events += 1
        for row in (*delta["added"], *delta["changed"]):  # type: ignore[misc]
            self.points[row["name"]] = row["points"]
        for run, tags in delta["points"].items():  # type: ignore[attr-defined]
            self.last[run] = tags["loss"]
        self.cursor = str(delta["cursor"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    for run in RUNS:
        logs.write(tmp_path, run, logs.points([0]))
    server = Server(tmp_path)
    yield server
    server.process.terminate()
    server.process.wait(60)
    assert server.process.stdout is not None
    server.process.stdout.close()


@pytest.mark.slow
def test_streams_miss_nothing_and_memory_is_bounded(server: Server, tmp_path: Path) -> None:
    wait_until(lambda: not server.get("api/v1/status")["status"]["loading"])  # type: ignore[index]
    cursor = str(server.get("api/v1/runs")["cursor"])
    clients = [Client(server, cursor, drops=number % 2 == 1) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    before = 0
    for step in range(1, ROUNDS + 1):
        file = tmp_path / RUNS[step % len(RUNS)] / "events.out.tfevents.1"
        logs.append(file, logs.point(step, step))
        time.sleep(0.02)
        if step % (ROUNDS // 10) == 0:
            # Otherwise a busy server sends all of it at once.
            expected = dict.fromkeys(RUNS, 1 + step // len(RUNS))
            wait_until(lambda: all(client.points == expected for client in clients))  # noqa: B023
        if step == ROUNDS // 2:
            before = server.memory_bytes()
    assert {client.last[RUNS[0]][0] for client in clients} == {ROUNDS}
    assert all(client.events > 5 for client in clients)
    assert server.memory_bytes() - before < _MAX_GROWTH_BYTES
