"""The parts of the Scalars view, and the numbers that can be read there."""

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
    """The chart, once it has lines."""
    found = chart(page, title)
    expect(found).to_have_attribute("aria-label", re.compile(r"\d lines?,"))
    return found


def read_axes(page: Page, title: str) -> tuple[str, str, float, float]:
    """First and last word below the chart, and the ends of its vertical axis."""
    said = str(drawn_chart(page, title).get_attribute("aria-label"))
    match = re.search(r"lines?, (.*) to (.*) across, (\S+) to (\S+) up", said)
    assert match, said
    return match[1], match[2], parse_number(match[3]), parse_number(match[4])


def open_menu(page: Page, title: str) -> Locator:
    page.get_by_role("button", name=f"More for {title}", exact=True).first.click()
    return page.get_by_role("menu")


def choose_menu_item(page: Page, title: str, item: str) -> None:
    items = open_menu(page, title).locator("[role^=menuitem]")
    items.filter(has_text=re.compile(rf"^[\s✓]*{re.escape(item)}(\s|$)")).first.click()


def move_cursor_to(page: Page, title: str, count: int) -> None:
    """Put the cursor on a point by keyboard."""
    found = drawn_chart(page, title)
    # What was answered last has to be drawn before it can be walked on.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found.focus()
    found.press("Home")
    for _ in range(count):
        found.press("ArrowRight")


def tooltip(page: Page) -> Locator:
    return page.get_by_role("status", name="Values at the cursor")


def read_tooltip(page: Page) -> dict[str, list[str]]:
    """The cells after each name, all read in one go, as the rows may still be sorted."""
    rows = (
        tooltip(page)
        .locator("tbody tr")
        .evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.innerText))")
    )
    return {name: cells for _, name, *cells in rows}


def value_table(page: Page, title: str) -> Locator:
    return card(page, title).get_by_role("region", name=re.compile(r"^Values of "))


def read_table(table: Locator) -> dict[str, dict[str, str]]:
    """Cells by the name of the row and the heading of the column."""
    # All in one go, as the rows may still be sorted.
    heads, *rows = table.locator("tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    names = [head.strip(" ↑↓") for head in heads[1:]]
    return {name.strip(): dict(zip(names, cells, strict=True)) for name, *cells in rows}


def parse_number(text: str) -> float:
    """A number as the page writes it."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace(",", "").replace("∞", "inf").strip()
    return float(plain.removesuffix(" %"))


def open_settings(page: Page) -> Locator:
    """The panel at the right, opened if it is not."""
    panel = page.get_by_role("complementary", name="Settings of Scalars")
    if not panel.is_visible():
        page.get_by_role("button", name="Settings of Scalars").click()
    return panel
