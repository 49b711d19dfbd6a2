"""Images: live updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records
from tests.web.image_log import (
    as_rgba,
    encode_image,
    image_record,
    images_at_step,
    make_photo,
    read_pixels,
)
from tests.web.locators import dashboard_tab
from tests.web.waiting import get_stable_box, wait_for_value

pytestmark = pytest.mark.browser


def append_photos(logdir: Path, *steps: int) -> None:
    append_records(
        logdir / "conv",
        *(image_record("photo", at, encode_image(make_photo("conv", at))) for at in steps),
    )


def test_card_follows_new_steps_unless_a_step_is_chosen(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append_photos(logdir, 0, 10)
    page = open_page(f"{serve(logdir).address}?tab=images")
    images_at_step(page, "photo", "conv", 10)
    append_photos(logdir, 20)
    image = images_at_step(page, "photo", "conv", 20).first
    assert np.array_equal(read_pixels(image), as_rgba(make_photo("conv", 20)))
    page.keyboard.press("ArrowLeft")
    images_at_step(page, "photo", "conv", 10)
    append_photos(logdir, 30, 40)
    slider = page.get_by_role("slider", name="Step of all cards")
    expect(slider).to_have_attribute("max", "4")
    expect(page.get_by_role("article").locator("[data-step]")).to_have_attribute("data-step", "10")
    expect(page).to_have_url(re.compile("step=10$"))


def test_viewer_shortcuts_precede_tab_shortcuts_that_change(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append_photos(logdir, 0)
    page = open_page(f"{serve(logdir).address}?tab=images&card=photo")
    expect(page.locator("article.full .pane")).to_have_count(1)
    # Tabs are numbered again when a tag adds one.
    append_records(logdir / "conv", *loss_records("loss", range(3)))
    expect(dashboard_tab(page, "Scalars")).to_be_visible()
    page.keyboard.press("1")
    expect(page).to_have_url(re.compile("tab=images&card=photo&spot="))


def test_zoom_is_kept_when_a_new_step_arrives(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append_photos(logdir, 0)
    page = open_page(f"{serve(logdir).address}?tab=images&card=photo")
    pane = page.locator("article.full .pane")
    expect(pane).to_have_attribute("aria-label", "conv, step 0")
    page.keyboard.press("+")
    page.keyboard.press("+")
    before = get_stable_box(pane.locator("img"))
    append_photos(logdir, 10)
    expect(pane).to_have_attribute("aria-label", "conv, step 10")
    wait_for_value(page, lambda: get_stable_box(pane.locator("img")), before)
    expect(page).to_have_url(re.compile("spot="))


def test_images_of_previous_steps_are_released(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    """The page keeps few images, however many steps have been shown."""
    append_photos(logdir, *range(0, 600, 5))
    page = open_page(f"{serve(logdir).address}?tab=images")
    images_at_step(page, "photo", "conv", 595)
    page.keyboard.press("Home")
    images_at_step(page, "photo", "conv", 0)
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    images_at_step(page, "photo", "conv", 200)
    expect(page.locator("img")).to_have_count(1)
