"""How meshes are drawn: every setting changes the picture, and stands in the address."""

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


def panel(page: Page) -> Locator:
    found = page.get_by_role("complementary", name="Settings of Mesh")
    if not found.is_visible():
        page.get_by_role("button", name="Settings of Mesh").click()
    return found


def pick(page: Page, label: str, choice: str) -> None:
    panel(page).get_by_role("combobox", name=label, exact=True).select_option(choice)


def expect_another(found: Locator, before: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What is drawn, once it is not what was."""
    wait_until_drawn(found)
    wait_for_condition(found.page, lambda: not np.array_equal(read_pixels(found), before))
    wait_until_drawn(found)
    return read_pixels(found)


def test_surface_edges_wires_and_points(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = drawn_mesh(page, "shape/grey")
    surface = drawn_fraction(found)
    seen = {"Surface": read_pixels(found)}
    last = seen["Surface"]
    for name in ("Edges", "Wires", "Points"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"mesh-draw={name.lower()}"))
        last = seen[name] = expect_another(found, last)
    wait_for_condition(page, lambda: drawn_fraction(found) < 0.05 * surface)  # eight points
    drawn = {name: (picture[..., 3] > 0).mean() for name, picture in seen.items()}
    assert drawn["Wires"] < 0.5 * surface
    assert drawn["Edges"] == pytest.approx(surface, rel=0.05)
    found.press("w")
    expect(page).not_to_have_url(re.compile("mesh-draw"))
    pick(page, "Draw", "Wires")
    expect(page).to_have_url(re.compile("mesh-draw=wires"))


def test_colours(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    found = drawn_mesh(page, "shape/cube")
    wait_for_value(page, lambda: opaque_colors(found), {BLUE})
    pick(page, "Colours", "By height")
    expect(page).to_have_url(re.compile("mesh-colour=height"))
    wait_until_drawn(found)
    wait_for_condition(page, lambda: len(opaque_colors(found)) > 20)
    pick(page, "Colours", "Of the run")
    wait_until_drawn(found)
    wait_until_drawn(drawn_mesh(page, "shape/cube", "second"))
    second = drawn_mesh(page, "shape/cube", "second")
    wait_for_condition(page, lambda: len(opaque_colors(found) | opaque_colors(second)) == 2)
    assert len(opaque_colors(found)) == len(opaque_colors(second)) == 1
    pick(page, "Colours", "Grey")
    wait_until_drawn(found)
    wait_for_value(page, lambda: opaque_colors(found), {(0x9A, 0xA0, 0xA8)})


def test_clouds_without_colours_are_coloured_by_height(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    wait_for_condition(page, lambda: len(opaque_colors(drawn_mesh(page, "cloud/ball"))) > 50)


def test_shading(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = drawn_mesh(page, "shape/grey")
    smooth = len(opaque_colors(found))
    pick(page, "Shading", "Flat")
    expect(page).to_have_url(re.compile("mesh-shading=flat"))
    wait_until_drawn(found)
    wait_for_condition(
        page, lambda: len(opaque_colors(found)) < 10 < smooth
    )  # three sides of a cube are seen


def test_point_size(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    size = panel(page).get_by_role("slider", name="Point size")
    size.wait_for()
    found = drawn_mesh(page, "cloud/ball")
    before = drawn_fraction(found)
    size.fill("12")
    expect(page).to_have_url(re.compile("mesh-size=12"))
    wait_until_drawn(found)
    wait_for_condition(page, lambda: drawn_fraction(found) > before)
    panel(page).get_by_role("button", name="Usual point size").click()
    expect(page).not_to_have_url(re.compile("mesh-size"))


@pytest.mark.parametrize("name", ["Axes", "Grid"])
def test_lines_that_help(solids: str, open_page: OpenPage, name: str) -> None:
    page = open_page(f"{solids}&tags=ball")
    switch = panel(page).get_by_role("checkbox", name=name)
    switch.wait_for()
    found = drawn_mesh(page, "cloud/ball")
    before = drawn_fraction(found)
    switch.check()
    expect(page).to_have_url(re.compile(f"mesh-{name.lower()}=1"))
    wait_until_drawn(found)
    wait_for_condition(page, lambda: drawn_fraction(found) > before)


def test_all_runs_in_one_picture(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    drawn_mesh(page, "shape/cube", "second")
    panel(page).get_by_role("checkbox", name="All runs in one picture").check()
    expect(card(page, "shape/cube").get_by_role("img")).to_have_count(1)
    found = card(page, "shape/cube").get_by_role("img", name="shape/cube, first, second, step 20")
    wait_until_drawn(found)
    wait_for_value(page, lambda: opaque_colors(found), {BLUE})


def test_lens_field_of_view_and_what_is_up(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&step=0")
    panel(page).wait_for()
    found = drawn_mesh(page, "shape/cube")
    wait_for_value(page, lambda: opaque_colors(found), {RED})
    seen = read_pixels(found)
    pick(page, "Lens", "Parallel")
    seen = expect_another(found, seen)
    pick(page, "Lens", "Perspective")
    panel(page).get_by_role("slider", name="Field of view").fill("90")
    expect(page).to_have_url(re.compile("fov=90"))
    expect_another(found, seen)
    pick(page, "Up", "z")
    expect(page).to_have_url(re.compile("up=z"))
    wait_until_drawn(found)
    panel(page).get_by_role("button", name="Usual field of view").click()
    expect(page).not_to_have_url(re.compile("fov="))


def test_light(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    panel(page).wait_for()
    found = drawn_mesh(page, "shape/grey")
    before = read_pixels(found)[..., :3].max()
    panel(page).get_by_role("slider", name="Brightness").fill("0.4")
    expect(page).to_have_url(re.compile(r"mesh-light=0\.4"))
    wait_until_drawn(found)
    wait_for_condition(page, lambda: read_pixels(found)[..., :3].max() < 0.7 * before)
    pick(page, "Lights", "From the eye")
    expect(page).to_have_url(re.compile("mesh-lights=head"))


def test_reset_cameras(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&camera=1,1,2")
    drawn_mesh(page, "shape/cube")
    panel(page).get_by_role("button", name="Reset cameras").click()
    expect(page).not_to_have_url(re.compile("camera="))
    expect(panel(page).get_by_role("button", name="Reset cameras")).to_be_disabled()


def test_full_screen_and_full_width(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = drawn_mesh(page, "shape/grey")
    small = get_stable_box(found)
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
