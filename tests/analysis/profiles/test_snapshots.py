"""Snapshots of the CUDA allocator, compared with the allocator that wrote them."""

from __future__ import annotations

import json
import lzma
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.profiles.sample_captures import DATA
from tests.analysis.profiles.snapshot_builder import STACKS, CachingAllocator, make_frames
from tracklight.analysis.profiles.memory.snapshots import (
    DeviceMemory,
    MemoryCategory,
    analyze_snapshot,
    classify_stack,
    describe_user_frame,
)
from tracklight.formats.profiles.memory_profiles import StackFrame, parse_cuda_snapshot

#: Allocations of a size and category, or None for a call that frees one of the live ones.
ACTIONS = st.lists(
    st.tuples(st.integers(1, 400_000), st.sampled_from(sorted(STACKS))) | st.integers(0, 100),
    min_size=1,
    max_size=40,
)


def run_actions(actions: list[Any], max_calls: int) -> CachingAllocator:
    allocator = CachingAllocator(max_calls)
    for action in actions:
        if isinstance(action, tuple):
            allocator.allocate(*action)
        elif allocator.live:
            allocator.free(sorted(allocator.live)[action % len(allocator.live)])
    return allocator


def analyze(data: bytes) -> DeviceMemory:
    (device,) = analyze_snapshot(parse_cuda_snapshot(data))
    return device


@given(ACTIONS.filter(lambda actions: any(isinstance(it, tuple) for it in actions)))
def test_memory_over_time_is_that_of_the_allocator(actions: list[Any]) -> None:
    allocator = run_actions(actions, 1 << 30)
    device = analyze(allocator.dump())
    for row, sums in zip(device.category_bytes, allocator.history, strict=True):
        assert {
            category.name.lower(): size
            for category, size in zip(MemoryCategory, row.tolist(), strict=True)
            if size
        } == sums
    assert device.reserved_bytes.tolist()[1:] == allocator.reserved[1:]
    totals = [sum(sums.values()) for sums in allocator.history]
    assert device.in_use_bytes[device.peak] == max(totals)
    at_peak = allocator.history[device.peak]
    assert sum(group.bytes for group in device.peak_groups) == sum(at_peak.values())
    for group in device.peak_groups:
        assert group.bytes == at_peak[group.category.name.lower()]
    assert device.is_complete


@given(
    ACTIONS.filter(lambda actions: any(isinstance(it, tuple) for it in actions)),
    st.integers(0, 30),
)
def test_dropped_calls_change_no_total(actions: list[Any], max_calls: int) -> None:
    """PyTorch keeps the latest calls. What they do not tell of was in use before."""
    allocator = run_actions(actions, 1 << 30)
    allocator.trace = allocator.trace[len(allocator.trace) - min(max_calls, len(allocator.trace)) :]
    device = analyze(allocator.dump())
    totals = [sum(sums.values()) for sums in allocator.history[-len(allocator.trace) - 1 :]]
    assert device.in_use_bytes.tolist() == totals
    assert device.in_use_bytes[device.peak] == max(totals)


def test_fragmentation_of_known_blocks() -> None:
    allocator = CachingAllocator()
    blocks = [allocator.allocate(100_000, "weights") for _ in range(15)]
    for address in (blocks[2], blocks[3], blocks[7], *blocks[10:]):
        allocator.free(address)
    memory = analyze(allocator.dump()).fragmentation
    assert memory.reserved_bytes == 2 << 20
    assert (memory.active_bytes, memory.requested_bytes) == (7 * 100_352, 700_000)
    # Ten blocks fit into the first segment, with a rest; the second one is not used any more.
    rest = (1 << 20) - 10 * 100_352
    assert memory.split_free_bytes == 3 * 100_352 + rest
    assert memory.unused_segment_bytes == 1 << 20
    assert memory.largest_free_bytes == 1 << 20
    assert memory.share == pytest.approx(1 - (1 << 20) / (3 * 100_352 + rest + (1 << 20)))


