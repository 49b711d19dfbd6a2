"""Invalid and malicious images show an error, and none of their content runs."""

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
MESSAGES = {
    "nothing": "This image is empty (0 bytes).",
    "drawing": "SVG images may contain scripts and are not shown",
    "cut PNG": "This PNG file is truncated after",
    "cut JPEG": "This JPEG file is truncated after",
    "bomb of PNG": "This image has 2,147,483,647 x 2,147,483,647 pixels",
    "a page": "Unknown image format: 40 bytes that start with",
    "AVIF of nothing": "This AVIF file cannot be decoded",
}


def write_hostile(logdir: Path) -> None:
    images = hostile()
    records = [picture_record(1, [images[name]], tag=name) for name in MESSAGES]
    mixed = picture_record(1, [SVG, save(noise(8, 8, 3))], tag="among others")
    logs.write(logdir, "a", b"".join([*records, mixed]))


address = board_fixture(write_hostile, "module", "?tab=images")


def test_invalid_images_show_an_error(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page(address)
    for name, message in MESSAGES.items():
        page.get_by_role("combobox", name="Filter tags").fill(name)
        expect(card(page, name).get_by_role("note").filter(has_text=message).first).to_be_visible()


def test_valid_images_beside_invalid_ones_are_shown(
    address: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{address}&tags=among")
    expect(page.get_by_role("note").filter(has_text="SVG")).to_be_visible()
    image = page.get_by_role("img", name="Image 2 of 2")
    expect(image).to_be_visible()
    assert image.evaluate("img => img.naturalWidth") == 8


def test_svg_scripts_never_run(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{address}&tags=drawing")
    expect(page.get_by_role("note").first).to_be_visible()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    query = "run=a&tag=drawing&index=0"
    for endpoint in ("picture", "thumbnail"):
        page.goto(address.replace("?tab=images", f"api/v1/images/{endpoint}?{query}"))
        expect(page.locator("body")).to_contain_text("SVG images may contain scripts")
    with page.expect_download() as download:
        page.evaluate(f"location.assign('file?{query}')")
    assert download.value.suggested_filename == "a-drawing-step-00000001.svg"
    assert dialogs == []
