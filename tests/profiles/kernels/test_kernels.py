"""Kernels of captures of a real device, and which of them use its tensor cores."""

from __future__ import annotations

from math import isnan

import pytest

from tests.profiles.captured import open_file, read_case
from tracklight.profiles.kernels.kernels import Kernel, find_kernels
from tracklight.profiles.kernels.tensor_cores import Use, find_use, is_eligible
from tracklight.profiles.ops.naming import name_ops
from tracklight.profiles.program.program import place_events, read_programs


def _find(name: str) -> list[Kernel]:
    trace = open_file(name)
    placement = place_events(trace, read_programs(trace))
    return find_kernels(trace, name_ops(trace, placement), placement)


def test_how_a_kernel_was_launched_is_read_from_xla() -> None:
    kernel = next(each for each in _find("jax_bf16.xplane.pb") if each.name == "gemm_fusion_dot_1")
    assert kernel.op == ("gemm_fusion_dot.1", "matrix product")
    assert kernel.launch == ((256, 1, 1), (128, 1, 1), 106, 65584, 18.75)
    assert (kernel.count, kernel.launch.blocks) == (4, 256)
    assert kernel.min_ps <= kernel.total_ps / 4 <= kernel.max_ps


def test_how_a_kernel_was_launched_is_read_from_torch() -> None:
    trace = open_file("tgpu.pt.trace.json.gz")
    kernels = _find("tgpu.pt.trace.json.gz")
    (kernel,) = [each for each in kernels if "sgemm_largek" in each.name]
    assert kernel.op.type == "aten::addmm"
    assert kernel.launch == ((1, 1, 10), (16, 16, 1), 32, 4356, 1.0)
    assert sum(each.total_ps for each in kernels) == (
        trace.duration_ps[trace.find_categories("kernel")].sum()
    )


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("torch_f32.pt.trace.json.gz", {Use.NO}),
        ("torch_bf16.pt.trace.json.gz", {Use.YES}),
        ("jax_bf16.xplane.pb", {Use.YES}),
        # Triton may round 32 bits down and says nowhere whether it does.
        ("jax_f32.xplane.pb", {Use.UNKNOWN}),
    ],
)
def test_products_of_16_bits_use_tensor_cores(name: str, uses: set[Use]) -> None:
    eligible = [kernel for kernel in _find(name) if kernel.is_eligible]
    assert {kernel.tensor_cores for kernel in eligible} == uses
    if Use.YES in uses:
        ran = sum(each.total_ps for each in eligible if each.tensor_cores == Use.YES)
        assert ran > 0.8 * sum(each.total_ps for each in eligible)


@pytest.mark.parametrize(
    ("kernel", "use"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x256x32_cublas", Use.YES),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchw_ffma_cudnn", Use.NO),
        ("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT", Use.YES),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", Use.YES),
        ("volta_sgemm_128x64_nn", Use.NO),
        ("void at::native::vectorized_elementwise_kernel<4>", Use.NO),
        ("my_own_gemm", Use.UNKNOWN),
    ],
)
def test_names_tell_what_they_can(kernel: str, use: Use) -> None:
    assert find_use(kernel, "aten::mm") == use


def test_only_products_are_eligible() -> None:
    assert all(
        map(is_eligible, ("aten::addmm", "_FusedMatMul", "Conv2DBackpropInput", "convolution"))
    )
    assert not any(map(is_eligible, ("aten::add", "Relu", "elementwise", "", "aten::_convert")))


def test_a_capture_of_a_host_has_no_kernels() -> None:
    trace = read_case("cnn")
    assert find_kernels(trace, name_ops(trace)) == []


def test_what_nobody_says_is_not_known() -> None:
    trace = open_file("torch_overlap.pt.trace.json.gz")
    kernels = find_kernels(trace, name_ops(trace))
    assert kernels and all(isnan(k.launch.occupancy) or k.launch.occupancy >= 0 for k in kernels)
