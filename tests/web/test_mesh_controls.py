"""How meshes are drawn: every setting changes the picture, and stands in the address."""

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


def panel(page: Page) -> Locator:
    found = page.get_by_role("complementary", name="Settings of Mesh")
    if not found.is_visible():
        page.get_by_role("button", name="Settings of Mesh").click()
    return found


def pick(page: Page, label: str, choice: str) -> None:
    panel(page).get_by_role("combobox", name=label, exact=True).select_option(choice)


def expect_another(found: Locator, before: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What is drawn, once it is not what was."""
    settle(found)
    holds(found.page, lambda: not np.array_equal(pixels(found), before))
    settle(found)
    return pixels(found)


def test_surface_edges_wires_and_points(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = picture(page, "shape/grey")
    surface = covered(found)
    seen = {"Surface": pixels(found)}
    last = seen["Surface"]
    for name in ("Edges", "Wires", "Points"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"mesh-draw={name.lower()}"))
        last = seen[name] = expect_another(found, last)
    holds(page, lambda: covered(found) < 0.05 * surface)  # eight points
    drawn = {name: (picture[..., 3] > 0).mean() for name, picture in seen.items()}
    assert drawn["Wires"] < 0.5 * surface
    assert drawn["Edges"] == pytest.approx(surface, rel=0.05)
    found.press("w")
    expect(page).not_to_have_url(re.compile("mesh-draw"))
    pick(page, "Draw", "Wires")
    expect(page).to_have_url(re.compile("mesh-draw=wires"))


def test_colours(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    found = picture(page, "shape/cube")
    becomes(page, lambda: shades(found), {BLUE})
    pick(page, "Colours", "By height")
    expect(page).to_have_url(re.compile("mesh-colour=height"))
    settle(found)
    holds(page, lambda: len(shades(found)) > 20)
    pick(page, "Colours", "Of the run")
    settle(found)
    settle(picture(page, "shape/cube", "second"))
    second = picture(page, "shape/cube", "second")
    holds(page, lambda: len(shades(found) | shades(second)) == 2)
    assert len(shades(found)) == len(shades(second)) == 1
    pick(page, "Colours", "Grey")
    settle(found)
    becomes(page, lambda: shades(found), {(0x9A, 0xA0, 0xA8)})


def test_clouds_without_colours_are_coloured_by_height(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    holds(page, lambda: len(shades(picture(page, "cloud/ball"))) > 50)


def test_shading(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = picture(page, "shape/grey")
    smooth = len(shades(found))
    pick(page, "Shading", "Flat")
    expect(page).to_have_url(re.compile("mesh-shading=flat"))
    settle(found)
    holds(page, lambda: len(shades(found)) < 10 < smooth)  # three sides of a cube are seen


def test_point_size(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    size = panel(page).get_by_role("slider", name="Point size")
    size.wait_for()
    found = picture(page, "cloud/ball")
    before = covered(found)
    size.fill("12")
    expect(page).to_have_url(re.compile("mesh-size=12"))
    settle(found)
    holds(page, lambda: covered(found) > before)
    panel(page).get_by_role("button", name="Usual point size").click()
    expect(page).not_to_have_url(re.compile("mesh-size"))


@pytest.mark.parametrize("name", ["Axes", "Grid"])
def test_lines_that_help(solids: str, open_page: OpenPage, name: str) -> None:
    page = open_page(f"{solids}&tags=ball")
    switch = panel(page).get_by_role("checkbox", name=name)
    switch.wait_for()
    found = picture(page, "cloud/ball")
    before = covered(found)
    switch.check()
    expect(page).to_have_url(re.compile(f"mesh-{name.lower()}=1"))
    settle(found)
    holds(page, lambda: covered(found) > before)


def test_all_runs_in_one_picture(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    picture(page, "shape/cube", "second")
    panel(page).get_by_role("checkbox", name="All runs in one picture").check()
    expect(card(page, "shape/cube").get_by_role("img")).to_have_count(1)
    found = card(page, "shape/cube").get_by_role("img", name="shape/cube, first, second, step 20")
    settle(found)
    becomes(page, lambda: shades(found), {BLUE})


def test_lens_field_of_view_and_what_is_up(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&step=0")
    panel(page).wait_for()
    found = picture(page, "shape/cube")
    becomes(page, lambda: shades(found), {RED})
    seen = pixels(found)
    pick(page, "Lens", "Parallel")
    seen = expect_another(found, seen)
    pick(page, "Lens", "Perspective")
    panel(page).get_by_role("slider", name="Field of view").fill("90")
    expect(page).to_have_url(re.compile("fov=90"))
    expect_another(found, seen)
    pick(page, "Up", "z")
    expect(page).to_have_url(re.compile("up=z"))
    settle(found)
    panel(page).get_by_role("button", name="Usual field of view").click()
    expect(page).not_to_have_url(re.compile("fov="))


def test_light(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    panel(page).wait_for()
    found = picture(page, "shape/grey")
    before = pixels(found)[..., :3].max()
    panel(page).get_by_role("slider", name="Brightness").fill("0.4")
    expect(page).to_have_url(re.compile(r"mesh-light=0\.4"))
    settle(found)
    holds(page, lambda: pixels(found)[..., :3].max() < 0.7 * before)
    pick(page, "Lights", "From the eye")
    expect(page).to_have_url(re.compile("mesh-lights=head"))


def test_reset_cameras(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&camera=1,1,2")
    picture(page, "shape/cube")
    panel(page).get_by_role("button", name="Reset cameras").click()
    expect(page).not_to_have_url(re.compile("camera="))
    expect(panel(page).get_by_role("button", name="Reset cameras")).to_be_disabled()


def test_full_screen_and_full_width(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = picture(page, "shape/grey")
    small = place_at_rest(found)
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
