"""Runs dashboard: a table of all runs that the server filters, sorts and groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import tracklight
from tests.web.conftest import Serve, board_fixture
from tests.web.test_appearance import overflows
from tests.web.waiting import get_stable_url, wait_for_value

pytestmark = [pytest.mark.browser, pytest.mark.smoke]

TAB = "?tab=runs"


def write_runs(logdir: Path) -> None:
    """Write six runs; two of them failed."""
    for number in range(6):
        config = {"lr": 0.1**number, "optimizer": ("adam", "sgd")[number % 2]}
        run = tracklight.run(logdir, name=f"trial-{number}", config=config)
        run.log({"loss": float(number)}, step=1)
        run.finish(failed=number > 3)


board = board_fixture(write_runs, "module", TAB)


@pytest.fixture
def page(board: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(board)
    expect(row(page, "trial-0")).to_be_visible()
    return page


def row(page: Page, name: str) -> Locator:
    return page.locator(f'main [data-run="{name}"]')


def list_names(page: Page) -> list[str]:
    names = page.locator("main [data-run]").evaluate_all("rows => rows.map(it => it.dataset.run)")
    return [str(name) for name in names]


def filter_box(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Filter runs")


def test_shows_config_metrics_and_state_and_exports_csv(page: Page) -> None:
    for text in ("Finished", "sgd", "0.1", "1"):
        expect(row(page, "trial-1")).to_contain_text(text)
    expect(row(page, "trial-5")).to_contain_text("Crashed")
    status = page.get_by_role("toolbar", name="Runs").get_by_role("status")
    expect(status.first).to_have_text("6 runs")
    expect(page.get_by_role("complementary", name="Runs")).to_have_count(0)

    filter_box(page).fill("trial-3")
    wait_for_value(page, lambda: list_names(page), ["trial-3"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem", name="Export CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("name,state,start,duration,hparam:lr,hparam:optimizer,last:loss")
    assert lines[1].startswith("trial-3,finished,")
    assert len(lines) == 2


def test_filter_is_completed_checked_and_kept_in_the_url(
    page: Page, open_page: Callable[..., Page]
) -> None:
    filter_box(page).press_sequentially("optim")
    expect(page.get_by_role("option", name="optimizer")).to_be_visible()
    filter_box(page).press("Tab")
    filter_box(page).press_sequentially("= s")
    page.get_by_role("option", name="sgd").click()
    expect(filter_box(page)).to_have_value("optimizer = sgd ")
    wait_for_value(page, lambda: list_names(page), ["trial-1", "trial-3", "trial-5"])
    filter_box(page).fill("optimzer = sgd")
    expect(page.get_by_text("did you mean “optimizer”?")).to_be_visible()
    # The rows of the last valid filter stay.
    assert list_names(page) == ["trial-1", "trial-3", "trial-5"]
    filter_box(page).fill('state = crashed or last("loss") < 1')
    wait_for_value(page, lambda: list_names(page), ["trial-0", "trial-4", "trial-5"])
    copy = open_page(get_stable_url(page))
    wait_for_value(copy, lambda: list_names(copy), ["trial-0", "trial-4", "trial-5"])


def test_sorts_by_several_columns(page: Page) -> None:
    head = page.get_by_role("columnheader")
    head.filter(has_text="optimizer").get_by_role("button").first.click()
    head.filter(has_text="loss").get_by_role("button").first.click(modifiers=["Shift"])
    head.filter(has_text="loss").get_by_role("button").first.click(modifiers=["Shift"])
    order = ["trial-4", "trial-2", "trial-0", "trial-5", "trial-3", "trial-1"]
    wait_for_value(page, lambda: list_names(page), order)
    assert "rt-sort=hparam%3Aoptimizer,-last%3Aloss" in get_stable_url(page)


def test_groups_are_opened_with_the_keyboard(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}&rt-group=hparam:optimizer")
    groups = page.locator("main [role=row][aria-expanded]")
    expect(groups).to_have_count(2)
    expect(groups.first).to_contain_text("adam")
    # The mean loss of the trials 0, 2 and 4.
    expect(groups.first).to_contain_text("3 runs")
    expect(groups.first.get_by_title("2", exact=True).first).to_be_visible()
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_for_value(page, lambda: list_names(page), ["trial-0", "trial-2", "trial-4"])


def test_columns_are_hidden_and_moved(page: Page) -> None:
    titles = page.get_by_role("columnheader").locator(".title-text")
    page.get_by_role("button", name="Column Duration").click()
    page.get_by_role("menuitem", name="Hide column").click()
    expect(titles.filter(has_text="Duration")).to_have_count(0)
    page.get_by_role("button", name="Column State").click()
    page.get_by_role("menuitem", name="Move right").click()
    expect(titles).to_have_text(
        ["Run", "Start time", "State", "lr", "optimizer", "loss", "Tags", "Notes"]
    )


def test_bulk_actions_on_selected_runs(page: Page) -> None:
    for name in ("trial-2", "trial-4"):
        row(page, name).get_by_role("checkbox").check()
    actions = page.get_by_role("toolbar", name="Actions for selected runs")
    expect(actions).to_contain_text("2 runs selected")
    actions.get_by_role("button", name="Pin").click()
    order = ["trial-2", "trial-4", "trial-0", "trial-1", "trial-3", "trial-5"]
    wait_for_value(page, lambda: list_names(page), order)
    actions.get_by_role("button", name="Tags").click()
    page.get_by_role("textbox", name="Tag").fill("best")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(row(page, "trial-4")).to_contain_text("best")
    page.keyboard.press("Escape")
    actions.get_by_role("button", name="Unpin").click()
    wait_for_value(page, lambda: list_names(page), [f"trial-{number}" for number in range(6)])
    actions.get_by_role("button", name="Show only in charts").click()
    expect(page).to_have_url(re.compile("tab=scalars"))
    expect(page.get_by_role("complementary", name="Runs")).to_be_visible()


def test_two_browsers_edit_the_same_note(
    tmp_path: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_runs(tmp_path / "logs")
    address = serve(tmp_path / "logs").address + TAB
    pages = [open_page(address) for _ in range(2)]
    boxes = []
    for page in pages:
        row(page, "trial-0").get_by_role("gridcell").last.dblclick()
        boxes.append(page.get_by_role("textbox", name="Notes on trial-0"))
        expect(boxes[-1]).to_be_focused()
    boxes[0].fill("from the first")
    boxes[0].press("Enter")
    expect(row(pages[0], "trial-0")).to_contain_text("from the first")
    boxes[1].fill("from the second")
    boxes[1].press("Enter")
    conflict = pages[1].get_by_role("alertdialog")
    expect(conflict).to_contain_text("from the first")
    conflict.get_by_role("button", name="Keep mine").click()
    for page in pages:
        expect(row(page, "trial-0")).to_contain_text("from the second")


def test_renames_in_place(page: Page) -> None:
    grid = page.get_by_role("grid")
    field = page.get_by_role("textbox", name="New name for trial-0")
    grid.focus()
    page.keyboard.press("ArrowDown")
    for name, shown in (("First", "First"), ("", "trial-0")):
        # The grid gets the focus back when the field is closed, and with it the keys.
        expect(grid).to_be_focused()
        page.keyboard.press("F2")
        field.fill(name)
        field.press("Enter")
        expect(field).to_have_count(0)
        expect(row(page, "trial-0")).to_contain_text(shown)


def test_fits_a_phone(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(board, width=390)
    expect(row(page, "trial-0")).to_be_visible()
    assert not overflows(page)
