"""Projector bookmarks, those of TensorBoard, comparison of runs, and edited labels."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.embedding_log import (
    GROUP_SIZE,
    ORANGE,
    POINT_COUNT,
    SECOND_RUN_COUNT,
    combobox,
    count_pixels,
    drawn_points,
    panel,
    parse_query,
    read_settings,
    take_screenshot,
)
from tests.web.waiting import wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


EVERYTHING = (
    "method=umap&dimensions=3&epochs=50&seed=3&metric=cosine&spherize=on&color-by=weight&color-scale=diverging"
    "&label-by=side&size-by=weight&density=on&point-size=9&search=east&search-column=side&point=4&neighbor-metric=dot&neighbor-count=7"
    "&selected-points=3-5&hidden-points=30-32&orbit=1.2,0.3,1.5"
)


def test_bookmark_restores_all_settings(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&{EVERYTHING}")
    canvas = drawn_points(page)
    wait_for_value(page, lambda: read_settings(page).keys() - {"tab"}, set(parse_query(EVERYTHING)))
    before, seen = read_settings(page), take_screenshot(canvas)
    page.get_by_label("Bookmark name").fill("all of it")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="all of it", exact=True)).to_be_visible()
    other = open_page(points)
    drawn_points(other)
    other.get_by_role("button", name="all of it", exact=True).click()
    # A neighbor that comes under the cursor would be highlighted.
    other.mouse.move(1, 1)
    wait_for_value(other, lambda: read_settings(other), before)
    again = drawn_points(other)
    wait_for_condition(other, lambda: np.array_equal(take_screenshot(again), seen))


def test_restores_tensorboard_bookmarks_with_camera(points: str, open_page: OpenPage) -> None:
    page = open_page(points)
    drawn_points(page)
    expect(panel(page, "Bookmarks")).to_contain_text(
        'Bookmark "Damaged" is not shown: the value of tSNEPerplexity is not of the right type'
    )
    page.get_by_role("button", name="From TensorBoard").click()
    expect(page.get_by_role("application")).to_have_accessible_name(
        f"PCA of {GROUP_SIZE + 1} points"
    )
    drawn_points(page)
    restored = {
        ("components", "1,0"),
        ("dimensions", "2"),
        ("color-by", "side"),
        ("label-by", "side"),
        ("isolated-points", f"0-{GROUP_SIZE}"),
        ("selected-points", "0-2"),
        ("orbit", "0,0,2,0.2,0,0"),
    }
    wait_for_condition(page, lambda: read_settings(page).items() >= restored)
    expect(page.get_by_role("button", name="Delete From TensorBoard")).to_have_count(0)
    page.get_by_role("button", name="TensorBoard bookmark").click()
    expect(page.get_by_role("application")).to_have_accessible_name(
        f"t-SNE of {POINT_COUNT} points"
    )
    drawn_points(page)
    restored = {("dimensions", "3"), ("perplexity", "7"), ("orbit", "0.274,0.496,1")}
    wait_for_condition(page, lambda: read_settings(page).items() >= restored)


def test_compares_points_with_another_run(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2&color-by=side&point-style=points")
    canvas = drawn_points(page)
    page.get_by_role("button", name="Compare with another embedding").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("moved")).click()
    steps = page.get_by_role("group", name="Steps")
    expect(steps).to_contain_text(f"{SECOND_RUN_COUNT} matched points")
    slider = page.get_by_role("slider", name="Transition to the compared embedding")
    drawn_points(page)
    here, orange_pixels = take_screenshot(canvas), count_pixels(canvas, ORANGE)
    assert orange_pixels > 100
    slider.fill("1")
    # Points are matched by label, so those in both runs keep their positions.
    wait_for_condition(page, lambda: not np.array_equal(take_screenshot(canvas), here))
    wait_for_value(
        page, lambda: count_pixels(canvas, ORANGE), pytest.approx(orange_pixels, rel=0.1)
    )
    there = take_screenshot(canvas)
    combobox(page, "Match by").select_option("Row number")
    expect(page).to_have_url(re.compile("compare-key="))
    drawn_points(page)
    wait_for_condition(page, lambda: not np.array_equal(take_screenshot(canvas), there))
    combobox(page, "Match by").select_option("side")
    expect(steps).to_contain_text(f"{2 * GROUP_SIZE} matched points")
    combobox(page, "Match by").select_option("Automatic")
    expect(steps).to_contain_text(f"{SECOND_RUN_COUNT} matched points")
    slider.fill("0")
    drawn_points(page)
    wait_for_condition(page, lambda: np.array_equal(take_screenshot(canvas), here))
    page.get_by_role("button", name="Compare with another embedding").click()
    page.get_by_role("dialog").get_by_role("option", name="None").click()
    expect(slider).to_have_count(0)


def test_exports_edited_labels(points: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"{points}&dimensions=2&search=east-1&color-by=side")
    drawn_points(page)
    page.get_by_role("button", name="Select all matching").click()
    page.get_by_label("Label column").fill("side")
    page.get_by_label("Label for the selected points").fill("far east")
    page.get_by_role("button", name="Apply label").click()
    expect(panel(page, "Selection")).to_contain_text("Labeled 11 points")
    legend = page.get_by_role("group", name="Legend")
    expect(legend.get_by_role("button", name="far east")).to_contain_text("11")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export labels as TSV", exact=True).click()
    rows = [line.split("\t") for line in Path(download.value.path()).read_text().splitlines()]
    edited = [row[0] for row in rows if row[1] == "far east"]
    assert len(edited) == 11 and edited[0] == "east-1"
    combobox(page, "Method").select_option("HDBSCAN")
    page.get_by_label("Min. cluster size", exact=True).fill("5")
    page.get_by_label("Min. cluster size", exact=True).press("Enter")
    combobox(page, "Cluster on").select_option("Layout")
    page.get_by_role("button", name="Find clusters").click()
    expect(legend).to_contain_text("Clusters")
    expect(legend.get_by_role("button", name="west")).to_be_visible()
