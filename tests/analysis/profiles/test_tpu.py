"""Captures of TPUs, whose lines describe the same time as steps, modules and ops."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.xspace_builder import LineEvent, PlaneBuilder, make_tpu_space
from tracklight.analysis.profiles.captures import parse_xplane
from tracklight.analysis.profiles.findings.summary import ProfileSummary, summarize
from tracklight.analysis.profiles.ops import OpSide, compute_op_stats

STEPS = 10


def get_parts(summary: ProfileSummary) -> dict[str, float]:
    return {part.name: part.ms for part in summary.parts if part.ms}


def test_only_ops_keep_a_tpu_busy() -> None:
    """Each step of 10 ms has ops for 6 ms; the steps themselves are no work.

    xprof 2.24 reports steps of 10 ms and 36 ms of idle time between the first and the last op.
    """
    summary = summarize(parse_xplane(make_tpu_space(STEPS)))
    assert (summary.step_rule.text, summary.steps.count) == (
        "steps recorded by the device",
        STEPS,
    )
    assert summary.steps.mean_ms == pytest.approx(10)
    (device,) = summary.devices
    assert (device.name, device.busy_ms, device.idle_ms) == ("TPU 0", 6, 4)
    assert (device.total_ms, device.outside_ms) == (6 * STEPS, 0)
    assert get_parts(summary) == pytest.approx({"device_compute": 5, "collectives": 1, "other": 4})


def test_loops_do_not_hide_the_collectives_in_them() -> None:
    plane = PlaneBuilder("/device:TPU:0", {})
    plane.add_line(1, "Steps", [LineEvent(str(at), at * 10, at * 10 + 10) for at in range(3)])
    ops = []
    for start in (0, 10, 20):
        ops += [
            LineEvent("%while.1 = while(%a)", start, start + 10),
            LineEvent("%fusion.2 = fusion(%b)", start, start + 6),
            LineEvent("%all-reduce.3 = all-reduce(%c)", start + 6, start + 9),
        ]
    plane.add_line(2, "XLA Ops", ops)
    summary = summarize(parse_xplane(plane.build()))
    assert get_parts(summary) == pytest.approx(
        {"device_compute": 0.006, "collectives": 0.003, "other": 0.001}
    )
    assert summary.devices[0].busy_ms == pytest.approx(0.01)


def test_ops_of_a_tpu_have_self_times_and_categories() -> None:
    stats = compute_op_stats(parse_xplane(make_tpu_space(STEPS)))
    rows = {
        (op.name, op.type): (int(count), total / 1e9, own / 1e9)
        for op, side, count, total, own in zip(
            stats.ops, stats.sides, stats.counts, stats.total_ps, stats.self_ps, strict=True
        )
        if side == OpSide.DEVICE
    }
    assert rows == {
        ("fusion.2", "loop fusion"): (20, 30, 30),
        ("while.1", "while"): (10, 40, 10),
        ("all-reduce.3", "all-reduce"): (10, 10, 10),
        ("convolution.4", "convolution"): (10, 10, 10),
    }
    # From the start of the first op to the end of the last one.
    assert stats.idle_ps[OpSide.DEVICE] == 9 * 4_000_000_000


def test_without_ops_modules_keep_a_tpu_busy() -> None:
    plane = PlaneBuilder("/device:TPU:0", {})
    plane.add_line(1, "Steps", [LineEvent(str(at), at * 10, at * 10 + 10) for at in range(3)])
    plane.add_line(2, "XLA Modules", [LineEvent("m", at * 10, at * 10 + 7) for at in range(3)])
    (device,) = summarize(parse_xplane(plane.build())).devices
    assert (device.busy_ms, device.idle_ms) == pytest.approx((0.007, 0.003))
