"""Layout jobs: progress, stop, restart, subsets, supervision and custom axes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import board_fixture
from tests.web.embedding_log import (
    GROUP_SIZE,
    POINT_COUNT,
    combobox,
    drawn_points,
    panel,
    take_screenshot,
    write_embedding_log,
)
from tests.web.waiting import wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def write_many(logdir: Path) -> None:
    """Write the points, and an embedding too large to be laid out without a request."""
    write_embedding_log(logdir)
    np.save(logdir / "many.npy", np.random.default_rng(0).normal(size=(20_001, 4)).astype("f4"))


points = board_fixture(write_many, "module", "?tab=projector")


def fill(page: Page, label: str, value: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")


def capture_request(page: Page, action: Callable[[], object]) -> dict[str, Any]:
    """Return the body of the layout request that an action sends."""
    with page.expect_request(lambda it: it.url.endswith("/project")) as request:
        action()
    return dict(json.loads(request.value.post_data or "{}"))


def test_long_layout_shows_progress_and_can_be_stopped_and_restarted(
    points: str, open_page: OpenPage
) -> None:
    page = open_page(points)
    drawn_points(page)
    page.get_by_role("button", name="t-SNE", exact=True).click()
    drawn_points(page)
    bar = page.get_by_role("group", name="Projection")
    for label, value in (("Iterations", "90000"), ("Perplexity", "5")):
        fill(page, label, value)
    page.get_by_role("button", name="Run t-SNE", exact=True).click()
    progress = bar.get_by_role("progressbar")
    wait_for_condition(page, lambda: float(progress.get_attribute("value") or 0) > 0.0002)
    expect(bar).to_contain_text("of 90,000")
    canvas = page.get_by_role("application")
    seen = take_screenshot(canvas)
    wait_for_condition(page, lambda: not np.array_equal(take_screenshot(canvas), seen))
    bar.get_by_role("button", name="Cancel").click()
    expect(bar).to_contain_text(re.compile(r"Stopped after [\d,]+ of 90,000"))
    drawn_points(page)
    # A stopped layout can be started again, from the beginning.
    page.get_by_role("button", name="Run t-SNE", exact=True).click()
    expect(progress).to_be_visible()
    bar.get_by_role("button", name="Cancel").click()
    fill(page, "Iterations", "50")
    page.get_by_role("button", name="Run t-SNE", exact=True).click()
    expect(bar.get_by_role("status", name="Layout quality")).to_have_attribute(
        "title", re.compile("mean little")
    )


def test_large_layout_starts_only_on_request(points: str, open_page: OpenPage) -> None:
    page = open_page(points)
    drawn_points(page)
    page.get_by_role("button", name="Select an embedding").click()
    page.get_by_role("dialog").get_by_role("option", name="many").click()
    expect(page.get_by_role("application")).to_have_accessible_name("PCA of 20,001 points")
    page.get_by_role("button", name="t-SNE", exact=True).click()
    expect(page.get_by_text("This takes a while for this many points")).to_be_visible()
    bar = page.get_by_role("group", name="Projection")
    bar.get_by_role("button", name="Run t-SNE").click()
    expect(bar.get_by_role("progressbar")).to_be_visible()
    bar.get_by_role("button", name="Cancel").click()
    expect(bar).to_contain_text("Stopped after")


def test_same_seed_gives_same_layout(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&method=umap&dimensions=2&epochs=50")
    canvas = drawn_points(page)
    first = take_screenshot(canvas)
    fill(page, "Seed", "7")
    page.get_by_role("button", name="Run UMAP").click()
    expect(page).to_have_url(re.compile("seed=7"))
    drawn_points(page)
    wait_for_condition(page, lambda: not np.array_equal(take_screenshot(canvas), first))
    fill(page, "Seed", "0")
    page.get_by_role("button", name="Run UMAP").click()
    expect(page).not_to_have_url(re.compile("seed="))
    drawn_points(page)
    wait_for_condition(page, lambda: np.array_equal(take_screenshot(canvas), first))


def test_layout_of_selected_points_with_metric_supervision_and_spherize(
    points: str, open_page: OpenPage
) -> None:
    page = open_page(f"{points}&dimensions=2&search=west")
    drawn_points(page)
    page.get_by_role("button", name="Select all matching").click()
    body = capture_request(page, lambda: page.get_by_role("button", name="Isolate").click())
    assert body["rows"] is not None and body["spherize"] is False
    canvas = page.get_by_role("application")
    expect(canvas).to_have_accessible_name(f"PCA of {GROUP_SIZE} points")
    page.get_by_role("button", name="UMAP", exact=True).click()
    expect(canvas).to_have_accessible_name(f"UMAP of {GROUP_SIZE} points")
    drawn_points(page)
    page.get_by_role("button", name="Show all").click()
    expect(canvas).to_have_accessible_name(f"UMAP of {POINT_COUNT} points")
    body = capture_request(page, lambda: combobox(page, "Distance").select_option("Cosine"))
    assert body["method"]["metric"] == "cosine"
    body = capture_request(page, lambda: combobox(page, "Supervised by").select_option("side"))
    assert (body["method"]["supervise_column"], body["method"]["supervise_factor"]) == ("side", 0.5)
    body = capture_request(page, lambda: fill(page, "Supervision weight", "0.9"))
    assert body["method"]["supervise_factor"] == 0.9
    body = capture_request(page, lambda: combobox(page, "Spherize data").select_option("On"))
    assert body["spherize"] is True
    drawn_points(page)


def test_custom_axes_by_regular_expressions(points: str, open_page: OpenPage) -> None:
    page = open_page(f"{points}&method=custom&dimensions=2")
    axes_panel = panel(page, "Custom axes")
    axes_panel.get_by_label("Regular expression").check()
    combobox(page, "Search in").select_option("word")
    for axis, (start, end) in {"X": ("^west-", "^east-"), "Y": ("-15$", "-5$")}.items():
        fill(page, f"{axis} axis from", start)
        fill(page, f"{axis} axis to", end)
    canvas = drawn_points(page)
    expect(canvas).to_have_accessible_name(f"Custom of {POINT_COUNT} points")
    expect(page).to_have_url(re.compile("axes-regex=.*"))
    combobox(page, "Search in").select_option("side")
    expect(page.get_by_role("alert")).to_contain_text("^west-")
    wait_for_value(page, lambda: page.get_by_role("application").count(), 1)
