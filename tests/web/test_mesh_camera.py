"""Meshes are turned, moved and zoomed, one or all at once, and a link shows the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import card, choose_menu_item
from tests.web.conftest import board_fixture
from tests.web.mesh_log import (
    FRONT_CAMERA,
    drawn_fraction,
    drawn_mesh,
    read_pixels,
    wait_until_drawn,
    write_mesh_log,
)
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
#: A camera that does not look at the centre.
SIX = re.compile(r"camera=([^&,]*,){5}[^&,]")


solids = board_fixture(write_mesh_log, "module", "?tab=mesh")


def drag(page: Page, found: Locator, dx: float, dy: float) -> None:
    box = get_stable_box(found)
    x, y = box.center
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=5)
    page.mouse.up()
    wait_until_drawn(found)


def camera(page: Page) -> list[float]:
    """What the address says, once it says something."""
    expect(page).to_have_url(re.compile("camera=[^&]"))
    address = get_stable_url(page, 400)
    found = re.search(r"[?&]camera=([^&]*)", address)
    assert found, address
    return [float(number) for number in found[1].split(",")]


def middle(found: Locator) -> tuple[float, float]:
    """Where in the picture the middle of what is drawn is, across and down."""
    drawn = read_pixels(found)[..., 3] > 0
    rows, columns = np.nonzero(drawn)
    return columns.mean() / drawn.shape[1], rows.mean() / drawn.shape[0]


def test_a_drag_turns_all_and_a_link_shows_the_same(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=shape/")
    cube, grey = drawn_mesh(page, "shape/cube"), drawn_mesh(page, "shape/grey")
    before = [read_pixels(found) for found in (cube, grey)]
    drag(page, cube, 70, -30)
    yaw, pitch, zoom = camera(page)
    assert (zoom, yaw < 0.6, pitch < 0.42) == (1, True, True)
    wait_until_drawn(grey)
    turned = [read_pixels(found) for found in (cube, grey)]
    assert all(not np.array_equal(*pair) for pair in zip(before, turned, strict=True))
    other = open_page(get_stable_url(page, 400))
    same = drawn_mesh(other, "shape/cube")
    wait_for_condition(other, lambda: np.array_equal(read_pixels(same), turned[0]))


def test_each_card_may_have_its_own_camera(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=shape/")
    cube, grey = drawn_mesh(page, "shape/cube"), drawn_mesh(page, "shape/grey")
    page.get_by_role("checkbox", name="Same camera").first.uncheck()
    expect(page).to_have_url(re.compile("cameras=0"))
    before = read_pixels(grey)
    drag(page, cube, 70, 0)
    expect(page).to_have_url(re.compile("own-cameras=shape/cube,"))
    wait_until_drawn(grey)
    assert np.array_equal(read_pixels(grey), before)
    # Who links them again sees all as the card that was used last.
    page.get_by_role("checkbox", name="Same camera").first.check()
    expect(page).to_have_url(re.compile(r"[?&]camera="))
    expect(page).not_to_have_url(re.compile("own-cameras"))
    wait_until_drawn(grey)
    wait_for_condition(page, lambda: not np.array_equal(read_pixels(grey), before))


def test_dragging_with_shift_moves(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube{FRONT_CAMERA}&lens=orthographic")
    found = drawn_mesh(page, "shape/cube")
    box = get_stable_box(found)
    across, down = middle(found)
    page.keyboard.down("Shift")
    drag(page, found, 40, 20)
    page.keyboard.up("Shift")
    after = middle(found)
    assert after[0] - across == pytest.approx(40 / box.width, abs=0.02)
    assert after[1] - down == pytest.approx(20 / box.height, abs=0.02)
    expect(page).to_have_url(SIX)


def test_the_wheel_zooms_with_ctrl_only(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    found = drawn_mesh(page, "shape/cube")
    before = drawn_fraction(found)
    found.hover()
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(300)
    assert drawn_fraction(found) == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    assert camera(page)[2] > 1.2
    wait_until_drawn(found)
    wait_for_condition(page, lambda: drawn_fraction(found) > 1.2 * before)


def test_every_way_back_to_the_whole(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    found = drawn_mesh(page, "shape/cube")
    home = read_pixels(found)
    ways: list[Callable[[], object]] = [
        lambda: found.dblclick(),
        lambda: card(page, "shape/cube").get_by_role("button", name="Fit shape/cube").first.click(),
        lambda: choose_menu_item(page, "shape/cube", "Fit"),
        lambda: found.press("0"),
    ]
    for way in ways:
        drag(page, found, 50, 50)
        camera(page)
        way()
        expect(page).not_to_have_url(re.compile("camera="))
        wait_until_drawn(found)
        wait_for_condition(page, lambda: np.array_equal(read_pixels(found), home))


def test_by_keyboard(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    found = drawn_mesh(page, "shape/cube")
    found.focus()
    for key in ("ArrowLeft", "ArrowUp", "+", "+", "-", "Shift+ArrowRight"):
        found.press(key)
    expect(page).to_have_url(SIX)
    yaw, pitch, zoom, *_ = camera(page)
    assert (yaw > 0.6, pitch < 0.42, zoom) == (True, True, 1.25)
    # Keys that mean nothing here mean what they mean on the page.
    found.press("g")
    expect(page).to_have_url(re.compile("mesh-grid=1"))


def test_fingers(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube", has_touch=True)
    found = drawn_mesh(page, "shape/cube")
    box = get_stable_box(found)
    x, y = box.center
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        touched = [{"x": px, "y": py, "id": at} for at, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

    send("touchStart", (x - 40, y), (x + 40, y))
    for spread in (50, 60, 70, 80):
        send("touchMove", (x - spread, y), (x + spread, y))
    send("touchEnd")
    assert camera(page)[2] > 1.5
