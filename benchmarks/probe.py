"""Measurements in a new Python process, so that only the page cache is warm.

The clock starts after the imports, like that of TensorBoard's data server, and stops when all tags
are listed, all points are counted and one series is read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import tracklight


@dataclass(frozen=True)
class Opened:
    """Result and cost of opening a log."""

    seconds: float
    points: int
    tags: int
    read_bytes: int


def read_log(logdir: Path, cache: Path | None = None) -> Opened:
    """Open ``logdir`` in a new process, with a cache in ``cache`` or without one."""
    command = [sys.executable, "-m", "benchmarks.probe", str(logdir)]
    if cache is not None:
        command.append(f"--cache={cache}")
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return Opened(**json.loads(answer.stdout))


def _open_here(logdir: str, cache: str | None) -> Opened:
    open_log = tracklight.open  # lazy import, not to be timed
    read_before = _count_read_bytes()
    start = time.perf_counter()
    with open_log(logdir, cache=cache or False) as log:
        tags = [(run, tag) for run in log.runs for tag in log.tags(run)]
        points = log.points
        if points:
            _ = log.scalar(*tags[-1]).value[-1]
        seconds = time.perf_counter() - start
    return Opened(seconds, points, len(tags), _count_read_bytes() - read_before)


def _count_read_bytes() -> int:
    """Return the bytes that this process has read, from the page cache or the disk."""
    fields = Path("/proc/self/io").read_text().split()
    return int(fields[fields.index("rchar:") + 1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--cache")
    options = parser.parse_args()
    print(json.dumps(asdict(_open_here(options.logdir, options.cache))))
