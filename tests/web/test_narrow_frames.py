"""Every tab and every control of the toolbar is reachable in a notebook's frame and on a phone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import builders as b
from tests.web.conftest import board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_box, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

WIDTHS = [1440, 1280, 880, 390]


def write_many_kinds(logdir: Path) -> None:
    """Write a run with data for most dashboards."""
    plugins = ["images", "audio", "text", "histograms", "pr_curves", "mesh", "custom_scalars"]
    values = [b.value(name, b.image_tensor(), b.metadata(name)) for name in plugins]
    event = b.event(b.summary(*values), step=0, wall=time.time())
    append_records(logdir / "run", *loss_records("loss", range(50)), b.record(event))


many_kinds = board_fixture(write_many_kinds, "module")


def tabs(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Dashboards").get_by_role("link")


def tab(page: Page, title: str) -> Locator:
    return tabs(page).filter(has_text=re.compile(f"^{title}$"))


def more_button(page: Page) -> Locator:
    return page.get_by_role("button", name="More", exact=True)


def is_within_window(page: Page, found: Locator) -> bool:
    """Return whether an element is fully visible and clickable without scrolling."""
    return found.evaluate(
        """node => {
            const box = node.getBoundingClientRect();
            const spots = [[box.left + 2, box.top + box.height / 2],
                           [box.right - 2, box.top + box.height / 2]];
            return spots.every(([x, y]) => {
                const hit = document.elementFromPoint(x, y);
                return hit !== null && (node.contains(hit) || hit.contains(node));
            }) && box.left >= 0 && box.right <= innerWidth;
        }"""
    )


TITLES = ["Scalars", "Custom scalars", "Workspace", "Runs", "Overview", "Images", "Audio", "Text"]
TITLES += ["Mesh", "Histograms", "Distributions", "PR curves"]


def navigation(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Dashboards")


@pytest.mark.parametrize("width", [1600, 1280, 880, 780])
def test_each_dashboard_with_data_is_in_the_bar_or_a_menu_of_it(
    many_kinds: str, open_page: OpenPage, width: int
) -> None:
    page = open_page(f"{many_kinds}?tab=scalars", width=width)
    expect(more_button(page)).to_be_visible()
    expect(navigation(page)).to_contain_text(re.compile("Media|Histograms"))
    get_stable_box(more_button(page))
    titles = []
    for item in tabs(page).or_(navigation(page).get_by_role("button")).all():
        wait_for_condition(page, lambda item=item: is_within_window(page, item))
        if item.get_attribute("href"):
            titles.append(item.inner_text())
        else:
            item.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            titles += page.get_by_role("dialog").get_by_role("link").all_inner_texts()
            assert list_violations(page, scope="[role=dialog], nav") == []
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
    assert list_violations(page) == []
    assert titles == TITLES
    is_flat = tabs(page).count() == len(TITLES)
    assert is_flat == (width >= 1600)
    assert not overflows(page)


def test_group_says_which_of_its_dashboards_is_open(many_kinds: str, open_page: OpenPage) -> None:
    page = open_page(f"{many_kinds}?tab=scalars", width=1000)
    group = navigation(page).get_by_role("button", name="Metrics: Scalars")
    expect(group).to_be_visible()
    media = navigation(page).get_by_role("button", name="Media")
    media.focus()
    page.keyboard.press("Enter")
    links = page.get_by_role("dialog", name="Media").get_by_role("link")
    expect(links.first).to_be_focused()
    page.keyboard.press("End")
    expect(links.last).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(links.filter(has_text="Text")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tab=text"))
    expect(navigation(page).get_by_role("button", name="Media: Text")).to_be_visible()
    # A group with one dashboard is a plain tab.
    expect(tab(page, "PR curves")).to_be_visible()
    page.go_back()
    expect(group).to_be_visible()
    page.set_viewport_size({"width": 1600, "height": 900})
    expect(tab(page, "Scalars")).to_have_attribute("aria-current", "page")


def test_phone_opens_dashboards_in_a_drawer(many_kinds: str, open_page: OpenPage) -> None:
    page = open_page(f"{many_kinds}?tab=scalars", width=390)
    button = navigation(page).get_by_role("button", name="Scalars")
    button.click()
    drawer = page.get_by_role("dialog", name="Dashboards")
    links = drawer.get_by_role("link")
    wait_for_condition(page, lambda: links.all_inner_texts()[: len(TITLES)] == TITLES)
    expect(drawer.get_by_role("heading", name="No data yet")).to_be_visible()
    expect(links.filter(has_text="Profile")).to_be_visible()
    assert list_violations(page) == []
    assert not overflows(page)
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(button).to_be_focused()
    button.click()
    links.filter(has_text="Text").click()
    expect(drawer).to_have_count(0)
    expect(page).to_have_url(re.compile("tab=text"))
    expect(navigation(page).get_by_role("button", name="Text")).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_each_control_of_the_scalars_toolbar_is_visible(
    many_kinds: str, open_page: OpenPage, width: int
) -> None:
    page = open_page(f"{many_kinds}?tab=scalars", width=width)
    toolbar = page.get_by_role("toolbar", name="Scalars")
    controls = [
        toolbar.get_by_label("Filter tags"),
        toolbar.get_by_role("button", name="Wall"),
        toolbar.get_by_role("slider", name="Smoothing"),
        toolbar.get_by_label("Smoothing value"),
        toolbar.get_by_role("button", name="Δ baseline"),
        toolbar.get_by_role("button", name="Show value table"),
        toolbar.get_by_role("button", name="Scalars settings"),
    ]
    for control in controls:
        expect(control).to_be_visible()
        wait_for_condition(page, lambda control=control: is_within_window(page, control))
    assert not overflows(page)
    expected = {1440: 1, 1280: 1, 880: 2, 390: 4}[width]
    assert len({round(get_stable_box(control).y / 30) for control in controls}) == expected
