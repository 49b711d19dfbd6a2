"""Mesh settings: each one changes the rendering and is stored in the URL."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import card, choose_menu_item
from tests.web.conftest import board_fixture
from tests.web.mesh_log import (
    BLUE,
    RED,
    drawn_fraction,
    drawn_mesh,
    opaque_colors,
    read_pixels,
    wait_until_drawn,
    write_mesh_log,
)
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


solids = board_fixture(write_mesh_log, "module", "?tab=mesh")


def open_settings(page: Page) -> Locator:
    settings = page.get_by_role("complementary", name="Mesh settings")
    if not settings.is_visible():
        page.get_by_role("button", name="Mesh settings").click()
    return settings


def select_setting(page: Page, label: str, choice: str) -> None:
    open_settings(page).get_by_role("combobox", name=label, exact=True).select_option(choice)


def wait_for_change(image: Locator, before: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Wait until the rendering differs from ``before`` and return its pixels."""
    wait_until_drawn(image)
    wait_for_condition(image.page, lambda: not np.array_equal(read_pixels(image), before))
    wait_until_drawn(image)
    return read_pixels(image)


def test_draw_modes(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    image = drawn_mesh(page, "shape/grey")
    surface = drawn_fraction(image)
    seen = {"Surface": read_pixels(image)}
    last = seen["Surface"]
    modes = {"Surface with edges": "edges", "Wireframe": "wires", "Points": "points"}
    for name, value in modes.items():
        page.get_by_role("toolbar").get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"mesh-draw={value}"))
        last = seen[name] = wait_for_change(image, last)
    wait_for_condition(page, lambda: drawn_fraction(image) < 0.05 * surface)  # eight points
    drawn = {name: (picture[..., 3] > 0).mean() for name, picture in seen.items()}
    assert drawn["Wireframe"] < 0.5 * surface
    assert drawn["Surface with edges"] == pytest.approx(surface, rel=0.05)
    image.press("w")
    expect(page).not_to_have_url(re.compile("mesh-draw"))
    select_setting(page, "Draw mode", "Wireframe")
    expect(page).to_have_url(re.compile("mesh-draw=wires"))


