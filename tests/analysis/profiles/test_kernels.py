"""Kernels in captures of a real device, and their use of tensor cores."""

from __future__ import annotations

from math import isnan

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.kernels import (
    KernelStats,
    TensorCoreUse,
    detect_tensor_core_use,
    is_tensor_core_op,
    list_kernels,
)
from tracklight.analysis.profiles.ops import assign_ops
from tracklight.analysis.profiles.xla_programs import list_programs, map_instructions


def _list_kernels(name: str) -> list[KernelStats]:
    trace = open_file(name)
    instructions = map_instructions(trace, list_programs(trace))
    return list_kernels(trace, assign_ops(trace, instructions), instructions)


def test_reads_launch_config_from_xplane() -> None:
    kernel = next(
        each for each in _list_kernels("jax_bf16.xplane.pb") if each.name == "gemm_fusion_dot_1"
    )
    assert kernel.op == ("gemm_fusion_dot.1", "matrix product")
    assert kernel.launch == ((256, 1, 1), (128, 1, 1), 106, 65584, 18.75)
    assert (kernel.count, kernel.launch.blocks) == (4, 256)
    assert kernel.min_ps <= kernel.total_ps / 4 <= kernel.max_ps


def test_reads_launch_config_from_torch_trace() -> None:
    trace = open_file("tgpu.pt.trace.json.gz")
    kernels = _list_kernels("tgpu.pt.trace.json.gz")
    (kernel,) = [each for each in kernels if "sgemm_largek" in each.name]
    assert kernel.op.type == "aten::addmm"
    assert kernel.launch == ((1, 1, 10), (16, 16, 1), 32, 4356, 1.0)
    assert sum(each.total_ps for each in kernels) == (
        trace.duration_ps[trace.match_categories("kernel")].sum()
    )


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("torch_f32.pt.trace.json.gz", {TensorCoreUse.NO}),
        ("torch_bf16.pt.trace.json.gz", {TensorCoreUse.YES}),
        ("jax_bf16.xplane.pb", {TensorCoreUse.YES}),
        # Triton may use TF32, but does not record whether it does.
        ("jax_f32.xplane.pb", {TensorCoreUse.UNKNOWN}),
    ],
)
def test_detects_tensor_core_use_by_precision(name: str, uses: set[TensorCoreUse]) -> None:
    eligible = [kernel for kernel in _list_kernels(name) if kernel.is_eligible]
    assert {kernel.tensor_cores for kernel in eligible} == uses
    if TensorCoreUse.YES in uses:
        used_ps = sum(each.total_ps for each in eligible if each.tensor_cores == TensorCoreUse.YES)
        assert used_ps > 0.8 * sum(each.total_ps for each in eligible)


@pytest.mark.parametrize(
    ("kernel", "use"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x256x32_cublas", TensorCoreUse.YES),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchw_ffma_cudnn", TensorCoreUse.NO),
        ("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT", TensorCoreUse.YES),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", TensorCoreUse.YES),
        ("volta_sgemm_128x64_nn", TensorCoreUse.NO),
        ("void at::native::vectorized_elementwise_kernel<4>", TensorCoreUse.NO),
        ("my_own_gemm", TensorCoreUse.UNKNOWN),
    ],
)
def test_detects_tensor_core_use_by_kernel_name(kernel: str, use: TensorCoreUse) -> None:
    assert detect_tensor_core_use(kernel, "aten::mm") == use


def test_only_matmuls_and_convolutions_are_eligible() -> None:
    assert all(
        map(
            is_tensor_core_op, ("aten::addmm", "_FusedMatMul", "Conv2DBackpropInput", "convolution")
        )
    )
    assert not any(
        map(is_tensor_core_op, ("aten::add", "Relu", "elementwise", "", "aten::_convert"))
    )


def test_cpu_capture_has_no_kernels() -> None:
    trace = read_case("cnn")
    assert list_kernels(trace, assign_ops(trace)) == []


def test_missing_occupancy_is_nan() -> None:
    trace = open_file("torch_overlap.pt.trace.json.gz")
    kernels = list_kernels(trace, assign_ops(trace))
    assert kernels and all(isnan(k.launch.occupancy) or k.launch.occupancy >= 0 for k in kernels)


def test_setting_up_a_workspace_uses_no_tensor_cores() -> None:
    name = "void cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace<0>(int*)"
    assert detect_tensor_core_use(name, "convolution") == TensorCoreUse.NO
