"""Profile dashboard: accessibility, phones, the first capture and static export."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.profile_log import (
    TAB,
    open_tool,
    section,
    tool_panel,
    write_captures,
)
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_static_board import copy
from tracklight.cli.demo.flowers import write_flowers

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

board = board_fixture(write_captures, "module", TAB)


def test_is_accessible_by_keyboard_on_a_phone(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390)
    page.get_by_role("button", name="flowers/before", exact=True).click()
    changes = page.get_by_role("list", name="Changes in recommendations")
    expect(changes).to_contain_text("resolved")
    expect(page.get_by_role("img", name=re.compile("^Time of each step:"))).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []
    page.keyboard.press("v")
    expect(page.get_by_role("table", name="Ops by change")).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []
    page.keyboard.press("v")
    expect(section(page, "Input wait")).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Swap current and baseline")


def test_parts_of_a_step_fit_on_a_phone(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390)
    table = page.get_by_role("table", name="Step time breakdown")
    expect(table.get_by_role("columnheader", name="Overlapped")).to_be_visible()
    assert table.evaluate("table => table.scrollWidth - table.clientWidth") <= 0


def test_first_capture_adds_tab_and_is_requested_by_charts(
    tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    append_records(tmp_path / "flowers" / "old", *loss_records("loss", range(5)))
    page = open_page(serve(tmp_path).address)
    expect(page.get_by_role("article", name="loss")).to_be_visible()
    with page.expect_request("**/api/v1/profile/captures"):
        write_flowers(tmp_path / "flowers", seed=3, now=time.time())
    page.get_by_role("link", name="Profile", exact=True).click()
    expect(section(page, "Step time")).to_contain_text("ms")


def test_static_export_shows_profile(tmp_path: Path, open_page: OpenPage) -> None:
    write_flowers(tmp_path / "logs" / "flowers", seed=3, now=time.time())
    page = open_page(copy(tmp_path / "logs", tmp_path / "copy.html", "tab=profile"))
    expect(section(page, "Recommendations")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Time of each step:"))).to_be_visible()
    open_tool(page, "Input")
    expect(tool_panel(page, "input")).to_contain_text("of step time")
    open_tool(page, "Trace")
    field = page.get_by_role("application")
    expect(field).to_have_attribute("data-complete", "true")
    field.hover(position={"x": 300, "y": 12})
    expect(page.get_by_role("status", name="Event")).to_contain_text("train")
    page.get_by_role("checkbox", name="Counters", exact=True).check()
    counters = page.get_by_role("list", name="Counters")
    expect(counters.get_by_role("img").first).to_have_accessible_name(re.compile("at most"))
