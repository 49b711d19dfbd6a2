"""Memory of real captures and of small traces with known leaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.analysis.profiles.trace_builder import open_chrome
from tracklight.analysis.profiles.memory import BEFORE_REGION, Allocator, analyze_memory
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.trace import Trace


def _analyze(trace: Trace) -> list[Allocator]:
    return analyze_memory(trace, detect_steps(trace))


def test_peak_matches_xprof() -> None:
    (allocator,) = _analyze(read_case("cnn"))
    peak = allocator.events[allocator.peak_index]
    assert (allocator.name, allocator.is_device) == ("mklcpu", False)
    assert (peak.heap_bytes, peak.free_bytes, peak.fragmentation) == (
        11_986_944,
        25_263_138_816,
        0.0,
    )
    assert allocator.lifetime_peak_bytes == 11_986_944
    largest = allocator.peak_groups[1]
    assert largest.op == "StatefulPartitionedCall/sequential_1/conv2d_1/Relu"
    assert (largest.bytes, largest.requested_bytes) == (2_211_840, 1_384_448)
    assert (largest.region, largest.type, largest.shape) == ("output", "float32", "[32,26,26,16]")


def test_peak_groups_add_up_to_memory_in_use() -> None:
    # What xprof calls unused was in use before the capture: weights and optimizer state.
    for trace in (read_case("cnn"), open_file("tgpu.pt.trace.json.gz")):
        for allocator in _analyze(trace):
            peak = allocator.events[allocator.peak_index]
            assert sum(group.bytes for group in allocator.peak_groups) == peak.in_use_bytes
    before = _analyze(read_case("cnn"))[0].peak_groups[0]
    assert (before.region, before.bytes) == (BEFORE_REGION, 5_070_848)


def test_device_allocator_is_first_and_cache_is_not_in_use() -> None:
    device, host = _analyze(open_file("tgpu.pt.trace.json.gz"))
    assert (device.name, device.is_device, host.name) == ("CUDA 0", True, "CPU")
    peak = device.events[device.peak_index]
    assert peak.in_use_bytes + peak.cache_bytes == 167_772_160
    assert peak.heap_bytes == max(event.heap_bytes for event in device.events)


def test_torch_allocations_belong_to_ops() -> None:
    ops = {group.op for group in _analyze(open_file("tcpu.pt.trace.json.gz"))[0].peak_groups}
    assert {"aten::convolution_backward", "aten::clamp_min"} <= ops


def test_steps_that_free_everything_have_no_leaks() -> None:
    (allocator,) = _analyze(read_case("cnn"))
    assert allocator.leaks == []
    assert allocator.step_heap_bytes.tolist() == [5_070_848] * 6


def _write_steps(path: Path, kept: int, steps: int = 5) -> Trace:
    """Write steps that allocate and free 64 bytes; the first ``kept`` also keep 100 bytes."""
    events: list[dict[str, object]] = []
    total = 1000
    for step in range(steps):
        start = 100 * step
        events.append(
            {"name": f"ProfilerStep#{step}", "cat": "user_annotation", "ts": start, "dur": 90}
        )
        events.append({"name": "aten::empty", "cat": "cpu_op", "ts": start + 5, "dur": 50})
        for at, (size, address) in enumerate([(64, 1), (100, 10 + step), (-64, 1)]):
            if size == 100 and step >= kept:
                continue
            total += size
            args = {"Bytes": size, "Total Allocated": total, "Addr": address, "Device Type": 0}
            instant = {"name": "[memory]", "cat": "cpu_instant_event", "ph": "i"}
            events.append({**instant, "ts": start + 10 + at, "args": args})
    return open_chrome(path, events)


def test_allocation_kept_by_every_step_is_a_leak(tmp_path: Path) -> None:
    (allocator,) = _analyze(_write_steps(tmp_path / "a.pt.trace.json", kept=5))
    (leak,) = allocator.leaks
    # The last step may still free it.
    assert (leak.op, leak.bytes, leak.occurrences, leak.steps) == ("aten::empty", 400, 4, 4)
    assert allocator.step_heap_bytes.tolist() == [1100, 1200, 1300, 1400, 1500]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_allocation_kept_by_few_steps_is_no_leak(tmp_path: Path, kept: int) -> None:
    (allocator,) = _analyze(_write_steps(tmp_path / "a.pt.trace.json", kept=kept))
    assert allocator.leaks == []


def test_capture_without_allocator_events_has_no_allocators() -> None:
    assert _analyze(open_file("torch_f32.pt.trace.json.gz")) == []
