"""A log of 100,000 runs in a bucket of a local S3 server.

Each run has 20 tags of 100 points. Times begin when the command is started. The server of the
bucket runs on the same machine and takes a part of its processors.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.report import Row, format_s
from benchmarks.s3_server import BUCKET, FOLDER
from benchmarks.website import Memory, Website, start_website

_CHART_RUNS = 1000
_MAX_FIRST_S = 1.5
_SETTLE_INTERVAL_S = 2.0
_MAX_SETTLE_S = 60.0
_TABLE = {"columns": ["name", "start", "last:metric/00000"]}
_FILTER = 'last("metric/00000") > 0 and run_0000'
#: Runs of the bucket; fewer for a shorter measurement.
_RUNS = int(os.environ.get("TRACKLIGHT_BENCH_RUNS", "100000"))


def measure(quick: bool) -> Iterator[Row]:
    runs = 2_000 if quick else _RUNS
    folder = get_scalars(Scalars(runs=1, tags=20, steps=100))
    (file,) = folder.glob("*/events*")
    server = [sys.executable, "-m", "benchmarks.s3_server", str(runs), str(file)]
    with start_website(server) as bucket:
        for where, flags in (("", ()), (", --cluster local:2", ("--cluster=local:2",))):
            if flags and find_spec("ray") is None:
                continue
            with tempfile.TemporaryDirectory() as cache:
                yield from _measure_server(f"S3, {runs:,} runs{where}", runs, bucket, cache, flags)


def _measure_server(
    what: str, runs: int, bucket: Website, cache: str, flags: Sequence[str]
) -> Iterator[Row]:
    with _open_log(runs, bucket, cache, flags) as (site, first):
        yield Row(f"{what}: first index ({first.details})", first.spent)
        for name, path, body, limit_s in (
            ("first page of the run table", "api/v1/runs/table", _TABLE, _MAX_FIRST_S),
            ("the same, filtered", "api/v1/runs/table", {**_TABLE, "filter": _FILTER}, None),
            ("a chart with 1,000 runs", "api/v1/scalars/query", _make_chart(runs), None),
            ("the same again", "api/v1/scalars/query", _make_chart(runs), None),
        ):
            started_s, started_cpu_s = time.perf_counter(), site.measure_cpu_s()
            site.post(path, body)
            seconds = time.perf_counter() - started_s
            cpu_s = site.measure_cpu_s() - started_cpu_s
            must = "" if limit_s is None else f"under {format_s(limit_s)}"
            reached = None if limit_s is None else seconds < limit_s
            spent = f"{format_s(seconds)} ({format_s(cpu_s)} of CPU)"
            yield Row(f"… {name}", spent, must=must, reached=reached)
    with _open_log(runs, bucket, cache, flags) as (_, warm):
        yield Row(f"… start with a cache ({warm.details})", warm.spent)


@dataclass(frozen=True)
class _Start:
    """How long it took until all runs were read, and the requests and memory of that."""

    spent: str
    details: str


@contextmanager
def _open_log(
    runs: int, bucket: Website, cache: str, flags: Sequence[str]
) -> Iterator[tuple[Website, _Start]]:
    """Start a server and wait until it has all runs."""
    command = [sys.executable, "-m", "tracklight", f"--logdir=s3://{BUCKET}/{FOLDER}", "--port=0"]
    environment = {
        "XDG_CACHE_HOME": cache,
        "AWS_ENDPOINT_URL": bucket.url.rstrip("/"),
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    started_s = time.perf_counter()
    with start_website([*command, *flags], environment) as site:
        _wait_until_loaded(site, runs)
        seconds = time.perf_counter() - started_s
        spent = f"{format_s(seconds)} ({format_s(site.measure_cpu_s())} of CPU)"
        yield site, _Start(spent, f"{_describe_requests(bucket)}, {_measure_settled(site)}")


def _wait_until_loaded(site: Website, runs: int) -> None:
    while True:
        status = site.get("api/v1/status")["status"]
        if not status["loading"] and site.post("api/v1/runs/table", {})["total"] == runs:
            return
        time.sleep(0.2)


def _measure_settled(site: Website) -> Memory:
    """Measure memory when it no longer falls: what was read is stored and freed at the end."""
    lowest, deadline_s = site.measure_memory(), time.monotonic() + _MAX_SETTLE_S
    while time.monotonic() < deadline_s:
        time.sleep(_SETTLE_INTERVAL_S)
        memory = site.measure_memory()
        if memory.pss_mib > 0.98 * lowest.pss_mib:
            return memory
        lowest = memory
    return lowest


def _make_chart(runs: int) -> dict[str, Any]:
    names = [f"run_{number:06}" for number in range(0, runs, max(1, runs // _CHART_RUNS))]
    return {"runs": names[:_CHART_RUNS], "charts": [{"id": "0", "tags": ["metric/00000"]}]}


def _describe_requests(bucket: Website) -> str:
    with urllib.request.urlopen(bucket.url + "requests") as response:
        counts: dict[str, int] = json.load(response)
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) + " requests"
