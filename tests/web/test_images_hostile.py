"""Pictures that are none, or mean harm: each says what is wrong, and nothing of them is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.dashboards.images.conftest import picture_record
from tests.dashboards.images.samples import SVG, hostile, noise, save
from tests.index import logs
from tests.web.cards import card
from tests.web.conftest import board_fixture

pytestmark = pytest.mark.browser

#: Messages that are shown instead of the images.
WORDS = {
    "nothing": "This image is empty (0 bytes).",
    "drawing": "SVG images may contain scripts and are not shown",
    "cut PNG": "This PNG file is truncated after",
    "cut JPEG": "This JPEG file is truncated after",
    "bomb of PNG": "This image has 2,147,483,647 x 2,147,483,647 pixels",
    "a page": "Unknown image format: 40 bytes that start with",
    "AVIF of nothing": "This AVIF file cannot be decoded",
}


def write_hostile(logdir: Path) -> None:
    parts = hostile()
    records = [picture_record(1, [parts[name]], tag=name) for name in WORDS]
    both = picture_record(1, [SVG, save(noise(8, 8, 3))], tag="among others")
    logs.write(logdir, "a", b"".join([*records, both]))


address = board_fixture(write_hostile, "module", "?tab=images")


def test_each_says_what_is_wrong(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page(address)
    for name, words in WORDS.items():
        page.get_by_role("textbox", name="Filter tags").fill(name)
        expect(card(page, name).get_by_role("note").filter(has_text=words).first).to_be_visible()


def test_good_pictures_beside_bad_ones_are_seen(
    address: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{address}&tags=among")
    expect(page.get_by_role("note").filter(has_text="SVG")).to_be_visible()
    picture = page.get_by_role("img", name="picture 2 of 2")
    expect(picture).to_be_visible()
    assert picture.evaluate("img => img.naturalWidth") == 8


def test_nothing_is_run_wherever_a_drawing_is_asked_for(
    address: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{address}&tags=drawing")
    expect(page.get_by_role("note").first).to_be_visible()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    place = "run=a&tag=drawing&index=0"
    for verb in ("picture", "thumbnail"):
        page.goto(address.replace("?tab=images", f"api/v1/images/{verb}?{place}"))
        expect(page.locator("body")).to_contain_text("SVG images may contain scripts")
    with page.expect_download() as download:
        page.evaluate(f"location.assign('file?{place}')")
    assert download.value.suggested_filename == "a-drawing-step-00000001.svg"
    assert said == []
