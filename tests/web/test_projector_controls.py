"""Projector by mouse and keyboard: camera, search, selection and shortcuts."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.embedding_log import (
    BLUE,
    GROUP_SIZE,
    ORANGE,
    POINT_COUNT,
    SECOND_RUN_COUNT,
    combobox,
    count_pixels,
    drag,
    drawn_points,
    matching_points,
    point_search,
    read_camera,
    select_embedding,
    selected_points,
    take_screenshot,
)
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def test_pans_zooms_and_centers_on_a_point(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&color-by=side")
    canvas = drawn_points(page)
    page.keyboard.down("Shift")
    drag(page, (0.5, 0.5), (0.6, 0.5))
    page.keyboard.up("Shift")
    wait_for_condition(page, lambda: read_camera(page))
    yaw, pitch, zoom, *target = read_camera(page)
    assert (yaw, pitch, zoom) == (0.6, 0.42, 1)
    assert target[1] == 0 and np.hypot(target[0], target[2]) > 0.1
    page.get_by_role("button", name="Fit to screen").click()
    wait_for_value(page, lambda: read_camera(page), [])
    page.get_by_role("button", name="2D", exact=True).click()
    drawn_points(page)
    # Zooming keeps the point under the pointer in place.
    place = get_stable_box(canvas)
    page.mouse.move(*place.center)
    tip = page.get_by_role("status", name="Hovered point")
    expect(tip).to_contain_text("middle")
    page.mouse.wheel(0, -600)
    expect(page).to_have_url(re.compile("orbit="))
    drawn_points(page)
    page.mouse.move(place.center[0] + 1, place.center[1])
    expect(tip).to_contain_text("middle")
    # A double click on the background resets the camera; on a point it centers on it.
    page.mouse.dblclick(*place.at(0.5, 0.05))
    wait_for_value(page, lambda: read_camera(page), [])
    drawn_points(page)
    point_search(page).fill("east-15")
    matching_points(page).click()
    wait_for_condition(page, lambda: read_camera(page)[2:3] == [3])
    expect(page).to_have_url(re.compile("point=36"))
    page.mouse.move(*get_stable_box(drawn_points(page)).center)
    expect(tip).to_contain_text("east-15")
    page.keyboard.press("z")
    wait_for_value(page, lambda: read_camera(page), [])
    page.mouse.dblclick(*get_stable_box(drawn_points(page)).center)
    wait_for_condition(page, lambda: read_camera(page)[2:3] == [3])
    expect(page).to_have_url(re.compile("point=0&|point=0$"))


def test_shows_matches_neighbors_and_sequences(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2&color-by=side&point-style=points")
    canvas = drawn_points(page)
    wait_for_condition(page, lambda: count_pixels(canvas, BLUE, ORANGE) > 100)
    plain = take_screenshot(canvas)
    field = point_search(page)
    field.fill("WEST")
    # Points that do not match are faded.
    wait_for_value(page, lambda: count_pixels(canvas, BLUE, ORANGE), 0)
    assert max(count_pixels(canvas, BLUE), count_pixels(canvas, ORANGE)) > 100
    field.fill("")
    wait_for_condition(page, lambda: np.array_equal(take_screenshot(canvas), plain))
    page.mouse.click(*get_stable_box(canvas).center)
    nearest = page.get_by_role("list", name="Nearest neighbors").get_by_role("listitem")
    expect(nearest).to_have_count(20)
    page.get_by_label("Number of neighbors").fill("4")
    page.get_by_label("Number of neighbors").press("Enter")
    for metric, first in (("Euclidean", "8"), ("Dot product", "0"), ("Cosine", "1")):
        combobox(page, "Distance").select_option(metric)
        expect(nearest.first.locator(".value")).to_have_text(first)
        expect(nearest).to_have_count(4)
    page.keyboard.press("Escape")
    select_embedding(page, re.compile("walk"))
    walk = drawn_points(page)
    expect(walk).to_have_accessible_name(f"PCA of {GROUP_SIZE} points")

    def count_gray_pixels() -> int:
        seen = take_screenshot(walk)
        is_gray = np.ptp(seen, axis=2) < 10
        return int(np.count_nonzero(is_gray & (seen.mean(axis=2) < 244)))

    # A line connects all points, and is longer than the canvas is high.
    wait_for_condition(page, lambda: count_gray_pixels() > 500)
    combobox(page, "Draw as").select_option("Labels")
    drawn = count_gray_pixels()
    combobox(page, "Label by").select_option("Row number")
    wait_for_condition(page, lambda: count_gray_pixels() < drawn)


def test_selects_single_points_and_extends_selection(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2")
    place = get_stable_box(drawn_points(page))
    selected = selected_points(page)
    page.keyboard.down("Control")
    page.mouse.click(*place.center)
    expect(selected).to_have_text("1 point selected")
    page.mouse.click(*place.center)
    expect(selected).to_have_count(0)
    page.mouse.click(*place.center)
    page.keyboard.up("Control")
    page.keyboard.press("b")
    page.keyboard.down("Control")
    drag(page, (0.02, 0.02), (0.4, 0.98))
    page.keyboard.up("Control")
    expect(selected).to_have_text(f"{GROUP_SIZE + 1} points selected")
    point_search(page).fill("east-1")
    page.get_by_role("button", name="Add to selection").click()
    expect(selected).to_have_text(f"{GROUP_SIZE + 12} points selected")
    page.get_by_role("button", name="Clear selection").click()
    expect(selected).to_have_count(0)
    matching_points(page).first.click()
    page.get_by_role("button", name="Select neighbors").click()
    expect(selected).to_have_text("21 points selected")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page).not_to_have_url(re.compile("point="))


def test_shortcuts_work_and_are_listed(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2")
    drawn_points(page)
    press = page.keyboard.press
    selected = selected_points(page)

    def expect_tool(name: str) -> None:
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_have_attribute("aria-pressed", "true")

    press("f")
    expect(point_search(page)).to_be_focused()
    page.get_by_role("application").focus()
    press("d")
    expect(page).to_have_url(re.compile("dimensions=3"))
    press("d")
    expect(page).to_have_url(re.compile("dimensions=2"))
    drawn_points(page)
    page.get_by_role("application").press("+")
    expect(page).to_have_url(re.compile("orbit="))
    press("z")
    expect(page).not_to_have_url(re.compile("orbit="))
    press("l")
    expect_tool("Lasso")
    press("b")
    expect_tool("Box select")
    drag(page, (0.02, 0.02), (0.4, 0.98))
    expect(selected).to_have_text(f"{GROUP_SIZE} points selected")
    press("v")
    expect(selected).to_have_text(f"{GROUP_SIZE + 1} points selected")
    press("h")
    expect(selected).to_have_text(f"0 points selected · {GROUP_SIZE + 1} hidden")
    press("v")
    press("i")
    expect(selected).to_have_text(
        f"0 points selected · {GROUP_SIZE} isolated · {GROUP_SIZE + 1} hidden"
    )
    expect(page.get_by_role("application")).to_have_accessible_name(f"PCA of {GROUP_SIZE} points")
    press("a")
    expect(selected).to_have_count(0)
    expect(page.get_by_role("application")).to_have_accessible_name(f"PCA of {POINT_COUNT} points")
    drawn_points(page)
    drag(page, (0.02, 0.02), (0.4, 0.98))
    expect(selected).to_have_count(1)
    press("Escape")
    expect(selected).to_have_count(0)
    press("Escape")
    expect_tool("Pan")
    press("?")
    dialog = page.get_by_role("dialog")
    for text in ("Search points", "Lasso selection", "Clear selection"):
        expect(dialog).to_contain_text(text)


def test_back_and_forward_restore_selection_point_and_embedding(
    points: str, open_page: OpenPage
) -> None:
    page = open_page(f"{points}&dimensions=2")
    canvas = drawn_points(page)
    selected = selected_points(page)
    page.keyboard.press("b")
    drag(page, (0.02, 0.02), (0.4, 0.98))
    expect(selected).to_have_text(f"{GROUP_SIZE} points selected")
    page.keyboard.press("i")
    expect(canvas).to_have_accessible_name(f"PCA of {GROUP_SIZE} points")
    drawn_points(page)
    page.get_by_role("button", name="UMAP", exact=True).click()
    expect(canvas).to_have_accessible_name(f"UMAP of {GROUP_SIZE} points")
    page.go_back()
    expect(canvas).to_have_accessible_name(f"PCA of {GROUP_SIZE} points")
    page.go_back()
    expect(selected).to_have_text(f"{GROUP_SIZE} points selected")
    expect(canvas).to_have_accessible_name(f"PCA of {POINT_COUNT} points")
    page.go_back()
    expect(selected).to_have_count(0)
    page.go_forward()
    expect(selected).to_have_text(f"{GROUP_SIZE} points selected")
    page.go_forward()
    expect(selected).to_have_text(f"0 points selected · {GROUP_SIZE} isolated")
    # Another embedding has a selection of its own.
    select_embedding(page, re.compile("moved"))
    expect(canvas).to_have_accessible_name(f"PCA of {SECOND_RUN_COUNT} points")
    expect(selected).to_have_count(0)
    point_search(page).fill("east-15")
    matching_points(page).click()
    neighbors = page.get_by_role("list", name="Nearest neighbors")
    expect(neighbors).to_be_visible()
    page.go_back()
    expect(neighbors).to_have_count(0)
    page.go_back()
    expect(selected).to_have_text(f"0 points selected · {GROUP_SIZE} isolated")
    expect(canvas).to_have_accessible_name(f"PCA of {GROUP_SIZE} points")
    page.go_forward()
    expect(canvas).to_have_accessible_name(f"PCA of {SECOND_RUN_COUNT} points")
    drawn_points(page)
