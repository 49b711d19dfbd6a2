"""Run table: keyboard, small screens, many runs and accessibility."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.run_table import (
    checked_runs,
    column_header,
    filter_box,
    grid,
    group_row,
    row,
    rows,
    run_checkbox,
    run_name,
    run_names,
    runs_panel,
)
from tests.web.study_log import TRIALS
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser


@pytest.fixture
def page(study: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(study + "?group=path:1")
    expect(rows(page)).to_have_count(len(TRIALS))
    return page


def read_active_row(page: Page) -> str | None:
    """Return the name of the row or group that is the active descendant of the grid."""
    active = grid(page).get_attribute("aria-activedescendant")
    found = page.locator(f'[id="{active}"]').evaluate_all(
        "rows => rows.map(row => row.dataset.run ?? row.dataset.group)"
    )
    return str(found[0]) if found else None


def test_keys_navigate_select_collapse_and_isolate(page: Page) -> None:
    page.keyboard.press("/")
    expect(filter_box(page)).to_be_focused()
    grid(page).focus()
    page.keyboard.press("Home")
    wait_for_value(page, lambda: read_active_row(page), "conv")
    page.keyboard.press("ArrowDown")
    wait_for_value(page, lambda: read_active_row(page), "conv/bn-lr3e-3")
    page.keyboard.press("Space")
    expect(run_checkbox(page, "conv/bn-lr3e-3")).not_to_be_checked()
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Space")
    expect(run_checkbox(page, "conv/bn-lr3e-3")).to_be_checked()
    page.keyboard.press("Enter")
    expect(rows(page).locator(":checked")).to_have_count(3)
    page.keyboard.press("ArrowLeft")
    wait_for_value(page, lambda: read_active_row(page), "conv")
    page.keyboard.press("ArrowLeft")
    expect(group_row(page, "conv")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(group_row(page, "conv")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("End")
    wait_for_value(page, lambda: read_active_row(page), "vit/tiny-lr3e-4/validation")


def test_menu_opens_and_closes_by_keyboard(page: Page) -> None:
    grid(page).focus()
    page.keyboard.press("End")
    page.keyboard.press("Shift+F10")
    expect(page.get_by_role("menuitem", name="Show only this run")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Deselect")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(grid(page)).to_be_focused()
    page.keyboard.press("ContextMenu")
    expect(page.get_by_role("menuitem", name="Show only this run")).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows(page).locator(":checked")).to_have_count(1)


def test_global_shortcuts_change_selection(page: Page) -> None:
    page.keyboard.press("Shift+N")
    expect(rows(page).locator(":checked")).to_have_count(0)
    run_checkbox(page, "conv/lr1e-3").click()
    page.keyboard.press("Shift+I")
    expect(rows(page).locator(":checked")).to_have_count(7)
    page.keyboard.press("Shift+A")
    expect(rows(page).locator(":checked")).to_have_count(8)


@pytest.mark.parametrize("width", [390, 1440])
def test_has_no_accessibility_violations(
    study: str, open_page: Callable[..., Page], width: int
) -> None:
    query = "?group=path:1&columns=hparam:lr,last:val/acc&sort=-last:val/acc"
    query += "&selected=none;%2Bconv/lr1e-3"
    page = open_page(study + query, width=width)
    if width < 700:
        page.get_by_role("button", name="Show runs").click()
    expect(rows(page)).to_have_count(len(TRIALS))
    assert not overflows(page)
    assert list_violations(page) == []
    run_name(page, "conv/lr1e-3").click(button="right")
    expect(page.get_by_role("menu")).to_be_visible()
    assert list_violations(page) == []
    page.keyboard.press("Escape")
    runs_panel(page).get_by_role("button", name="Group").click()
    assert list_violations(page) == []
    page.keyboard.press("Escape")
    runs_panel(page).get_by_role("button", name="Columns").click()
    assert list_violations(page) == []


def test_phone_selects_runs_in_a_drawer(study: str, open_page: Callable[..., Page]) -> None:
    page = open_page(study, width=390)
    page.get_by_role("button", name="Show runs").click()
    run_checkbox(page, "vit/tiny-lr1e-4").click()
    expect(run_checkbox(page, "vit/tiny-lr1e-4")).not_to_be_checked()
    page.get_by_role("button", name="Done").click()
    expect(grid(page)).to_have_count(0)
    page.get_by_role("button", name="Show runs").click()
    expect(rows(page).locator(":checked")).to_have_count(7)


MANY = 600


def write_many_runs(logdir: Path) -> None:
    records = loss_records("loss", range(3))
    for number in range(MANY):
        append_records(logdir / "sweep" / f"trial-{number}", *records)


many_runs = board_fixture(write_many_runs, "module")


def open_many_runs(open_page: Callable[..., Page], address: str) -> Page:
    page = open_page(address)
    expect(runs_panel(page).get_by_role("status").last).to_have_text("600 runs")
    expect(runs_panel(page)).to_contain_text("1,800 points")
    return page


@pytest.fixture
def many_runs_page(many_runs: str, open_page: Callable[..., Page]) -> Page:
    return open_many_runs(open_page, many_runs)


@pytest.fixture
def growing_page(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> Page:
    write_many_runs(logdir)
    return open_many_runs(open_page, serve(logdir).address)


def test_selects_newest_hundred_of_many_runs(many_runs_page: Page) -> None:
    expect(column_header(many_runs_page, "100 of 600 selected")).to_be_visible()
    wait_for_condition(many_runs_page, lambda: rows(many_runs_page).count() < 60)
    filter_box(many_runs_page).fill("trial-42")
    expect(rows(many_runs_page)).to_have_count(11)
    # Matching runs are selected as well.
    wait_for_condition(
        many_runs_page, lambda: checked_runs(many_runs_page) == run_names(many_runs_page)
    )
    filter_box(many_runs_page).fill("")
    grid(many_runs_page).focus()
    many_runs_page.keyboard.press("End")
    expect(row(many_runs_page, "sweep/trial-599")).to_be_in_viewport()
    wait_for_condition(many_runs_page, lambda: rows(many_runs_page).count() < 60)


def test_url_stays_short_with_many_selected_runs(many_runs_page: Page) -> None:
    many_runs_page.keyboard.press("Shift+A")
    expect(column_header(many_runs_page, "600 runs")).to_be_visible()
    filter_box(many_runs_page).fill("trial-5")
    expect(column_header(many_runs_page, "111 of 600 runs")).to_be_visible()
    filter_box(many_runs_page).blur()
    many_runs_page.keyboard.press("Shift+N")
    filter_box(many_runs_page).fill("")
    expect(column_header(many_runs_page, "489 of 600 selected")).to_be_visible()
    assert len(get_stable_url(many_runs_page)) < 2000


def test_new_run_is_selected(growing_page: Page, logdir: Path) -> None:
    growing_page.keyboard.press("Shift+A")
    append_records(logdir / "a-late-one", *loss_records("loss", range(3)))
    expect(run_checkbox(growing_page, "a-late-one")).to_be_checked()
    expect(column_header(growing_page, "601 runs")).to_be_visible()


def test_new_runs_above_keep_scroll_position(growing_page: Page, logdir: Path) -> None:
    grid(growing_page).evaluate("element => (element.scrollTop = 3000)")
    expect(row(growing_page, "sweep/trial-110")).to_be_in_viewport()
    before = get_stable_box(row(growing_page, "sweep/trial-110"))
    append_records(logdir / "sweep" / "a-late-one", *loss_records("loss", range(3)))
    expect(column_header(growing_page, "100 of 601 selected")).to_be_visible()
    wait_for_value(
        growing_page, lambda: get_stable_box(row(growing_page, "sweep/trial-110")), before
    )
    assert grid(growing_page).evaluate("element => element.scrollTop") == 3028
