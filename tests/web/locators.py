"""The parts of the page, found as a person or a screen reader would."""

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
    """Names of all tags on the screen, from top to bottom."""
    cells = tag_table(page).get_by_role("row").locator("[role=cell] .name")
    return cells.all_inner_texts()


def section_buttons(page: Page) -> Locator:
    return tag_table(page).get_by_role("button")


def connection_status(page: Page, word: str) -> Locator:
    return page.get_by_role("banner").get_by_text(re.compile(f"^{word}"))


def search_box(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Search")


def search_results(page: Page) -> Locator:
    """What the search box lists."""
    return page.get_by_role("listbox", name="Found").get_by_role("option")


def step_range(first: int, last: int) -> str:
    """The words for a range of steps."""
    return f"{first} \N{EN DASH} {last}"
