"""Collectives: sizes, bandwidth, overlap and ranks, recomputed from the raw events."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import DATA
from tests.analysis.profiles.trace_builder import DEVICE, EventSpec, make_trace
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.communication import (
    RankTrace,
    compare_ranks,
    get_bus_factor,
    group_collectives,
    list_collectives,
    measure_communication,
)

NCCL = DATA / "nccl.pt.trace.json.gz"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ALL_GATHER = "ncclDevKernel_AllGather_NVLS_SIMPLE(x)"


def read_kernels() -> list[dict[str, Any]]:
    events = json.loads(gzip.decompress(NCCL.read_bytes()))["traceEvents"]
    return [event for event in events if event.get("cat") == "kernel"]


def sweep(kernels: list[dict[str, Any]]) -> tuple[float, float]:
    """Return for how many us any collective ran, and how much of it beside another kernel."""
    edges = sorted(
        edge
        for it in kernels
        for is_nccl in [it["name"].startswith("nccl")]
        for edge in ((it["ts"], 1, is_nccl), (it["ts"] + it["dur"], -1, is_nccl))
    )
    running = {True: 0, False: 0}
    total = overlapped = 0.0
    for (time, change, is_nccl), (following, _, _) in pairwise(edges):
        running[is_nccl] += change
        if running[True]:
            total += following - time
            overlapped += following - time if running[False] else 0.0
    return total, overlapped


def test_collectives_of_a_real_capture_equal_its_events() -> None:
    raw = [event for event in read_kernels() if event["name"].startswith("nccl")]
    collectives = list_collectives(open_capture(NCCL))
    assert len(collectives) == len(raw) == 21
    raw.sort(key=lambda event: event["ts"])
    for at, event in enumerate(raw):
        args = event["args"]
        assert collectives.kind[at].replace("_", "") == args["Collective name"]
        type_bytes = {"Float": 4, "Long": 8}[args["dtype"]]
        assert collectives.bytes[at] == type_bytes * args["In msg nelems"]
        assert collectives.group_size[at] == args["Group size"] == 2
        assert collectives.algorithm[at] == "RING" and collectives.protocol[at] == "LL"
        assert collectives.duration_ps[at] == pytest.approx(event["dur"] * 1e6, abs=2)


def test_overlap_of_a_real_capture_equals_a_sweep_over_its_events() -> None:
    total_us, overlapped_us = sweep(read_kernels())
    (device,) = measure_communication(open_capture(NCCL))
    assert device.total_ps / 1e6 == pytest.approx(total_us, abs=0.1)
    assert device.overlapped_ps / 1e6 == pytest.approx(overlapped_us, abs=1)
    assert 0 < device.exposed_ps < device.total_ps


def test_bandwidths_are_those_of_nccl_tests() -> None:
    args = {
        "collective": "allreduce", "in_elements": 1 << 20, "out_elements": 1 << 20,
        "element_type": "BFloat16", "group_size": 8, "process_group": "0",
    }  # fmt: skip
    trace = make_trace(
        EventSpec(DEVICE, ALL_REDUCE, 0, 100, args),
        EventSpec(DEVICE, ALL_REDUCE, 200, 250, args),
    )
    (group,) = group_collectives(list_collectives(trace))
    assert (group.kind, group.occurrences, group.bytes) == ("all_reduce", 2, 2 << 20)
    assert group.algorithm_bytes_per_s == pytest.approx(2 * (2 << 20) / 150e-6)
    assert group.bus_bytes_per_s == pytest.approx(group.algorithm_bytes_per_s * 2 * 7 / 8)
    assert group.best_bus_bytes_per_s == pytest.approx((2 << 20) / 50e-6 * 2 * 7 / 8)


@pytest.mark.parametrize(
    ("kind", "factor"),
    [("all_reduce", 1.5), ("all_gather", 0.75), ("reduce_scatter", 0.75), ("broadcast", 1.0)],
)
def test_bus_factor(kind: str, factor: float) -> None:
    assert get_bus_factor(kind, 4) == factor


def test_unknown_sizes_stay_unknown() -> None:
    trace = make_trace(EventSpec(DEVICE, ALL_GATHER, 0, 10))
    (group,) = group_collectives(list_collectives(trace))
    assert (group.kind, group.algorithm, group.protocol) == ("all_gather", "NVLS", "SIMPLE")
    assert np.isnan(group.bytes) and np.isnan(group.bus_bytes_per_s) and group.group_size == 0


def test_only_kernels_hide_communication() -> None:
    trace = make_trace(
        EventSpec(DEVICE, ALL_REDUCE, 0, 100),
        EventSpec(DEVICE, "gemm", 20, 60),
        EventSpec(DEVICE, "gemm", 50, 70),
        EventSpec(DEVICE, "MemcpyD2D", 70, 90),
    )
    (device,) = measure_communication(trace)
    assert (device.total_ps, device.overlapped_ps) == (100_000_000, 50_000_000)
    assert list_collectives(trace).exposed_ps.tolist() == [50_000_000]


def make_rank(rank: int, starts: list[float], end: list[float], start_ns: int) -> RankTrace:
    events = [
        EventSpec(DEVICE, ALL_REDUCE, start, stop) for start, stop in zip(starts, end, strict=True)
    ]
    return RankTrace(rank, start_ns, list_collectives(make_trace(*events)))


def test_ranks_wait_for_the_last_one() -> None:
    """Three collectives; rank 1 is late by 30, 0 and 50 us, and its clock by 2 ms."""
    first = make_rank(0, [0, 100, 200], [50, 120, 270], 1_000_000)
    second = make_rank(1, [30, 100, 250], [50, 120, 270], 3_000_000)
    comparison = compare_ranks([second, first])
    assert comparison.matched == 3
    one, other = comparison.ranks
    assert (one.rank, other.rank) == (0, 1)
    assert (one.offset_ps, other.offset_ps) == (0, -2_000_000_000)
    assert (one.wait_ps / 1e6).tolist() == [30, 0, 50]
    assert (other.wait_ps / 1e6).tolist() == [0, 0, 0]
    assert (one.total_wait_ps, one.transfer_ps) == (80_000_000, 60_000_000)
    assert other.is_last.tolist() == [True, True, True]
    assert one.is_last.tolist() == [False, True, False]
    assert (one.end_ps == other.end_ps).all()


def test_single_rank_and_none() -> None:
    assert compare_ranks([]).ranks == []
    comparison = compare_ranks([make_rank(3, [5], [9], 7)])
    assert comparison.matched == 0 and comparison.ranks[0].wait_ps.tolist() == [-1]
    assert comparison.ranks[0].start_ps.tolist() == [0]
