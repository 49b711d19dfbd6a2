"""Distributions: percentile bands, the tooltip and all controls."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.dashboards.histograms.requests import make_columns
from tests.web.cards import card, parse_number
from tests.web.conftest import board_fixture
from tests.web.histogram_log import (
    drag_chart,
    drawn_histogram,
    expect_label,
    hover_chart,
    make_buckets,
    open_settings,
    read_tooltip_cells,
    write_histogram_log,
)
from tests.web.locators import dashboard_tab
from tracklight.dashboards.histograms.binning import compute_percentiles

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


board = board_fixture(write_histogram_log, "module")


@pytest.fixture
def page(board: str, open_page: OpenPage) -> Page:
    page = open_page(f"{board}?tab=distributions")
    drawn_histogram(page, "layer/weights")
    return page


def test_all_steps_are_shown_and_tooltip_has_nine_percentiles(page: Page) -> None:
    label = "layer/weights: 400 distributions of 2 runs, 0 to 1,990"
    expect_label(page, "layer/weights", f"^{label}")
    expect(card(page, "layer/weights").locator("[data-note]")).to_have_text(
        "2 runs · all 200 steps"
    )

    hover_chart(page, "layer/weights", 0.7, 0.3)
    tooltip = page.get_by_role("status", name="Hovered histogram")
    expect(tooltip.locator(".step")).to_contain_text("·")
    step = int(re.sub(r"\D", "", tooltip.locator(".step").inner_text().split("·")[0]))
    (expected,) = compute_percentiles(make_columns(make_buckets(step)))
    cells = read_tooltip_cells(page)
    names = [
        "Min",
        "6.68%",
        "15.87%",
        "30.85%",
        "Median",
        "69.15%",
        "84.13%",
        "93.32%",
        "Max",
    ]
    found = [parse_number(cells[name][0]) for name in names]
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_overlay_runs(page: Page) -> None:
    page.get_by_role("button", name="Overlaid").click()
    expect(page).to_have_url(re.compile("distribution-mode=together"))
    expect_label(page, "layer/weights", "of 2 runs")
    page.keyboard.press("o")
    expect(page).not_to_have_url(re.compile("distribution-mode"))


def test_zoom_by_dragging(page: Page) -> None:
    drag_chart(page, "layer/weights", (0.3, 0.3), (0.6, 0.3))
    expect(page).to_have_url(re.compile("histogram-zoom="))
    expect_label(page, "layer/weights", r"of 2 runs, (?!0 )([\d,]+) to (?!1,990)([\d,]+),")
    card(page, "layer/weights").get_by_role("button", name="Reset zoom").click()
    expect_label(page, "layer/weights", "0 to 1,990")


def test_scales_and_settings(page: Page) -> None:
    page.get_by_role("button", name="Log", exact=True).click()
    expect(page).to_have_url(re.compile("log-values=1"))
    expect_label(page, "layer/weights", r"values (?!0 )\d\S* to")
    panel = open_settings(page, "Distributions")
    panel.get_by_label("Log scale for values").uncheck()
    expect(page).not_to_have_url(re.compile("log-values"))
    panel.get_by_label("Run layout").select_option("Overlaid")
    expect(page).to_have_url(re.compile("distribution-mode=together"))
    page.get_by_role("button", name="Relative").click()
    expect_label(page, "layer/weights", "0 to 5 h 31 min")


def test_step_is_pinned_by_keyboard_and_shared_with_histograms(page: Page) -> None:
    chart = drawn_histogram(page, "layer/weights")
    chart.focus()
    chart.press("Home")
    tooltip = page.get_by_role("status", name="Hovered histogram")
    expect(tooltip).to_contain_text("Step 0")
    chart.press("ArrowRight")
    expect(tooltip).to_contain_text("Step 10")
    chart.press("Enter")
    expect(page).to_have_url(re.compile("cursor=10"))

    drawn_histogram(page, "layer/weights").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("cursor=0"))
    dashboard_tab(page, "Histograms").click()
    drawn_histogram(page, "layer/weights")
    expect(page.locator("[data-card='layer/weights'] canvas.empty")).to_have_count(0)
