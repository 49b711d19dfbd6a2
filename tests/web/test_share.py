"""The Share button: link, static HTML, image and code for other sites."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Download, Locator, Page, expect

from tests.web.cards import drawn_chart
from tests.web.conftest import board_fixture
from tests.web.embedding_log import ORANGE, drawn_points
from tests.web.graph_view import write_graph_log
from tests.web.run_table import run_color, run_names
from tests.web.waiting import get_stable_box, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
graph_board = board_fixture(write_graph_log, "module", "?tab=graphs")
VIEW = "?tab=scalars&tags=train/loss&selected=none;%2Bconv/lr3e-4,vit"


def open_share(page: Page) -> Locator:
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("heading", name="Share this view")).to_be_visible()
    return page.locator(".share")


def download(page: Page, kind: str) -> Download:
    row = open_share(page).locator(".row").filter(has_text=kind)
    with page.expect_download() as download:
        row.get_by_role("button", name="Download").click()
    return download.value


def count_drawn(image: Image.Image) -> int:
    """Return how many pixels do not have the most frequent color."""
    counts = sorted(count for count, _ in image.getcolors(1 << 24) or [])
    return sum(counts[:-1])


def test_copies_link(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep + VIEW, permissions=["clipboard-read", "clipboard-write"])
    drawn_chart(page, "train/loss")
    open_share(page).get_by_role("button", name="Copy link").click()
    expect(page.locator(".share")).to_contain_text("Copied")
    wait_for_value(page, lambda: page.evaluate("navigator.clipboard.readText()"), page.url)


def test_static_html_shows_the_view_in_the_same_colors(
    sweep: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(sweep + VIEW)
    drawn_chart(page, "train/loss")
    file = tmp_path / "view.html"
    found = download(page, "Static HTML")
    assert found.suggested_filename == "Scalars.html"
    found.save_as(file)
    copy = open_page(file.as_uri())
    drawn_chart(copy, "train/loss")
    wait_for_value(copy, lambda: run_names(copy), ["conv/lr3e-4", "vit"])
    for run in ("conv/lr3e-4", "vit"):
        color = run_color(page, run)
        wait_for_value(copy, lambda run=run: run_color(copy, run), color)
    open_share(copy)
    expect(copy.get_by_text("Static HTML")).to_have_count(0)


def test_image_shows_the_charts(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep + VIEW)
    drawn_chart(page, "train/loss")
    color = run_color(page, "vit")
    image = Image.open(download(page, "Image").path()).convert("RGB")
    width = page.locator("[data-view]").evaluate("view => view.clientWidth")
    assert image.width == 2 * width
    wanted = tuple(int(part) for part in color.strip("rgb()").split(","))
    colors = {pixel for _, pixel in image.getcolors(1 << 24) or []}
    assert wanted in colors


def test_image_shows_svg(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(graph_board)
    node = get_stable_box(page.locator("[data-node='net']"))
    view = get_stable_box(page.locator("[data-view]"))
    image = Image.open(download(page, "Image").path()).convert("RGB")
    left, top = 2 * (node.x - view.x), 2 * (node.y - view.y)
    drawn = image.crop((left, top, left + 2 * node.width, top + 2 * node.height))
    screen = Image.open(io.BytesIO(page.locator("[data-node='net']").screenshot())).convert("RGB")
    # The boxes and lines of the group, not only its texts.
    assert count_drawn(drawn) / 4 == pytest.approx(count_drawn(screen), rel=0.4)


def test_image_shows_webgl(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2&color-by=side&point-style=points")
    drawn_points(page)
    image = Image.open(download(page, "Image").path()).convert("RGB")
    counts = {pixel: count for count, pixel in image.getcolors(1 << 24) or []}
    orange = [
        count
        for pixel, count in counts.items()
        if all(abs(part - wanted) < 12 for part, wanted in zip(pixel, ORANGE, strict=True))
    ]
    assert sum(orange) > 500


def test_embed_code_has_the_view(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep + VIEW)
    drawn_chart(page, "train/loss")
    code = open_share(page).get_by_role("region", name="Embed")
    expect(code).to_contain_text(page.url.replace("&", "&amp;"))
    expect(code).to_contain_text("<iframe src=")
