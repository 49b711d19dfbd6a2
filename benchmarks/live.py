"""Latency from a written point to the HTTP API.

A writer appends a point to the only event file of a log after a random pause, then polls the server
for the newest step until it is the new one. The figure includes file watching, reading and an HTTP
request. TensorBoard reloads every five seconds.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import board, peers
from benchmarks.make_logs import FILE_NAME, scalar_record, version_record
from benchmarks.report import Row, format_s
from benchmarks.website import Website
from tracklight.formats.tfrecord import encode_record

RUN, TAG = "run", "loss"
POLL_S = 0.005


class Program(NamedTuple):
    """How to start and query a server, and the longest pause between two points."""

    start: Callable[[Path], AbstractContextManager[Website]]
    read_last_step: Callable[[Website, str, str], int]
    longest_pause_s: float


OURS = Program(board.start_tracklight, board.read_last_step, 1.0)
#: As long as the reload interval, so that points are written at any phase of it.
THEIRS = Program(peers.start_tensorboard, peers.read_last_step, 5.0)


def measure(quick: bool) -> Iterator[Row]:
    ours = [*_iter_delays(OURS, 10 if quick else 50)]
    theirs = [*_iter_delays(THEIRS, 2 if quick else 10)]
    for share in (50, 95):
        our_s, their_s = np.percentile(ours, share), np.percentile(theirs, share)
        what = f"Point written to point seen, {share} % within"
        ratio = their_s / our_s
        yield Row(what, format_s(our_s), format_s(their_s), ratio, "under 1 s", bool(our_s < 1))


def _iter_delays(program: Program, count: int) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, RUN, FILE_NAME)
        path.parent.mkdir()
        _append(path, version_record())
        with program.start(Path(folder)) as site:
            read_step = partial(program.read_last_step, site, RUN, TAG)
            _measure_delay(path, 0, read_step)  # includes the start of the server
            for step in range(1, count + 1):
                time.sleep(random.uniform(0, program.longest_pause_s))
                yield _measure_delay(path, step, read_step)


def _measure_delay(path: Path, step: int, read_step: Callable[[], int]) -> float:
    _append(path, scalar_record(TAG, step, time.time(), 0.5))
    start = time.perf_counter()
    while read_step() < step:
        time.sleep(POLL_S)
    return time.perf_counter() - start


def _append(path: Path, record: bytes) -> None:
    with path.open("ab") as file:
        file.write(encode_record(record))
