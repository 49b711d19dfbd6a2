"""Locators of cards and charts, and readers of the values they show."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def cards(page: Page) -> Locator:
    return page.get_by_role("article")


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("article", name=title, exact=True)


def card_titles(page: Page) -> list[str]:
    return cards(page).evaluate_all("cards => cards.map(card => card.ariaLabel)")


def chart(page: Page, title: str) -> Locator:
    return card(page, title).get_by_role("img")


def drawn_chart(page: Page, title: str) -> Locator:
    """Return the chart once it has lines."""
    locator = chart(page, title)
    expect(locator).to_have_attribute("aria-label", re.compile(r"\d lines?,"))
    return locator


def read_axes(page: Page, title: str) -> tuple[str, str, float, float]:
    """Return the first and last x labels and the limits of the y axis."""
    label = str(drawn_chart(page, title).get_attribute("aria-label"))
    match = re.search(r"lines?, x axis (.*) to (.*), y axis (\S+) to (\S+)", label)
    assert match, label
    return match[1], match[2], parse_number(match[3]), parse_number(match[4])


def open_menu(page: Page, title: str) -> Locator:
    page.get_by_role("button", name=f"More actions for {title}", exact=True).first.click()
    return page.get_by_role("menu")


def choose_menu_item(page: Page, title: str, item: str) -> None:
    items = open_menu(page, title).locator("[role^=menuitem]")
    items.filter(has_text=re.compile(rf"^[\s✓]*{re.escape(item)}(\s|$)")).first.click()


def move_cursor_to(page: Page, title: str, count: int) -> None:
    """Move the chart cursor to a point by keyboard."""
    locator = drawn_chart(page, title)
    # The latest response must be drawn before the cursor can move along its points.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    locator.focus()
    locator.press("Home")
    for _ in range(count):
        locator.press("ArrowRight")


def tooltip(page: Page) -> Locator:
    return page.get_by_role("status", name="Values at cursor")


def read_tooltip_cells(page: Page) -> dict[str, list[str]]:
    """Return the cells by row name, read at once because rows may still be reordered."""
    rows = (
        tooltip(page)
        .locator("tbody tr")
        .evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.innerText))")
    )
    return {name: cells for _, name, *cells in rows}


def value_table(page: Page, title: str) -> Locator:
    return card(page, title).get_by_role("table", name=re.compile(r"^Values of "))


def table_rows(table: Locator) -> Locator:
    """Return the rows of a data table, without its header."""
    return table.locator("[role=row]:has(> [role=cell])")


def read_table(table: Locator) -> dict[str, dict[str, str]]:
    """Return the cells by row name and column header."""
    # Read at once because rows may still be reordered.
    headers, *rows = table.locator("tr, [role=row]").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    names = [head.strip(" ↑↓\n") for head in headers[1:]]
    return {name.strip(): dict(zip(names, cells, strict=True)) for name, *cells in rows}


def parse_number(text: str) -> float:
    """Parse a number as the page formats it."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace(",", "").replace("∞", "inf").strip()
    return float(plain.removesuffix("%"))


def open_settings(page: Page) -> Locator:
    """Return the settings panel; open it if necessary."""
    panel = page.get_by_role("complementary", name="Scalars settings")
    if not panel.is_visible():
        page.get_by_role("button", name="Scalars settings").click()
    return panel
