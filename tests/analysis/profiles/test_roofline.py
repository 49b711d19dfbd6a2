"""Costs of ops and peak rates of devices."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.kernels import Precision
from tracklight.analysis.profiles.ops import OpSide
from tracklight.analysis.profiles.roofline import (
    RooflinePoint,
    choose_peak_precision,
    estimate_torch_cost,
    find_peak_rates,
)
from tracklight.analysis.profiles.tables.analyzed import AnalyzedTrace
from tracklight.analysis.profiles.trace import Device, Trace


def _get_points(trace: Trace) -> dict[str, RooflinePoint]:
    return {point.op.name: point for point in AnalyzedTrace(trace).roofline_points}


def test_cost_of_torch_matmul_follows_from_input_shapes() -> None:
    point = _get_points(open_file("torch_f32.pt.trace.json.gz"))["aten::mm (1024x512, 512x1024)"]
    assert (point.side, point.call_count) == (OpSide.DEVICE, 4)
    assert point.flops == 4 * 2 * 1024 * 512 * 1024
    assert point.bytes == 4 * 4 * (1024 * 512 + 512 * 1024 + 1024 * 1024)


def test_bf16_matmul_exceeds_fp32_peak_rate() -> None:
    peaks = find_peak_rates(open_file("torch_bf16.pt.trace.json.gz").devices[0])
    assert peaks is not None
    rates = {
        name: point.flops / (point.self_ps / 1e12)
        for name, point in _get_points(open_file("torch_bf16.pt.trace.json.gz")).items()
    }
    assert peaks.fp32 < rates["aten::mm (1024x512, 512x1024)"] < peaks.fp16


def test_jax_instructions_are_below_the_roof() -> None:
    trace = open_file("jax_bf16.xplane.pb")
    peaks = find_peak_rates(trace.devices[0])
    assert peaks is not None and not peaks.is_estimate
    for point in _get_points(trace).values():
        assert 0 < point.flops / (point.self_ps / 1e12) < peaks.fp16


def test_host_ops_have_points_if_a_program_gives_their_cost() -> None:
    assert {point.side for point in _get_points(read_case("jit_steps")).values()} == {OpSide.HOST}
    assert _get_points(read_case("cnn")) == {}


def test_utilization_needs_a_device() -> None:
    assert AnalyzedTrace(open_file("tcpu.pt.trace.json.gz")).utilization is None


def test_peak_is_that_of_the_precision_used() -> None:
    assert choose_peak_precision(Precision(2, 1, 5), ["gemm_tf32"]) == "fp16"
    assert choose_peak_precision(Precision(0, 1, 0), ["sm80_tf32_gemm", "add"]) == "tf32"
    assert choose_peak_precision(Precision(0, 1, 0), ["sgemm"]) == "fp32"


@pytest.mark.parametrize(
    ("op", "dimensions", "flops"),
    [
        ("aten::addmm", "[[10], [32, 64], [64, 10], [], []]", 2 * 32 * 64 * 10),
        ("aten::bmm", "[[8, 4, 16], [8, 16, 2]]", 2 * 8 * 4 * 16 * 2),
        ("aten::convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [4]]", 2 * (2 * 4 * 64) * 27),
        ("aten::relu", "[[2, 3]]", 6),
        ("aten::copy_", "[[2, 3], [2, 3]]", 0),
    ],
)
def test_estimates_flops_of_torch_ops(op: str, dimensions: str, flops: int) -> None:
    cost = estimate_torch_cost(op, dimensions, '["float", "float", "float"]')
    assert cost is not None and cost.flops == flops


def test_item_sizes_belong_to_their_inputs() -> None:
    """The first input is a scalar, which has no shape."""
    cost = estimate_torch_cost("aten::pow", "[[], [2, 3]]", '["Scalar", "c10::Half"]')
    assert cost is not None and cost.bytes == 2 * 6 * 2


@pytest.mark.parametrize("dimensions", ["", "[]", "[[[1], [2]]]", "nothing", "[[1.5]]"])
def test_cost_is_unknown_without_shapes(dimensions: str) -> None:
    assert estimate_torch_cost("aten::mm", dimensions, '["float"]') is None


def test_measured_bandwidth_overrides_data_sheet() -> None:
    rates = find_peak_rates(Device("NVIDIA H200", 132, 1.98e9, 4.814e12, 0, (9, 0)))
    assert rates is not None and rates.bytes_per_s == 4.814e12 and rates.fp16 == 989e12


def test_estimates_peak_rates_of_unknown_device() -> None:
    rates = find_peak_rates(Device("Some Device", 100, 1e9, 1e12, 0, (9, 0)))
    assert rates == (25.6e12, 204.8e12, 409.6e12, 1e12, True)
    assert find_peak_rates(Device("Some Device")) is None
    assert find_peak_rates(Device("NVIDIA T400", 10, 0.0, 0.0, 0, (7, 5))) is None
