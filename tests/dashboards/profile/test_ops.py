"""Ops, kernels, memory, XLA programs and roofline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import ProfileClient, open_client, put_file, put_xplane
from tracklight.errors import UsageError


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProfileClient]:
    logdir = tmp_path_factory.mktemp("tools")
    put_xplane(logdir, "jax", (DATA / "jax_bf16.xplane.pb").read_bytes())
    put_xplane(logdir, "keras", read_bytes("cnn"))
    put_file(logdir, "held", DATA / "jax.memory.prof", "memory.prof")
    with open_client(logdir) as client:
        yield client


def _empty(tools: ProfileClient, run: str) -> dict[str, str]:
    """Return why tools are empty, by name."""
    return {
        row.name: row.empty_reason.text for row in tools.get("tools", run).tools if row.empty_reason
    }


def test_tools_explain_why_they_are_empty(tools: ProfileClient) -> None:
    mine = {"ops", "kernels", "memory", "program", "roofline"}
    assert not mine & set(_empty(tools, "jax"))
    host = _empty(tools, "keras")
    assert mine & set(host) == {"kernels", "program", "roofline"}
    assert host["kernels"] == "No device was used in this capture."
    held = _empty(tools, "held")
    assert "memory" not in held
    assert {held[name] for name in mine - {"memory"}} == {
        "This is a memory profile, which has no times."
    }


def test_device_ops_add_up_to_kernel_time(tools: ProfileClient) -> None:
    ops, kernels = tools.get("ops", "jax"), tools.get("kernels", "jax")
    device = ops.self_ms[ops.sides == 1].sum()
    assert device == pytest.approx(kernels.total_ms.sum())
    assert ops.steps == kernels.steps == 4
    assert (ops.counts[ops.sides == 1] == 4).all()


def test_kernels_have_launch_config_and_device(tools: ProfileClient) -> None:
    kernels = tools.get("kernels", "jax")
    at = kernels.names.index("gemm_fusion_dot_1")
    assert (kernels.grids[at], kernels.blocks[at]) == ("256,1,1", "128,1,1")
    assert (kernels.occupancy[at], kernels.occupancy_kind) == (18.75, "theoretical")
    assert (kernels.fill[at], kernels.tensor_cores[at], kernels.eligible[at]) == (1, 1, 1)
    (device,) = kernels.devices
    assert (device.name, device.capability) == ("NVIDIA H200", "9.0")
    assert kernels.min_ms[at] <= kernels.total_ms[at] / 4 <= kernels.max_ms[at]


def test_memory_over_time_contains_peak(tools: ProfileClient) -> None:
    (allocator,) = tools.get("memory", "keras").allocators
    assert (allocator.allocations, allocator.frees) == (60, 60)
    assert allocator.peak.heap == allocator.heap.max() == 11_986_944
    assert allocator.capacity == 25_275_125_760
    assert allocator.peak_allocations.bytes.sum() == allocator.peak.heap
    assert allocator.ms[allocator.heap.argmax()] == allocator.peak.ms
    assert tools.get("memory", "held").allocators == []


def test_heap_profile_is_listed_by_line(tools: ProfileClient) -> None:
    held = tools.get("heap", "held")
    assert held.total_bytes == held.bytes.sum() == 8_001_200
    assert "<stdin>" in held.locations[0]
    assert held.locations[0] in held.stacks[0]
    assert tools.get("heap", "jax").locations == []


def test_program_rows_and_text_agree(tools: ProfileClient) -> None:
    program = tools.get("program", "jax")
    assert program.programs[0].name == "jit_step"
    assert program.unmapped_ms == 0
    assert program.total_ms.sum() == pytest.approx(program.programs[0].total_ms)
    index = program.programs[0].index
    text = tools.get("program/text", "jax", program=str(index))
    took = {name: ms for name, ms in zip(text.names, text.ms, strict=True) if not math.isnan(ms)}
    assert took == pytest.approx(dict(zip(program.names, program.total_ms, strict=True)))
    with pytest.raises(UsageError, match="No program 99: "):
        tools.get("program/text", "jax", program="99")


def test_roofline_has_peak_rates_of_the_device(tools: ProfileClient) -> None:
    roofline = tools.get("roofline", "jax")
    assert roofline.device == "NVIDIA H200"
    roofs = {roof.precision: roof.flops_per_s for roof in roofline.roofs}
    assert (roofs["fp16"], roofs["fp8"]) == (989e12, 1979e12)
    assert (roofline.flops / (roofline.self_ms / 1e3) < 989e12).all()
    achieved = roofline.utilization
    assert achieved.peak_flops_per_s == roofs[achieved.precision]
    assert 0 < achieved.flops_per_s < achieved.peak_flops_per_s
    seconds = achieved.window_ms / 1e3
    assert achieved.flops_per_s == pytest.approx(roofline.flops.sum() / seconds)


def test_static_export_contains_default_view_of_tools(tools: ProfileClient) -> None:
    exported = dict(tools.profile.export_static(["jax", "held"]))
    jax, held = (tools.row(run).id for run in ("jax", "held"))
    for path in ("ops", "kernels", "memory", "program", "roofline"):
        assert f"{path}?capture={jax}" in exported
    assert f"heap?capture={held}" in exported
    assert any(path.startswith(f"program/text?capture={jax}&program=") for path in exported)


def test_results_are_cached_between_servers(tmp_path: Path) -> None:
    put_xplane(tmp_path / "logs", "jax", (DATA / "jax_bf16.xplane.pb").read_bytes())
    responses = []
    for _ in range(2):
        client = ProfileClient(tmp_path / "logs", tmp_path / "cache")
        responses.append(client.get("kernels", "jax"))
        client.close()
    assert responses[0].names == responses[1].names
    assert responses[0].total_ms.tolist() == responses[1].total_ms.tolist()
