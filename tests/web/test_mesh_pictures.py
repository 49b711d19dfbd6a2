"""Mesh rendering: colors, steps, batches, sampling, errors and live updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.cards import card, card_titles
from tests.web.conftest import Serve, board_fixture
from tests.web.locators import click_retry
from tests.web.mesh_log import (
    BLUE,
    FRONT_CAMERA,
    GREEN,
    RED,
    STEPS,
    drawn_fraction,
    drawn_mesh,
    event_record,
    make_cube,
    opaque_colors,
    read_pixel,
    write_mesh_log,
)
from tests.web.waiting import wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
_ASPECT = "node => node.clientWidth / node.clientHeight"


solids = board_fixture(write_mesh_log, "module", "?tab=mesh")


def test_mesh_parts_share_a_card_with_one_rendering_per_run(
    solids: str, open_page: OpenPage
) -> None:
    page = open_page(f"{solids}&tags=shape/")
    drawn_mesh(page, "shape/cube")
    wait_for_value(page, lambda: card_titles(page), ["shape/cube", "shape/grey"])
    for run in ("first", "second"):
        image = drawn_mesh(page, "shape/cube", run)
        expect(image).to_have_attribute(
            "aria-label", f"shape/cube, {run}, Step 20, 8 vertices, 12 faces"
        )


def test_colors_match_the_logged_step(solids: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    for step, color in STEPS.items():
        page.goto(f"{solids}&tags=cube&step={step}")
        wait_for_value(page, lambda: opaque_colors(drawn_mesh(page, "shape/cube")), {color})


def test_step_slider_changes_all_meshes(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), BLUE)
    slider = page.get_by_role("slider", name="Step of all cards")
    slider.focus()
    slider.press("Home")
    expect(page).to_have_url(re.compile("step=0"))
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), RED)
    slider.press("ArrowRight")
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube", "second")), GREEN)
    slider.press("End")
    expect(page).not_to_have_url(re.compile("step="))
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), BLUE)


def test_card_has_separate_step_when_unlinked(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube&sync-steps=0")
    drawn_mesh(page, "shape/cube")
    own = page.get_by_role("slider", name="Step of shape/cube")
    own.focus()
    own.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"steps=shape/cube,10"))
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), GREEN)


def test_draws_faces_with_32_bit_indices(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=sheet{FRONT_CAMERA}&projection=orthographic")
    image = drawn_mesh(page, "large/sheet")
    expect(image).to_have_attribute("aria-label", re.compile("90,000 vertices, 178,802 faces"))
    # The sheet spans 0.19 to 0.81 of the height of the canvas, and is blue above 0.355.
    column = [read_pixel(image, 0.5, down) for down in (0.15, 0.22, 0.34, 0.37, 0.6, 0.78, 0.85)]
    assert column == [(), BLUE, BLUE, RED, RED, RED, ()]
    assert drawn_fraction(image) == pytest.approx(0.39 / image.evaluate(_ASPECT), abs=0.02)


def test_selects_mesh_of_a_batch(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=batch")
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "batch/pair")), RED)
    chooser = card(page, "batch/pair").get_by_role("combobox", name="Batch item")
    chooser.select_option("2 of 2")
    expect(page).to_have_url(re.compile("mesh-item=1"))
    image = drawn_mesh(page, "batch/pair")
    expect(image).to_have_attribute("aria-label", re.compile("12 faces"))
    wait_for_value(page, lambda: read_pixel(image), GREEN)


def test_shows_errors_in_the_card(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=odd")
    alert = card(page, "odd/broken").get_by_role("alert")
    expect(alert).to_contain_text("they must have the shape [batch, points, 3]")
    note = card(page, "odd/torn").get_by_role("note")
    expect(note).to_have_attribute("aria-label", re.compile("1 of 2 faces refer to vertices"))
    wait_for_condition(page, lambda: drawn_fraction(drawn_mesh(page, "odd/torn")) > 0)


def test_retries_failed_request(solids: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    failing = True

    def fail(route: Route) -> None:
        route.abort() if failing else route.continue_()

    page.route("**/api/v1/mesh/geometry?**", fail)
    page.goto(f"{solids}&tags=grey")
    expect(card(page, "shape/grey").get_by_role("alert")).to_be_visible()
    failing = False
    click_retry(card(page, "shape/grey"))
    wait_for_condition(page, lambda: drawn_fraction(drawn_mesh(page, "shape/grey")) > 0.1)


def test_keeps_last_rendering_while_loading(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    image = drawn_mesh(page, "shape/cube")
    held: list[Route] = []
    page.route("**/api/v1/mesh/geometry?**", lambda route: held.append(route))
    page.get_by_role("slider", name="Step of all cards").press("Home")
    expect(image).to_have_attribute("data-still", "false")
    page.wait_for_timeout(300)
    wait_for_value(page, lambda: read_pixel(image), BLUE)
    for route in held:
        route.continue_()
    expect(image).to_have_attribute("data-still", "true")
    wait_for_value(page, lambda: read_pixel(image), RED)


def test_samples_large_point_clouds_until_all_are_requested(
    solids: str, open_page: OpenPage
) -> None:
    page = open_page(f"{solids}&tags=many")
    image = drawn_mesh(page, "cloud/many")
    expect(image).to_have_attribute("aria-label", re.compile("100,000 of 1,050,000 points"))
    card(page, "cloud/many").get_by_role("button", name="Show all points").click()
    expect(image).to_have_attribute("aria-label", re.compile(", 1,050,000 points"))
    expect(page).to_have_url(re.compile("mesh-all-points=1"))
    wait_for_condition(page, lambda: drawn_fraction(drawn_mesh(page, "cloud/many")) > 0.2)


def test_shows_new_steps(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    write_mesh_log(folder)
    board = serve(folder)
    page = open_page(f"{board.address}?tab=mesh&tags=cube")
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), BLUE)
    with (folder / "first" / "events.out.tfevents.1").open("ab") as file:
        file.write(event_record(30, *make_cube(10)))
    expect(page.get_by_role("img", name=re.compile("first, Step 30"))).to_be_visible()
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), GREEN)
    assert np.isclose(drawn_fraction(drawn_mesh(page, "shape/cube", "second")), 0.3, atol=0.2)
