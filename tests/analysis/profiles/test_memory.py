"""Memory of real captures, and of small ones of which it is known what is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.captures.chrome_trace import read_chrome_trace
from tracklight.analysis.profiles.memory import BEFORE_REGION, Allocator, analyze_memory
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.trace import Trace


def _find(trace: Trace) -> list[Allocator]:
    return analyze_memory(trace, detect_steps(trace))


def test_the_peak_is_the_one_that_xprof_shows() -> None:
    (allocator,) = _find(read_case("cnn"))
    at = allocator.events[allocator.peak_index]
    assert (allocator.name, allocator.is_device) == ("mklcpu", False)
    assert (at.heap_bytes, at.free_bytes, at.fragmentation) == (11_986_944, 25_263_138_816, 0.0)
    assert allocator.lifetime_peak_bytes == 11_986_944
    largest = allocator.peak_groups[1]
    assert largest.op == "StatefulPartitionedCall/sequential_1/conv2d_1/Relu"
    assert (largest.bytes, largest.requested_bytes) == (2_211_840, 1_384_448)
    assert (largest.region, largest.type, largest.shape) == ("output", "float32", "[32,26,26,16]")


def test_all_that_is_in_use_at_the_peak_is_accounted_for() -> None:
    # What xprof calls unused is what was there before: here the weights and their optimizer.
    for trace in (read_case("cnn"), open_file("tgpu.pt.trace.json.gz")):
        for allocator in _find(trace):
            at = allocator.events[allocator.peak_index]
            assert sum(piece.bytes for piece in allocator.peak_groups) == at.in_use_bytes
    before = _find(read_case("cnn"))[0].peak_groups[0]
    assert (before.region, before.bytes) == (BEFORE_REGION, 5_070_848)


def test_a_device_comes_first_and_what_it_holds_unused_is_no_use() -> None:
    device, host = _find(open_file("tgpu.pt.trace.json.gz"))
    assert (device.name, device.is_device, host.name) == ("CUDA 0", True, "CPU")
    at = device.events[device.peak_index]
    assert at.in_use_bytes + at.cache_bytes == 167_772_160
    assert device.events[device.peak_index].heap_bytes == max(
        event.heap_bytes for event in device.events
    )


def test_memory_of_torch_is_its_ops() -> None:
    ops = {piece.op for piece in _find(open_file("tcpu.pt.trace.json.gz"))[0].peak_groups}
    assert {"aten::convolution_backward", "aten::clamp_min"} <= ops


def test_a_step_that_gives_all_back_loses_nothing() -> None:
    (allocator,) = _find(read_case("cnn"))
    assert allocator.leaks == []
    assert allocator.step_heap_bytes.tolist() == [5_070_848] * 6


def _write_steps(path: Path, kept: int, steps: int = 5) -> Trace:
    """Steps that each take 64 bytes and give them back, and 100 of which so many are kept."""
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
            moment = {"name": "[memory]", "cat": "cpu_instant_event", "ph": "i"}
            events.append({**moment, "ts": start + 10 + at, "args": args})
    path.write_text(
        json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, **e} for e in events]})
    )
    return read_chrome_trace(path)


def test_what_every_step_keeps_is_lost(tmp_path: Path) -> None:
    (allocator,) = _find(_write_steps(tmp_path / "a.pt.trace.json", kept=5))
    (leak,) = allocator.leaks
    # The last step may give it back yet.
    assert (leak.op, leak.bytes, leak.occurrences, leak.steps) == ("aten::empty", 400, 4, 4)
    assert allocator.step_heap_bytes.tolist() == [1100, 1200, 1300, 1400, 1500]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_what_a_few_steps_keep_is_not(tmp_path: Path, kept: int) -> None:
    (allocator,) = _find(_write_steps(tmp_path / "a.pt.trace.json", kept=kept))
    assert allocator.leaks == []


def test_no_allocator_is_no_memory() -> None:
    assert _find(open_file("torch_f32.pt.trace.json.gz")) == []
