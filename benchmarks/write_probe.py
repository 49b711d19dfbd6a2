"""Measure the cost of logging in a process with one writer.

Every writer has its default settings. A measurement takes two seconds, so that it includes the work
of the writer's thread and flushes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

TAG = "train/loss"
HISTOGRAM_SIZE = 100_000
SECONDS = 2.0
#: Number of calls in a burst, and the pause after it.
ROUNDS = {"scalar": (500, 0.0), "histogram": (20, 0.05)}
#: One for the training thread, one for the writer.
CPUS = 2


@dataclass(frozen=True)
class Cost:
    """Cost of one call, for the calling thread and for the whole process."""

    cpu_s: float
    elapsed_s: float
    process_s: float


@dataclass(frozen=True)
class Calls:
    """The calls of one writer."""

    scalar: Callable[[str, float, int], object]
    histogram: Callable[[str, Any, int], object]
    close: Callable[[], object]


def measure_cost(writer: str, kind: str) -> Cost:
    """Measure the cost of a call in a new process; ``kind`` is "scalar" or "histogram"."""
    return Cost(**_run("cost", writer, kind))


def measure_stream_s(writer: str, count: int, logdir: Path) -> float:
    """Return the seconds in which a new process logs ``count`` scalars and closes the file."""
    return float(_run("stream", writer, str(count), f"--logdir={logdir}"))


def _run(*arguments: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.write_probe", *arguments]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    answer = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | quiet
    )
    return json.loads(answer.stdout.splitlines()[-1])


def _open_tracklight(logdir: str) -> Calls:
    from tracklight import summary

    writer = summary.create_file_writer(logdir)
    writer.set_as_default()
    return Calls(summary.scalar, summary.histogram, writer.close)


def _open_tensorflow(logdir: str) -> Calls:
    import tensorflow as tf

    writer = tf.summary.create_file_writer(logdir)
    writer.set_as_default()
    return Calls(tf.summary.scalar, tf.summary.histogram, writer.close)


def _open_tracklight_torch(logdir: str) -> Calls:
    from tracklight.torch import SummaryWriter

    return _take_methods(SummaryWriter(logdir))


def _open_torch(logdir: str) -> Calls:
    # Not importable, as in an installation with PyTorch alone.
    sys.modules["tensorflow"] = None  # type: ignore[assignment]
    from torch.utils.tensorboard import SummaryWriter

    return _take_methods(SummaryWriter(logdir))


def _open_tensorboardx(logdir: str) -> Calls:
    from tensorboardX import SummaryWriter

    return _take_methods(SummaryWriter(logdir))


def _take_methods(writer: Any) -> Calls:
    return Calls(writer.add_scalar, writer.add_histogram, writer.close)


WRITERS: dict[str, Callable[[str], Calls]] = {
    "tracklight.summary": _open_tracklight,
    "tracklight.torch": _open_tracklight_torch,
    "torch": _open_torch,
    "tensorboardX": _open_tensorboardx,
    "tensorflow": _open_tensorflow,
}


def _time_calls(writer: str, kind: str, seconds: float) -> Cost:
    _pin()
    size, pause_s = ROUNDS[kind]
    cpu_s = elapsed_s = 0.0
    with tempfile.TemporaryDirectory() as logdir:
        calls = WRITERS[writer](logdir)
        value = 0.5 if kind == "scalar" else _make_numbers()
        log = calls.scalar if kind == "scalar" else calls.histogram
        _log_round(log, value, 0, size)
        step = size
        process_start, end = time.process_time(), time.perf_counter() + seconds
        while time.perf_counter() < end:
            cpu_start, start = time.thread_time(), time.perf_counter()
            _log_round(log, value, step, size)
            cpu_s += time.thread_time() - cpu_start
            elapsed_s += time.perf_counter() - start
            step += size
            if pause_s:
                time.sleep(pause_s)
        calls.close()
        process_s = time.process_time() - process_start
    count = step - size
    return Cost(cpu_s / count, elapsed_s / count, process_s / count)


def _log_round(log: Callable[[str, Any, int], object], value: object, step: int, size: int) -> None:
    for at in range(step, step + size):
        log(TAG, value, at)


def _time_stream_s(writer: str, count: int, logdir: str) -> float:
    _pin()
    calls = WRITERS[writer](logdir)
    scalar = calls.scalar
    start = time.perf_counter()
    for step in range(count):
        scalar(TAG, 0.5, step)
    calls.close()
    return time.perf_counter() - start


def _make_numbers() -> Any:
    return np.random.default_rng(3).standard_normal(HISTOGRAM_SIZE, np.float32)


def _pin() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CPUS])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=["cost", "stream"])
    parser.add_argument("writer", choices=WRITERS)
    parser.add_argument("what")
    parser.add_argument("--logdir")
    options = parser.parse_args()
    if options.measure == "cost":
        print(json.dumps(asdict(_time_calls(options.writer, options.what, SECONDS))))
    else:
        print(_time_stream_s(options.writer, int(options.what), options.logdir))


if __name__ == "__main__":
    main()
