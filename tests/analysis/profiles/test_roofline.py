"""Costs of ops and peak rates of devices."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.profiles.sample_captures import DATA, open_file, read_case
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.kernels import measure_precision
from tracklight.analysis.profiles.ops import OpSide
from tracklight.analysis.profiles.profile_data import AnalyzedTrace
from tracklight.analysis.profiles.roofline import (
    PrecisionRate,
    RooflinePoint,
    combine_peaks,
    estimate_torch_cost,
    find_peak_rates,
    measure_flops,
)
from tracklight.analysis.profiles.trace import Device, Trace
from tracklight.analysis.profiles.xla_programs import allows_tf32


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


#: FLOPs of the matrix products in the capture of FP8.
FLOPS = 2.0 * 4096**3
SCALED_MM, MM = "aten::_scaled_mm", "aten::mm"
#: The input types, and a part of the name of the kernel, of matrix products in other precisions.
OTHER_TYPES = {
    "fp4": ("c10::Float4_e2m1fn_x2", "gemm"),
    "fp16": ("c10::BFloat16", "nvjet_sm90_tst_128x128"),
    "tf32": ("float", "sm80_xmma_gemm_f32f32_tf32f32"),
    "fp32": ("float", "sm80_xmma_gemm_f32f32_f32f32_f32"),
    "fp64": ("double", "cutlass_80_tensorop_d884gemm"),
    "unknown": ("signed char", "gemm_int8"),
}


def _write_capture(path: Path, other: str, calls: int, device: str = "NVIDIA H200") -> Trace:
    """Open the capture of FP8 with the first calls in another precision."""
    content = json.loads(gzip.decompress((DATA / "torch_fp8.pt.trace.json.gz").read_bytes()))
    content["deviceProperties"][0]["name"] = device
    type, kernel = OTHER_TYPES[other]
    events: list[dict[str, Any]] = content["traceEvents"]
    products = [event for event in events if event["name"] == SCALED_MM][:calls]
    ids = {event["args"]["External id"] for event in products}
    for event in events:
        if event.get("args", {}).get("External id") not in ids:
            continue
        if event["name"] == SCALED_MM:
            event["name"] = SCALED_MM if other == "fp4" else MM
            event["args"]["Input type"] = [type, type]
        elif event.get("cat") == "kernel":
            event["name"] = kernel
    path.write_text(json.dumps(content), encoding="utf-8")
    return open_capture(path)


def test_fp8_is_compared_with_the_peak_of_fp8() -> None:
    use = AnalyzedTrace(open_file("torch_fp8.pt.trace.json.gz")).utilization
    assert use is not None and use.precision == "fp8"
    assert use.peak_flops_per_s == 1979e12
    assert 989e12 < use.flops_per_s < use.peak_flops_per_s
    assert [each.precision for each in use.precisions] == ["fp8"]


@pytest.mark.parametrize(
    ("other", "peak"), [("fp16", 989e12), ("tf32", 495e12), ("fp32", 67e12), ("fp64", 67e12)]
)
def test_each_precision_has_its_own_peak(tmp_path: Path, other: str, peak: float) -> None:
    use = AnalyzedTrace(_write_capture(tmp_path / "mixed.pt.trace.json", other, 6)).utilization
    assert use is not None and use.precision == "fp8"
    window_s = use.window_ms / 1e3
    wide, narrow = sorted(use.precisions, key=lambda each: each.flops_per_s)
    assert (wide.precision, wide.peak_flops_per_s) == (other, peak)
    assert (narrow.precision, narrow.peak_flops_per_s) == ("fp8", 1979e12)
    assert wide.flops_per_s == pytest.approx(6 * FLOPS / window_s)
    assert narrow.flops_per_s == pytest.approx(15 * FLOPS / window_s)
    # At the peaks it would take this long, which is the share of the time of the capture.
    fastest_s = 15 * FLOPS / 1979e12 + 6 * FLOPS / peak
    assert use.peak_flops_per_s is not None
    assert use.flops_per_s / use.peak_flops_per_s == pytest.approx(fastest_s / window_s)


def test_tf32_is_told_by_the_names_of_kernels() -> None:
    """PyTorch uses TF32 in convolutions, unless they are small, and not in matrix products."""
    use = AnalyzedTrace(open_file("tgpu.pt.trace.json.gz")).utilization
    assert use is not None
    tf32, fp32 = use.precisions
    assert (tf32.precision, tf32.peak_flops_per_s) == ("tf32", 495e12)
    assert (fp32.precision, fp32.peak_flops_per_s) == ("fp32", 67e12)
    # Three steps: the first convolution, the linear layer and its two gradients.
    flops = 3 * 2 * (32 * 32 * 64 * 64 * 27 + 3 * 32 * 4096 * 10)
    assert fp32.flops_per_s == pytest.approx(flops / use.window_ms * 1e3)


def test_products_of_xla_in_32_bits_are_in_tf32_by_default() -> None:
    """One of them is faster than the device in FP32."""
    analyzed = AnalyzedTrace(open_file("jax_f32.xplane.pb"))
    use = analyzed.utilization
    assert use is not None and use.precision == "tf32" and use.peak_flops_per_s == 495e12
    fastest = max(point.flops / (point.self_ps / 1e12) for point in analyzed.roofline_points)
    assert 67e12 < fastest < 495e12
    ref = next(ref for ref in analyzed.instructions.instructions if allows_tf32(*ref))
    assert ref.instruction.name.startswith("gemm_fusion_dot")
    before_ampere = measure_flops(
        analyzed.trace,
        analyzed.event_ops,
        analyzed.instructions,
        analyzed.roofline_points,
        has_tf32=False,
    )
    assert [*before_ampere] == ["fp32"]


@pytest.mark.parametrize("other", ["fp4", "unknown"])
def test_peak_of_a_mix_is_unknown_if_one_is(tmp_path: Path, other: str) -> None:
    """An H200 has no units for FP4, and integers are no FLOPs."""
    use = AnalyzedTrace(_write_capture(tmp_path / "mixed.pt.trace.json", other, 6)).utilization
    assert use is not None and use.peak_flops_per_s is None
    peaks = {each.precision: each.peak_flops_per_s for each in use.precisions}
    assert peaks == {"fp8": 1979e12, other: None}


def test_peak_in_fp8_is_unknown_if_the_device_has_none(tmp_path: Path) -> None:
    capture = _write_capture(tmp_path / "a.pt.trace.json", "fp16", 0, "NVIDIA A100-SXM4-80GB")
    use = AnalyzedTrace(capture).utilization
    assert use is not None and use.peak_flops_per_s is None and use.peak_bytes_per_s == 2.04e12


def test_time_in_eight_bits_is_a_part_of_low_precision(tmp_path: Path) -> None:
    precision = measure_precision(open_file("torch_fp8.pt.trace.json.gz"))
    assert precision.byte_ps == precision.low_ps == pytest.approx(2_027.48e6)
    precision = measure_precision(_write_capture(tmp_path / "a.pt.trace.json", "fp16", 20))
    assert 0 < precision.byte_ps < precision.low_ps / 10


def test_peaks_are_combined_by_the_time_at_each() -> None:
    parts = [PrecisionRate("fp8", 2.0, 4.0), PrecisionRate("fp16", 1.0, 2.0)]
    assert combine_peaks(parts) == 3.0
    assert combine_peaks(parts[:1]) == 4.0
    assert combine_peaks([*parts, PrecisionRate("unknown", 1.0, None)]) is None


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
    assert rates is not None and rates.is_estimate and rates.bytes_per_s == 1e12
    assert (rates.fp32, rates.tf32, rates.fp16) == (25.6e12, 204.8e12, 409.6e12)
    assert rates.fp8 == 2 * rates.fp16
    old = find_peak_rates(Device("Some Device", 100, 1e9, 1e12, 0, (8, 0)))
    assert old is not None and old.fp8 == 0
    assert find_peak_rates(Device("Some Device")) is None
    assert find_peak_rates(Device("NVIDIA T400", 10, 0.0, 0.0, 0, (7, 5))) is None
