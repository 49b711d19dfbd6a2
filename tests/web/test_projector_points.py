"""Projector points: hover, neighbors, camera, search, selection, colors and sprites."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.embedding_log import (
    BLUE,
    GROUP_SIZE,
    ORANGE,
    POINT_COUNT,
    combobox,
    count_pixels,
    drag,
    drawn_points,
    panel,
    point_search,
    select_embedding,
    selected_points,
)
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def test_draws_points_and_lists_neighbors(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2&color-by=side")
    canvas = drawn_points(page)
    expect(canvas).to_have_accessible_name(f"PCA of {POINT_COUNT} points")
    expect(page.get_by_role("group", name="Projection")).to_contain_text("100% variance explained")
    expect(page.get_by_role("status", name="Layout quality")).to_contain_text(
        "Trustworthiness 1.00"
    )
    wait_for_condition(page, lambda: count_pixels(canvas, BLUE, ORANGE) > 100)
    page.mouse.move(*get_stable_box(canvas).center)
    expect(page.get_by_role("status", name="Hovered point")).to_contain_text("middle")
    page.mouse.click(*get_stable_box(canvas).center)
    details = panel(page, "middle")
    expect(details).to_contain_text("none")
    nearest = page.get_by_role("list", name="Nearest neighbors").get_by_role("listitem")
    expect(nearest).to_have_count(20)
    page.get_by_label("Number of neighbors").fill("3")
    page.get_by_label("Number of neighbors").press("Enter")
    expect(nearest).to_have_count(3)
    combobox(page, "Distance").select_option("Euclidean")
    # The nearest points are the inner ends of the two rings, at a distance of 8.
    expect(nearest.first).to_contain_text("8")
    expect(page).to_have_url(re.compile("neighbor-metric=euclidean"))
    nearest.first.click()
    expect(page).not_to_have_url(re.compile("point=0&"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("point="))
    expect(nearest).to_have_count(0)


def test_rotates_pans_zooms_and_url_restores_camera(points: str, open_page: OpenPage) -> None:
    page = open_page(points)
    drawn_points(page)
    drag(page, (0.5, 0.5), (0.6, 0.55))
    expect(page).to_have_url(re.compile(r"orbit=[\d.,-]+"))
    page.get_by_role("button", name="2D", exact=True).click()
    expect(page).not_to_have_url(re.compile("orbit="))
    drawn_points(page)
    place = get_stable_box(page.get_by_role("application"))
    page.mouse.move(*place.at(0.5, 0.5))
    page.mouse.wheel(0, -300)
    expect(page).to_have_url(re.compile(r"orbit=0,0,1\.\d+(,|&|$)"))
    page.get_by_role("application").press("ArrowRight")
    expect(page).to_have_url(re.compile(r"orbit=0,0,[\d.]+,-[\d.]+,[\d.-]+,0"))
    other = open_page(get_stable_url(page, 700))
    page.mouse.move(1, 1)
    place = get_stable_box(drawn_points(other))
    # The arrow key has moved the center point to the right.
    other.mouse.move(place.center[0] + 18, place.center[1])
    expect(other.get_by_role("status", name="Hovered point")).to_contain_text("middle")
    other.get_by_role("button", name="Fit to screen").click()
    expect(other).not_to_have_url(re.compile("orbit="))


def test_searches_selects_isolates_hides_and_restores_points(
    points: str, open_page: OpenPage
) -> None:
    page = open_page(f"{points}&dimensions=2")
    drawn_points(page)
    field = point_search(page)
    field.fill("WEST-1")
    matches = page.get_by_role("status", name="Matches")
    expect(matches).to_have_text("11 matches")
    field.fill("^west-1$")
    expect(matches).to_have_text("No matches for “^west-1$”")
    bar = page.get_by_role("toolbar", name="Projector")
    bar.get_by_role("button", name="Regular expression").click()
    expect(matches).to_have_text("1 match")
    field.fill("(")
    expect(bar.get_by_role("status")).to_contain_text("regular expression")
    field.fill("^(west|east)-")
    expect(matches).to_have_text("40 matches")
    combobox(page, "Search in").select_option("side")
    expect(matches).to_have_text("No matches for “^(west|east)-”")
    field.fill("east")
    expect(matches).to_have_text("20 matches")
    page.get_by_role("button", name="Select all matching").click()
    selected = selected_points(page)
    expect(selected).to_have_text(f"{GROUP_SIZE} points selected")
    field.fill("")
    expect(page).to_have_url(re.compile("selected-points=21-40"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Invert").click()
    expect(selected).to_have_text(f"{GROUP_SIZE + 1} points selected")
    page.get_by_role("button", name="Hide", exact=True).click()
    expect(selected).to_have_text(f"0 points selected · {GROUP_SIZE + 1} hidden")
    page.get_by_role("button", name="Show all").click()
    expect(selected).to_have_count(0)
    page.get_by_role("button", name="Box select", exact=True).click()
    drag(page, (0.02, 0.02), (0.4, 0.98))
    expect(selected).to_have_text(f"{GROUP_SIZE} points selected")
    page.get_by_role("button", name="Lasso", exact=True).click()
    drag(page, (0.46, 0.4), (0.54, 0.4), (0.54, 0.6), (0.46, 0.6))
    expect(selected).to_have_text("1 point selected")
    page.get_by_role("button", name="Invert").click()
    page.get_by_role("button", name="Isolate").click()
    expect(selected).to_have_text(f"0 points selected · {POINT_COUNT - 1} isolated")
    expect(page.get_by_role("group", name="Projection")).to_contain_text(
        f"{POINT_COUNT - 1} points"
    )
    expect(page).to_have_url(re.compile("isolated-points=1-40"))


def test_colors_by_column_and_hides_values(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2&color-by=side")
    canvas = drawn_points(page)
    legend = page.get_by_role("group", name="Legend")
    west = legend.get_by_role("button", name="west")
    expect(west).to_contain_text("20")
    wait_for_condition(page, lambda: count_pixels(canvas, BLUE) > 100)
    west.click()
    expect(west).to_have_attribute("aria-pressed", "false")
    # Either group may have either color.
    wait_for_value(page, lambda: count_pixels(canvas, BLUE, ORANGE), 0)
    west.click(modifiers=["Shift"])
    expect(legend.get_by_role("button", pressed=False)).to_have_count(2)
    combobox(page, "Color by").select_option("weight")
    expect(legend).to_contain_text("0.9")
    combobox(page, "Color scale").select_option("Diverging")
    expect(legend).to_contain_text("\N{MINUS SIGN}1")
    combobox(page, "Color by").select_option("Uniform")
    expect(legend).to_have_count(0)
    combobox(page, "Size by").select_option("weight")
    expect(page).to_have_url(re.compile("size-by=weight"))
    combobox(page, "Label by").select_option("side")
    page.mouse.move(*get_stable_box(canvas).center)
    expect(page.get_by_role("status", name="Hovered point")).to_contain_text("none")
    combobox(page, "Size by").select_option("Uniform")
    combobox(page, "Draw as").select_option("Labels")
    page.get_by_role("slider", name="Point size").fill("20")
    wait_for_condition(page, lambda: count_pixels(canvas, BLUE) > 2000)
    combobox(page, "Density").select_option("On")
    # Density makes points translucent, so the background shows through.
    wait_for_value(page, lambda: count_pixels(canvas, BLUE), 0)
    expect(page).to_have_url(
        re.compile("density=on&.*point-style=labels|point-style=labels&.*density=on")
    )


def test_draws_sprite_images(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2")
    select_embedding(page, re.compile("seen"))
    canvas = drawn_points(page)
    wait_for_condition(page, lambda: count_pixels(canvas, (230, 20, 20), (20, 200, 20)) > 500)
    page.mouse.move(*get_stable_box(canvas).center)
    tip = page.get_by_role("status", name="Hovered point")
    expect(tip.locator("img")).to_have_js_property("naturalWidth", 8)
    combobox(page, "Draw as").select_option("Points")
    wait_for_value(page, lambda: count_pixels(canvas, (230, 20, 20)), 0)
