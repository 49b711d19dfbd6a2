"""Duration of ``--help``, from start to end of the process.

Both programs run alternately, with bytecode already compiled.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.report import Row, Timing

OURS = (sys.executable, "-m", "tracklight", "--help")
THEIRS = (sys.executable, "-m", "tensorboard.main", "--help")
MAX_S = 0.15


def measure(quick: bool) -> Iterator[Row]:
    pairs = [[_run_s(command) for command in (OURS, THEIRS)] for _ in range(3 if quick else 11)]
    ours, theirs = (Timing(tuple(seconds)) for seconds in zip(*pairs, strict=True))
    ratio = theirs.median_s / ours.median_s
    must, reached = f"under {MAX_S:g} s", ours.median_s < MAX_S
    yield Row("`tracklight --help`", ours, f"{theirs}, tensorboard", ratio, must, reached)


def _run_s(command: tuple[str, ...]) -> float:
    began_s = time.perf_counter()
    subprocess.run(command, check=False, capture_output=True)
    return time.perf_counter() - began_s
