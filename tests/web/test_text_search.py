"""Words are found in every text, wherever it is."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.text_log import text_list

pytestmark = pytest.mark.browser

Open = Callable[..., Page]

#: How many places are marked, and on what the mark is that stands out.
HAS_MARKS = "count => (CSS.highlights.get('text-found')?.size ?? 0) === count"
HAS_CURRENT = "words => [...(CSS.highlights.get('text-current') ?? [])].join() === words"


def field(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search in all texts")


def strip(page: Page) -> Locator:
    return page.get_by_role("search", name="Search in the texts")


def test_all_steps_are_searched(library: str, open_page: Open) -> None:
    page = open_page(library)
    expect(field(page)).to_be_visible()
    page.keyboard.press("/")
    expect(field(page)).to_be_focused()
    page.keyboard.type("mat 4")
    expect(strip(page)).to_contain_text("12 hits · 95 of 95 texts searched")
    expect(page).to_have_url(re.compile("q=mat(%20|\\+)4"))


def test_from_hit_to_hit(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=on+mat+3")
    expect(strip(page)).to_contain_text("12 hits")
    field(page).press("Enter")
    expect(page).to_have_url(re.compile("card=story"))
    expect(page).to_have_url(re.compile("step=390"))
    expect(text_list(page, "story")).to_contain_text("on mat 39.")
    page.wait_for_function(HAS_CURRENT, arg="on mat 3")
    strip(page).get_by_role("button", name="Next hit").click()
    expect(page).to_have_url(re.compile("step=380"))
    expect(strip(page)).to_contain_text("2 of 12")
    strip(page).get_by_role("button", name="Hit before").click()
    strip(page).get_by_role("button", name="Hit before").click()
    expect(strip(page)).to_contain_text("12 of 12")


def test_the_list_of_hits(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=dog+sat")
    strip(page).get_by_role("button", name="List the hits").click()
    hits = page.get_by_role("list", name="Hits").get_by_role("listitem")
    expect(hits.first).to_contain_text("step 290")
    expect(hits.first).to_contain_text("line 3")
    expect(hits.first.locator("mark")).to_have_text("dog sat")
    hits.nth(1).click()
    expect(page).to_have_url(re.compile("step=280"))


def test_a_hit_among_all_steps_is_scrolled_to(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&show=all&q=cat+sat+on+mat+7.")
    field(page).press("Enter")
    expect(text_list(page, "story").get_by_text("The cat sat on mat 7.")).to_be_in_viewport()


def test_what_is_on_the_page_is_marked(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=sat+on")
    page.wait_for_function(HAS_MARKS, arg=2)
    field(page).fill("nowhere to be found")
    expect(strip(page)).to_contain_text("Nothing found · 95 of 95 texts searched")
    page.wait_for_function(HAS_MARKS, arg=0)


def test_case_and_expressions(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=THE+DOG")
    expect(strip(page)).to_contain_text("30 hits")
    strip(page).get_by_role("button", name="Aa").click()
    expect(strip(page)).to_contain_text("Nothing found")
    field(page).fill(r"mat 1\d\.$")
    strip(page).get_by_role("button", name="Regular expression").click()
    expect(strip(page)).to_contain_text("20 hits")
    expect(page).to_have_url(re.compile("q-re=1"))
    field(page).fill("(")
    expect(strip(page)).to_contain_text("nvalid regular expression")


def test_escape_ends_the_search(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=dog")
    expect(strip(page)).to_contain_text("30 hits")
    field(page).press("Escape")
    expect(page).not_to_have_url(re.compile("q="))
    expect(strip(page)).not_to_contain_text("hits")


def test_only_the_tags_that_are_shown(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&tags=model&q=the")
    expect(strip(page)).to_contain_text("2 of 2 texts searched")
