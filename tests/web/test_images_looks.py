"""Images in both themes, on a phone, by keyboard, for who cannot see it, and without any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.cards import card, open_menu
from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records
from tests.web.image_log import image_pane, image_strip, images_at_step
from tests.web.test_looks import find_violations, overflows
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_value

pytestmark = pytest.mark.browser


def test_cards_have_no_faults(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&link=0&pin=samples/photo")
    images_at_step(page, "samples/photo", "conv", 30)
    page.get_by_role("button", name="Settings of Images").click()
    expect(card(page, "odd/damaged").get_by_role("note")).to_be_visible()
    assert find_violations(page) == []
    page.get_by_role("button", name="Brightness, contrast, scaling").click()
    assert find_violations(page) == []
    page.keyboard.press("Escape")
    open_menu(page, "samples/photo")
    assert find_violations(page) == []


def test_the_viewer_has_no_faults(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    for view in ("", "&part=2", "&pictures=grid", "&cmp=conv,,0,vit,,0", "&spot=0.5,0.5,9"):
        page.goto(f"{image_board}?tab=images&card=samples/digits{view}")
        expect(page.locator("article.full img").first).to_be_visible()
        assert find_violations(page) == [], view


def test_comparisons_have_no_faults(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    for how, drawn in (("swipe", "img"), ("difference", "canvas"), ("blink", "img")):
        query = f"?tab=images&card=samples/photo&cmp=conv,,0,vit,,0&cmp-as={how}"
        page.goto(image_board + query)
        expect(page.locator("article.full").locator(drawn).first).to_be_visible()
        assert find_violations(page) == [], how


def test_on_a_phone(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&tags=samples", width=390)
    images_at_step(page, "samples/photo", "vit", 30)
    assert not overflows(page)
    assert get_stable_box(card(page, "samples/photo")).width > 340
    image_strip(page, "samples/photo", "vit").get_by_role("button").click()
    expect(image_pane(page, "vit, step 30")).to_be_visible()
    assert not overflows(page)


def test_a_picture_is_opened_and_left_by_keyboard(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}?tab=images&tags=photo")
    images_at_step(page, "samples/photo", "conv", 30)
    page.get_by_role("button", name="Open vit, step 30").focus()
    page.keyboard.press("Enter")
    expect(image_pane(page, "vit, step 30")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(image_pane(page, "vit, step 20")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("article.full")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Grid of runs and steps")


def test_pictures_keep_their_place_while_others_come(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    """The old picture stays until the new one is there, and nothing moves."""
    page = open_page(f"{image_board}?tab=images&tags=photo")
    image = images_at_step(page, "samples/photo", "conv", 30).first
    before = get_stable_box(image)
    page.evaluate(
        """() => {
          window.blanks = 0
          const image = document.querySelector('article img')
          const look = () => {
            if (!document.querySelector('article img')?.complete) window.blanks++
            requestAnimationFrame(look)
          }
          look()
        }"""
    )
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    image = images_at_step(page, "samples/photo", "conv", 0).first
    wait_for_value(page, lambda: get_stable_box(image), before)
    assert page.evaluate("blanks") == 0


def test_a_copied_address_shows_the_same(image_board: str, open_page: Callable[..., Page]) -> None:
    query = "?tab=images&card=samples/digits&part=1&step=10&spot=0.4,0.6,3&bright=1.2"
    one = open_page(image_board + query)
    expect(image_pane(one, "picture 2 of 4, conv, step 10")).to_be_visible()
    other = open_page(get_stable_url(one))
    expect(image_pane(other, "picture 2 of 4, conv, step 10")).to_be_visible()
    pictures = [page.locator("article.full .pane img").first for page in (one, other)]
    for picture in pictures:
        expect(picture).to_be_visible()
    wait_for_value(other, lambda: get_stable_box(pictures[1]), get_stable_box(pictures[0]))


def test_a_log_without_pictures_teaches(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append_records(logdir / "run", *loss_records("loss", range(3)))
    page = open_page(f"{serve(logdir).address}?tab=images")
    expect(page.get_by_role("main")).to_contain_text("No images yet.")
