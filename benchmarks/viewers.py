"""Many viewers of one live log: latency of chart queries and processor time of the server.

A log of 500 runs grows by a point every second. All viewers open their chart within a second. Then
each holds the live stream, as the page does, and asks for its chart again when its tag may have
changed. The viewers run in another process, which shares the two cores with the server.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import aiohttp
import numpy as np

from benchmarks import board
from benchmarks.make_logs import FILE_NAME, Scalars, get_scalars, scalar_record
from benchmarks.report import Row, format_s
from benchmarks.website import Website, start_process
from tracklight.formats.tfrecord import encode_record

VIEWERS, MAX_P99_S = 200, 0.25
#: A viewer sees an update at some moment of this interval, as pages do not refresh in step.
REFRESH_S = 1.0
TIMEOUT_S = 300
#: Shorter than that of the server, which would otherwise close a connection as it is used.
KEEP_ALIVE_S = 2
#: At most 250 addresses are used.
VIEWERS_PER_ADDRESS = 10
_GZIP_MAGIC = b"\x1f\x8b"
HEADERS = {"Accept": "application/vnd.tracklight.columns", "Accept-Encoding": "gzip"}


@dataclass(frozen=True)
class Load:
    """Latencies of the first chart query of each viewer and of later ones."""

    first_s: list[float]
    later_s: list[float]
    cpu_share: float
    """Processor seconds of the server per second."""

    @property
    def latencies_s(self) -> list[float]:
        return [*self.first_s, *self.later_s]

    def get_percentile(self, share: float) -> float:
        return float(np.percentile(self.latencies_s, share))


def measure(quick: bool) -> Iterator[Row]:
    shape = Scalars(50, 10, 100) if quick else Scalars(500, 10, 100)
    viewers, duration_s = (20, 5.0) if quick else (VIEWERS, 60.0)
    load = measure_load(shape, viewers, duration_s)
    slow_s = load.get_percentile(99)
    queries = len(load.latencies_s) / duration_s
    yield Row(
        f"{viewers} viewers of a live log of {shape.runs} runs: chart query, 99 % within",
        f"{format_s(slow_s)} (50 % within {format_s(load.get_percentile(50))}; "
        f"{queries:.0f} queries/s, server {load.cpu_share:.0%} of a core)",
        must=f"under {MAX_P99_S * 1000:.0f} ms",
        reached=slow_s <= MAX_P99_S,
    )
    for what, latencies_s in (
        (f"first queries, all of them within {REFRESH_S:.0f} s", load.first_s),
        ("later queries", load.later_s),
    ):
        half_s, most_s = map(float, np.percentile(latencies_s, [50, 99]))
        yield Row(f"… {what}, 99 % within", f"{format_s(most_s)} (50 % within {format_s(half_s)})")


def wait_until_read(site: Website, shape: Scalars) -> None:
    """Wait until all files are read."""
    deadline = time.monotonic() + TIMEOUT_S
    while (
        site.get("api/v1/status")["status"]["loading"]
        or len(site.get("api/v1/runs")["runs"]) < shape.runs
    ):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{shape} is not read after {TIMEOUT_S} s")
        time.sleep(0.1)


def measure_load(shape: Scalars, viewers: int, duration_s: float) -> Load:
    """Let viewers follow a log that grows, and return latencies and processor time."""
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder, "log")
        shutil.copytree(get_scalars(shape), logdir)
        with board.start_tracklight(logdir) as site:
            wait_until_read(site, shape)
            return _run_viewers(site, logdir, shape, viewers, duration_s)


def _run_viewers(
    site: Website, logdir: Path, shape: Scalars, viewers: int, duration_s: float
) -> Load:
    command = [sys.executable, "-m", "benchmarks.viewers", site.url]
    command += [str(viewers), str(duration_s), str(shape.tags)]
    cpu_before, began = _read_cpu_s(site), time.monotonic()
    with start_process(command) as process, ThreadPoolExecutor(1) as executor:
        assert process.stdout is not None
        # Read at once: the latencies of many viewers are more than a pipe holds.
        output = executor.submit(process.stdout.read)
        step = shape.steps
        while not output.done():
            _append_point(logdir, random.choice(shape.run_names), step, shape.tags)
            step += 1
            time.sleep(1)
        lines = output.result().strip().splitlines()
        process.wait()
    if process.returncode != 0:
        raise RuntimeError("\n".join(lines[-5:]))
    first_s, later_s = json.loads(lines[-1])
    if not first_s:
        raise RuntimeError(f"no query of {viewers} viewers was answered in {duration_s:.0f} s")
    cpu_share = (_read_cpu_s(site) - cpu_before) / (time.monotonic() - began)
    return Load(first_s, later_s, cpu_share)


def _read_cpu_s(site: Website) -> float:
    times = site.process.cpu_times()
    return float(times.user + times.system)


def _append_point(logdir: Path, run: str, step: int, tags: int) -> None:
    with (logdir / run / FILE_NAME).open("ab") as file:
        for index in range(tags):
            record = scalar_record(f"metric/{index:05}", step, time.time(), random.random())
            file.write(encode_record(record))


async def _watch(
    url: str, viewers: int, duration_s: float, tags: int
) -> tuple[list[float], list[float]]:
    """Return the latencies of the first query of each viewer, and of later ones."""
    first: list[float] = []
    later: list[float] = []
    async with AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(_open_session(url, number))
            for number in range(-(-viewers // VIEWERS_PER_ADDRESS))
        ]
        watching = [
            _view(sessions[at // VIEWERS_PER_ADDRESS], f"metric/{at % tags:05}", first, later)
            for at in range(viewers)
        ]
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*watching), duration_s)
    return first, later


def _open_session(url: str, number: int) -> aiohttp.ClientSession:
    """Open a session with an address of its own: the server limits the requests of each."""
    url = url.replace("localhost", "127.0.0.1")  # an IPv4 address cannot connect to ::1
    address = (f"127.0.0.{2 + number}", 0) if sys.platform == "linux" else None
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, local_addr=address)
    return aiohttp.ClientSession(url, connector=connector, auto_decompress=False)


async def _view(
    session: aiohttp.ClientSession, tag: str, first: list[float], later: list[float]
) -> None:
    """Ask for a chart, and again after each change that the live stream announces."""
    async with session.get("api/v1/runs") as response:
        cursor = _read_cursor(await response.read())
    await asyncio.sleep(random.random() * REFRESH_S)
    revision = await _query(session, tag, None, first)
    timeout = aiohttp.ClientTimeout(total=None)
    async with session.get("api/v1/live", params={"since": cursor}, timeout=timeout) as stream:
        async for line in stream.content:
            if line.startswith(b"event: delta"):
                await asyncio.sleep(random.random() * REFRESH_S)
                revision = await _query(session, tag, revision, later)


async def _query(
    session: aiohttp.ClientSession, tag: str, base: str | None, latencies: list[float]
) -> str:
    """Ask for what has changed in a chart, as the page does, and return its revision."""
    body = {"charts": [{"id": tag, "tags": [tag], "base": base}]}
    began = time.perf_counter()
    try:
        content = await _post(session, body)
    except aiohttp.ClientConnectionError:
        # The connection was idle for so long that the server has just closed it. Browsers repeat
        # such requests as well.
        content = await _post(session, body)
    latencies.append(time.perf_counter() - began)
    return _read_revision(content)


@lru_cache(maxsize=100)
def _read_cursor(content: bytes) -> str:
    return str(json.loads(_decompress(content))["cursor"])


@lru_cache(maxsize=1000)
def _read_revision(content: bytes) -> str:
    """Return the revision of the chart in a compressed response.

    Many viewers get the same bytes. In a browser of its own each would decode them at once; here
    they share a process, and the others would wait.
    """
    columns = _decompress(content)
    (size,) = struct.unpack_from("<I", columns, 4)
    return str(json.loads(columns[8 : 8 + size])["charts"][0]["revision"])


async def _post(session: aiohttp.ClientSession, body: dict[str, object]) -> bytes:
    async with session.post("api/v1/scalars/query", json=body, headers=HEADERS) as response:
        response.raise_for_status()
        return await response.read()


def _decompress(content: bytes) -> bytes:
    return gzip.decompress(content) if content.startswith(_GZIP_MAGIC) else content


if __name__ == "__main__":
    url, viewers, duration_s, tags = sys.argv[1:]
    print(json.dumps(asyncio.run(_watch(url, int(viewers), float(duration_s), int(tags)))))
