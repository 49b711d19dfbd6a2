"""What is told of ops, kernels, memory, programs and the roofline, as the page asks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import Asked, put_xplane
from tracklight.errors import UsageError


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    logdir = tmp_path_factory.mktemp("tools")
    put_xplane(logdir, "jax", (DATA / "jax_bf16.xplane.pb").read_bytes())
    put_xplane(logdir, "keras", read_bytes("cnn"))
    (logdir / "held").mkdir()
    (logdir / "held" / "memory.prof").write_bytes((DATA / "jax.memory.prof").read_bytes())
    asked = Asked(logdir)
    yield asked
    asked.close()


def _empty(tools: Asked, run: str) -> dict[str, str]:
    """Why tools have nothing to show of a capture."""
    return {row.name: row.why for row in tools.get("tools", run).tools if row.why}


def test_every_tool_is_there_or_says_why_not(tools: Asked) -> None:
    mine = {"ops", "kernels", "memory", "program", "roofline"}
    assert not mine & set(_empty(tools, "jax"))
    host = _empty(tools, "keras")
    assert mine & set(host) == {"kernels", "program", "roofline"}
    assert host["kernels"] == "no device took part in this capture"
    held = _empty(tools, "held")
    assert "memory" not in held
    assert {held[name] for name in mine - {"memory"}} == {
        "this is a profile of memory, which knows nothing of time"
    }


def test_ops_add_up_to_what_the_device_did(tools: Asked) -> None:
    ops, kernels = tools.get("ops", "jax"), tools.get("kernels", "jax")
    device = ops.self_ms[ops.sides == 1].sum()
    assert device == pytest.approx(kernels.total_ms.sum())
    assert ops.steps == kernels.steps == 4
    assert (ops.counts[ops.sides == 1] == 4).all()


def test_a_kernel_is_told_with_its_launch_and_device(tools: Asked) -> None:
    kernels = tools.get("kernels", "jax")
    at = kernels.names.index("gemm_fusion_dot_1")
    assert (kernels.grids[at], kernels.blocks[at]) == ("256,1,1", "128,1,1")
    assert (kernels.occupancy[at], kernels.occupancy_is) == (18.75, "theoretical")
    assert (kernels.fill[at], kernels.tensor_cores[at], kernels.eligible[at]) == (1, 1, 1)
    (device,) = kernels.devices
    assert (device.name, device.capability) == ("NVIDIA H200", "9.0")
    assert kernels.min_ms[at] <= kernels.total_ms[at] / 4 <= kernels.max_ms[at]


def test_memory_over_time_has_its_peak(tools: Asked) -> None:
    (allocator,) = tools.get("memory", "keras").allocators
    assert (allocator.allocations, allocator.frees) == (60, 60)
    assert allocator.peak.heap == allocator.heap.max() == 11_986_944
    assert allocator.capacity == 25_275_125_760
    assert allocator.pieces.bytes.sum() == allocator.peak.heap
    assert allocator.ms[allocator.heap.argmax()] == allocator.peak.ms
    assert tools.get("memory", "held").allocators == []


def test_a_profile_of_memory_is_told_by_line(tools: Asked) -> None:
    held = tools.get("heap", "held")
    assert held.total_bytes == held.bytes.sum() == 8_001_200
    assert "<stdin>" in held.wheres[0]
    assert held.wheres[0] in held.stacks[0]
    assert tools.get("heap", "jax").wheres == []


def test_a_program_is_told_as_rows_and_as_text(tools: Asked) -> None:
    program = tools.get("program", "jax")
    assert program.programs[0].name == "jit_step"
    assert program.unplaced_ms == 0
    assert program.total_ms.sum() == pytest.approx(program.programs[0].total_ms)
    index = program.programs[0].index
    text = tools.get("program/text", "jax", program=str(index))
    took = {name: ms for name, ms in zip(text.names, text.ms, strict=True) if not math.isnan(ms)}
    assert took == pytest.approx(dict(zip(program.names, program.total_ms, strict=True)))
    with pytest.raises(UsageError, match="counted from 0"):
        tools.get("program/text", "jax", program="99")


def test_the_roof_is_that_of_the_device(tools: Asked) -> None:
    roofline = tools.get("roofline", "jax")
    assert roofline.device == "NVIDIA H200"
    roofs = {roof.name: roof.flops_per_s for roof in roofline.roofs}
    assert roofs["16 bits on tensor cores"] == 989e12
    assert (roofline.flops / (roofline.self_ms / 1e3) < 989e12).all()


def test_a_copy_knows_what_tools_show_first(tools: Asked) -> None:
    copied = dict(tools.profile.export_static(["jax", "held"]))
    jax, held = (tools.row(run).id for run in ("jax", "held"))
    for path in ("ops", "kernels", "memory", "program", "roofline"):
        assert f"{path}?capture={jax}" in copied
    assert f"heap?capture={held}" in copied
    assert any(path.startswith(f"program/text?capture={jax}&program=") for path in copied)


def test_answers_are_kept_between_servers(tmp_path: Path) -> None:
    put_xplane(tmp_path / "logs", "jax", (DATA / "jax_bf16.xplane.pb").read_bytes())
    answers = []
    for _ in range(2):
        asked = Asked(tmp_path / "logs", tmp_path / "cache")
        answers.append(asked.get("kernels", "jax"))
        asked.close()
    assert answers[0].names == answers[1].names
    assert answers[0].total_ms.tolist() == answers[1].total_ms.tolist()
