"""Mesh settings: each one changes the rendering and is stored in the URL."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import card, choose
from tests.web.conftest import board_over
from tests.web.patience import becomes, holds, place_at_rest
from tests.web.solids import BLUE, RED, covered, picture, pixels, settle, shades, write_solids

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


solids = board_over(write_solids, "module", "?tab=mesh")


def open_settings(page: Page) -> Locator:
    settings = page.get_by_role("complementary", name="Settings of Mesh")
    if not settings.is_visible():
        page.get_by_role("button", name="Settings of Mesh").click()
    return settings


def select_setting(page: Page, label: str, choice: str) -> None:
    open_settings(page).get_by_role("combobox", name=label, exact=True).select_option(choice)


def wait_for_change(image: Locator, before: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Wait until the rendering differs from ``before`` and return its pixels."""
    settle(image)
    holds(image.page, lambda: not np.array_equal(pixels(image), before))
    settle(image)
    return pixels(image)


def test_draw_modes(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    image = picture(page, "shape/grey")
    surface = covered(image)
    seen = {"Surface": pixels(image)}
    last = seen["Surface"]
    for name in ("Edges", "Wires", "Points"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"mesh-draw={name.lower()}"))
        last = seen[name] = wait_for_change(image, last)
    holds(page, lambda: covered(image) < 0.05 * surface)  # eight points
    drawn = {name: (picture[..., 3] > 0).mean() for name, picture in seen.items()}
    assert drawn["Wires"] < 0.5 * surface
    assert drawn["Edges"] == pytest.approx(surface, rel=0.05)
    image.press("w")
    expect(page).not_to_have_url(re.compile("mesh-draw"))
    select_setting(page, "Draw", "Wires")
    expect(page).to_have_url(re.compile("mesh-draw=wires"))


def test_color_modes(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    image = picture(page, "shape/cube")
    becomes(page, lambda: shades(image), {BLUE})
    select_setting(page, "Colours", "By height")
    expect(page).to_have_url(re.compile("mesh-colour=height"))
    settle(image)
    holds(page, lambda: len(shades(image)) > 20)
    select_setting(page, "Colours", "Of the run")
    settle(image)
    settle(picture(page, "shape/cube", "second"))
    second = picture(page, "shape/cube", "second")
    holds(page, lambda: len(shades(image) | shades(second)) == 2)
    assert len(shades(image)) == len(shades(second)) == 1
    select_setting(page, "Colours", "Grey")
    settle(image)
    becomes(page, lambda: shades(image), {(0x9A, 0xA0, 0xA8)})


def test_point_clouds_without_colors_are_colored_by_height(
    solids: str, open_page: OpenPage
) -> None:
    page = open_page(f"{solids}&tags=ball")
    holds(page, lambda: len(shades(picture(page, "cloud/ball"))) > 50)


def test_flat_shading(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    image = picture(page, "shape/grey")
    smooth = len(shades(image))
    select_setting(page, "Shading", "Flat")
    expect(page).to_have_url(re.compile("mesh-shading=flat"))
    settle(image)
    holds(page, lambda: len(shades(image)) < 10 < smooth)  # three faces are visible


def test_point_size(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    size = open_settings(page).get_by_role("slider", name="Point size")
    size.wait_for()
    image = picture(page, "cloud/ball")
    before = covered(image)
    size.fill("12")
    expect(page).to_have_url(re.compile("mesh-size=12"))
    settle(image)
    holds(page, lambda: covered(image) > before)
    open_settings(page).get_by_role("button", name="Usual point size").click()
    expect(page).not_to_have_url(re.compile("mesh-size"))


@pytest.mark.parametrize("name", ["Axes", "Grid"])
def test_axes_and_grid(solids: str, open_page: OpenPage, name: str) -> None:
    page = open_page(f"{solids}&tags=ball")
    switch = open_settings(page).get_by_role("checkbox", name=name)
    switch.wait_for()
    image = picture(page, "cloud/ball")
    before = covered(image)
    switch.check()
    expect(page).to_have_url(re.compile(f"mesh-{name.lower()}=1"))
    settle(image)
    holds(page, lambda: covered(image) > before)


def test_overlays_all_runs_in_one_rendering(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    picture(page, "shape/cube", "second")
    open_settings(page).get_by_role("checkbox", name="All runs in one picture").check()
    expect(card(page, "shape/cube").get_by_role("img")).to_have_count(1)
    image = card(page, "shape/cube").get_by_role("img", name="shape/cube, first, second, step 20")
    settle(image)
    becomes(page, lambda: shades(image), {BLUE})


def test_projection_field_of_view_and_up_axis(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&step=0")
    open_settings(page).wait_for()
    image = picture(page, "shape/cube")
    becomes(page, lambda: shades(image), {RED})
    seen = pixels(image)
    select_setting(page, "Lens", "Parallel")
    seen = wait_for_change(image, seen)
    select_setting(page, "Lens", "Perspective")
    open_settings(page).get_by_role("slider", name="Field of view").fill("90")
    expect(page).to_have_url(re.compile("fov=90"))
    wait_for_change(image, seen)
    select_setting(page, "Up", "z")
    expect(page).to_have_url(re.compile("up=z"))
    settle(image)
    open_settings(page).get_by_role("button", name="Usual field of view").click()
    expect(page).not_to_have_url(re.compile("fov="))


def test_brightness_and_light_position(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    open_settings(page).wait_for()
    image = picture(page, "shape/grey")
    before = pixels(image)[..., :3].max()
    open_settings(page).get_by_role("slider", name="Brightness").fill("0.4")
    expect(page).to_have_url(re.compile(r"mesh-light=0\.4"))
    settle(image)
    holds(page, lambda: pixels(image)[..., :3].max() < 0.7 * before)
    select_setting(page, "Lights", "From the eye")
    expect(page).to_have_url(re.compile("mesh-lights=head"))


def test_reset_cameras(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&camera=1,1,2")
    picture(page, "shape/cube")
    open_settings(page).get_by_role("button", name="Reset cameras").click()
    expect(page).not_to_have_url(re.compile("camera="))
    expect(open_settings(page).get_by_role("button", name="Reset cameras")).to_be_disabled()


def test_full_screen_and_full_width(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    image = picture(page, "shape/grey")
    small = place_at_rest(image)
    choose(page, "shape/grey", "Full screen")
    expect(page).to_have_url(re.compile("card=shape/grey"))
    full = page.locator("article.full").get_by_role("img")
    settle(full)
    large = place_at_rest(full)
    assert large.height > 1.5 * small.height
    holds(page, lambda: covered(full) > 0.05)
    page.keyboard.press("Escape")
    expect(page.locator("article.full")).to_have_count(0)
    choose(page, "shape/grey", "Full width")
    expect(page).to_have_url(re.compile("wide=shape/grey"))
