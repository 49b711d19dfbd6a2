"""Every number of the overview, recomputed from the raw events of each capture.

``TRACKLIGHT_CORPUS=directory`` adds the captures that are too large for the repository.
"""

from __future__ import annotations

from math import isnan
from statistics import mean, median, stdev

import pytest

from tests.analysis.profiles.raw_captures import PARTS, is_work, measure_union
from tests.analysis.profiles.raw_ops import (
    OpTable,
    RawOp,
    list_device_ops,
    list_host_ops,
    list_torch_ops,
    read_programs,
    sum_graph_costs,
)
from tests.analysis.profiles.raw_steps import (
    CAPTURES,
    CUDA_GRAPHS,
    EIGHT_BITS,
    cover,
    divide_steps,
    get_path,
    get_raw_steps,
    load,
    load_raw,
)
from tracklight.analysis.profiles.trace import PS_PER_MS


@pytest.mark.parametrize("name", CAPTURES)
def test_steps_and_parts(name: str) -> None:
    summary, events, steps = load(name).summary, load_raw(name), get_raw_steps(name)
    assert summary.events == len(events)
    span_ps = max(e.end_ps for e in events) - min(e.start_ps for e in events)
    assert summary.span_ms == pytest.approx(span_ps / PS_PER_MS)
    durations = [(end - start) / PS_PER_MS for start, end in steps.spans[steps.averaged]]
    assert (summary.steps.count, summary.steps.averaged) == (len(steps.spans), len(durations))
    times = summary.steps
    assert times.mean_ms == pytest.approx(mean(durations), abs=2e-6)
    assert times.median_ms == pytest.approx(median(durations), abs=2e-6)
    assert times.min_ms == pytest.approx(min(durations), abs=2e-6)
    assert times.max_ms == pytest.approx(max(durations), abs=2e-6)
    assert times.std_ms == pytest.approx(stdev(durations) if durations[1:] else 0, abs=2e-6)

    divided = divide_steps(name)
    for part in summary.parts:
        expected = mean(time[part.name] / PS_PER_MS for time in divided)
        assert part.ms == pytest.approx(expected, rel=1e-4, abs=2e-5), part.name
        assert part.share == pytest.approx(expected / steps.step_ms, rel=1e-3, abs=1e-4), part.name
    assert {part.name for part in summary.parts} == {*PARTS, "other"}


@pytest.mark.parametrize("name", CAPTURES)
def test_devices(name: str) -> None:
    summary, events, steps = load(name).summary, load_raw(name), get_raw_steps(name)
    busy = [(event.start_ps, event.end_ps) for event in events if is_work(event)]
    if not busy:
        assert summary.devices == [] and summary.overlap is None
        return
    (device,) = summary.devices
    busy_ms = steps.average_ms(cover(busy, steps.spans))
    assert device.busy_ms == pytest.approx(busy_ms, rel=1e-6, abs=2e-5)
    assert device.busy_ms + device.idle_ms == pytest.approx(steps.step_ms, rel=1e-6, abs=2e-5)
    first, last = min(start for start, _ in busy), max(end for _, end in busy)
    assert device.total_ms == pytest.approx(measure_union(busy, first, last) / PS_PER_MS, abs=1e-4)
    in_steps = {id(event) for launched in steps.work for event in launched}
    outside = [
        (event.start_ps, event.end_ps)
        for event in events
        if is_work(event) and id(event) not in in_steps
    ]
    outside_ms = measure_union(outside, first, last) / PS_PER_MS
    assert device.outside_ms == pytest.approx(outside_ms, abs=1e-4)
    assert summary.overlap is not None
    assert summary.overlap.device_ms == pytest.approx(busy_ms, rel=1e-6, abs=2e-5)


def list_expected_ops(name: str) -> OpTable:
    events = load_raw(name)
    if ".json" in get_path(name).name:
        return list_torch_ops(events)
    table = list_host_ops(events)
    table.update(list_device_ops(events, read_programs(get_path(name))))
    return table


def list_op_rows(name: str) -> dict[tuple[str, str], RawOp]:
    """Return the op table; ops of one name and different types are one row."""
    rows: dict[tuple[str, str], RawOp] = {}
    for row in load(name).ops.to_records():
        if row["side"] == "python":
            continue
        op = rows.setdefault((row["name"], row["side"]), RawOp(cost=(0.0, 0.0)))
        op.count += row["count"]
        op.total_ps += round(row["total_ms"] * PS_PER_MS)
        op.self_ps += round(row["self_ms"] * PS_PER_MS)
        assert op.cost
        op.cost = op.cost[0] + row["flops"], op.cost[1] + row["bytes"]
    return rows


