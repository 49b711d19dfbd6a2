"""Cost of capturing the console and system metrics in a training loop.

The loop multiplies matrices for about 10 ms and prints a line in every step. Two programs run it,
one with ``tracklight.run(…)``, one that also captures. The capture costs the processor time of
printing, per step, and that of other threads, which work by the clock, per second; less what both
cost without it. These are measured where they arise: the processor time of the multiplications
varies by more than 1 % from run to run on a shared machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import tracklight
from benchmarks.report import Row, format_s

_MATRIX_SIZE = 800
_MAX_SHARE = 0.01
_ROUNDS = 3


@dataclass(frozen=True)
class LoopCost:
    """Processor time of a step and of printing in it; share of the time that other threads use."""

    work_s: float
    print_s: float
    background: float


def measure(quick: bool) -> Iterator[Row]:
    seconds = 3.0 if quick else 15.0
    rounds = 1 if quick else _ROUNDS
    pairs = [(_run(seconds, captures=False), _run(seconds, captures=True)) for _ in range(rounds)]
    shares = [_compare(plain, captured) for plain, captured in pairs]
    share = statistics.median(shares)
    plain, captured = pairs[shares.index(sorted(shares)[len(shares) // 2])]
    printing = format_s(captured.print_s - plain.print_s)
    background = 100 * (captured.background - plain.background)
    yield Row(
        f"Console and system metrics captured, steps of {format_s(plain.work_s)} with a line each",
        f"{100 * share:.2f} % of the loop ({printing} per line, {background:.2f} % other threads)",
        must=f"under {100 * _MAX_SHARE:g} %",
        reached=share < _MAX_SHARE,
    )


def _compare(plain: LoopCost, captured: LoopCost) -> float:
    """Return the share of the loop that the capture costs."""
    printing = (captured.print_s - plain.print_s) / (plain.work_s + plain.print_s)
    return printing + captured.background - plain.background


def _run(seconds: float, *, captures: bool) -> LoopCost:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "cost.json"
        command = [sys.executable, "-m", "benchmarks.capture", folder, str(target), str(seconds)]
        command += ["--capture"] if captures else []
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment = os.environ | threads
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return LoopCost(**json.loads(target.read_text()))


def _time_loop(logdir: str, seconds: float, captures: bool) -> LoopCost:
    matrix = np.random.default_rng(0).standard_normal((_MATRIX_SIZE, _MATRIX_SIZE), np.float32)
    with tracklight.run(logdir, console=captures, system_metrics=captures):
        _train(matrix, 1.0)  # imports and the first readings are not part of the loop
        return _train(matrix, seconds)


def _train(matrix: np.ndarray, seconds: float) -> LoopCost:
    step, print_s = 0, 0.0
    process_start, thread_start = time.process_time(), time.thread_time()
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        loss = float((matrix @ matrix)[0, 0])
        print_start = time.thread_time()
        print(f"step {step} loss {loss:.6f}")
        print_s += time.thread_time() - print_start
        step += 1
    thread_s = time.thread_time() - thread_start
    background_s = time.process_time() - process_start - thread_s
    passed_s = time.perf_counter() - start
    return LoopCost((thread_s - print_s) / step, print_s / step, background_s / passed_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("target", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--capture", action="store_true")
    options = parser.parse_args()
    cost = _time_loop(options.logdir, options.seconds, options.capture)
    options.target.write_text(json.dumps(asdict(cost)))


if __name__ == "__main__":
    main()
