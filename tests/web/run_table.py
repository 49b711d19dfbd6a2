"""Locators of the run table, mostly by role and accessible name."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def runs_panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Runs")


def grid(page: Page) -> Locator:
    return runs_panel(page).locator("[role$=grid]")


def rows(page: Page) -> Locator:
    return grid(page).locator("[role=row][data-run]")


def row(page: Page, name: str) -> Locator:
    return grid(page).locator(f'[role=row][data-run="{name}"]')


def run_name(page: Page, run: str) -> Locator:
    """Return the clickable name of a run."""
    return row(page, run).get_by_title(run, exact=True)


def group_row(page: Page, key: str) -> Locator:
    return grid(page).locator(f'[role=row][data-group="{key}"]')


def run_names(page: Page) -> list[str]:
    """Return the names of the runs from top to bottom."""
    return rows(page).evaluate_all("rows => rows.map(row => row.dataset.run)")


def run_checkbox(page: Page, name: str) -> Locator:
    return row(page, name).get_by_role("checkbox")


def checked_runs(page: Page) -> list[str]:
    """Return the names of the selected runs from top to bottom."""
    return rows(page).evaluate_all(
        "rows => rows.filter(row => row.querySelector(':checked')).map(row => row.dataset.run)"
    )


def column_header(page: Page, text: str) -> Locator:
    return grid(page).get_by_role("columnheader").get_by_role("button", name=text)


def cell(page: Page, name: str, column: int) -> Locator:
    """Return a cell to the right of the name; columns count from 1."""
    return row(page, name).get_by_role("gridcell").nth(column)


def filter_box(page: Page) -> Locator:
    return runs_panel(page).get_by_role("searchbox", name="Filter runs")


def choose_from_menu(page: Page, run: str, item: str) -> None:
    run_name(page, run).click(button="right")
    page.get_by_role("menu", name="Run actions").get_by_role("menuitem", name=item).click()


def run_color(page: Page, name: str) -> str:
    return run_checkbox(page, name).evaluate("box => getComputedStyle(box).borderTopColor")
