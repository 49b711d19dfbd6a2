"""Images: cards, steps, brightness and contrast, errors, animations and the grid."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.web.cards import card, card_titles, choose_menu_item
from tests.web.image_log import (
    as_rgba,
    image_strip,
    images_at_step,
    make_digit,
    make_photo,
    read_pixels,
)
from tests.web.locators import click_retry
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_value

pytestmark = pytest.mark.browser

IMAGES = "?tab=images"


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Step of all cards")


def test_one_card_per_tag_with_a_strip_per_run(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=samples")
    images_at_step(page, "samples/photo", "conv", 30)
    images_at_step(page, "samples/photo", "vit", 30)
    assert card_titles(page) == ["samples/digits", "samples/photo"]
    expect(image_strip(page, "samples/photo", "vit")).to_contain_text("30")
    page.get_by_role("checkbox", name="Show vit").first.click()
    expect(image_strip(page, "samples/photo", "vit")).to_have_count(0)


def test_all_images_of_a_step_match_the_logged_pixels(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=digits")
    images = images_at_step(page, "samples/digits", "vit", 30)
    expect(images).to_have_count(4)
    for part in range(4):
        expected = as_rgba(make_digit("vit", 30, part))
        assert np.array_equal(read_pixels(images.nth(part)), expected)


def test_slider_reaches_every_step(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=photo")
    images_at_step(page, "samples/photo", "conv", 30)
    for at, step in enumerate((0, 10, 20)):
        slider(page).fill(str(at))
        images = images_at_step(page, "samples/photo", "conv", step)
        expect(page).to_have_url(re.compile(f"step={step}(&|$)"))
        assert np.array_equal(read_pixels(images.first), as_rgba(make_photo("conv", step)))
    slider(page).fill("3")
    images_at_step(page, "samples/photo", "vit", 30)
    expect(page).not_to_have_url(re.compile("step="))


def test_keys_change_step_and_play(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=photo")
    images_at_step(page, "samples/photo", "conv", 30)
    page.keyboard.press("ArrowLeft")
    images_at_step(page, "samples/photo", "conv", 20)
    page.keyboard.press("Home")
    images_at_step(page, "samples/photo", "conv", 0)
    page.keyboard.press("ArrowRight")
    images_at_step(page, "samples/photo", "conv", 10)
    page.keyboard.press("Space")
    images_at_step(page, "samples/photo", "conv", 30)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_unlinked_cards_have_their_own_step(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=samples")
    images_at_step(page, "samples/photo", "conv", 30)
    page.get_by_role("checkbox", name="Sync steps").uncheck()
    page.get_by_role("slider", name="Step of samples/photo").fill("1")
    images_at_step(page, "samples/photo", "conv", 10)
    images_at_step(page, "samples/digits", "conv", 30)
    expect(page).to_have_url(re.compile("sync-steps=0"))
    other = open_page(get_stable_url(page))
    images_at_step(other, "samples/photo", "conv", 10)
    images_at_step(other, "samples/digits", "conv", 30)
    other.get_by_role("checkbox", name="Sync steps").check()
    images_at_step(other, "samples/photo", "conv", 30)


def test_brightness_and_contrast_are_kept_in_the_url(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=photo")
    image = images_at_step(page, "samples/photo", "conv", 30).first
    expect(image).to_have_css("filter", "none")
    page.get_by_role("button", name="Image adjustments").click()
    page.get_by_role("slider", name="Brightness").fill("1.5")
    page.get_by_role("slider", name="Contrast").fill("2")
    expect(image).to_have_css("filter", "brightness(1.5) contrast(2)")
    expect(page).to_have_url(re.compile("brightness=1.5.*contrast=2"))
    page.get_by_role("button", name="Reset").click()
    expect(image).to_have_css("filter", "none")
    expect(page).not_to_have_url(re.compile("bright|contrast"))


def test_small_images_are_pixelated_by_default(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=digits")
    image = images_at_step(page, "samples/digits", "conv", 30).first
    expect(image).to_have_css("image-rendering", "pixelated")
    assert get_stable_box(image).width > 40
    page.keyboard.press("i")
    expect(image).to_have_css("image-rendering", "auto")
    expect(page).to_have_url(re.compile("scaling=smooth"))


def test_actual_size(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=photo")
    image = images_at_step(page, "samples/photo", "conv", 30).first
    assert get_stable_box(image).width > 100
    page.keyboard.press("a")
    expect(page).to_have_url(re.compile("actual-size=1"))
    image = images_at_step(page, "samples/photo", "conv", 30).first
    wait_for_value(page, lambda: tuple(map(round, get_stable_box(image)[2:])), (60, 40))


def test_failed_request_can_be_retried(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    is_failing = True

    def handle_route(route: Route) -> None:
        if is_failing:
            route.abort()
        else:
            route.fallback()

    page.route(re.compile("/api/v1/images/about"), handle_route)
    page.goto(f"{image_board}{IMAGES}&tags=photo")
    notes = image_strip(page, "samples/photo", "conv").get_by_role("note")
    expect(notes).to_contain_text("Server unreachable")
    is_failing = False
    click_retry(notes)
    images_at_step(page, "samples/photo", "conv", 30)


def test_transparent_and_damaged_images(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=odd")
    background = images_at_step(page, "odd/glass", "conv", 0).first.locator("..")
    expect(background).to_have_css("background-image", re.compile("conic-gradient"))
    opaque = images_at_step(page, "odd/deep", "conv", 0).first.locator("..")
    expect(opaque).to_have_css("background-image", "none")

    expect(card(page, "odd/damaged").get_by_role("note")).to_contain_text("PNG")
    images_at_step(page, "odd/deep", "conv", 0)


def test_animations_play_and_pause(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=moving")
    image = images_at_step(page, "odd/moving", "conv", 0).first
    expect(image).to_have_attribute("src", re.compile("/picture"))
    page.keyboard.press("k")
    expect(image).to_have_attribute("src", re.compile("/thumbnail"))
    expect(page).to_have_url(re.compile("animate=0"))
    page.keyboard.press("k")
    expect(image).to_have_attribute("src", re.compile("/picture"))


def test_grid_has_a_row_per_run_and_a_column_per_step(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=photo")
    images_at_step(page, "samples/photo", "conv", 30)
    page.get_by_role("group", name="Card layout").get_by_text("Grid").click()
    expect(page).to_have_url(re.compile("image-layout=grid"))
    grid = card(page, "samples/photo").get_by_role("grid")
    expect(grid.get_by_role("rowheader")).to_have_text(["conv", "vit"])
    headers = grid.get_by_role("columnheader")
    expect(headers.first).to_have_text("0")
    expect(headers.last).to_have_text("30")
    last = grid.get_by_role("row").nth(2).locator("img").last
    assert np.array_equal(read_pixels(last), as_rgba(make_photo("vit", 30)))
    grid.get_by_role("button", name="Open conv, step 0").click()
    expect(page).to_have_url(re.compile("card=samples/photo"))
    expect(page).to_have_url(re.compile("step=0"))


def test_copy_as_python_and_download_zip(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{IMAGES}&tags=photo&step=20")
    images_at_step(page, "samples/photo", "conv", 20)
    choose_menu_item(page, "samples/photo", "Copy as Python…")
    expect(page.get_by_role("dialog")).to_contain_text('log.images("conv", "samples/photo")')
    expect(page.get_by_role("dialog")).to_contain_text("images.at(20)")
    page.keyboard.press("Escape")
    with page.expect_download() as download:
        choose_menu_item(page, "samples/photo", "Download all steps (ZIP)")
    assert download.value.suggested_filename.endswith(".zip")