def test_block_without_history_is_in_use_all_the_time() -> None:
    allocator = CachingAllocator()
    allocator.allocate(1000, "activations")
    allocator.trace.clear()
    device = analyze(allocator.dump())
    assert not device.is_complete and not device.has_times
    (group,) = device.peak_groups
    assert (group.category, group.bytes) == (MemoryCategory.ACTIVATIONS, 1000)


def test_failed_call_is_reported() -> None:
    allocator = CachingAllocator()
    allocator.allocate(1000, "activations")
    frames = make_frames(STACKS["activations"])
    allocator.trace.append({
        "action": "oom", "device_free": 77, "size": 1 << 40, "stream": 0, "frames": frames,
        "time_us": allocator.trace[-1]["time_us"] + 5,
    })  # fmt: skip
    snapshot = parse_cuda_snapshot(allocator.dump())
    (failed,) = analyze_snapshot(snapshot)[0].out_of_memory
    assert (failed.requested_bytes, failed.free_bytes, failed.call) == (1 << 40, 77, 2)
    assert describe_user_frame(snapshot.stacks[failed.stack]) == "<module> /home/me/train.py:20"


@pytest.mark.parametrize("category", sorted(STACKS))
def test_category_follows_from_the_stack(category: str) -> None:
    stack = [StackFrame(*frame) for frame in STACKS[category]]
    assert classify_stack(stack).name.lower() == category


def test_recomputed_activations_are_no_gradients() -> None:
    stack = [
        StackFrame("forward", "/x/site-packages/torch/nn/modules/linear.py", 5),
        StackFrame("unpack_hook", "/x/site-packages/torch/utils/checkpoint.py", 900),
        StackFrame("torch::autograd::Engine::evaluate_function", "??", 0),
    ]
    assert classify_stack(stack) is MemoryCategory.ACTIVATIONS


def read_real(name: str) -> tuple[bytes, dict[str, int]]:
    data = lzma.decompress((DATA / f"{name}.pickle.xz").read_bytes())
    facts: dict[str, int] = json.loads((DATA / f"{name}.json").read_text())
    return data, facts


def test_snapshot_of_a_gpu_equals_the_statistics_of_pytorch() -> None:
    """PyTorch counts the same on its own: see `capture.py`."""
    data, facts = read_real("torch_memory_snapshot")
    device = analyze(data)
    assert device.in_use_bytes[device.peak] == facts["requested_bytes.all.peak"]
    assert device.in_use_bytes[-1] == facts["requested_bytes.all.current"]
    assert device.reserved_bytes[-1] == facts["reserved_bytes.all.current"]
    assert device.reserved_bytes.max() == facts["reserved_bytes.all.peak"]
    memory = device.fragmentation
    assert memory.active_bytes == facts["active_bytes.all.current"]
    assert memory.requested_bytes == facts["requested_bytes.all.current"]
    assert memory.split_free_bytes == facts["inactive_split_bytes.all.current"]
    at_peak = device.category_bytes[device.peak]
    assert at_peak[MemoryCategory.WEIGHTS] == facts["params"]
    assert at_peak[MemoryCategory.OPTIMIZER] >= facts["state"]
    assert (np.diff(device.ms) >= 0).all() and device.has_times


def test_real_snapshot_equals_what_pickle_reads() -> None:
    data, _ = read_real("torch_memory_snapshot")
    expected = pickle.loads(data)
    snapshot = parse_cuda_snapshot(data)
    assert [call.address for call in snapshot.calls[0]] == [
        entry.get("addr", 0) for entry in expected["device_traces"][0]
    ]
    assert [
        (block.address, block.size, block.state)
        for segment in snapshot.segments
        for block in segment.blocks
    ] == [
        (block["address"], block["size"], block["state"])
        for segment in expected["segments"]
        for block in segment["blocks"]
    ]
