"""How meshes are drawn: every setting changes the picture, and stands in the address."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import card, choose
from tests.web.conftest import board_over
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


def test_surface_edges_wires_and_points(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = picture(page, "shape/grey")
    surface = covered(found)
    seen = {"Surface": pixels(found)}
    for name in ("Edges", "Wires", "Points"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"mesh-draw={name.lower()}"))
        settle(found)
        seen[name] = pixels(found)
    assert covered(found) < 0.05 * surface  # eight points
    drawn = {name: (picture[..., 3] > 0).mean() for name, picture in seen.items()}
    assert drawn["Wires"] < 0.5 * surface
    assert drawn["Edges"] == pytest.approx(surface, rel=0.05)
    assert not np.array_equal(seen["Edges"], seen["Surface"])
    found.press("w")
    expect(page).not_to_have_url(re.compile("mesh-draw"))
    pick(page, "Draw", "Wires")
    expect(page).to_have_url(re.compile("mesh-draw=wires"))


def test_colours(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    found = picture(page, "shape/cube")
    assert shades(found) == {BLUE}
    pick(page, "Colours", "By height")
    expect(page).to_have_url(re.compile("mesh-colour=height"))
    settle(found)
    assert len(shades(found)) > 20
    pick(page, "Colours", "Of the run")
    settle(found)
    settle(picture(page, "shape/cube", "second"))
    own, other = shades(found), shades(picture(page, "shape/cube", "second"))
    assert (len(own), len(other), own & other) == (1, 1, set())
    pick(page, "Colours", "Grey")
    settle(found)
    assert shades(found) == {(0x9A, 0xA0, 0xA8)}


def test_clouds_without_colours_are_coloured_by_height(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    assert len(shades(picture(page, "cloud/ball"))) > 50


def test_shading(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    found = picture(page, "shape/grey")
    smooth = len(shades(found))
    pick(page, "Shading", "Flat")
    expect(page).to_have_url(re.compile("mesh-shading=flat"))
    settle(found)
    assert len(shades(found)) < 10 < smooth  # three sides of a cube are seen


def test_point_size(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=ball")
    size = panel(page).get_by_role("slider", name="Point size")
    size.wait_for()
    found = picture(page, "cloud/ball")
    before = covered(found)
    size.fill("12")
    expect(page).to_have_url(re.compile("mesh-size=12"))
    settle(found)
    assert covered(found) > before
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
    assert covered(found) > before


def test_all_runs_in_one_picture(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    picture(page, "shape/cube", "second")
    panel(page).get_by_role("checkbox", name="All runs in one picture").check()
    expect(card(page, "shape/cube").get_by_role("img")).to_have_count(1)
    found = card(page, "shape/cube").get_by_role("img", name="shape/cube, first, second, step 20")
    settle(found)
    assert shades(found) == {BLUE}


def test_lens_field_of_view_and_what_is_up(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&step=0")
    panel(page).wait_for()
    found = picture(page, "shape/cube")
    assert shades(found) == {RED}
    seen = [pixels(found)]
    pick(page, "Lens", "Parallel")
    settle(found)
    seen.append(pixels(found))
    pick(page, "Lens", "Perspective")
    panel(page).get_by_role("slider", name="Field of view").fill("90")
    expect(page).to_have_url(re.compile("fov=90"))
    settle(found)
    seen.append(pixels(found))
    pick(page, "Up", "z")
    expect(page).to_have_url(re.compile("up=z"))
    settle(found)
    assert not any(np.array_equal(one, other) for one, other in itertools.pairwise(seen))
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
    assert pixels(found)[..., :3].max() < 0.7 * before
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
    small = found.bounding_box()
    choose(page, "shape/grey", "Full screen")
    expect(page).to_have_url(re.compile("card=shape/grey"))
    full = page.locator("article.full").get_by_role("img")
    settle(full)
    large = full.bounding_box()
    assert small and large and large["height"] > 1.5 * small["height"]
    assert covered(full) > 0.05
    page.keyboard.press("Escape")
    expect(page.locator("article.full")).to_have_count(0)
    choose(page, "shape/grey", "Full width")
    expect(page).to_have_url(re.compile("wide=shape/grey"))
