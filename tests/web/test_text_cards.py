"""Text cards: Markdown, raw text, steps, arrays, copy and download."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.small_log import write
from tests.web.cards import card, choose_menu_item
from tests.web.conftest import Serve
from tests.web.text_log import MODEL_CARD, event_record, make_story, text_entries, text_list
from tests.web.waiting import wait_for_condition, wait_for_value
from tracklight.formats import summary

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
CLIPBOARD = "navigator.clipboard.readText()"


def test_renders_markdown_of_each_run_and_raw_text(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&tags=model")
    prose = text_entries(page, "model/card").first
    expect(prose.get_by_role("heading", name="The model")).to_be_visible()
    expect(prose.locator("td.right")).to_have_text("64")
    expect(prose.locator("math mfrac")).to_have_count(1)
    expect(prose.locator("pre .hl-keyword").first).to_have_text("def")
    link = prose.get_by_role("link", name="paper")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("target", "_blank")

    expect(text_entries(page, "model/card")).to_have_count(2)
    expect(text_entries(page, "model/card").nth(1)).to_contain_text("A plain text of b.")

    page.get_by_role("button", name="Raw").click()
    expect(page).to_have_url(re.compile("text-format=raw"))
    raw = text_entries(page, "model/card").first.locator("pre")
    expect(raw).to_be_visible()
    wait_for_value(page, raw.inner_text, MODEL_CARD)
    page.keyboard.press("r")
    expect(page).not_to_have_url(re.compile("text-format="))


def test_step_slider_changes_texts(library: str, open_page: Open) -> None:
    page = open_page(library)
    story = text_entries(page, "story")
    expect(story.first).to_contain_text("The cat sat on mat 59.")
    expect(story.nth(1)).to_contain_text("The dog sat on mat 29.")
    slider = page.get_by_role("slider", name="Step of all cards")
    slider.press("ArrowLeft")
    expect(page).to_have_url(re.compile("step=580"))
    expect(story.first).to_contain_text("The cat sat on mat 58.")
    slider.press("Home")
    expect(story.nth(1)).to_contain_text("The dog sat on mat 0.")


def test_card_has_separate_step_when_unlinked(library: str, open_page: Open) -> None:
    page = open_page(library)
    page.get_by_role("checkbox", name="Sync steps").click()
    card(page, "story").get_by_role("slider", name="Step of story").press("ArrowLeft")
    expect(page).to_have_url(re.compile("steps=story"))
    expect(text_entries(page, "story").first).to_contain_text("The cat sat on mat 58.")


def test_play_advances_steps(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&step=570")
    page.get_by_role("button", name="Play").click()
    expect(text_entries(page, "story").first).to_contain_text("The cat sat on mat 59.")


def test_shows_message_before_first_step(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&step=-5")
    expect(card(page, "story")).to_contain_text("The first entry is at step 0")


def test_lists_all_steps_newest_first(library: str, open_page: Open) -> None:
    page = open_page(library)
    page.get_by_role("button", name="All steps").click()
    expect(page).to_have_url(re.compile("step-mode=all"))
    expect(text_entries(page, "story").first).to_contain_text("mat 59.")
    assert text_entries(page, "story").count() < 30, "only those near the screen exist"
    for words in ("The cat sat on mat 0.", "The dog sat on mat 0."):
        wait_for_condition(
            page, lambda words=words: scroll_and_find(text_list(page, "story"), words)
        )


def scroll_and_find(shown: Locator, words: str) -> bool:
    """Scroll down a list and return whether the words are in view."""
    shown.evaluate("list => list.scrollBy(0, 400)")
    return words in shown.inner_text()


def test_opens_one_step_from_all_steps(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&step-mode=all")
    text_entries(page, "story").first.get_by_role("button", name="Step 590", exact=True).click()
    expect(page).not_to_have_url(re.compile("step-mode="))
    expect(page).to_have_url(re.compile("step=590"))


def test_shows_arrays_as_tables(library: str, open_page: Open) -> None:
    page = open_page(library)
    one = text_entries(page, "arrays/list").first
    expect(one.get_by_role("rowheader")).to_have_text(["0", "1"])
    expect(one.locator("strong")).to_have_text("one")
    grid = text_entries(page, "arrays/grid").first
    expect(grid).to_contain_text("120 \N{MULTIPLICATION SIGN} 45")
    expect(grid).to_contain_text("Rows 0\N{EN DASH}49 of 120")
    grid.get_by_role("button", name="Next rows").click()
    grid.get_by_role("button", name="Next columns").click()
    expect(grid.get_by_role("cell", name="cell 2270", exact=True)).to_be_visible()
    grid.get_by_role("button", name="Previous columns").click()
    expect(grid.get_by_role("columnheader", name="0", exact=True)).to_be_visible()


def test_selects_slice_of_an_array(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&card=arrays/cube")
    cube = text_entries(page, "arrays/cube").last
    expect(cube).to_contain_text("box 0")
    cube.get_by_role("button", name="Dimension 0: next index").click()
    expect(page).to_have_url(re.compile("slice=arrays/cube,1%5C,0"))
    cube.get_by_role("textbox", name="Index in dimension 1").fill("2")
    page.keyboard.press("Enter")
    expect(cube).to_contain_text("box 23")


def test_copies_text(library: str, open_page: Open) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    page = open_page(f"{library}&tags=model", permissions=allowed)
    first = text_entries(page, "model/card").first
    first.get_by_role("button", name="Copy text: a, step 0").click()
    expect(first.locator("header")).to_contain_text("Copied")
    wait_for_value(page, lambda: page.evaluate(CLIPBOARD), MODEL_CARD)
    first.get_by_role("button", name="Copy", exact=True).click()
    expect(first.get_by_role("button", name="Copied")).to_be_visible()
    wait_for_condition(page, lambda: page.evaluate(CLIPBOARD).startswith("def forward(x):"))


def test_downloads_text_and_shows_python_code(library: str, open_page: Open) -> None:
    page = open_page(library)
    with page.expect_download() as download:
        text_entries(page, "story").first.get_by_role("button", name="Download text").click()
    assert download.value.suggested_filename == "a_story_590.md"
    assert download.value.path().read_text(encoding="utf-8") == make_story(59)

    choose_menu_item(page, "story", "Copy as Python…")
    expect(page.get_by_role("dialog")).to_contain_text('log.text(run, "story")')


def test_full_screen_and_back(library: str, open_page: Open) -> None:
    page = open_page(library)
    text_entries(page, "story").first.hover()
    page.keyboard.press("m")
    expect(page).to_have_url(re.compile("card=story"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("card="))


def test_settings(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&text-format=raw")
    page.get_by_role("button", name="Text settings").click()
    panel = page.get_by_role("complementary", name="Text settings")
    raw = text_entries(page, "story").first.locator("pre")
    expect(raw).to_have_css("white-space-collapse", "preserve")
    expect(raw).to_have_css("text-wrap-mode", "wrap")
    panel.get_by_role("checkbox", name="Wrap long lines in raw text").click()
    expect(raw).to_have_css("text-wrap-mode", "nowrap")
    panel.get_by_role("button", name="All steps").click()
    expect(page).to_have_url(re.compile("step-mode=all"))


def test_shows_network_error_and_recovers(library: str, open_page: Open) -> None:
    page = open_page(library)
    page.route("**/api/v1/text/render?**", lambda route: route.abort())
    page.get_by_role("button", name="Raw").click()
    alert = card(page, "story").get_by_role("alert").first
    expect(alert).to_contain_text("Server unreachable")
    expect(card(page, "story").get_by_role("button", name="Retry").first).to_be_visible()
    page.unroute("**/api/v1/text/render?**")
    expect(text_entries(page, "story").first).to_contain_text("## Chapter 59")


def test_empty_state_shows_how_to_log_texts(sweep: str, open_page: Open) -> None:
    page = open_page(f"{sweep}?tab=text")
    expect(page.get_by_role("main")).to_contain_text(re.compile("summary.text|No text yet"))


def test_character_count_is_singular_for_one(logdir: Path, serve: Serve, open_page: Open) -> None:
    write(logdir / "run", *(event_record(0, summary.text(name, name)) for name in ("x", "xy")))
    page = open_page(f"{serve(logdir).address}?tab=text")
    expect(card(page, "x")).to_contain_text(re.compile(r"\b1 character(?!s)"))
    expect(card(page, "xy")).to_contain_text("2 characters")
