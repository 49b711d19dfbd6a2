"""Scalars dashboard: keyboard, accessibility, phones, themes and shared URLs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.cards import (
    card,
    cards,
    chart,
    drawn_chart,
    move_cursor_to,
    open_menu,
    open_settings,
    table_rows,
    tooltip,
)
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition

pytestmark = pytest.mark.browser


def test_keyboard_reaches_all_actions(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(board)
    drawn_chart(page, "epoch")
    keys = page.keyboard
    keys.press("f")
    keys.type("train/loss_2")
    keys.press("Escape")
    keys.press("Escape")
    expect(page.get_by_role("combobox", name="Filter tags")).to_have_value("")
    chart(page, "epoch").focus()
    keys.press("p")
    expect(page).to_have_url(re.compile("pinned=epoch"))
    keys.press("p")
    expect(page).not_to_have_url(re.compile("pinned="))
    keys.press("y")
    expect(page).to_have_url(re.compile("log-y=epoch"))
    keys.press("m")
    expect(page).to_have_url(re.compile("card=epoch"))
    keys.press("m")
    expect(page).not_to_have_url(re.compile("card="))
    keys.press("d")
    expect(page).to_have_url(re.compile("table=1"))
    keys.press("]")
    expect(page).to_have_url(re.compile(r"smoothing=0\.65"))
    keys.press("[")
    expect(page).not_to_have_url(re.compile("smoothing="))
    keys.press("r")
    expect(page).to_have_url(re.compile("select-range=1"))
    keys.press("s")
    expect(page.get_by_role("complementary", name="Scalars settings")).to_be_visible()
    keys.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Log scale Y axis")


def test_pins_and_unpins_point_by_keyboard(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss")
    move_cursor_to(page, "train/loss", 3)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("cursor=30"))
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("cursor=40"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("cursor="))


def test_opens_menu_by_keyboard(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss_2")
    drawn_chart(page, "train/loss_2")
    button = page.get_by_role("button", name="More actions for train/loss_2")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Full screen")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("wide="))
    expect(button).to_be_focused()


def test_has_no_accessibility_violations(board: str, open_page: Callable[..., Page]) -> None:
    query = "?pinned=train/loss&table=1&multi-tag=epoch\\,>odd&display=spike,bars,restart,table"
    page = open_page(board + query)
    drawn_chart(page, "epoch + odd")
    open_settings(page)
    assert list_violations(page) == []
    open_menu(page, "epoch")
    assert list_violations(page) == []


def test_dialogs_have_no_accessibility_violations(
    board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{board}?tags=train/loss")
    for item in ("Axis range…", "Add tag…", "Add annotation…"):
        drawn_chart(page, "train/loss")
        open_menu(page, "train/loss").get_by_text(item).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert list_violations(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_fits_phone_width(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(board, width=390)
    drawn_chart(page, "epoch")
    assert not overflows(page)
    assert get_stable_box(card(page, "epoch")).width > 340
    panel = open_settings(page)
    expect(panel.get_by_role("slider", name="Smoothing")).to_be_visible()
    assert not overflows(page)
    panel.get_by_role("button", name="Close panel").click()
    place = get_stable_box(chart(page, "epoch"))
    page.mouse.move(place.x + 300, place.y + 50)
    page.mouse.move(place.x + 301, place.y + 50)
    tip = get_stable_box(tooltip(page))
    assert tip.x >= 0 and tip.x + tip.width <= 390


def test_charts_follow_the_theme(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss_2")
    drawn_chart(page, "train/loss_2")
    expect(card(page, "train/loss_2")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.emulate_media(color_scheme="dark")
    expect(card(page, "train/loss_2")).to_have_css("background-color", "rgb(26, 26, 33)")


def read_main_text(page: Page) -> str:
    return page.get_by_role("main").inner_text()


def test_url_restores_view(board: str, open_page: Callable[..., Page]) -> None:
    query = (
        "?tags=train&x=relative&smoothing=0.9&log-y=train/loss&pinned=train/accuracy&collapsed=train"
        "&multi-tag=epoch\\,>odd&table=1&cursor=400&axis-range=train/accuracy,,,0,2,,&wide=train/accuracy"
    )
    one = open_page(board + query)
    drawn_chart(one, "train/accuracy")
    other = open_page(get_stable_url(one))
    drawn_chart(other, "train/accuracy")
    for page in (one, other):
        drawn_chart(page, "epoch + odd")
        for table in page.get_by_role("table", name=re.compile("^Values of")).all():
            expect(table).to_contain_text("6 min 40 s")
            expect(table_rows(table).first).to_be_visible()
        page.mouse.move(5, 5)
    expect(cards(one)).to_have_count(2)
    expect(cards(other)).to_have_count(2)
    wait_for_condition(one, lambda: read_main_text(one) == read_main_text(other))