@pytest.mark.parametrize("name", [name for name in CAPTURES if name not in CUDA_GRAPHS])
def test_ops(name: str) -> None:
    found, expected = list_op_rows(name), list_expected_ops(name)
    assert found.keys() == {key for key, row in expected.items() if row.count}
    for key, row in found.items():
        own = expected[key]
        assert row.count == own.count, key
        assert row.total_ps == pytest.approx(own.total_ps, rel=1e-6, abs=2e4), key
        assert row.self_ps == pytest.approx(own.self_ps, rel=1e-6, abs=2e4), key


@pytest.mark.parametrize("name", CAPTURES)
def test_placement_and_top_ops(name: str) -> None:
    """The sums of both sides, and the shares of the ops that the overview lists."""
    summary, expected = load(name).summary, list_expected_ops(name)
    placement = summary.placement
    sums = {
        side: sum(row.self_ps for (_, at), row in expected.items() if at == side) / PS_PER_MS
        for side in ("host", "device")
    }
    assert placement.host_ms == pytest.approx(sums["host"], rel=1e-6, abs=1e-4)
    assert placement.device_ms == pytest.approx(sums["device"], rel=1e-6, abs=1e-4)
    for op in summary.ops:
        if sums[op.side]:
            assert op.share == pytest.approx(op.self_ms / sums[op.side], rel=1e-6, abs=1e-9)
    if name not in CUDA_GRAPHS:
        counts = {
            side: sum(row.count for (_, at), row in expected.items() if at == side)
            for side in ("host", "device")
        }
        assert (placement.host_ops, placement.device_ops) == (counts["host"], counts["device"])


#: FLOP/s of an H200 by precision and its memory bandwidth, by the data sheet.
H200 = {"fp32": 67e12, "tf32": 495e12, "fp16": 989e12, "fp8": 1979e12}
H200_BYTES_PER_S = 4.8e12
#: Of captures in several precisions. By default, PyTorch uses TF32 in convolutions only.
PRECISIONS = {"jax_gpu": ["fp16", "tf32"], "tgpu": ["tf32", "fp32"]}


@pytest.mark.parametrize("name", [*CAPTURES, EIGHT_BITS])
def test_achieved_rates(name: str) -> None:
    """FLOP/s, memory bandwidth and their shares of the peak of the device."""
    use, events = load(name).utilization, load_raw(name)
    work = [event for event in events if is_work(event)]
    work_ps = sum(event.end_ps - event.start_ps for event in work)
    known = [
        (*op.cost, op.self_ps)
        for (_, side), op in list_expected_ops(name).items()
        if side == "device" and op.cost and not isnan(op.cost[0])
    ]
    if name in CUDA_GRAPHS:
        known = [sum_graph_costs(events, read_programs(get_path(name)))]
    if not work or not known:
        assert use is None
        return
    assert use is not None
    window_s = (max(e.end_ps for e in work) - min(e.start_ps for e in work)) / 1e12
    assert use.window_ms == pytest.approx(1e3 * window_s)
    assert use.devices == 1
    flops, moved, known_ps = (sum(column) for column in zip(*known, strict=True))
    assert use.flops_per_s == pytest.approx(flops / window_s, rel=1e-6)
    assert use.bytes_per_s == pytest.approx(moved / window_s, rel=1e-6)
    # Short kernels of a graph may belong to no instruction.
    tolerance = 1e-3 if name in CUDA_GRAPHS else 1e-5
    assert use.known_share == pytest.approx(known_ps / work_ps, rel=tolerance)
    assert [each.precision for each in use.precisions] == PRECISIONS.get(name, [use.precision])
    assert sum(each.flops_per_s for each in use.precisions) == pytest.approx(use.flops_per_s)
    at_peak = sum(each.flops_per_s / H200[each.precision] for each in use.precisions)
    assert use.peak_flops_per_s == pytest.approx(use.flops_per_s / at_peak)
    assert use.peak_bytes_per_s == pytest.approx(H200_BYTES_PER_S, rel=0.02)
