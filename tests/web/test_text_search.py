"""Search in all texts of a log."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.text_log import text_list

pytestmark = pytest.mark.browser

Open = Callable[..., Page]

#: Whether this many matches are highlighted, and whether this is the current match.
HAS_MARKS = "count => (CSS.highlights.get('text-match')?.size ?? 0) === count"
HAS_CURRENT = "words => [...(CSS.highlights.get('text-current') ?? [])].join() === words"


def search_field(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search all text")


def search_bar(page: Page) -> Locator:
    return page.get_by_role("search", name="Search text")


def test_searches_all_steps(library: str, open_page: Open) -> None:
    page = open_page(library)
    expect(search_field(page)).to_be_visible()
    page.keyboard.press("/")
    expect(search_field(page)).to_be_focused()
    page.keyboard.type("mat 4")
    expect(search_bar(page)).to_contain_text("12 matches · 95 of 95 entries searched")
    expect(page).to_have_url(re.compile("q=mat(%20|\\+)4"))


def test_navigates_between_hits(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=on+mat+3")
    expect(search_bar(page)).to_contain_text("12 matches")
    search_field(page).press("Enter")
    expect(page).to_have_url(re.compile("card=story"))
    expect(page).to_have_url(re.compile("step=390"))
    expect(text_list(page, "story")).to_contain_text("on mat 39.")
    page.wait_for_function(HAS_CURRENT, arg="on mat 3")
    search_bar(page).get_by_role("button", name="Next match").click()
    expect(page).to_have_url(re.compile("step=380"))
    expect(search_bar(page)).to_contain_text("2 of 12")
    search_bar(page).get_by_role("button", name="Previous match").click()
    search_bar(page).get_by_role("button", name="Previous match").click()
    expect(search_bar(page)).to_contain_text("12 of 12")


def test_lists_hits(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=dog+sat")
    search_bar(page).get_by_role("button", name="Show matches").click()
    hits = page.get_by_role("list", name="Matches").get_by_role("listitem")
    expect(hits.first).to_contain_text("Step 290")
    expect(hits.first).to_contain_text("Line 3")
    expect(hits.first.locator("mark")).to_have_text("dog sat")
    hits.nth(1).click()
    expect(page).to_have_url(re.compile("step=280"))


def test_scrolls_to_hit_in_all_steps(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&step-mode=all&q=cat+sat+on+mat+7.")
    search_field(page).press("Enter")
    expect(text_list(page, "story").get_by_text("The cat sat on mat 7.")).to_be_in_viewport()


def test_highlights_hits_on_the_page(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=sat+on")
    page.wait_for_function(HAS_MARKS, arg=2)
    search_field(page).fill("nowhere to be found")
    expect(search_bar(page)).to_contain_text("No matches · 95 of 95 entries searched")
    page.wait_for_function(HAS_MARKS, arg=0)


def test_case_sensitivity_and_regular_expressions(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=THE+DOG")
    expect(search_bar(page)).to_contain_text("30 matches")
    search_bar(page).get_by_role("button", name="Aa").click()
    expect(search_bar(page)).to_contain_text("No matches")
    search_field(page).fill(r"mat 1\d\.$")
    search_bar(page).get_by_role("button", name="Regular expression").click()
    expect(search_bar(page)).to_contain_text("20 matches")
    expect(page).to_have_url(re.compile("q-regex=1"))
    search_field(page).fill("(")
    expect(search_bar(page)).to_contain_text("nvalid regular expression")


def test_escape_clears_search(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=dog")
    expect(search_bar(page)).to_contain_text("30 matches")
    search_field(page).press("Escape")
    expect(page).not_to_have_url(re.compile("q="))
    expect(search_bar(page)).not_to_contain_text("matches")


def test_searches_only_filtered_tags(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&tags=model&q=the")
    expect(search_bar(page)).to_contain_text("2 of 2 entries searched")
