"""Traces that no profiler should write, but some do: read what is valid or report an error."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.profiles.run_all_analyses import run_all_analyses
from tests.analysis.profiles.sample_captures import read_bytes
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.steps import StepPart, analyze_steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.cli.demo.writers import Plane, encode_space
from tracklight.errors import FormatError

_DAYS_US = 86_400e6


def event(**fields: Any) -> dict[str, Any]:
    return {"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0} | fields


def open_chrome(folder: Path, events: list[dict[str, Any]]) -> Trace:
    path = folder / "a.trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return open_capture(path)


def open_planes(folder: Path, *planes: Plane) -> Trace:
    path = folder / "a.xplane.pb"
    path.write_bytes(encode_space(list(planes), "host"))
    return open_capture(path)


CASES: dict[str, tuple[list[dict[str, Any]], int]] = {
    "none": ([], 0),
    "one": ([event()], 1),
    "instant event": ([event(dur=0)], 1),
    "same time": ([event(dur=0)] * 2000, 2000),
    "deep nesting": ([event(ts=at, dur=9000 - 2 * at) for at in range(2000)], 2000),
    "backwards": ([event(name=f"ProfilerStep#{at}", ts=-9 * at) for at in range(9)], 9),
    "end before begin": ([event(ph="B", ts=5), event(ph="E", ts=1)], 1),
    "end without begin": ([event(ph="E")], 0),
    "times that are no numbers": ([event(ts="soon"), event(dur=None), event(ts=[1])], 0),
    "numbers as texts": ([event(ts="7.5", dur="2")], 1),
    "infinite times": ([event(ts="inf"), event(dur="nan"), event(dur=-1)], 0),
    "names of any type": ([event(name=None, cat=5, pid=None, tid={"a": 1})], 1),
    "long name": ([event(name="x" * 100_000)], 1),
    "invalid kernel arguments": (
        [
            event(cat="kernel", pid=0, tid=7, args={
                "correlation": "1", "grid": "x", "block": [1, 2], "registers per thread": -5,
                "shared memory": {}, "est. achieved occupancy %": "much", "External id": 1 << 80,
            }),
            event(cat="cuda_runtime", args={"correlation": 1}),
        ],
        2,
    ),
    "invalid memory arguments": (
        [
            event(ph="i", name="[memory]", cat="cpu_instant_event", args={
                "Bytes": 1 << 70, "Addr": "x", "Device Type": "1", "Total Allocated": None,
            })
        ],
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_reads_valid_events_of_malformed_chrome_traces(case: str, tmp_path: Path) -> None:
    events, count = CASES[case]
    if case in ("times that are no numbers", "infinite times"):
        with pytest.raises(FormatError, match="without a valid time or duration: 3"):
            open_chrome(tmp_path, events)
        return
    trace = open_chrome(tmp_path, events)
    assert len(trace) == count
    assert run_all_analyses(trace)[0].startswith(f"{count:,} event")


def test_ignores_events_with_implausible_times(tmp_path: Path) -> None:
    """Old versions of PyTorch's profiler write an end marker that is decades off."""
    valid = [event(ts=at) for at in range(5)]
    trace = open_chrome(tmp_path, [*valid, event(ts=9000 * _DAYS_US), event(dur=300 * _DAYS_US)])
    assert len(trace) == 5
    (problem,) = map(str, trace.problems)
    assert problem == "Ignored events with a time that is more than ten days from the others: 2"
    assert problem in run_all_analyses(trace)


def test_rejects_trace_with_only_implausible_times(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"Ignored events .*: 1"):
        open_chrome(tmp_path, [event(dur=1e300)])


def test_arguments_stay_with_their_events(tmp_path: Path) -> None:
    far = event(ts=1e17, args={"correlation": 1})
    trace = open_chrome(
        tmp_path, [far, *(event(ts=at, args={"correlation": at}) for at in range(4))]
    )
    events, numbers = trace.get_int_args("correlation")
    assert sorted(zip(events.tolist(), numbers.tolist(), strict=True)) == [
        (at, at) for at in range(4)
    ]


def test_unix_times_become_relative(tmp_path: Path) -> None:
    host = Plane("/host:CPU")
    line = host.add_line(1, "python")
    line.add("train", 0, 50, _r=1, step_num=1)
    line.begins_ns = 1_790_000_000_000_000_000
    trace = open_planes(tmp_path, host)
    assert (trace.start_ps.tolist(), trace.problems) == ([0], ())
    assert run_all_analyses(trace)


def make_skewed(behind_us: float) -> list[Plane]:
    """Make ten steps, each of which launches ten kernels of 5 µs that start at once."""
    host, device = Plane("/host:CPU"), Plane("/device:GPU:0")
    thread, stream = host.add_line(1, "python"), device.add_line(7, "Stream #7(Compute)")
    for step in range(10):
        begins = 100_000 + 200 * step
        thread.add("train", begins, 150, _r=1, step_num=step)
        for kernel in range(10):
            number, at = 10 * step + kernel + 1, begins + 10 * kernel
            thread.add("cuLaunchKernel", at, 3, correlation_id=number)
            stream.add("gemm", at + 4 - behind_us, 5, correlation_id=number)
    return [host, device]


@pytest.mark.parametrize(
    ("behind_us", "problems"),
    [
        (0, ()),
        (40, ()),  # within the precision of clocks
        (3_000, ("The clock of /device:GPU:0 was 3 ms behind the host clock; corrected",)),
        (-3.6e9, ("The clock of /device:GPU:0 was 3600 s ahead of the host clock; corrected",)),
    ],
)
def test_corrects_device_clock_offset(
    behind_us: float, problems: tuple[str, ...], tmp_path: Path
) -> None:
    trace = open_planes(tmp_path, *make_skewed(behind_us))
    assert tuple(map(str, trace.problems)) == problems
    breakdown = analyze_steps(trace).breakdown
    computed = breakdown.exclusive_ps[1:-1, StepPart.DEVICE_COMPUTE] / 1e6
    np.testing.assert_allclose(computed, 50 if problems or not behind_us else computed)
    run_all_analyses(trace)


@pytest.mark.parametrize("number", [-(1 << 63), -1, (1 << 63) - 1])
def test_reads_lines_with_extreme_timestamps(number: int, tmp_path: Path) -> None:
    host = Plane("/host:CPU")
    far, near = host.add_line(1, "far"), host.add_line(2, "near")
    far.add("work", 1, 2)
    far.begins_ns = number
    for at in range(3):
        near.add("work", at, 1)
    trace = open_planes(tmp_path, host)
    assert len(trace) >= 3
    assert run_all_analyses(trace)


def test_truncated_files_are_read_or_rejected(tmp_path: Path) -> None:
    data = read_bytes("customloop")
    path = tmp_path / "a.xplane.pb"
    for share in (0.001, 0.2, 0.6, 0.95):
        path.write_bytes(data[: int(share * len(data))])
        try:
            run_all_analyses(open_capture(path))
        except FormatError as error:
            assert "a.xplane.pb" in str(error)


def test_rejects_other_file_types(tmp_path: Path) -> None:
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(b"\x89PNG\r\n" + struct.pack("<QQ", 1, 2) * 20)
    with pytest.raises(FormatError, match=r"a\.xplane\.pb"):
        open_capture(path)
