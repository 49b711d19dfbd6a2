"""Mesh cameras: rotate, pan, zoom, link, reset, and restore from the URL."""

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
#: A camera in the URL whose target is not the center.
CAMERA_WITH_TARGET = re.compile(r"camera=([^&,]*,){5}[^&,]")


solids = board_fixture(write_mesh_log, "module", "?tab=mesh")


def drag(page: Page, image: Locator, dx: float, dy: float) -> None:
    box = get_stable_box(image)
    x, y = box.center
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=5)
    page.mouse.up()
    wait_until_drawn(image)


def read_camera(page: Page) -> list[float]:
    """Return the camera in the URL once there is one."""
    expect(page).to_have_url(re.compile("camera=[^&]"))
    address = get_stable_url(page, 400)
    match = re.search(r"[?&]camera=([^&]*)", address)
    assert match, address
    return [float(number) for number in match[1].split(",")]


def compute_drawn_center(image: Locator) -> tuple[float, float]:
    """Return the center of the drawn pixels as fractions of the width and the height."""
    drawn = read_pixels(image)[..., 3] > 0
    rows, columns = np.nonzero(drawn)
    return columns.mean() / drawn.shape[1], rows.mean() / drawn.shape[0]


def test_drag_rotates_all_meshes_and_url_restores_camera(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=shape/")
    cube, grey = drawn_mesh(page, "shape/cube"), drawn_mesh(page, "shape/grey")
    before = [read_pixels(image) for image in (cube, grey)]
    drag(page, cube, 70, -30)
    yaw, pitch, zoom = read_camera(page)
    assert (zoom, yaw < 0.6, pitch < 0.42) == (1, True, True)
    wait_until_drawn(grey)
    turned = [read_pixels(image) for image in (cube, grey)]
    assert all(not np.array_equal(*pair) for pair in zip(before, turned, strict=True))
    other = open_page(get_stable_url(page, 400))
    same = drawn_mesh(other, "shape/cube")
    wait_for_condition(other, lambda: np.array_equal(read_pixels(same), turned[0]))


def test_cards_have_separate_cameras_when_unlinked(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=shape/")
    cube, grey = drawn_mesh(page, "shape/cube"), drawn_mesh(page, "shape/grey")
    page.get_by_role("checkbox", name="Sync cameras").first.uncheck()
    expect(page).to_have_url(re.compile("sync-cameras=0"))
    before = read_pixels(grey)
    drag(page, cube, 70, 0)
    expect(page).to_have_url(re.compile("card-cameras=shape/cube,"))
    wait_until_drawn(grey)
    assert np.array_equal(read_pixels(grey), before)
    # Linking the cameras again applies the one of the card that was used last.
    page.get_by_role("checkbox", name="Sync cameras").first.check()
    expect(page).to_have_url(re.compile(r"[?&]camera="))
    expect(page).not_to_have_url(re.compile("card-cameras"))
    wait_until_drawn(grey)
    wait_for_condition(page, lambda: not np.array_equal(read_pixels(grey), before))


def test_shift_drag_pans(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube{FRONT_CAMERA}&projection=orthographic")
    image = drawn_mesh(page, "shape/cube")
    box = get_stable_box(image)
    across, down = compute_drawn_center(image)
    page.keyboard.down("Shift")
    drag(page, image, 40, 20)
    page.keyboard.up("Shift")
    after = compute_drawn_center(image)
    assert after[0] - across == pytest.approx(40 / box.width, abs=0.02)
    assert after[1] - down == pytest.approx(20 / box.height, abs=0.02)
    expect(page).to_have_url(CAMERA_WITH_TARGET)


def test_wheel_zooms_only_with_ctrl(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    image = drawn_mesh(page, "shape/cube")
    before = drawn_fraction(image)
    image.hover()
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(300)
    assert drawn_fraction(image) == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    assert read_camera(page)[2] > 1.2
    wait_until_drawn(image)
    wait_for_condition(page, lambda: drawn_fraction(image) > 1.2 * before)


def test_all_reset_actions_restore_default_camera(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    image = drawn_mesh(page, "shape/cube")
    home = read_pixels(image)
    actions: list[Callable[[], object]] = [
        lambda: image.dblclick(),
        lambda: (
            card(page, "shape/cube")
            .get_by_role("button", name="Reset view of shape/cube")
            .first.click()
        ),
        lambda: choose_menu_item(page, "shape/cube", "Reset view"),
        lambda: image.press("0"),
    ]
    for reset in actions:
        drag(page, image, 50, 50)
        read_camera(page)
        reset()
        expect(page).not_to_have_url(re.compile("camera="))
        wait_until_drawn(image)
        wait_for_condition(page, lambda: np.array_equal(read_pixels(image), home))


def test_keyboard_controls_camera(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    image = drawn_mesh(page, "shape/cube")
    image.focus()
    for key in ("ArrowLeft", "ArrowUp", "+", "+", "-", "Shift+ArrowRight"):
        image.press(key)
    expect(page).to_have_url(CAMERA_WITH_TARGET)
    yaw, pitch, zoom, *_ = read_camera(page)
    assert (yaw > 0.6, pitch < 0.42, zoom) == (True, True, 1.25)
    # Keys without a camera action are handled by the page.
    image.press("g")
    expect(page).to_have_url(re.compile("mesh-grid=1"))


def test_pinch_zooms(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube", has_touch=True)
    image = drawn_mesh(page, "shape/cube")
    box = get_stable_box(image)
    x, y = box.center
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        touched = [{"x": px, "y": py, "id": at} for at, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

    send("touchStart", (x - 40, y), (x + 40, y))
    for spread in (50, 60, 70, 80):
        send("touchMove", (x - spread, y), (x + spread, y))
    send("touchEnd")
    assert read_camera(page)[2] > 1.5
