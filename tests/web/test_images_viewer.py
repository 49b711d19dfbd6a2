"""Image viewer: zoom, pixel values, tiles, images of a step, and comparison of two images."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import card, choose_menu_item
from tests.web.image_log import (
    as_rgba,
    hover_at,
    image_pane,
    image_strip,
    images_at_step,
    make_16bit_image,
    make_digit,
    make_huge_image,
    make_photo,
    read_pixels,
    read_zoom,
)
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

PHOTO = "?tab=images&card=samples/photo"


def zoom_controls(page: Page) -> Locator:
    return page.get_by_role("group", name="Zoom")


def test_open_and_close_an_image(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&tags=digits")
    images_at_step(page, "samples/digits", "vit", 30)
    page.get_by_role("button", name="Open Image 3 of 4, vit, step 30").click()
    expect(page).to_have_url(re.compile("card=samples/digits"))
    expect(page.get_by_role("group", name="Images at this step")).to_contain_text("3 of 4")
    full = page.locator("article.full")
    images = full.get_by_role("group", name="vit").locator("img")
    expect(images).to_have_count(1)
    assert np.array_equal(read_pixels(images.first), as_rgba(make_digit("vit", 30, 2)))
    page.keyboard.press("Escape")
    expect(full).to_have_count(0)
    expect(page).not_to_have_url(re.compile("card=|image-index="))


def test_browse_the_images_of_a_step(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&card=samples/digits")
    full = page.locator("article.full")
    images = full.get_by_role("group", name="conv").locator("img")
    expect(images).to_have_count(4)
    image_picker = page.get_by_role("group", name="Images at this step")
    image_picker.get_by_role("button", name="Next image").click()
    expect(images).to_have_count(1)
    expect(image_picker).to_contain_text("1 of 4")
    page.keyboard.press("[")
    expect(image_picker).to_contain_text("4 of 4")
    expect(page).to_have_url(re.compile("image-index=3"))
    image_picker.get_by_role("button", name="All 4").click()
    expect(images).to_have_count(4)


def test_zoom_with_buttons_keys_and_wheel(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(image_board + PHOTO)
    pane = image_pane(page, "conv, step 30")
    get_stable_box(pane.locator("img"))
    fit = read_zoom(page)
    zoom_controls(page).get_by_role("button", name="Zoom in").click()
    wait_for_value(page, lambda: read_zoom(page), pytest.approx(1.5 * fit, rel=0.02))
    page.keyboard.press("-")
    wait_for_value(page, lambda: read_zoom(page), pytest.approx(fit, rel=0.02))
    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"image-viewport=0\.5,0\.5,2\.25"))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("image-viewport="))
    zoom_controls(page).get_by_role("button", name="1:1").click()
    wait_for_value(page, lambda: read_zoom(page), 1)
    pane.dblclick()
    wait_for_value(page, lambda: read_zoom(page), pytest.approx(fit, rel=0.02))
    hover_at(page, pane, 0.25, 0.5)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    expect(page).to_have_url(re.compile("image-viewport="))
    wait_for_condition(page, lambda: read_zoom(page) > fit)


def test_zoom_is_kept_while_no_run_is_shown(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}{PHOTO}&image-viewport=0.5,0.5,4")
    pane = image_pane(page, "conv, step 30")
    get_stable_box(pane.locator("img"))
    zoom = read_zoom(page)
    show_all = page.get_by_role("checkbox", name="Select all matching runs")
    show_all.dispatch_event("click")  # the full-screen card covers the list of runs
    expect(pane).to_have_count(0)
    show_all.dispatch_event("click")
    expect(pane.locator("img")).to_be_visible()
    wait_for_value(page, lambda: read_zoom(page), zoom)
    assert "image-viewport=0.5,0.5,4" in get_stable_url(page)


def test_images_pan_together(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}{PHOTO}&image-viewport=0.5,0.5,4")
    panes = [image_pane(page, f"{run}, step 30") for run in ("conv", "vit")]
    images = [pane.locator("img") for pane in panes]
    before = [get_stable_box(image) for image in images]
    box = get_stable_box(panes[0])
    center = box.center
    page.mouse.move(*center)
    page.mouse.down()
    page.mouse.move(center[0] - 40, center[1] + 30, steps=4)
    page.mouse.up()

    def read_shifts() -> list[tuple[int, int]]:
        boxes = zip(before, map(get_stable_box, images), strict=True)
        return [(round(new.x - old.x), round(new.y - old.y)) for old, new in boxes]

    wait_for_value(page, read_shifts, [(-40, 30)] * 2)


def test_hover_shows_pixel_values_of_all_images(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(image_board + PHOTO)
    pane = image_pane(page, "conv, step 30")
    image = pane.locator("img")
    expect(image).to_be_visible()
    # The pixel at x = 15, y = 30.
    hover_at(page, image, 15.5 / 60, 30.5 / 40)
    red, green, blue = make_photo("conv", 30)[30, 15]
    expect(image_strip(page, "samples/photo", "conv").last).to_contain_text("15, 30")
    expect(image_strip(page, "samples/photo", "conv").last).to_contain_text(
        f"R {red}  G {green}  B {blue}"
    )
    expect(image_strip(page, "samples/photo", "vit").last).to_contain_text(
        f"B {make_photo('vit', 30)[30, 15, 2]}"
    )
    page.mouse.move(2, 2)
    expect(image_strip(page, "samples/photo", "conv").last).not_to_contain_text("15, 30")


def test_16bit_pixel_values_are_exact(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&card=odd/deep")
    image = image_pane(page, "conv, step 0").locator("img")
    expect(image).to_be_visible()
    hover_at(page, image, 3.5 / 16, 2.5 / 16)
    expect(page.locator("article.full")).to_contain_text(str(make_16bit_image()[2, 3]))


def test_pixel_values_are_drawn_at_high_zoom(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{image_board}?tab=images&card=odd/deep&image-viewport=0.5,0.5,2")
    pane = image_pane(page, "conv, step 0")
    expect(pane).to_contain_text(str(make_16bit_image()[8, 8]))
    expect(pane).to_contain_text(str(make_16bit_image()[7, 6]))


def test_huge_images_are_tiled(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&card=odd/huge")
    pane = image_pane(page, "conv, step 0")
    expect(pane.locator("img")).to_have_count(1)
    tiles = pane.locator("img[src*='tile']")

    def show_actual_size() -> bool:
        page.keyboard.press("1")
        return 2 <= tiles.count() <= 12

    wait_for_condition(page, show_actual_size)
    source = str(tiles.first.get_attribute("src"))
    x, y = (int(re.search(rf"&{axis}=(\d+)", source)[1]) for axis in "xy")
    expected = make_huge_image()[512 * y : 512 * y + 512, 512 * x : 512 * x + 512]
    assert np.array_equal(read_pixels(tiles.first), as_rgba(expected))
    expect(pane.locator("img[src*='picture']")).to_have_count(0)


def test_download_an_image(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(image_board + PHOTO)
    image_pane(page, "conv, step 30").hover()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download conv, step 30").click()
    assert download.value.suggested_filename.endswith(".png")


def test_grid_of_all_steps(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&card=samples/digits&image-layout=grid")
    grid = page.locator("article.full").get_by_role("grid")
    expect(grid).to_have_attribute("aria-colcount", "4")
    page.get_by_role("checkbox", name="All steps").check()
    expect(page).to_have_url(re.compile("all-steps=1"))
    expect(grid.get_by_role("columnheader").last).to_have_text("30")


# ---- comparison of two images


def test_compare_two_runs_side_by_side(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&tags=photo")
    images_at_step(page, "samples/photo", "conv", 30)
    choose_menu_item(page, "samples/photo", "Compare images")
    expect(image_pane(page, "conv, step 30")).to_be_visible()
    expect(image_pane(page, "vit, step 30")).to_be_visible()
    expect(page).to_have_url(re.compile("image-compare=conv,,0,vit,,0"))
    page.get_by_role("combobox", name="Run of image B").select_option("conv")
    box = page.get_by_role("textbox", name=re.compile("Step of image B"))
    box.fill("10")
    box.press("Enter")
    expect(image_pane(page, "conv, step 10")).to_be_visible()
    page.get_by_role("button", name="Exit full screen").click()
    expect(page).not_to_have_url(re.compile("image-compare="))


def test_shortcut_toggles_comparison(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{image_board}?tab=images&tags=photo")
    images_at_step(page, "samples/photo", "conv", 30)
    card(page, "samples/photo").hover()
    page.keyboard.press("c")
    expect(page.get_by_role("group", name="Image A")).to_be_visible()
    page.keyboard.press("c")
    expect(page.get_by_role("group", name="Image A")).to_have_count(0)


def open_comparison(
    image_board: str, open_page: Callable[..., Page], mode: str, b: str = "vit,,0"
) -> Page:
    page = open_page(f"{image_board}{PHOTO}&image-compare=conv,,0,{b}")
    modes = page.get_by_role("group", name="Comparison mode")
    modes.get_by_role("button", name=mode.capitalize()).click()
    expect(page).to_have_url(re.compile(f"image-compare-mode={mode}"))
    return page


def test_difference_shows_the_largest_deviation(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_comparison(image_board, open_page, "difference")
    status = page.get_by_role("status").filter(has_text="Max difference")
    expect(status).to_have_text(
        "Max difference 100/255 at (0, 0) · mean 33.33 · 100% of pixels differ"
    )
    canvas = page.locator("article.full canvas")
    pixel = """canvas => {
      const copy = new OffscreenCanvas(1, 1).getContext('2d')
      copy.drawImage(canvas, -5, -5)
      return [...copy.getImageData(0, 0, 1, 1).data]
    }"""
    wait_for_value(page, lambda: canvas.evaluate(pixel), [0, 0, 100, 255])
    page.get_by_role("slider", name="Amplify differences").fill("2")
    expect(page).to_have_url(re.compile("difference-gain=2"))
    wait_for_value(page, lambda: canvas.evaluate(pixel), [0, 0, 200, 255])


def test_identical_images_have_no_difference(
    image_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_comparison(image_board, open_page, "difference", "conv,,0")
    expect(page.get_by_text("Images are identical")).to_be_visible()


def test_swipe_divider(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_comparison(image_board, open_page, "swipe")
    divider = page.get_by_role("slider", name="Divider between A and B")
    expect(divider).to_have_attribute("aria-valuenow", "50")
    divider.press("ArrowLeft")
    expect(divider).to_have_attribute("aria-valuenow", "48")
    box = get_stable_box(divider)
    page.mouse.move(box.x + 10, box.y + 100)
    page.mouse.down()
    page.mouse.move(box.x + 210, box.y + 100, steps=3)
    page.mouse.up()
    wait_for_condition(page, lambda: int(divider.get_attribute("aria-valuenow") or 0) > 55)


def test_blink_comparison(image_board: str, open_page: Callable[..., Page]) -> None:
    page = open_comparison(image_board, open_page, "blink")
    first = page.locator("[data-side=A]")
    expect(first).to_have_css("visibility", "hidden")
    expect(first).to_have_css("visibility", "visible")
    page.get_by_role("button", name="Pause", exact=True).click()
    before = first.evaluate("node => getComputedStyle(node).visibility")
    page.get_by_role("button", name="Switch image").click()
    expect(first).not_to_have_css("visibility", before)
