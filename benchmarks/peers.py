"""TensorBoard, started and watched from outside: what its users run, and its data server alone.

The data server prints how long each of its load cycles took, to the nanosecond. That figure is
taken as it stands: it leaves out the start of the process, as ours leaves out that of Python.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import grpc
import psutil
import tensorboard_data_server
from tensorboard.context import RequestContext
from tensorboard.data.grpc_provider import GrpcDataProvider, make_stub

MIB = 1 << 20
KEEP_ALL = "--samples_per_plugin=scalars=10000000"


@dataclass(frozen=True)
class Memory:
    """Memory of a process and its children: pages they share count for each in RSS, once in PSS."""

    rss_mib: float
    pss_mib: float


@dataclass(frozen=True)
class DataServer:
    """A data server that has gone through its log once."""

    load_s: float
    port: int

    def list_scalars(self) -> dict[str, Any]:
        """All tags of all runs, asked for as TensorBoard itself asks."""
        address = f"localhost:{self.port}"
        limit = [("grpc.max_receive_message_length", 256 * MIB)]
        with grpc.insecure_channel(address, options=limit) as channel:
            provider = GrpcDataProvider(address, make_stub(channel))
            tags = provider.list_scalars(RequestContext(), experiment_id="", plugin_name="scalars")
        return dict(tags)


@contextmanager
def start_data_server(logdir: Path, *flags: str) -> Iterator[DataServer]:
    """Run TensorBoard's data server on ``logdir`` and wait until it has loaded all of it."""
    binary = tensorboard_data_server.server_binary()
    options = ["--reload=once", "--port=0", "--verbose", *flags]
    with _run([binary, f"--logdir={logdir}", *options]) as process:
        assert process.stderr is not None
        port = _wait_for(r"listening on \S+:(\d+)", process.stderr)
        load_s = _wait_for(r"Finished load cycle \((\S+)\)", process.stderr)
        yield DataServer(_parse_duration_s(load_s), int(port))


@dataclass(frozen=True)
class Website:
    """A program that serves a page, with the process it was started as."""

    url: str
    process: psutil.Process

    def fetch(self, path: str, **query: str) -> Any:
        address = f"{self.url.rstrip('/')}/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            return json.load(answer)

    def measure_memory(self) -> Memory:
        family = [self.process, *self.process.children(recursive=True)]
        usage = [process.memory_full_info() for process in family]
        return Memory(sum(u.rss for u in usage) / MIB, sum(u.pss for u in usage) / MIB)


@contextmanager
def start_tensorboard(logdir: Path, *flags: str) -> Iterator[Website]:
    """Run ``tensorboard --logdir`` as its users do: with its data server, reloading for ever."""
    command = [sys.executable, "-m", "tensorboard.main", f"--logdir={logdir}", "--port=0", *flags]
    with start_website(command, r"at (http://\S+)") as site:
        yield site


@contextmanager
def start_website(
    command: list[str], url_pattern: str, environment: dict[str, str] | None = None
) -> Iterator[Website]:
    with _run(command, environment) as process:
        assert process.stderr is not None
        url = _wait_for(url_pattern, process.stderr)
        yield Website(url, psutil.Process(process.pid))


def read_last_step(tensorboard: Website, run: str, tag: str) -> int:
    """The newest step that TensorBoard's page would show; -1 while it does not know the tag."""
    tags = tensorboard.fetch("data/plugin/scalars/tags")
    if tag not in tags.get(run, {}):
        return -1
    points = tensorboard.fetch("data/plugin/scalars/scalars", run=run, tag=tag)
    return int(points[-1][1])


@contextmanager
def _run(
    command: list[str], environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process whose output is read line by line, and which does not outlive the block."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        yield process
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        for child in [process, *children]:
            child.terminate()
        process.communicate()


def _wait_for(pattern: str, stream: IO[str]) -> str:
    seen = []
    for line in stream:
        seen.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise RuntimeError(f"{pattern!r} never appeared in:\n{''.join(seen)}")


def _parse_duration_s(text: str) -> float:
    """Seconds of a duration as Rust prints it: ``2.05s``, ``31.4ms`` or ``950µs``."""
    found = re.fullmatch(r"([\d.]+)(s|ms|µs)", text)
    if found is None:
        raise ValueError(f"not a duration: {text!r}")
    return float(found[1]) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[found[2]]


def wait_until_loaded(tensorboard: Website, runs: list[str], tag: str, last_step: int) -> float:
    """Poll until every run shows its last step; gives the seconds that took."""
    start = time.monotonic()
    for run in runs:
        while read_last_step(tensorboard, run, tag) < last_step:
            time.sleep(0.1)
    return time.monotonic() - start
