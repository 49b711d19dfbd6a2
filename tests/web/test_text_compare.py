"""Comparison of two texts, of two steps or of two runs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import choose_menu_item
from tests.web.text_log import text_entries

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


def diff_region(page: Page) -> Locator:
    return page.get_by_role("region", name="Differences")


def changed_words(page: Page) -> Locator:
    return diff_region(page).locator("mark")


def test_compares_two_runs(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&step=50")
    expect(text_entries(page, "story")).to_have_count(2)
    choose_menu_item(page, "story", "Compare text")
    expect(page).to_have_url(re.compile("text-compare=a,50,b,50"))
    expect(page.get_by_text("+1 \N{MINUS SIGN}1 lines")).to_be_visible()
    expect(diff_region(page)).to_contain_text("The cat sat on mat 5.")
    expect(changed_words(page)).to_have_text(["cat", "dog"])


def test_compares_two_steps(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&card=story&text-compare=a,10,a,20")
    expect(page.get_by_text("+2 \N{MINUS SIGN}2 lines")).to_be_visible()
    expect(changed_words(page)).to_have_text(["1", "2", "1", "2"])
    after = page.get_by_role("group", name="After", exact=True)
    after.get_by_role("slider", name="After: step").press("ArrowRight")
    expect(page).to_have_url(re.compile("text-compare=a,10,a,30"))
    expect(diff_region(page)).to_contain_text("mat 3.")
    after.get_by_role("combobox", name="After: run").select_option("b")
    expect(page).to_have_url(re.compile("text-compare=a,10,b,30"))
    expect(diff_region(page)).to_contain_text("The dog sat on mat 3.")
    page.get_by_role("button", name="Swap").click()
    expect(page).to_have_url(re.compile("text-compare=b,30,a,10"))


def test_side_by_side_and_unified_layouts(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&card=story&text-compare=a,10,a,20")
    expect(diff_region(page).locator(".cell")).to_have_count(10)
    page.get_by_role("button", name="Unified").click()
    expect(diff_region(page).locator(".cell")).to_have_count(7)
    expect(diff_region(page)).to_contain_text("Removed: The cat sat on mat 1.")


def test_collapses_unchanged_lines(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&card=arrays/grid&text-compare=a,,a,")
    expect(page.get_by_text("No differences")).to_be_visible()
    expect(diff_region(page)).to_contain_text("10,800 unchanged lines")
    page.get_by_role("checkbox", name="Changes only").click()
    expect(page).to_have_url(re.compile("changes-only=0"))
    expect(page.get_by_text("The first 4,000 of 10,800 lines are shown.")).to_be_visible()


def test_closes_comparison(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&card=story&text-compare=a,10,a,20")
    page.get_by_role("button", name="Close comparison").click()
    expect(page).not_to_have_url(re.compile("text-compare="))
    text_entries(page, "story").first.hover()
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile("text-compare=a,,b,"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("text-compare="))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("card="))


def test_shows_message_for_step_without_text(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&card=story&text-compare=a,-5,a,20")
    expect(page.get_by_text("One side has no text at this step")).to_be_visible()
