"""Profile tools about calls: operators, flame graph and call tree; and uploaded captures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import serve_log
from tests.web.profile_log import DATA, TAB, choose_capture, open_tool, tool_panel
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_profile_tools import table_rows
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
CAPTURES = {"modules": "torch_modules", "net/f32": "torch_f32", "net/bf16": "torch_bf16"}


def write_captures(logdir: Path) -> None:
    for run, name in CAPTURES.items():
        folder = logdir / run
        folder.mkdir(parents=True)
        (folder / "step.json.gz").write_bytes((DATA / f"{name}.pt.trace.json.gz").read_bytes())


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("calls"), write_captures) as address:
        yield address + TAB


def bar(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="Flame graph").get_by_role("button", name=name)


def test_operators_by_name_shape_stack_and_module(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "modules")
    open_tool(page, "Operators")
    rows = table_rows(page, "Operators")
    linear = rows.filter(has_text=re.compile(r"^\s*aten::addmm"))
    expect(linear.get_by_role("cell").first).to_have_text("9")
    # As in key_averages(): self and total time on host and device.
    expect(linear).to_contain_text("0.621 ms")
    expect(linear).to_contain_text("0.762 ms")
    expect(linear).to_contain_text("0.162 ms")
    grouping = page.get_by_role("group", name="Group by")
    grouping.get_by_role("button", name="By shape").click()
    page.get_by_role("textbox", name="Filter ops").fill("aten::addmm")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("[256, 1024]")
    grouping.get_by_role("button", name="By stack").click()
    expect(rows.first).to_contain_text("<built-in function linear>")
    page.get_by_role("textbox", name="Filter ops").fill("")
    grouping.get_by_role("button", name="By module").click()
    expect(rows.first).to_contain_text("Sequential_0")
    expect(rows).to_have_count(7)
    assert list_violations(page) == []


def test_flame_graph_is_zoomed_and_searched(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "modules")
    open_tool(page, "Flame graph")
    step = bar(page, "my_step:").first
    expect(step).to_be_visible()
    wide = get_stable_box(step)
    step.click()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    zoomed = bar(page, "my_step:").first
    wait_for_condition(page, lambda: get_stable_box(zoomed).width > 1.2 * wide.width)
    page.get_by_role("button", name="Reset zoom").click()
    page.get_by_role("textbox", name="Search calls").fill("aten::linear")
    expect(page.get_by_role("status").filter(has_text="match")).to_contain_text("0.996 ms")
    page.get_by_role("textbox", name="Search calls").fill("")
    page.get_by_role("group", name="Time on").get_by_role("button", name="Device").click()
    expect(page.get_by_role("status").filter(has_text="nodes")).to_contain_text("0.746 ms")
    page.get_by_label("Frames").select_option(label="Modules")
    expect(bar(page, "nn.Module: GELU_0").first).to_be_visible()
    other = open_page(get_stable_url(page))
    expect(bar(other, "nn.Module: GELU_0").first).to_be_visible()
    page.get_by_role("group", name="View").get_by_role("button", name="Call tree").click()
    tree = page.get_by_role("treegrid", name="Call tree")
    expect(tree.get_by_role("row").nth(1)).to_have_attribute("aria-expanded", "true")
    assert list_violations(page) == []


def test_flame_graphs_of_two_captures_are_compared(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "net/bf16")
    choose_capture(page, "Select baseline capture", "net/f32")
    open_tool(page, "Flame graph")
    page.get_by_role("group", name="Time on").get_by_role("button", name="Device").click()
    expect(page.get_by_role("status").filter(has_text="per step")).to_be_visible()
    page.get_by_role("group", name="View").get_by_role("button", name="Call tree").click()
    tree = page.get_by_role("treegrid", name="Call tree")
    expect(tree.locator("[data-tone=better], [data-tone=worse]").first).to_be_visible()


def test_long_names_stay_in_their_panel(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "modules")
    open_tool(page, "Kernels")
    table_rows(page, "Kernels").filter(has_text="elementwise").first.get_by_title(
        "in trace"
    ).click()
    title = page.get_by_role("heading", name="void at::native").first
    expect(title).to_be_visible()
    assert title.evaluate("node => node.scrollWidth <= node.parentElement.clientWidth")
    assert not overflows(page)


def test_opens_an_uploaded_capture(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    expect(tool_panel(page, "overview")).to_be_visible()
    page.get_by_label("Capture file").set_input_files(
        files=[
            {
                "name": "mine.json.gz",
                "mimeType": "application/gzip",
                "buffer": (DATA / "torch_overlap.pt.trace.json.gz").read_bytes(),
            }
        ]
    )
    expect(page.get_by_role("button", name=re.compile("^Select capture"))).to_contain_text("mine")
    expect(tool_panel(page, "overview")).to_contain_text("ms")


@pytest.mark.parametrize("title", ["Operators", "Flame graph"])
def test_tools_fit_a_phone_in_dark_mode(board: str, open_page: OpenPage, title: str) -> None:
    page = open_page(board, width=390, color_scheme="dark")
    choose_capture(page, "Select capture", "modules")
    open_tool(page, title)
    expect(page.get_by_role("toolbar", name="Tool controls")).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []
