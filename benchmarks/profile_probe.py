"""Open a capture in a new process with tracklight or xprof: seconds and peak memory.

The clock starts after the imports, including those of protobuf and its message classes, which
tracklight otherwise loads with the first XLA program that it reads. xprof is called like
TensorBoard's plugin does, without cached results.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tracklight.analysis.profiles.trace import Trace

_XPROF = """
import json, resource, sys, time
from xprof.convert import raw_to_tool_data as convert
options = {"use_saved_result": False, "trace_viewer_options": {"resolution": "8000"}}
start = time.perf_counter()
data, _ = convert.xspace_to_tool_data([sys.argv[1]], sys.argv[2], options)
assert data
print(json.dumps([time.perf_counter() - start, resource.getrusage(0).ru_maxrss / 1024]))
"""
_XPROF_TOOLS = {"overview": "overview_page", "timeline": "trace_viewer@"}


class Taken(NamedTuple):
    seconds: float
    mib: float


def look(what: str, path: Path) -> Taken:
    """Open a capture and compute the overview or the first view of the timeline."""
    return _run([sys.executable, "-m", "benchmarks.profile_probe", what, str(path)])


def look_with_xprof(what: str, path: Path) -> Taken | None:
    """Do the same with xprof; return None if it is not installed."""
    python = os.environ.get("XPROF_PYTHON") or sys.executable
    if python == sys.executable and importlib.util.find_spec("xprof") is None:
        return None
    # xprof caches its results next to the capture.
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, folder)
        return _run([python, "-c", _XPROF, copy, _XPROF_TOOLS[what]])


def count_events(path: Path) -> int:
    """Return the number of events of a capture."""
    from tracklight.analysis.profiles.captures import open_capture

    return len(open_capture(path))


def _run(command: list[str]) -> Taken:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return Taken(*json.loads(done.stdout.splitlines()[-1]))


def _look_here(what: str, path: Path) -> float:
    from tracklight.analysis.profiles.captures import open_capture
    from tracklight.analysis.profiles.findings.summary import summarize
    from tracklight.analysis.profiles.timeline import TILE_BITS, Timeline, make_tiles
    from tracklight.formats import proto

    proto.parse("HloProto", b"")
    if what == "flame graph":
        return _time_flame_graph(open_capture(path))
    start = time.perf_counter()
    trace = open_capture(path)
    if what == "overview":
        assert summarize(trace).events
    else:
        timeline = Timeline(trace)
        level = max(0, (timeline.end_ps >> TILE_BITS).bit_length() - 1)
        last = timeline.end_ps >> level + TILE_BITS
        assert make_tiles(timeline, level, range(last + 1), list(range(len(trace.tracks))))
    return time.perf_counter() - start


def _time_flame_graph(trace: Trace) -> float:
    """Return how long it takes to merge all calls of an open capture."""
    from tracklight.analysis.profiles.calls import CallSelection, build_call_tree
    from tracklight.analysis.profiles.ops import assign_ops
    from tracklight.analysis.profiles.steps import detect_steps

    steps, event_ops = detect_steps(trace), assign_ops(trace)
    start = time.perf_counter()
    assert len(build_call_tree(trace, steps, event_ops, CallSelection()))
    return time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=[*_XPROF_TOOLS, "flame graph"])
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    seconds = _look_here(options.what, options.path)
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
