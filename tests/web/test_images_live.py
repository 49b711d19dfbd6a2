"""Pictures that come while one looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.event_writer import append_records
from tests.web.image_log import (
    as_rgba,
    encode_image,
    image_record,
    images_at_step,
    make_photo,
    read_pixels,
)
from tests.web.waiting import get_stable_box, wait_for_value

pytestmark = pytest.mark.browser


def add(logdir: Path, *steps: int) -> None:
    append_records(
        logdir / "conv",
        *(image_record("photo", at, encode_image(make_photo("conv", at))) for at in steps),
    )


def test_a_card_at_its_end_follows_and_one_that_was_moved_stays(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    add(logdir, 0, 10)
    page = open_page(f"{serve(logdir).address}?tab=images")
    images_at_step(page, "photo", "conv", 10)
    add(logdir, 20)
    image = images_at_step(page, "photo", "conv", 20).first
    assert np.array_equal(read_pixels(image), as_rgba(make_photo("conv", 20)))
    page.keyboard.press("ArrowLeft")
    images_at_step(page, "photo", "conv", 10)
    add(logdir, 30, 40)
    slider = page.get_by_role("slider", name="Step of all cards")
    expect(slider).to_have_attribute("max", "4")
    expect(page.get_by_role("article").locator("[data-step]")).to_have_attribute("data-step", "10")
    expect(page).to_have_url(re.compile("step=10$"))


def test_a_zoom_stays_when_the_next_picture_comes(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    add(logdir, 0)
    page = open_page(f"{serve(logdir).address}?tab=images&card=photo")
    place = page.locator("article.full .pane")
    expect(place).to_have_attribute("aria-label", "conv, step 0")
    page.keyboard.press("+")
    page.keyboard.press("+")
    before = get_stable_box(place.locator("img"))
    add(logdir, 10)
    expect(place).to_have_attribute("aria-label", "conv, step 10")
    wait_for_value(page, lambda: get_stable_box(place.locator("img")), before)
    expect(page).to_have_url(re.compile("spot="))


def test_what_was_seen_is_let_go(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    """However many steps are gone through, the page holds few pictures."""
    add(logdir, *range(0, 600, 5))
    page = open_page(f"{serve(logdir).address}?tab=images")
    images_at_step(page, "photo", "conv", 595)
    page.keyboard.press("Home")
    images_at_step(page, "photo", "conv", 0)
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    images_at_step(page, "photo", "conv", 200)
    expect(page.locator("img")).to_have_count(1)
