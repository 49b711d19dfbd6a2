"""PR curves dashboard: accessibility, keyboard, phones and shared URLs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.cards import card, open_menu
from tests.web.conftest import board_fixture
from tests.web.pr_curve_log import write_pr_curves
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_pr_curves import TAB, chart, point_at, settings, tooltip
from tests.web.waiting import get_stable_box, get_stable_url

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


board = board_fixture(write_pr_curves, "module", TAB)


def test_has_no_accessibility_violations(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&table=1&sync-steps=0&threshold=0.4")
    chart(page, "pr/cat")
    settings(page)
    assert list_violations(page) == []
    open_menu(page, "pr/cat")
    assert list_violations(page) == []
    page.keyboard.press("Escape")
    page.goto(board + "&curves-by=classes&curve=ROC")
    chart(page, "large")
    assert list_violations(page) == []


def test_keyboard_reaches_all_actions(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr&step=0")
    keys = page.keyboard
    chart(page, "pr/cat").focus()
    keys.press("ArrowRight")
    expect(tooltip(page)).to_contain_text("Threshold 0")
    keys.press("ArrowRight")
    expect(tooltip(page)).to_contain_text("Threshold 0.1")
    keys.press("Enter")
    expect(page).to_have_url(re.compile(r"threshold=0\.1"))
    keys.press("ArrowRight")
    expect(tooltip(page)).to_contain_text("Threshold 0.2")
    keys.press("Escape")
    expect(page).not_to_have_url(re.compile("threshold="))
    page.get_by_role("button", name="Show counts table").focus()
    keys.press("ArrowRight")
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "100")
    keys.press("End")
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "200")
    keys.press("o")
    expect(page).to_have_url(re.compile("curve=ROC"))
    keys.press("o")
    keys.press("d")
    expect(page).to_have_url(re.compile("table=1"))
    keys.press("c")
    expect(card(page, "base")).to_be_visible()
    keys.press("c")
    expect(card(page, "pr/cat")).to_be_visible()
    chart(page, "pr/cat").focus()
    keys.press("m")
    expect(page).to_have_url(re.compile("card=pr"))
    keys.press("Escape")
    expect(page).not_to_have_url(re.compile("card=pr"))
    keys.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Switch between PR and ROC")


def test_fits_phone_width(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr", width=390)
    chart(page, "pr/cat")
    assert not overflows(page)
    point_at(page, "pr/cat", 0.9, 0.5)
    tip = get_stable_box(tooltip(page))
    assert tip.x >= 0 and tip.x + tip.width <= 390
    panel = settings(page)
    expect(panel.get_by_role("button", name="Classes")).to_be_visible()
    assert not overflows(page)


def test_url_restores_view(board: str, open_page: OpenPage) -> None:
    query = "&tags=pr&curve=ROC&threshold=0.4&step=100&table=1&pinned=pr/dog&measure=f1"
    one = open_page(board + query)
    chart(one, "pr/cat")
    other = open_page(get_stable_url(one))
    chart(other, "pr/cat")
    for page in (one, other):
        expect(page.get_by_role("article", name="pr/dog")).to_have_count(2)
        expect(card(page, "pr/cat")).to_have_attribute("data-step", "100")
        table = card(page, "pr/cat").get_by_role("table", name=re.compile("At threshold 0.4"))
        expect(table).to_contain_text("base")


def test_empty_state_shows_how_to_log_pr_curves(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep + TAB)
    expect(page.get_by_text("pr_curve").first).to_be_visible()
