"""Cost of logging, compared with the writers of PyTorch, TensorFlow and tensorboardX.

One call: scalars in a tight loop; histograms in bursts of twenty, one per layer of a model,
followed by a pause of 50 ms that is not counted. Each writer has its default settings and its own
process with two CPUs; the writers alternate, so that other load affects all of them. Two clocks
measure the logging thread: CPU time, and wall
time, which includes waiting for the GIL or for space in a queue. The
ratio is the smaller of the two. The CPU time of all threads until the file is closed is reported
only. TensorFlow is hidden from PyTorch's writer, as in most installations.

Stream: millions of scalars, from the first call until the file is closed; then every record is read
back and verified.

Import: new interpreters import NumPy and our logging API alternately. Interpreter start is not
counted; bytecode is already compiled.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from benchmarks.probe import read_log
from benchmarks.report import Row, Timing, format_s, repeat
from benchmarks.write_probe import HISTOGRAM_SIZE, Cost, measure_cost, measure_stream_s

OURS = {
    "tracklight.summary": {"scalar": "scalar", "histogram": "histogram"},
    "tracklight.torch": {"scalar": "add_scalar", "histogram": "add_histogram"},
}
PEERS = {
    "torch": "torch.utils.tensorboard",
    "tensorflow": "tf.summary",
    "tensorboardX": "tensorboardX",
}
#: Required ratio; none for tensorboardX.
MIN_RATIOS = {
    "scalar": {"torch": 20, "tensorflow": 50},
    "histogram": {"torch": 8, "tensorflow": 8},
}
MAX_IMPORT_RATIO = 1.5
#: Of the training thread; the writer thread does the rest.
MAX_HISTOGRAM_S = 60e-6
MIN_PER_S = 1e6


def measure(quick: bool) -> Iterator[Row]:
    peers = [peer for peer in PEERS if _is_there(peer)]
    for kind in MIN_RATIOS:
        costs = _take_medians([*OURS, *peers], kind, 1 if quick else 3)
        for api in OURS:
            for peer in peers:
                yield _compare(api, peer, kind, costs)
    yield _measure_stream(peers, 200_000 if quick else 5_000_000, 1 if quick else 3)


def measure_import(quick: bool) -> Iterator[Row]:
    times = 3 if quick else 21
    modules = "tracklight.summary", "numpy"
    pairs = [[_import_s(module) for module in modules] for _ in range(times)]
    ours, numpy = (Timing(tuple(seconds)) for seconds in zip(*pairs, strict=True))
    ratio = ours.median_s / numpy.median_s
    must, reached = f"at most {MAX_IMPORT_RATIO}x", ratio <= MAX_IMPORT_RATIO
    yield Row("`import tracklight.summary`", ours, f"{numpy}, numpy", ratio, must, reached)


def _is_there(module: str) -> bool:
    if importlib.util.find_spec(module) is not None:
        return True
    print(f"{module} is not installed, so nothing is measured beside it")
    return False


def _take_medians(writers: Sequence[str], kind: str, times: int) -> dict[str, Cost]:
    rounds = [[measure_cost(writer, kind) for writer in writers] for _ in range(times)]
    names = [field.name for field in fields(Cost)]
    return {
        writer: Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in names))
        for writer, costs in zip(writers, zip(*rounds, strict=True), strict=True)
    }


def _compare(api: str, peer: str, kind: str, costs: dict[str, Cost]) -> Row:
    what = f"`{api}.{OURS[api][kind]}`"
    if kind == "histogram":
        what += f" of {HISTOGRAM_SIZE:,} float32"
    ours, theirs = costs[api], costs[peer]
    ratio = min(theirs.cpu_s / ours.cpu_s, theirs.elapsed_s / ours.elapsed_s)
    least = MIN_RATIOS[kind].get(peer)
    must = "" if least is None else f"at least {least:g}x"
    reached = None if least is None else ratio >= least
    if kind == "histogram" and least is not None:
        must += f", at most {format_s(MAX_HISTOGRAM_S)} of CPU"
        reached = ratio >= least and ours.cpu_s <= MAX_HISTOGRAM_S
    return Row(what, _describe(ours), f"{_describe(theirs)}, {PEERS[peer]}", ratio, must, reached)


def _describe(cost: Cost) -> str:
    thread = f"{format_s(cost.cpu_s)} of CPU, {format_s(cost.elapsed_s)} passed"
    return f"{thread} ({format_s(cost.process_s)} in all threads)"


def _measure_stream(peers: Sequence[str], count: int, times: int) -> Row:
    ours = repeat(times, lambda: _stream_s("tracklight.summary", count))
    per_s = count / ours.median_s
    few = count // 50
    others = [f"{few / _stream_s(peer, few):,.0f}, {PEERS[peer]}" for peer in peers]
    return Row(
        f"Scalars a second to a closed file, {count:,} of them",
        f"{per_s:,.0f} ({ours})",
        "; ".join(others),
        must=f"at least {MIN_PER_S:,.0f}",
        reached=per_s >= MIN_PER_S,
    )


def _stream_s(writer: str, count: int) -> float:
    with tempfile.TemporaryDirectory() as logdir:
        seconds = measure_stream_s(writer, count, Path(logdir))
        found = read_log(Path(logdir)).points
    if found != count:
        raise RuntimeError(f"{writer}: {found} of {count} scalars were read back")
    return seconds


def _import_s(module: str) -> float:
    clock = "import time; start = time.perf_counter()"
    program = f"{clock}; import {module}; print(time.perf_counter() - start)"
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    return float(answer.stdout)
