"""The guided tour: all steps on the demo log, Back and Skip, both languages, narrow screens."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


#: The title of each step, and the dashboard that it opens. Without --data-dir, What-If has no data.
STEPS = [
    ("Welcome to tracklight", "Scalars"),
    ("Runs", "Scalars"),
    ("Charts", "Scalars"),
    ("Search", "Scalars"),
    ("Runs as a table", "Runs"),
    ("HParams", "HParams"),
    ("Images and other media", "Images"),
    ("Graphs", "Graphs"),
    ("Projector", "Projector"),
    ("Profile", "Profile"),
    ("Debugger", "Debugger"),
    ("That is it", "Debugger"),
]


def tour(page: Page, title: str) -> Locator:
    return page.get_by_role("dialog", name=title, exact=True)


def test_every_step_opens_its_dashboard(demo: str, open_page: OpenPage) -> None:
    page = open_page(demo + "?tour=1")
    for number, (title, dashboard) in enumerate(STEPS, 1):
        panel = tour(page, title)
        expect(panel).to_contain_text(f"{number} of {len(STEPS)}")
        expect(page).to_have_title(re.compile(f"^{dashboard} · "))
        last = number == len(STEPS)
        panel.get_by_role("button", name="Done" if last else "Next").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("tour="))


def test_outline_follows_the_element(demo: str, open_page: OpenPage) -> None:
    page = open_page(demo + "?tour=2")
    expect(tour(page, "Runs")).to_be_focused()
    outline, runs = page.locator(".outline"), page.locator("#runs-sidebar")
    expect(outline).to_be_visible()
    wait_for_condition(page, lambda: outline.bounding_box() == runs.bounding_box())
    page.set_viewport_size({"width": 1200, "height": 700})
    page.wait_for_function(
        """() => {
          const [one, other] = ['.outline', '#runs-sidebar'].map(
            selector => document.querySelector(selector).getBoundingClientRect());
          return one.height === other.height && one.width === other.width;
        }"""
    )


def test_tour_is_skipped_and_can_be_left_with_the_keyboard(demo: str, open_page: OpenPage) -> None:
    page = open_page(demo + "?tour=1")
    expect(tour(page, "Welcome to tracklight")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(tour(page, "Runs")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(tour(page, "Welcome to tracklight")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#content")).to_be_focused()
    page = open_page(demo + "?tour=3")
    tour(page, "Charts").get_by_role("button", name="Skip tour").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("tour="))


def test_tour_on_a_small_log_leaves_out_dashboards(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "?tour=1")
    panel = page.get_by_role("dialog")
    text = panel.get_by_text(re.compile("1 of"))
    expect(text).to_be_visible()
    count = int((text.text_content() or "").split()[-1])
    assert 4 < count < len(STEPS)


@pytest.mark.parametrize("width", [1440, 390])
def test_tour_is_accessible_and_fits(width: int, demo: str, open_page: OpenPage) -> None:
    page = open_page(demo + "?tour=3", width=width, locale="zh-CN")
    panel = tour(page, "图表")
    expect(panel).to_contain_text(re.compile("第 3 步.共 12 步"))
    expect(panel.get_by_role("button", name="跳过导览")).to_be_visible()
    expect(page.locator("article canvas").first).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []
