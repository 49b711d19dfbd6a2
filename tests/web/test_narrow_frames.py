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
from tests.web.test_looks import find_violations, overflows

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


@pytest.mark.parametrize("width", WIDTHS)
def test_each_tab_is_in_the_bar_or_the_more_menu(
    many_kinds: str, open_page: OpenPage, width: int
) -> None:
    page = open_page(f"{many_kinds}?tab=scalars", width=width)
    expect(tab(page, "Scalars")).to_have_attribute("aria-current", "page")
    expect(more_button(page)).to_be_visible()
    assert is_within_window(page, more_button(page))
    in_bar = tabs(page).all_inner_texts()
    for title in in_bar:
        assert is_within_window(page, tab(page, title)), title
    more_button(page).click()
    dialog = page.get_by_role("dialog")
    listed = dialog.get_by_role("link").all_inner_texts()
    titles = ["Scalars", "Images", "Audio", "Text", "Histograms", "Distributions", "PR curves"]
    titles += ["Mesh", "Custom scalars", "Overview"]
    assert in_bar + listed == titles
    assert (len(listed) > 0) == (width < 1280)
    assert find_violations(page) == []
    assert not overflows(page)


def test_active_tab_is_always_in_the_bar(many_kinds: str, open_page: OpenPage) -> None:
    page = open_page(f"{many_kinds}?tab=overview", width=390)
    overview = tab(page, "Overview")
    expect(overview).to_have_attribute("aria-current", "page")
    assert is_within_window(page, overview)
    more_button(page).click()
    page.get_by_role("dialog").get_by_role("link", name="Text").click()
    expect(page).to_have_url(re.compile("tab=text"))
    expect(tab(page, "Text")).to_have_attribute("aria-current", "page")
    assert is_within_window(page, tab(page, "Text"))
    expect(overview).to_have_count(0)
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(overview).to_be_visible()


def test_more_menu_works_by_keyboard(many_kinds: str, open_page: OpenPage) -> None:
    page = open_page(f"{many_kinds}?tab=scalars", width=390)
    more_button(page).focus()
    page.keyboard.press("Enter")
    links = page.get_by_role("dialog", name="More dashboards").get_by_role("link")
    expect(links.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(links.last).to_be_focused()
    page.keyboard.press("Escape")
    expect(more_button(page)).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tab=overview"))
    expect(page.get_by_role("dialog")).to_have_count(0)


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
        toolbar.get_by_role("spinbutton").or_(toolbar.get_by_label("Smoothing, as a number")),
        toolbar.get_by_role("button", name="Δ baseline"),
        toolbar.get_by_role("button", name="Table of values below each chart"),
        toolbar.get_by_role("button", name="Settings of Scalars"),
    ]
    for control in controls:
        expect(control).to_be_visible()
        assert is_within_window(page, control), control
    assert not overflows(page)
    expected = {1440: 1, 1280: 1, 880: 2, 390: 4}[width]
    assert len({round(control.bounding_box()["y"] / 30) for control in controls}) == expected
