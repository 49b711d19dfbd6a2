"""Images: accessibility, small screens, keyboard, layout stability and empty state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.cards import card, open_menu
from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records
from tests.web.image_log import image_pane, image_strip, images_at_step
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_value

pytestmark = pytest.mark.browser


def test_cards_have_no_accessibility_violations(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}?tab=images&sync-steps=0&pinned=samples/photo")
    images_at_step(page, "samples/photo", "conv", 30)
    page.get_by_role("button", name="Images settings").click()
    expect(card(page, "odd/damaged").get_by_role("note")).to_be_visible()
    assert list_violations(page) == []
    page.get_by_role("button", name="Image adjustments").click()
    assert list_violations(page) == []
    page.keyboard.press("Escape")
    open_menu(page, "samples/photo")
    assert list_violations(page) == []


def test_viewer_has_no_accessibility_violations(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page("about:blank")
    for view in (
        "",
        "&image-index=2",
        "&image-layout=grid",
        "&image-compare=conv,,0,vit,,0",
        "&image-viewport=0.5,0.5,9",
    ):
        page.goto(f"{image_board}?tab=images&card=samples/digits{view}")
        expect(page.locator("article.full img").first).to_be_visible()
        assert list_violations(page) == [], view


def test_comparisons_have_no_accessibility_violations(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page("about:blank")
    for mode, element in (("swipe", "img"), ("difference", "canvas"), ("blink", "img")):
        query = (
            f"?tab=images&card=samples/photo&image-compare=conv,,0,vit,,0&image-compare-mode={mode}"
        )
        page.goto(image_board + query)
        expect(page.locator("article.full").locator(element).first).to_be_visible()
        assert list_violations(page) == [], mode


def test_fits_on_a_phone(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&tags=samples", width=390)
    images_at_step(page, "samples/photo", "vit", 30)
    assert not overflows(page)
    assert get_stable_box(card(page, "samples/photo")).width > 340
    image_strip(page, "samples/photo", "vit").get_by_role("button").click()
    expect(image_pane(page, "vit, step 30")).to_be_visible()
    assert not overflows(page)


def test_open_and_close_an_image_by_keyboard(
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
    expect(page.get_by_role("dialog")).to_contain_text("Toggle grid layout")


def test_layout_is_stable_while_images_load(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    """The old image stays until the new one is loaded, and the layout does not shift."""
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


def test_url_restores_the_view(image_board: str, open_page: Callable[..., Page]) -> None:
    query = "?tab=images&card=samples/digits&image-index=1&step=10"
    query += "&image-viewport=0.4,0.6,3&brightness=1.2"
    first = open_page(image_board + query)
    expect(image_pane(first, "Image 2 of 4, conv, step 10")).to_be_visible()
    other = open_page(get_stable_url(first))
    expect(image_pane(other, "Image 2 of 4, conv, step 10")).to_be_visible()
    images = [page.locator("article.full .pane img").first for page in (first, other)]
    for image in images:
        expect(image).to_be_visible()
    wait_for_value(other, lambda: get_stable_box(images[1]), get_stable_box(images[0]))


def test_empty_state(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> None:
    append_records(logdir / "run", *loss_records("loss", range(3)))
    page = open_page(f"{serve(logdir).address}?tab=images")
    expect(page.get_by_role("main")).to_contain_text("No images yet.")
