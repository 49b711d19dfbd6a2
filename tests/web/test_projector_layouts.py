"""Projector layouts, steps, comparison, saved edits, downloads and static export."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.web.embedding_log import (
    POINT_COUNT,
    combobox,
    drawn_points,
    make_vectors,
    matching_points,
    panel,
    point_search,
    selected_points,
    write_embedding_log,
)
from tests.web.event_writer import append_records, loss_records
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_static_board import copy

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def select_method(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("application")).to_have_accessible_name(
        f"{name} of {POINT_COUNT} points"
    )
    drawn_points(page)


def test_layout_methods_and_their_settings(points: str, open_page: OpenPage) -> None:
    page = open_page(points)
    drawn_points(page)
    combobox(page, "X axis").select_option(index=1)
    expect(page).to_have_url(re.compile("components=1,1,2"))
    select_method(page, "t-SNE")
    run = page.get_by_role("button", name="Run t-SNE")
    expect(run).to_be_disabled()
    page.get_by_label("Perplexity").fill("5")
    page.get_by_label("Perplexity").press("Enter")
    run.click()
    expect(page).to_have_url(re.compile("perplexity=5"))
    drawn_points(page)
    expect(page.get_by_role("status", name="Layout quality")).to_contain_text("Trustworthiness")
    combobox(page, "Supervised by").select_option("side")
    expect(page.get_by_label("Supervision weight")).to_have_value("0.5")
    select_method(page, "UMAP")
    page.get_by_role("button", name="3D", exact=True).click()
    drawn_points(page)
    combobox(page, "Spherize data").select_option("On")
    expect(page).to_have_url(re.compile("spherize=on"))
    page.get_by_role("button", name="Custom", exact=True).click()
    page.get_by_role("button", name="2D", exact=True).click()
    expect(page.get_by_text("Enter a search for both ends of each axis")).to_be_visible()
    for axis, ends in (("X", ("west", "east")), ("Y", ("west-5", "east-15"))):
        for end, text in zip(("from", "to"), ends, strict=True):
            field = page.get_by_label(f"{axis} axis {end}")
            field.fill(text)
            field.press("Enter")
    drawn_points(page)
    page.get_by_label("X axis from").fill("nowhere")
    page.get_by_label("X axis from").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("nowhere")


def test_plays_steps_and_compares_embeddings(points: str, open_page: OpenPage) -> None:
    page = open_page(points)
    drawn_points(page)
    step = page.get_by_role("slider", name="Step", exact=True)
    expect(step).to_have_value("1")
    step.fill("0")
    expect(page).to_have_url(re.compile("version=0"))
    drawn_points(page)
    page.get_by_role("button", name="Play steps").click()
    expect(step).to_have_value("1")
    page.get_by_role("button", name="Compare with another embedding").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("places")).click()
    slider = page.get_by_role("slider", name="Transition to the compared embedding")
    expect(slider).to_be_enabled()
    expect(page.get_by_role("group", name="Steps")).to_contain_text(f"{POINT_COUNT} matched points")
    slider.fill("0.5")
    expect(page).to_have_url(re.compile(r"compare-progress=0\.5"))
    page.get_by_role("button", name="Animate").click()
    expect(slider).to_have_value("0")
    drawn_points(page)


def test_saves_clusters_labels_and_bookmarks(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&dimensions=2&search=west")
    drawn_points(page)
    page.get_by_label("Number of clusters", exact=True).fill("2")
    page.get_by_label("Number of clusters", exact=True).press("Enter")
    page.get_by_role("button", name="Find clusters").click()
    legend = page.get_by_role("group", name="Legend")
    expect(legend).to_contain_text("Clusters")
    expect(legend.get_by_role("button")).to_have_count(2)
    page.get_by_role("button", name="Select all matching").click()
    page.get_by_label("Label column").fill("mine")
    page.get_by_label("Label for the selected points").fill("left")
    page.get_by_role("button", name="Apply label").click()
    expect(panel(page, "Selection")).to_contain_text("Labeled 20 points")
    combobox(page, "Color by").select_option("mine")
    expect(legend.get_by_role("button", name="left")).to_contain_text("20")
    page.get_by_label("Bookmark name").fill("my view")
    page.get_by_role("button", name="Save").click()
    bookmark = page.get_by_role("button", name="my view", exact=True)
    expect(bookmark).to_be_visible()
    # Another page lists the bookmark, and restores the whole view.
    other = open_page(points)
    drawn_points(other)
    other.get_by_role("button", name="my view", exact=True).click()
    expect(selected_points(other)).to_have_text("20 points selected")
    expect(point_search(other)).to_have_value("west")
    expect(other).to_have_url(re.compile("color-by=mine"))
    other.get_by_role("button", name="Delete my view").click()
    expect(other.get_by_role("button", name="my view", exact=True)).to_have_count(0)


def test_downloads_and_uploads_files(points: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(points)
    drawn_points(page)

    def download_file(item: str) -> bytes:
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=item, exact=True).click()
        return Path(download.value.path()).read_bytes()

    assert Image.open(io.BytesIO(download_file("Export PNG"))).width > 400
    labels = download_file("Export labels as TSV").decode().splitlines()
    assert labels[0].startswith("word\tside\tweight") and len(labels) == POINT_COUNT + 1
    positions = download_file("Export positions and labels as TSV").decode().splitlines()
    assert len(positions) == POINT_COUNT + 1 and "west-0" in positions[2]
    assert np.load(io.BytesIO(download_file("Export vectors as NumPy"))).shape == (POINT_COUNT, 4)
    np.save(tmp_path / "mine.npy", make_vectors().astype("f4")[:7])
    page.get_by_label("Embedding file").set_input_files(tmp_path / "mine.npy")
    expect(page.get_by_role("application")).to_have_accessible_name("PCA of 7 points")
    drawn_points(page)
    (tmp_path / "bad.npy").write_bytes(b"no vectors")
    page.get_by_label("Embedding file").set_input_files(tmp_path / "bad.npy")
    expect(page.get_by_role("dialog", name="Could not open file")).to_contain_text("bad.npy")


def test_is_accessible_and_reports_mismatched_labels(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&point=0&search=west&color-by=side", color_scheme="dark")
    drawn_points(page)
    expect(
        page.get_by_role("list", name="Nearest neighbors").get_by_role("listitem")
    ).to_have_count(20)
    assert list_violations(page) == []
    page.get_by_role("button", name="Select an embedding").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("too_few")).click()
    expect(page.get_by_role("status").filter(has_text="41 rows of labels")).to_be_visible()
    phone = open_page(points, width=390)
    drawn_points(phone)
    assert not overflows(phone)


def test_static_export_shows_points(tmp_path: Path, open_page: OpenPage) -> None:
    write_embedding_log(tmp_path / "logs")
    append_records(tmp_path / "logs" / "run", *loss_records("loss", range(3)))
    page = open_page(copy(tmp_path / "logs", tmp_path / "copy.html", "tab=projector"))
    drawn_points(page)
    point_search(page).fill("east")
    expect(page.get_by_role("status", name="Matches")).to_have_text("20 matches")
    matching_points(page).first.click()
    nearest = page.get_by_role("list", name="Nearest neighbors").get_by_role("listitem")
    expect(nearest).to_have_count(20)
    combobox(page, "Distance").select_option("Euclidean")
    expect(nearest.first).to_contain_text("east-")
    combobox(page, "Color by").select_option("side")
    legend = page.get_by_role("group", name="Legend")
    expect(legend.get_by_role("button", name="east")).to_contain_text("20")
    page.get_by_role("button", name="UMAP", exact=True).click()
    expect(page.get_by_role("application")).to_have_accessible_name(f"UMAP of {POINT_COUNT} points")
    drawn_points(page)
    for absent in ("Find clusters", "Save", "Compare with another embedding"):
        expect(page.get_by_role("button", name=absent)).to_have_count(0)
    page.get_by_role("button", name="t-SNE", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not included in this export")
