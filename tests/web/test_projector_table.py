"""Projector: the table of points, cross-filters, regions, side-by-side views, tiles."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.embedding_log import (
    GROUP_SIZE,
    POINT_COUNT,
    SECOND_RUN_COUNT,
    drag,
    drawn_points,
    panel,
    point_search,
    selected_points,
    take_screenshot,
)
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def open_table(page: Page) -> Any:
    drawn_points(page)
    page.get_by_role("button", name="Show table").click()
    return page.get_by_role("region", name="Table of points")


def test_table_sorts_selects_and_follows_the_canvas(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2")
    table = open_table(page)
    expect(table.get_by_role("status")).to_have_text(f"{POINT_COUNT} points")
    rows = table.get_by_role("row")
    expect(rows.nth(1)).to_contain_text("middle")
    table.get_by_role("columnheader", name="weight").get_by_role("button").click()
    expect(rows.nth(1)).to_contain_text("0.9")
    expect(page).to_have_url(re.compile("table-sort=-weight"))
    table.get_by_role("columnheader", name="word").get_by_role("button").click()
    expect(rows.nth(1)).to_contain_text("east-0")
    # Selecting in the table selects on the canvas; Shift extends it.
    table.get_by_role("checkbox", name="Select east-1", exact=True).click()
    table.get_by_role("checkbox", name="Select east-3", exact=True).click(modifiers=["Shift"])
    expect(selected_points(page)).to_have_text("3 points selected")
    table.get_by_role("button", name="Selected").click()
    expect(table.get_by_role("status")).to_have_text("3 points")
    # Selecting on the canvas fills the table.
    page.get_by_role("button", name="Box select").click()
    drag(page, (0.55, 0.15), (0.99, 0.95))
    expect(table.get_by_role("status")).to_have_text(f"{GROUP_SIZE} points")
    table.get_by_role("button", name="Visible").click()
    # A click on a row shows the point, and an inspected point is scrolled into view.
    table.get_by_role("button", name="east-4", exact=True).click()
    expect(panel(page, "east-4")).to_be_visible()
    page.keyboard.press("Escape")
    point_search(page).fill("west-19")
    page.get_by_role("list", name="Matching points").get_by_role("button").click()
    expect(table.get_by_role("button", name="west-19", exact=True)).to_be_in_viewport()
    table.get_by_role("button", name="Close table").click()
    expect(table).to_have_count(0)


def test_histograms_filter_points_and_each_other(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2")
    table = open_table(page)
    count = table.get_by_role("status")
    side = page.get_by_role("group", name="Filter by side")
    side.get_by_role("button", name="east").click()
    expect(count).to_have_text(f"{GROUP_SIZE} points")
    weight = page.get_by_role("group", name="Filter by weight")
    axis = get_stable_box(weight.get_by_role("presentation"))
    page.mouse.move(*axis.at(0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*axis.at(1, 0.5), steps=3)
    # The ends of the range have few digits, and the axis keeps its width while they change.
    expect(weight.get_by_label("Minimum of weight")).to_have_value("-0.0501")
    expect(weight.get_by_label("Maximum of weight")).to_have_value("0.9")
    assert get_stable_box(weight.get_by_role("presentation")).width == axis.width
    page.mouse.up()
    expect(count).to_have_text(f"{GROUP_SIZE // 2} points")
    # The other column counts only what passes the range: both sides have half of their points.
    expect(side.get_by_role("button", name="west")).to_contain_text(str(GROUP_SIZE // 2))
    expect(page).to_have_url(re.compile("filters="))
    other = open_page(get_stable_url(page))
    drawn_points(other)
    expect(other.get_by_role("status", name="Filters")).to_have_text(
        f"{GROUP_SIZE // 2} of {POINT_COUNT} points pass"
    )
    weight.get_by_label("Maximum of weight").fill("0.5")
    weight.get_by_label("Maximum of weight").press("Enter")
    expect(count).to_have_text("6 points")
    page.get_by_role("button", name="Clear filters").click()
    expect(count).to_have_text(f"{POINT_COUNT} points")
    expect(page).not_to_have_url(re.compile("filters="))


def test_compared_embeddings_side_by_side_share_the_selection(
    points: str, open_page: OpenPage
) -> None:
    page = open_page(f"{points}&dimensions=2")
    drawn_points(page)
    page.get_by_role("button", name="Compare with another embedding").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("moved")).click()
    page.get_by_role("button", name="Side by side").click()
    other = page.get_by_role("application", name=re.compile("^Compared PCA"))
    expect(other).to_have_accessible_name(f"Compared PCA of {SECOND_RUN_COUNT} matched points")
    expect(other).to_have_attribute("data-drawn", "1")
    expect(other).to_have_attribute("aria-busy", "false")
    page.get_by_role("button", name="Box select").click()
    box = get_stable_box(other)
    page.mouse.move(*box.at(0.02, 0.02))
    page.mouse.down()
    page.mouse.move(*box.at(0.98, 0.98), steps=3)
    page.mouse.up()
    # Only points that both embeddings have can be selected there.
    expect(selected_points(page)).to_have_text(f"{SECOND_RUN_COUNT} points selected")
    # Further embeddings are linked in the same way.
    page.get_by_role("button", name="Add an embedding").click()
    page.get_by_role("dialog").get_by_role("option").first.click()
    expect(other).to_have_count(2)
    expect(page).to_have_url(re.compile("compare-more="))
    for canvas in other.all():
        expect(canvas).to_have_attribute("data-drawn", "1")
    sizes = [get_stable_box(canvas) for canvas in other.all()]
    assert abs(sizes[0].width - sizes[1].width) <= 1 and sizes[0].height == sizes[1].height
    page.get_by_role("button", name=re.compile("^Remove .*moved.* from the comparison")).click()
    expect(other).to_have_count(1)
    page.get_by_role("button", name="Transition").click()
    expect(other).to_have_count(0)


def test_searches_by_similarity_to_a_text(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2")
    drawn_points(page)
    section = panel(page, "Similar to")
    section.get_by_role("searchbox", name="Text to compare with").fill("west-0")
    expect(section.get_by_role("status")).to_have_text("Compared with “west-0”")
    similar = section.get_by_role("list", name="Similar points").get_by_role("button")
    expect(similar).to_have_count(20)
    expect(similar.first).to_contain_text("west-")
    section.get_by_role("searchbox").fill("nowhere")
    expect(section).to_contain_text("No point of the source has the label")


#: Far apart from each other.
PICTURE_COLORS = [(red, green, 80) for red in (0, 120, 240) for green in (0, 120, 240)]


def write_pictures(logdir: Path) -> None:
    """Write vectors of nine pictures, each of another color, and of captions without pictures."""
    run = logdir / "run"
    run.mkdir(parents=True)
    vectors = np.eye(9, 6, dtype=np.float32) + np.arange(9, dtype=np.float32)[:, np.newaxis] / 10
    np.save(run / "pictures.npy", vectors)
    np.save(run / "captions.npy", vectors[::-1].copy())
    (run / "captions.tsv").write_text("".join(f"caption {row}\n" for row in range(9)))
    sheet = Image.new("RGB", (24, 24))
    for row in range(9):
        picture = Image.new("RGB", (8, 8), PICTURE_COLORS[row])
        sheet.paste(picture, (row % 3 * 8, row // 3 * 8))
    sheet.save(run / "sheet.png")
    (run / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "pictures" tensor_path: "pictures.npy"'
        ' sprite { image_path: "sheet.png" single_image_dim: 8 single_image_dim: 8 } }'
        ' embeddings { tensor_name: "captions" tensor_path: "captions.npy"'
        ' metadata_path: "captions.tsv" }'
    )


def test_searches_by_similarity_to_an_image(
    tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    write_pictures(tmp_path / "log")
    page = open_page(f"{serve(tmp_path / 'log').address}?tab=projector&embedding=run~captions")
    drawn_points(page)
    section = panel(page, "Similar to")
    section.get_by_label("Vectors of").select_option(label="run · pictures")
    photo = tmp_path / "photo.jpg"
    red, green, blue = PICTURE_COLORS[4]
    Image.new("RGB", (300, 200), (red + 9, green, blue)).save(photo)
    section.get_by_label("Image to compare with").set_input_files(photo)
    expect(section.get_by_role("status")).to_contain_text("4")
    similar = section.get_by_role("list", name="Similar points").get_by_role("button")
    # The captions are in the opposite order.
    expect(similar.first).to_contain_text("caption 4")
    (tmp_path / "broken.png").write_bytes(b"text")
    section.get_by_label("Image to compare with").set_input_files(tmp_path / "broken.png")
    expect(section).to_contain_text("not an image that can be decoded")


def write_regions(logdir: Path) -> None:
    run = logdir / "run"
    run.mkdir(parents=True)
    rng = np.random.default_rng(0)
    kinds = np.arange(600) % 3
    centers = np.array([[-20, 0, 0], [20, 0, 0], [0, 25, 0]])
    np.save(run / "v.npy", (centers[kinds] + rng.normal(size=(600, 3))).astype(np.float32))
    names = ["harbor", "meadow", "glacier"]
    lines = [f"{names[kind]} {row}" for row, kind in enumerate(kinds)]
    (run / "labels.tsv").write_text("\n".join(lines) + "\n")
    (run / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "v" tensor_path: "v.npy" metadata_path: "labels.tsv" }'
    )


def test_dense_regions_have_names(
    serve: Callable[..., Any], tmp_path: Path, open_page: OpenPage
) -> None:
    write_regions(tmp_path / "logs")
    # Drawn as points only, so that all text is that of regions.
    page = open_page(
        f"{serve(tmp_path / 'logs').address}?tab=projector&dimensions=2&point-style=points"
    )
    canvas = drawn_points(page)

    def count_text_pixels() -> int:
        """Count dark pixels; points are lighter."""
        return int(np.count_nonzero(take_screenshot(canvas).max(axis=2) < 70))

    wait_for_condition(page, lambda: count_text_pixels() > 100)
    page.get_by_role("combobox", name="Region labels").select_option("Off")
    expect(page).to_have_url(re.compile("regions=off"))
    wait_for_condition(page, lambda: count_text_pixels() == 0)


def write_many(logdir: Path) -> None:
    """Write more points than the page draws itself."""
    run = logdir / "run"
    run.mkdir(parents=True)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2_000_100, 2)).astype(np.float32)
    vectors[::2, 0] += 12
    vectors[7] = 4, 20
    np.save(run / "many.npy", vectors)


def test_millions_of_points_are_drawn_as_tiles(
    serve: Callable[..., Any], tmp_path: Path, open_page: OpenPage
) -> None:
    write_many(tmp_path / "logs")
    page = open_page(f"{serve(tmp_path / 'logs').address}?tab=projector")
    canvas = drawn_points(page)
    expect(canvas).to_have_accessible_name("PCA of 2,000,100 points")
    # The map is flat, and says which components its axes are.
    expect(page.get_by_text("100% variance explained")).to_be_visible()
    expect(page.get_by_role("button", name="3D", exact=True)).to_have_count(0)
    axes = page.get_by_role("combobox", name=re.compile("^[XYZ] axis$"))
    expect(axes).to_have_count(2)
    expect(axes.first).to_contain_text("Component 1")
    before = take_screenshot(canvas)
    assert len(np.unique(before.reshape(-1, 3), axis=0)) > 50
    box = get_stable_box(canvas)
    page.mouse.move(*box.at(0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*box.at(0.6, 0.5), steps=4)
    page.mouse.up()
    drawn_points(page)
    shift = round(0.1 * box.width)
    after = take_screenshot(canvas)
    difference = np.abs(after[:, shift:] - before[:, :-shift]).max(axis=2)
    assert (difference > 24).mean() < 0.02
    page.get_by_role("button", name="Box select").click()
    drag(page, (0.01, 0.1), (0.99, 0.99))
    wait_for_condition(
        page, lambda: "0 points" not in (selected_points(page).text_content() or "0 points")
    )
    expect(selected_points(page)).to_contain_text("points selected")
    table = open_table(page)
    expect(table.get_by_role("status")).to_have_text("2,000,100 points")
    expect(table.get_by_role("cell").first).to_have_text("0")
    table.get_by_role("button", name="Row").click()
    expect(table.get_by_role("cell").first).to_have_text("2000099")
    table.get_by_role("button", name="Selected").click()
    expect(table.get_by_role("status")).not_to_have_text("2,000,100 points")


def test_filters_apply_to_millions_of_points(
    serve: Callable[..., Any], tmp_path: Path, open_page: OpenPage
) -> None:
    run = tmp_path / "logs" / "run"
    write_many(tmp_path / "logs")
    (run / "sides.tsv").write_text("side\tsize\n" + "east\t1\nwest\t2\n" * 1_000_050)
    (run / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "many" tensor_path: "many.npy" metadata_path: "sides.tsv" }'
    )
    filters = quote('{"side":{"values":["west"]}}')
    page = open_page(f"{serve(tmp_path / 'logs').address}?tab=projector&filters={filters}")
    table = open_table(page)
    expect(page.get_by_role("status", name="Filters")).to_have_text(
        "1,000,050 of 2,000,100 points pass"
    )
    expect(table.get_by_role("status")).to_have_text("1,000,050 points")
    expect(table.get_by_role("row").nth(1)).to_contain_text("west")
    # Points that do not pass cannot be selected.
    page.keyboard.press("v")
    expect(selected_points(page)).to_have_text("1,000,050 points selected")
