"""Locators of the page's shell and of the Overview, mostly by role and accessible name."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page


def runs_panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Runs")


def run_rows(page: Page) -> Locator:
    return runs_panel(page).locator("[role=row][data-run]")


def run_row(page: Page, name: str) -> Locator:
    return runs_panel(page).locator(f'[role=row][data-run="{name}"]')


def run_count(page: Page) -> Locator:
    return runs_panel(page).get_by_role("status").last


def dashboard_tab(page: Page, title: str) -> Locator:
    return page.get_by_role("navigation", name="Dashboards").get_by_role("link", name=title)


def tag_table(page: Page) -> Locator:
    return page.get_by_role("table", name="Tags")


def tag_row(page: Page, name: str) -> Locator:
    return tag_table(page).get_by_role("row").filter(has=page.get_by_title(name, exact=True))


def tag_names(page: Page) -> list[str]:
    """Return the names of all visible tags from top to bottom."""
    cells = tag_table(page).get_by_role("row").locator("[role=cell] .name")
    return cells.all_inner_texts()


def section_buttons(page: Page) -> Locator:
    return tag_table(page).get_by_role("button")


def connection_status(page: Page, text: str) -> Locator:
    return page.get_by_role("banner").get_by_text(re.compile(f"^{text}"))


def search_box(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Search")


def search_results(page: Page) -> Locator:
    """Return the results listed by the search box."""
    return page.get_by_role("listbox", name="Results").get_by_role("option")


def click_retry(scope: Page | Locator) -> None:
    """Click all Retry buttons that are left: the page also tries again by itself."""
    scope.get_by_role("button", name="Retry").evaluate_all("all => all.forEach((b) => b.click())")


def step_range(first: int, last: int) -> str:
    """Format a range of steps as the page does."""
    return f"{first} \N{EN DASH} {last}"