def test_color_modes(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    image = drawn_mesh(page, "shape/cube")
    wait_for_value(page, lambda: opaque_colors(image), {BLUE})
    select_setting(page, "Color", "By height")
    expect(page).to_have_url(re.compile("mesh-color=height"))
    wait_until_drawn(image)
    wait_for_condition(page, lambda: len(opaque_colors(image)) > 20)
    select_setting(page, "Color", "Run color")
    wait_until_drawn(image)
    wait_until_drawn(drawn_mesh(page, "shape/cube", "second"))
    second = drawn_mesh(page, "shape/cube", "second")
    wait_for_condition(page, lambda: len(opaque_colors(image) | opaque_colors(second)) == 2)
    assert len(opaque_colors(image)) == len(opaque_colors(second)) == 1
    select_setting(page, "Color", "Gray")
    wait_until_drawn(image)
    wait_for_value(page, lambda: opaque_colors(image), {(0x9A, 0xA0, 0xA8)})


def test_point_clouds_without_colors_are_colored_by_height(
    solids: str, open_page: OpenPage
) -> None:
    page = open_page(f"{solids}&tags=ball")
    wait_for_condition(page, lambda: len(opaque_colors(drawn_mesh(page, "cloud/ball"))) > 50)


def test_flat_shading(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    image = drawn_mesh(page, "shape/grey")
    smooth = len(opaque_colors(image))
    select_setting(page, "Shading", "Flat")
    expect(page).to_have_url(re.compile("mesh-shading=flat"))
    wait_until_drawn(image)
    wait_for_condition(
        page, lambda: len(opaque_colors(image)) < 10 < smooth
    )  # three faces are visible


def test_point_size(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    size = open_settings(page).get_by_role("slider", name="Point size")
    size.wait_for()
    image = drawn_mesh(page, "cloud/ball")
    before = drawn_fraction(image)
    size.fill("12")
    expect(page).to_have_url(re.compile("mesh-size=12"))
    wait_until_drawn(image)
    wait_for_condition(page, lambda: drawn_fraction(image) > before)
    open_settings(page).get_by_role("button", name="Reset Point size").click()
    expect(page).not_to_have_url(re.compile("mesh-size"))


@pytest.mark.parametrize("name", ["Axes", "Grid"])
def test_axes_and_grid(solids: str, open_page: OpenPage, name: str) -> None:
    page = open_page(f"{solids}&tags=ball")
    switch = open_settings(page).get_by_role("checkbox", name=name)
    switch.wait_for()
    image = drawn_mesh(page, "cloud/ball")
    before = drawn_fraction(image)
    switch.check()
    expect(page).to_have_url(re.compile(f"mesh-{name.lower()}=1"))
    wait_until_drawn(image)
    wait_for_condition(page, lambda: drawn_fraction(image) > before)


def test_overlays_all_runs_in_one_rendering(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    drawn_mesh(page, "shape/cube", "second")
    open_settings(page).get_by_role("checkbox", name="Overlay runs").check()
    expect(card(page, "shape/cube").get_by_role("img")).to_have_count(1)
    image = card(page, "shape/cube").get_by_role("img", name="shape/cube, first, second, Step 20")
    wait_until_drawn(image)
    wait_for_value(page, lambda: opaque_colors(image), {BLUE})


def test_projection_field_of_view_and_up_axis(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&step=0")
    open_settings(page).wait_for()
    image = drawn_mesh(page, "shape/cube")
    wait_for_value(page, lambda: opaque_colors(image), {RED})
    seen = read_pixels(image)
    select_setting(page, "Projection", "Orthographic")
    seen = wait_for_change(image, seen)
    select_setting(page, "Projection", "Perspective")
    open_settings(page).get_by_role("slider", name="Field of view").fill("90")
    expect(page).to_have_url(re.compile("fov=90"))
    wait_for_change(image, seen)
    select_setting(page, "Up axis", "z")
    expect(page).to_have_url(re.compile("up=z"))
    wait_until_drawn(image)
    open_settings(page).get_by_role("button", name="Reset Field of view").click()
    expect(page).not_to_have_url(re.compile("fov="))


def test_brightness_and_light_position(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    open_settings(page).wait_for()
    image = drawn_mesh(page, "shape/grey")
    before = read_pixels(image)[..., :3].max()
    open_settings(page).get_by_role("slider", name="Brightness").fill("0.4")
    expect(page).to_have_url(re.compile(r"mesh-brightness=0\.4"))
    wait_until_drawn(image)
    wait_for_condition(page, lambda: read_pixels(image)[..., :3].max() < 0.7 * before)
    select_setting(page, "Light source", "Headlight")
    expect(page).to_have_url(re.compile("mesh-lights=head"))


def test_reset_cameras(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&camera=1,1,2")
    drawn_mesh(page, "shape/cube")
    open_settings(page).get_by_role("button", name="Reset cameras").click()
    expect(page).not_to_have_url(re.compile("camera="))
    expect(open_settings(page).get_by_role("button", name="Reset cameras")).to_be_disabled()


def test_full_screen_and_full_width(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    image = drawn_mesh(page, "shape/grey")
    small = get_stable_box(image)
    choose_menu_item(page, "shape/grey", "Full screen")
    expect(page).to_have_url(re.compile("card=shape/grey"))
    full = page.locator("article.full").get_by_role("img")
    wait_until_drawn(full)
    large = get_stable_box(full)
    assert large.height > 1.5 * small.height
    wait_for_condition(page, lambda: drawn_fraction(full) > 0.05)
    page.keyboard.press("Escape")
    expect(page.locator("article.full")).to_have_count(0)
    choose_menu_item(page, "shape/grey", "Full width")
    expect(page).to_have_url(re.compile("wide=shape/grey"))
