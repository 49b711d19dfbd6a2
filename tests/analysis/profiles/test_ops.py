"""Op statistics of real captures and of small traces with known results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import CASES, open_file, read_case
from tests.analysis.profiles.trace_builder import open_chrome
from tracklight.analysis.profiles.ops import OpSide, OpStats, compute_op_stats
from tracklight.analysis.profiles.xprof import compute_host_op_times


def _rows(ops: OpStats, side: OpSide) -> dict[str, tuple[str, int, float, float]]:
    return {
        op.name: (op.type, int(count), total / 1e6, self_ps / 1e6)
        for op, op_side, count, total, self_ps in zip(
            ops.ops, ops.sides, ops.counts, ops.total_ps, ops.self_ps, strict=True
        )
        if op_side == side
    }


@pytest.mark.parametrize("case", [case for case in CASES if case != "jit_steps"])
def test_host_ops_match_xprof(case: str) -> None:
    # xprof merges ops of the same name and different types; `OpStats` lists them separately.
    trace = read_case(case)
    expected = compute_host_op_times(trace).ops
    ops = compute_op_stats(trace)
    sums: dict[str, list[int]] = {}
    for op, side, count, total in zip(ops.ops, ops.sides, ops.counts, ops.total_ps, strict=True):
        if side == OpSide.HOST:
            op_sums = sums.setdefault(op.name, [0, 0])
            op_sums[0] += int(count)
            op_sums[1] += int(total)
    assert sums == {name: [each.count, each.total_ps] for name, each in expected.items()}


def test_type_of_xla_instruction_is_its_kind() -> None:
    host = _rows(compute_op_stats(read_case("jit_steps")), OpSide.HOST)
    assert host["MatMul.8"][:2] == ("matrix product", 6)
    assert host["convolution.1"][:2] == ("convolution", 6)
    assert host["wrapped_reduce-window.1"][:2] == ("reduction", 6)


def test_maps_cuda_graph_kernels_by_name() -> None:
    device = _rows(compute_op_stats(open_file("jax_bf16.xplane.pb")), OpSide.DEVICE)
    assert {name: row[:2] for name, row in device.items()} == {
        "gemm_fusion_dot.1": ("matrix product", 4),
        "gemm_fusion_dot": ("matrix product", 4),
        "loop_multiply_fusion": ("reduction", 4),
    }


def test_kernels_are_named_after_the_op_that_launched_them() -> None:
    ops = compute_op_stats(open_file("tgpu.pt.trace.json.gz"))
    host, device = _rows(ops, OpSide.HOST), _rows(ops, OpSide.DEVICE)
    name = "aten::convolution_backward (32x64x30x30, 32x32x62x62, 64x32x3x3)"
    # Each call launches seven kernels, two of them with the same name.
    assert host[name][:2] == device[name][:2] == ("aten::convolution_backward", 3)
    trace = open_file("tgpu.pt.trace.json.gz")
    on_device = trace.match_categories("kernel", "gpu_memcpy", "gpu_memset")
    assert sum(row[2] for row in device.values()) == pytest.approx(
        trace.duration_ps[on_device].sum() / 1e6
    )


def test_self_time_excludes_nested_ops(tmp_path: Path) -> None:
    trace = open_chrome(
        tmp_path / "a.pt.trace.json",
        [
            {"cat": "cpu_op", "name": "outer", "ts": 0, "dur": 10},
            {"cat": "cpu_op", "name": "inner", "ts": 2, "dur": 3},
            {"cat": "cpu_op", "name": "inner", "ts": 6, "dur": 1},
            {"cat": "cpu_op", "name": "later", "ts": 12, "dur": 1},
        ],
    )
    ops = compute_op_stats(trace)
    assert _rows(ops, OpSide.HOST) == {
        "outer": ("outer", 1, 10.0, 6.0),
        "inner": ("inner", 2, 4.0, 4.0),
        "later": ("later", 1, 1.0, 1.0),
    }
    assert ops.idle_ps[OpSide.HOST] == 2_000_000
    longest = ops.longest_event[[op.name for op in ops.ops].index("inner")]
    assert trace.duration_ps[longest] == 3_000_000


def test_call_that_outlasts_its_parent_is_nested(tmp_path: Path) -> None:
    trace = open_chrome(
        tmp_path / "a.pt.trace.json",
        [
            {"cat": "python_function", "name": "main", "ts": 0, "dur": 10},
            {"cat": "python_function", "name": "step", "ts": 1, "dur": 9.5},
        ],
    )
    python = _rows(compute_op_stats(trace), OpSide.PYTHON)
    assert python == {"main": ("Python", 1, 10.0, 1.0), "step": ("Python", 1, 9.5, 9.5)}


def test_overlapping_kernels_are_not_nested(tmp_path: Path) -> None:
    trace = open_chrome(
        tmp_path / "a.pt.trace.json",
        [
            {"cat": "kernel", "name": "one", "ts": 0, "dur": 4, "tid": 7, "pid": 0},
            {"cat": "kernel", "name": "two", "ts": 3, "dur": 4, "tid": 7, "pid": 0},
        ],
    )
    ops = compute_op_stats(trace)
    assert _rows(ops, OpSide.DEVICE) == {"one": ("kernel", 1, 4, 4), "two": ("kernel", 1, 4, 4)}
    assert ops.idle_ps[OpSide.DEVICE] == 0


def test_categories_of_unknown_trace_are_op_types(tmp_path: Path) -> None:
    trace = open_chrome(
        tmp_path / "a.pt.trace.json",
        [
            {"cat": "io", "name": "read", "ts": 0, "dur": 4},
            {"cat": "net", "name": "send", "ts": 5, "dur": 2},
        ],
    )
    assert _rows(compute_op_stats(trace), OpSide.HOST) == {
        "read": ("io", 1, 4, 4),
        "send": ("net", 1, 2, 2),
    }


def test_empty_trace_has_no_ops(tmp_path: Path) -> None:
    ops = compute_op_stats(open_chrome(tmp_path / "a.pt.trace.json", []))
    assert ops.ops == []
    np.testing.assert_array_equal(ops.counts, [])
