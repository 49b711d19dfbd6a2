"""Busy and idle times of devices and tracks, compared with a computation on raw events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.profiles.raw_captures import is_work, list_launched, measure_union, read_raw
from tests.analysis.profiles.sample_captures import DATA, open_file
from tests.analysis.profiles.trace_builder import open_chrome
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.analysis.profiles.ops import OpSide, compute_op_stats
from tracklight.analysis.profiles.timeline import Timeline, list_tracks
from tracklight.analysis.profiles.timeline.details import SelectionSummary, summarize_selection
from tracklight.analysis.profiles.trace import Trace


def write_kineto(path: Path) -> Trace:
    """Write a step of 100 µs on two devices, of which the first has two overlapping streams."""

    def make(
        category: str, name: str, pid: int, tid: int, start: float, end: float
    ) -> dict[str, object]:
        return {
            "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
            "dur": end - start, "args": {},
        }  # fmt: skip

    events: list[Mapping[str, object]] = [
        make("user_annotation", "ProfilerStep#1", 100, 100, 0, 100),
        make("gpu_user_annotation", "ProfilerStep#1", 0, 7, 10, 60),
        make("kernel", "a", 0, 7, 10, 30),
        make("kernel", "b", 0, 7, 50, 60),
        make("kernel", "c", 0, 8, 20, 40),
        make("kernel", "d", 1, 7, 90, 95),
        *({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "python"}}
          for pid in (0, 1, 100)),
    ]  # fmt: skip
    return open_chrome(path, events)


def select(trace: Trace, start_us: float, end_us: float) -> SelectionSummary:
    tracks = list(range(len(trace.tracks)))
    return summarize_selection(Timeline(trace), start_us * 1e6, end_us * 1e6, tracks)


def test_busy_time_is_the_union_over_streams_of_a_device(tmp_path: Path) -> None:
    trace = write_kineto(tmp_path / "a.pt.trace.json")
    devices = {device.name: device for device in summarize(trace).devices}
    assert {name: device.busy_ms for name, device in devices.items()} == pytest.approx(
        {"GPU 0": 0.04, "GPU 1": 0.005}
    )
    assert {name: device.idle_ms for name, device in devices.items()} == pytest.approx(
        {"GPU 0": 0.06, "GPU 1": 0.095}
    )


def test_idle_time_has_the_categories_of_hta(tmp_path: Path) -> None:
    """Four gaps: launched too late, launched in time (short and long), and of unknown launch."""

    def make(
        category: str, tid: int, start: float, end: float, correlation: int
    ) -> dict[str, object]:
        args = {"correlation": correlation} if correlation else {}
        pid, name = (0, "k") if category == "kernel" else (100, "cudaLaunchKernel")
        return {
            "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
            "dur": end - start, "args": args,
        }  # fmt: skip

    events = [
        make("cuda_runtime", 100, 0, 2, 1),
        make("cuda_runtime", 100, 30, 32, 2),
        make("cuda_runtime", 100, 33, 35, 3),
        make("cuda_runtime", 100, 36, 38, 4),
        make("kernel", 7, 10, 20, 1),
        # Launched 10 µs after the device had become idle.
        make("kernel", 7, 40, 50, 2),
        # Launched in time, on another stream; the gap is that of the device.
        make("kernel", 8, 52, 60, 3),
        make("kernel", 7, 100, 110, 4),
        make("kernel", 7, 115, 120, 0),
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
    ]
    (device,) = summarize(open_chrome(tmp_path / "a.pt.trace.json", events)).devices
    waits = device.host_wait_ms, device.kernel_wait_ms, device.other_wait_ms
    assert waits == pytest.approx((0.020, 0.002, 0.045))


@pytest.mark.parametrize("name", ["torch_ahead", "torch_f32", "tgpu", "torch_overlap"])
def test_idle_times_equal_raw_events(name: str) -> None:
    """Recompute all gaps between kernels with a loop over the events of the file."""
    path = f"{name}.pt.trace.json.gz"
    (device,) = summarize(open_file(path)).devices
    pairs = sorted(list_launched(read_raw(DATA / path)), key=lambda pair: pair[1].start_ps)
    waits = {"host": 0, "kernel": 0, "other": 0}
    idle_since = pairs[0][1].end_ps
    for launch, work in pairs[1:]:
        gap = work.start_ps - idle_since
        if gap > 0 and launch is not None and launch.start_ps > idle_since:
            waits["host"] += gap
        elif gap > 0:
            waits["kernel" if launch is not None and gap < 30e6 else "other"] += gap
        idle_since = max(idle_since, work.end_ps)
    assert device.host_wait_ms == pytest.approx(waits["host"] / 1e9, abs=1e-5)
    assert device.kernel_wait_ms == pytest.approx(waits["kernel"] / 1e9, abs=1e-5)
    assert device.other_wait_ms == pytest.approx(waits["other"] / 1e9, abs=1e-5)


def test_measured_range_excludes_annotations(tmp_path: Path) -> None:
    trace = write_kineto(tmp_path / "a.pt.trace.json")
    selection = select(trace, 0, 100)
    busy = {
        (trace.tracks[row.track].device, trace.tracks[row.track].id): row.busy_ps / 1e6
        for row in selection.tracks
    }
    assert busy == {("", 100): 0, ("GPU 0", 7): 30, ("GPU 0", 8): 20, ("GPU 1", 7): 5}
    assert [(row.name, row.busy_ps / 1e6) for row in selection.devices] == [
        ("GPU 0", 40),
        ("GPU 1", 5),
    ]
    assert [row.busy_ps / 1e6 for row in select(trace, 25, 55).devices] == [20, 0]


@pytest.mark.parametrize("name", ["tgpu", "torch_overlap", "torch_ahead", "torch_bf16"])
def test_busy_times_equal_raw_events_and_fit_the_window(name: str) -> None:
    trace = open_file(f"{name}.pt.trace.json.gz")
    rows = [
        (event.start_ps, event.end_ps)
        for event in read_raw(DATA / f"{name}.pt.trace.json.gz")
        if is_work(event)
    ]
    first, last = min(start for start, _ in rows), max(end for _, end in rows)
    busy_ps, window_us = measure_union(rows, first, last), float(trace.end_ps.max()) / 1e6
    (device,) = select(trace, 0, window_us).devices
    assert device.busy_ps == pytest.approx(busy_ps, abs=1e5)
    assert device.busy_ps + device.idle_ps == pytest.approx(window_us * 1e6, abs=1e5)
    idle_ps = compute_op_stats(trace).idle_ps
    assert idle_ps[OpSide.DEVICE] == pytest.approx(last - first - busy_ps, abs=1e5)
    assert 0 <= idle_ps[OpSide.HOST] <= window_us * 1e6
    for track in list_tracks(Timeline(trace)):
        assert track.busy_ps <= window_us * 1e6
        assert track.busy_ps <= np.sum(trace.duration_ps[trace.track == track.id])
