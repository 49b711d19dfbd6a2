"""Profile tools: ops, kernels, memory, programs and roofline, also in comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import serve_log
from tests.web.profile_log import DATA, SESSION, TAB, choose_capture, open_tool, tool_panel
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_url
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.ops import OpSide, OpStats, compute_op_stats

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
TRACE = "worker.1794703364442802887.pt.trace.json.gz"
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"


def write_tools(logdir: Path) -> None:
    for run, name in {"jax/before": "jax_f32", "jax/after": "jax_bf16"}.items():
        folder = logdir / run / SESSION
        folder.mkdir(parents=True)
        (folder / "vm.xplane.pb").write_bytes((DATA / f"{name}.xplane.pb").read_bytes())
    (logdir / "torch").mkdir()
    (logdir / "torch" / TRACE).write_bytes((DATA / "tgpu.pt.trace.json.gz").read_bytes())
    (logdir / "leak").mkdir()
    _write_leak(logdir / "leak" / TRACE.removesuffix(".gz"))
    (logdir / "held").mkdir()
    (logdir / "held" / "memory.prof").write_bytes((DATA / "jax.memory.prof").read_bytes())


def _write_leak(path: Path) -> None:
    """Write a trace in which each step leaks one megabyte."""
    events: list[dict[str, object]] = []
    for step in range(5):
        at = 1000 * step
        mark = {"cat": "user_annotation", "ts": at, "dur": 900}
        events.append({"name": f"ProfilerStep#{step}", **mark})
        events.append({"name": "aten::cat", "cat": "cpu_op", "ts": at + 10, "dur": 100})
        args = {"Bytes": 10**6, "Total Allocated": 10**6 * (step + 1), "Addr": step + 1}
        instant = {"name": "[memory]", "cat": "cpu_instant_event", "ph": "i", "ts": at + 20}
        events.append({**instant, "args": {**args, "Device Type": 0}})
    complete = [{"ph": "X", "pid": 1, "tid": 1, **event} for event in events]
    path.write_text(json.dumps({"traceEvents": complete}))


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("tools"), write_tools) as address:
        yield address + TAB


def table_rows(page: Page, label: str) -> Locator:
    """Return the rows of a table without its header."""
    table = page.get_by_role("table", name=label, exact=True)
    return table.get_by_role("row").filter(has=page.get_by_role("cell"))


def read_device_ops(name: str) -> dict[str, float]:
    """Return the self time of each device op in milliseconds."""
    ops: OpStats = compute_op_stats(open_capture(DATA / name))
    rows = zip(ops.ops, ops.sides, ops.self_ps, strict=True)
    return {op.name: own / 1e9 for op, side, own in rows if side == OpSide.DEVICE}


def format_us(ms: float) -> str:
    return f"{float(f'{1000 * ms:.3g}'):g} µs"


def test_sorts_and_filters_ops_and_opens_them_in_trace(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "torch")
    open_tool(page, "Ops")
    rows = table_rows(page, "Ops")
    expect(rows.first).to_contain_text("aten::convolution_backward")
    expect(page.get_by_role("figure", name="Self time")).to_contain_text("Other")
    page.get_by_role("columnheader", name="Type").get_by_role("button").click()
    expect(rows.first).to_contain_text("aten::_adaptive_avg_pool2d")
    page.get_by_role("group", name="Runs on").get_by_role("button", name="Host").click()
    page.get_by_role("group", name="Group by").get_by_role("button", name="By op").click()
    page.get_by_role("textbox", name="Filter ops").fill("convolution_backward 64x32")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("aten::convolution_backward (32x64x30x30")
    expect(rows.get_by_role("cell").nth(1)).to_have_text("3")
    link = get_stable_url(page)
    other = open_page(link)
    expect(table_rows(other, "Ops")).to_have_count(1)
    table_rows(other, "Ops").get_by_title("in trace").click()
    expect(tool_panel(other, "trace")).to_be_visible()
    assert "p-event=" in get_stable_url(other, 600)


def test_compares_two_captures_in_every_tool(board: str, open_page: OpenPage) -> None:
    before, after = (read_device_ops(f"jax_{name}.xplane.pb") for name in ("f32", "bf16"))
    saved = format_us((before["gemm_fusion_dot"] - after["gemm_fusion_dot"]) / 4)
    page = open_page(board)
    choose_capture(page, "Select capture", "jax/after")
    choose_capture(page, "Select baseline capture", "jax/before")
    open_tool(page, "Ops")
    page.get_by_role("group", name="Group by").get_by_role("button", name="By op").click()
    product = table_rows(page, "Ops").filter(has_text=re.compile(r"^\s*gemm_fusion_dot\s"))
    expect(product).to_contain_text(f"{MINUS}{saved} {MINUS}67%")
    expect(product.locator("[data-tone=better]")).to_be_visible()

    open_tool(page, "Kernels")
    kernels = table_rows(page, "Kernels")
    expect(kernels.filter(has_text="gemm_fusion_dot.1")).to_contain_text("yes")
    expect(kernels.filter(has_text="gemm_fusion_dot.1")).to_contain_text("18.8%")
    expect(page.get_by_text("Tensor-core share").locator("..")).to_contain_text("100%")
    page.get_by_role("group", name="Group by").get_by_role("button", name="By launch").click()
    expect(kernels.filter(has_text="gemm_fusion_dot_1").first).to_contain_text(
        f"256 {TIMES} 1 {TIMES} 1"
    )

    open_tool(page, "Memory")
    expect(tool_panel(page, "memory")).to_contain_text("14.7 MB")
    expect(tool_panel(page, "memory")).to_contain_text(f"{MINUS}6.3 MB {MINUS}30%")
    expect(table_rows(page, "Allocations at peak").first).to_contain_text("9.4 MB")

    open_tool(page, "Roofline")
    product = table_rows(page, "Roofline ops").filter(has_text="gemm_fusion_dot.1")
    expect(product).to_contain_text("TFLOP/s")
    expect(product).to_contain_text(MINUS)
    expect(page.get_by_role("img", name="Roofline of 3 ops")).to_contain_text("989 TFLOP/s")


def test_shows_program_as_tree_and_text(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "jax/after")
    open_tool(page, "Program")
    tree = page.get_by_role("treegrid", name="Instructions by time")
    product = tree.get_by_role("row").filter(has_text="Matrix product")
    expect(product).to_have_attribute("aria-expanded", "true")
    instruction = tree.get_by_role("row").filter(has_text="gemm_fusion_dot.1")
    expect(instruction).to_contain_text("capture.py:")
    product.get_by_role("button").press("ArrowLeft")
    expect(instruction).to_have_count(0)
    product.get_by_role("button").press("ArrowRight")
    page.get_by_role("group", name="View").get_by_role("button", name="By scope").click()
    expect(tree.get_by_role("row").filter(has_text="jit(step)")).to_contain_text("100%")
    page.get_by_role("group", name="View").get_by_role("button", name="By kind").click()
    instruction.get_by_title("Show in HLO text").click()
    lines = page.get_by_role("list", name="Program jit_step")
    line = lines.get_by_role("listitem").filter(has_text="%gemm_fusion_dot.1 = ")
    expect(line).to_contain_text("kind=kCustom")
    expect(line).to_contain_text("µs")
    page.get_by_role("textbox", name="Filter lines").fill("ROOT lhs_contracting")
    expect(lines.get_by_role("listitem").first).to_contain_text("lhs_contracting_dims")
    assert list_violations(page) == []


def test_memory_tool_marks_leaks(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "leak")
    open_tool(page, "Memory")
    expect(tool_panel(page, "memory")).to_contain_text("4 MB allocated in every step")
    leaked = table_rows(page, "Allocations at peak").filter(has_text="aten::cat")
    expect(leaked).to_contain_text("leak")
    expect(page.get_by_role("img", name="Memory of CPU")).to_have_attribute("data-drawn", "1")
    choose_capture(page, "Select capture", "held")
    allocations = table_rows(page, "Memory in use")
    expect(allocations.first).to_contain_text("4 MB")
    expect(allocations.first).to_contain_text("<stdin>:")
    expect(tool_panel(page, "memory")).to_contain_text("8 MB in use")


def test_tools_are_accessible_on_a_phone_in_dark_mode(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390, color_scheme="dark")
    choose_capture(page, "Select capture", "torch")
    for title, label in (("Ops", "Ops"), ("Kernels", "Kernels"), ("Memory", "Allocations at peak")):
        open_tool(page, title)
        expect(table_rows(page, label).first).to_be_visible()
        assert not overflows(page)
        assert list_violations(page) == []
