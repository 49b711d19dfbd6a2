"""Run annotations: names, notes, labels, colors and hidden runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Serve
from tests.web.run_table import (
    cell,
    choose_from_menu,
    filter_box,
    group_row,
    row,
    rows,
    run_color,
    run_name,
    run_names,
    runs_panel,
)
from tests.web.study_log import TRIALS, write_study
from tests.web.waiting import get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser


@pytest.fixture
def page(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> Page:
    write_study(logdir)
    page = open_page(serve(logdir).address)
    expect(rows(page)).to_have_count(len(TRIALS))
    return page


def name_field(page: Page, run: str) -> Locator:
    return page.get_by_role("textbox", name=f"New name for {run}")


def test_renames_run_inline(page: Page, open_page: Callable[..., Page]) -> None:
    choose_from_menu(page, "conv/lr1e-3", "Rename")
    box = name_field(page, "conv/lr1e-3")
    box.fill("the good one")
    box.press("Enter")
    expect(row(page, "conv/lr1e-3")).to_contain_text("the good one")
    # The table shows the new name, and the filter finds it.
    expect(run_name(page, "conv/lr1e-3")).to_have_text("the good one")
    filter_box(page).fill("good")
    expect(rows(page)).to_have_count(1)
    other = open_page(get_stable_url(page))
    expect(row(other, "conv/lr1e-3")).to_contain_text("the good one")


def test_escape_cancels_renaming(page: Page) -> None:
    run_name(page, "conv/lr1e-3").click()
    page.keyboard.press("F2")
    expect(name_field(page, "conv/lr1e-3")).to_be_focused()
    page.keyboard.type("nonsense")
    page.keyboard.press("Escape")
    expect(row(page, "conv/lr1e-3")).to_contain_text("lr1e-3")


def test_empty_name_restores_original_name(page: Page) -> None:
    for typed, shown in (("other", "other"), ("", "lr1e-3")):
        choose_from_menu(page, "conv/lr1e-3", "Rename")
        expect(name_field(page, "conv/lr1e-3")).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.press("Backspace")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        expect(run_name(page, "conv/lr1e-3")).to_have_text(shown)


def test_shows_notes_and_labels_as_columns_and_groups(page: Page) -> None:
    run_name(page, "conv/bn-lr3e-3").click()
    run_name(page, "conv/lr1e-3").click(modifiers=["Shift"])
    choose_from_menu(page, "conv/lr3e-4", "Edit notes")
    expect(page.get_by_role("dialog")).to_contain_text("3 runs")
    page.get_by_role("textbox", name="Tags").fill("best, paper, best")
    page.get_by_role("textbox", name="Notes").fill("with warm-up")
    with page.expect_response(re.compile("/api/v1/notes")):
        page.keyboard.press("Control+Enter")
    page.goto(get_stable_url(page).split("?")[0] + "?columns=labels,note&group=label")
    expect(cell(page, "conv/lr1e-3", 1)).to_have_text("best, paper")
    expect(cell(page, "conv/lr1e-3", 2)).to_have_text("with warm-up")
    expect(group_row(page, "best, paper")).to_contain_text("3")
    expect(group_row(page, "")).to_contain_text("5")


def test_custom_color_overrides_color_mode(page: Page, open_page: Callable[..., Page]) -> None:
    choose_from_menu(page, "vit/tiny-lr1e-4", "Edit notes")
    page.get_by_role("radio", name="Color 3", exact=True).check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    wait_for_value(page, lambda: run_color(page, "vit/tiny-lr1e-4"), "rgb(47, 158, 91)")
    other = open_page(get_stable_url(page).split("?")[0] + "?color=hparam:lr")
    expect(rows(other)).to_have_count(len(TRIALS))
    wait_for_value(other, lambda: run_color(other, "vit/tiny-lr1e-4"), "rgb(47, 158, 91)")


def test_hides_and_restores_runs(page: Page) -> None:
    choose_from_menu(page, "vit/tiny-lr1e-4", "Hide")
    expect(row(page, "vit/tiny-lr1e-4")).to_have_count(0)
    expect(runs_panel(page).get_by_role("status").last).to_have_text("7 of 8 runs")
    runs_panel(page).get_by_role("button", name="More run actions").click()
    page.get_by_role("menuitemcheckbox", name="Show hidden runs").click()
    expect(row(page, "vit/tiny-lr1e-4")).to_be_visible()
    choose_from_menu(page, "vit/tiny-lr1e-4", "Unhide")
    runs_panel(page).get_by_role("button", name="More run actions").click()
    page.get_by_role("menuitemcheckbox", name="Show hidden runs").click()
    expect(rows(page)).to_have_count(8)


def test_shows_changes_from_another_page(page: Page, open_page: Callable[..., Page]) -> None:
    other = open_page(get_stable_url(page))
    choose_from_menu(other, "conv/lr1e-3", "Rename")
    expect(name_field(other, "conv/lr1e-3")).to_be_focused()
    other.keyboard.type("seen elsewhere")
    other.keyboard.press("Enter")
    expect(row(page, "conv/lr1e-3")).to_contain_text("seen elsewhere")


def test_two_users_edit_the_same_note(page: Page, open_page: Callable[..., Page]) -> None:
    other = open_page(get_stable_url(page))
    for each, text in ((page, "diverges"), (other, "needs warm-up")):
        choose_from_menu(each, "conv/lr1e-3", "Edit notes")
        each.get_by_role("textbox", name="Notes").fill(text)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)

    other.get_by_role("button", name="Save").click()
    alert = other.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("has changed this field")
    expect(alert).to_contain_text("diverges")
    expect(other.get_by_role("textbox", name="Notes")).to_have_value("needs warm-up")
    other.get_by_role("textbox", name="Notes").fill("diverges, needs warm-up")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_role("dialog")).to_have_count(0)

    def read_note() -> str:
        choose_from_menu(page, "conv/lr1e-3", "Edit notes")
        text = page.get_by_role("textbox", name="Notes").input_value()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        return text

    # The dialog keeps the text that the page knew when it was opened.
    wait_for_value(page, read_note, "diverges, needs warm-up")


def test_reverts_change_that_was_not_saved(page: Page) -> None:
    page.route("**/api/v1/notes/runs", lambda route: route.abort())
    choose_from_menu(page, "conv/lr1e-3", "Hide")
    expect(runs_panel(page).get_by_role("alert")).to_contain_text("Server unreachable")
    wait_for_condition(page, lambda: "conv/lr1e-3" in run_names(page))
