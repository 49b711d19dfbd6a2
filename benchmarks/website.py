"""Start, query, measure and stop a program that serves a page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psutil

MIB = 1 << 20

#: How long a program may take to stop before its child processes are stopped as well.
_STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Memory:
    """Memory of a process and its children. Shared pages count for each in RSS, once in PSS."""

    rss_mib: float
    pss_mib: float

    def __str__(self) -> str:
        return f"{self.rss_mib:.0f} MiB (PSS {self.pss_mib:.0f})"


@dataclass(frozen=True)
class Website:
    """URL and process of a running program."""

    url: str
    process: psutil.Process

    def get(self, path: str, **query: str) -> Any:
        return json.loads(self.read(path, **query))

    def post(self, path: str, body: Any) -> Any:
        return json.loads(self._fetch(path, json.dumps(body).encode()))

    def put(self, path: str, body: Any) -> Any:
        return json.loads(self._fetch(path, json.dumps(body).encode(), "PUT"))

    def read(self, path: str, **query: str) -> bytes:
        return self._fetch(f"{path}?{urllib.parse.urlencode(query)}")

    def _fetch(self, path: str, body: bytes | None = None, method: str | None = None) -> bytes:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())

    def measure_cpu_s(self) -> float:
        """Return the CPU time of the process and its children so far."""
        times = [process.cpu_times() for process in self._list_processes()]
        return sum(time.user + time.system for time in times)

    def _list_processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    def measure_memory(self) -> Memory:
        usage = [process.memory_full_info() for process in self._list_processes()]
        return Memory(sum(u.rss for u in usage) / MIB, sum(u.pss for u in usage) / MIB)


@contextmanager
def start_website(
    command: list[str], environment: Mapping[str, str] | None = None
) -> Iterator[Website]:
    """Run ``command`` and wait until it prints its URL."""
    with start_process(command, environment) as process:
        url = wait_for(process, r"(http://\S+/)")
        yield Website(url, psutil.Process(process.pid))


@contextmanager
def start_process(
    command: list[str], environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a process with readable output; it is stopped at the end of the block."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
    )
    try:
        yield process
    finally:
        _stop(process)


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Return the first group of ``pattern`` in the first matching line."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise RuntimeError(f"{pattern!r} never appeared in:\n{''.join(seen)}")


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        children = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        # Shards of a cluster store their caches before they end.
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_TIMEOUT_S)
        for running in children:
            with suppress(psutil.NoSuchProcess):
                running.terminate()
    process.communicate()
