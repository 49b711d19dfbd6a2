"""Histograms: cards, tooltips, pinning, zoom, controls, tables and export."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.index import logs
from tests.web.cards import card, card_titles, choose_menu_item, table_rows
from tests.web.conftest import Serve, board_fixture, serve_log
from tests.web.histogram_log import (
    drag_chart,
    drawn_histogram,
    expect_label,
    hover_chart,
    make_buckets,
    open_settings,
    read_tooltip_cells,
    write_histogram_log,
    write_many_runs,
)
from tests.web.locators import dashboard_tab, run_row
from tests.web.waiting import get_stable_url, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


board = board_fixture(write_histogram_log, "module")


@pytest.fixture
def page(board: str, open_page: OpenPage) -> Page:
    page = open_page(f"{board}?tab=histograms")
    drawn_histogram(page, "layer/weights")
    return page


def test_one_card_per_tag_with_notes_and_a_table(page: Page) -> None:
    names = ["layer/bias", "layer/weights", "odd/empty", "odd/gradients"]
    wait_for_value(page, lambda: card_titles(page), names)
    pattern = "102 histograms of 2 runs, 0 to 1,990, values \N{MINUS SIGN}2 to 2"
    expect_label(page, "layer/weights", f"^layer/weights: {pattern}")
    note = card(page, "layer/weights").locator("[data-note]")
    expect(note).to_have_text("2 runs · 200 steps, 51 shown")
    expect(card(page, "layer/bias").locator("[data-note]")).to_have_text("2 runs · all 3 steps")

    nan_card = card(page, "odd/gradients")
    expect(nan_card).to_contain_text("1 NaN/Inf")
    expect(card(page, "odd/empty")).to_contain_text("All histograms are empty or contain only NaN")

    weights_card = card(page, "layer/weights")
    weights_card.get_by_role("button", name="Show table").click()
    table = weights_card.get_by_role("table", name="layer/weights (table)")
    expect(table.get_by_role("columnheader")).to_have_count(12)
    first = table_rows(table).first
    expect(first.get_by_role("cell").nth(0)).to_have_text("1,990")
    expect(first.get_by_role("cell").nth(1)).to_have_text("16.3k")
    expect(page).to_have_url(re.compile("histogram-table="))
    weights_card.get_by_role("button", name="Show chart").click()
    drawn_histogram(page, "layer/weights")


@pytest.mark.parametrize("mode", ["Offset", "Overlay", "Heat map"])
def test_tooltip_shows_the_exact_bucket(page: Page, mode: str) -> None:
    page.get_by_role("button", name=mode, exact=True).click()
    run_row(page, "vit").get_by_role("checkbox").click()
    expect_label(page, "layer/weights", "of 1 run")
    # The last buckets of the newest ridge or the last step, which have the highest counts.
    across, down = {"Offset": (0.84, 0.86), "Overlay": (0.9, 0.12), "Heat map": (0.97, 0.05)}[mode]
    hover_chart(page, "layer/weights", across, down)
    tooltip = page.get_by_role("status", name="Hovered histogram")
    expect(tooltip).to_contain_text(re.compile(r"Step 1,\d+0"))
    expect(tooltip.locator("tr.strong")).not_to_contain_text("≈")
    (name, *cells) = tooltip.locator("tr.strong").locator("th, td").all_inner_texts()
    step = int(re.sub(r"\D", "", tooltip.locator(".step").inner_text().split("·")[0]))
    bucket = next(one for one in make_buckets(step) if f"{one[2]:,.0f}" == cells[0])
    assert name in (f"[{bucket[0]:g}, {bucket[1]:g})", f"[{bucket[0]:g}, {bucket[1]:g}]")
    share = bucket[2] / sum(one[2] for one in make_buckets(step))
    assert cells[1] == f"{share * 100:.1f}%"
    total, value_range = read_tooltip_cells(page)["Total count"]
    assert float(total.rstrip("k")) * 1000 == pytest.approx(
        sum(one[2] for one in make_buckets(step)), 0.01
    )
    assert value_range == "\N{MINUS SIGN}2 \N{EN DASH} 2"


def test_hover_is_linked_across_cards(page: Page) -> None:
    unused_overlay = page.locator("[data-card='layer/bias'] canvas.empty")
    expect(unused_overlay).to_have_count(1)
    hover_chart(page, "layer/weights", 0.2, 0.45)
    hover_chart(page, "layer/bias", 0.2, 0.4)
    expect(page.locator("[data-card='odd/gradients'] canvas.empty")).to_have_count(0)
    page.mouse.move(5, 5)
    expect(unused_overlay).to_have_count(1)


def test_click_pins_and_escape_unpins(page: Page) -> None:
    hover_chart(page, "layer/weights", 0.2, 0.45)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"[?&]cursor=\d+"))
    page.mouse.move(5, 5)
    expect(page.get_by_role("status", name="Hovered histogram")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("cursor="))


def test_zoomed_range_loads_all_its_steps(page: Page) -> None:
    page.get_by_role("button", name="Heat map").click()
    expect_label(page, "layer/weights", "of 2 runs")
    page.goto(f"{get_stable_url(page)}&histogram-zoom=layer/weights,1000,1400,,")
    expect_label(page, "layer/weights", "82 histograms of 2 runs, 1,000 to 1,400")
    expect(card(page, "layer/weights").locator("[data-note]")).to_have_text("2 runs · all 41 steps")
    card(page, "layer/weights").get_by_role("button", name="Reset zoom").click()
    expect_label(page, "layer/weights", "0 to 1,990")


def test_drag_zooms_and_double_click_resets(page: Page) -> None:
    run_row(page, "vit").get_by_role("checkbox").click()
    expect_label(page, "layer/weights", "of 1 run")
    drag_chart(page, "layer/weights", (0.3, 0.6), (0.6, 0.6))
    expect(page).to_have_url(re.compile("histogram-zoom="))
    expect_label(page, "layer/weights", r"0 to 1,990, values (?!.2 )\S+ to (?!2$)\S+$")
    drawn_histogram(page, "layer/weights").dblclick()
    expect_label(page, "layer/weights", "values .2 to 2")


def test_axes_and_scales(page: Page) -> None:
    page.get_by_role("button", name="Relative").click()
    expect_label(page, "layer/weights", "0 to 5 h 31 min")
    page.get_by_role("button", name="Wall time").click()
    expect_label(page, "layer/weights", "14 Nov 2023")
    page.get_by_role("button", name="Log", exact=True).click()
    expect(page).to_have_url(re.compile("log-counts=1"))
    panel = open_settings(page, "Histograms")
    panel.get_by_label("Number of bins").select_option("120 bins")
    expect(page).to_have_url(re.compile("bins=120"))
    panel.get_by_label("Histogram mode").select_option("Heat map")
    expect(page.get_by_role("button", name="Heat map")).to_have_attribute("aria-pressed", "true")
    panel.get_by_label("Ignore outliers").uncheck()
    expect(page).to_have_url(re.compile("outliers=0"))
    panel.get_by_label("Step axis").select_option("Step")
    expect_label(page, "layer/weights", "0 to 1,990")


def test_keyboard_shortcuts(page: Page) -> None:
    for key, pattern in (
        ("v", "histogram-mode=overlay"),
        ("h", "histogram-mode=heat"),
        ("y", "log-counts=1"),
    ):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(pattern))
    page.keyboard.press("o")
    expect(page).not_to_have_url(re.compile("histogram-mode"))
    # The heat map requests every step; wait for the sampled steps of the ridges.
    note = card(page, "layer/weights").locator("[data-note]")
    expect(note).to_have_text("2 runs · 200 steps, 51 shown")
    chart = drawn_histogram(page, "layer/weights")
    chart.focus()
    chart.press("End")
    expect(page.get_by_role("status", name="Hovered histogram")).to_contain_text("Step 1,990")
    chart.press("ArrowUp")
    expect(page.get_by_role("status", name="Hovered histogram")).to_contain_text("Step 1,950")
    chart.press("Enter")
    expect(page).to_have_url(re.compile("cursor=1950"))


def test_exports_buckets_images_and_python(page: Page) -> None:
    with page.expect_download() as download:
        choose_menu_item(page, "layer/weights", "Export CSV")
    records = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert len(records) == 2 * 200 * 8
    last = [row for row in records if row["run"] == "vit" and row["step"] == "1990"]
    assert [float(row["count"]) for row in last] == [row[2] for row in make_buckets(1990)]
    assert [float(row["left"]) for row in last] == [row[0] for row in make_buckets(1990)]
    with page.expect_download() as download:
        choose_menu_item(page, "layer/weights", "Export JSON")
    assert [one["run"] for one in json.loads(download.value.path().read_text())] == ["conv", "vit"]

    with page.expect_download() as download:
        choose_menu_item(page, "layer/weights", "Export SVG")
    svg = download.value.path().read_text()
    assert "<title>layer/weights</title>" in svg and ">conv</text>" in svg
    with page.expect_download() as download:
        choose_menu_item(page, "layer/weights", "Export PNG")
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    choose_menu_item(page, "layer/weights", "Copy as Python…")
    expect(page.get_by_role("dialog")).to_contain_text('log.histograms(run, "layer/weights")')


def test_distributions_keep_card_and_zoom(page: Page) -> None:
    page.goto(
        f"{get_stable_url(page)}&tags=layer&card=layer/weights&histogram-zoom=layer/weights,1000,1400,,"
    )
    expect(page.locator(".full [role=img]")).to_have_attribute(
        "aria-label", re.compile("82 histograms")
    )
    # The full-screen card covers the tabs.
    dashboard_tab(page, "Distributions").dispatch_event("click")
    expect(page).to_have_url(re.compile("card="))
    expect(page.locator(".full [role=img]")).to_have_attribute(
        "aria-label", re.compile("82 distributions of 2 runs, 1,000 to 1,400")
    )


def test_many_runs_are_paged(tmp_path_factory: pytest.TempPathFactory, open_page: OpenPage) -> None:
    with serve_log(tmp_path_factory.mktemp("many"), write_many_runs) as address:
        page = open_page(f"{address}?tab=histograms")
        drawn_histogram(page, "w")
        pager = card(page, "w").get_by_role("group", name="Runs in this card")
        expect(pager).to_contain_text(re.compile(r"1.\d+ of 20 runs"))
        pager.get_by_role("button", name="Next runs").click()
        expect(page).to_have_url(re.compile("first-run="))
        expect(pager).not_to_contain_text("1\N{EN DASH}9 of 20")
        pager.get_by_role("button", name="Previous runs").click()
        expect(page).not_to_have_url(re.compile("first-run="))


def test_new_histograms_appear(tmp_path: Path, open_page: OpenPage, serve: Serve) -> None:
    path = logs.write(tmp_path, "live", logs.histogram(0, make_buckets(0)))
    page = open_page(f"{serve(tmp_path).address}?tab=histograms")
    expect_label(page, "w", "1 histogram of")
    logs.append(path, logs.histogram(1, make_buckets(1)) + logs.histogram(2, make_buckets(2)))
    expect_label(page, "w", "3 histograms of 1 run, 0 to 2")


def test_shows_network_error_and_recovers(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    page.route("**/api/v1/histograms/query", lambda route: route.abort())
    page.goto(f"{board}?tab=histograms")
    weights_card = card(page, "layer/weights")
    expect(weights_card).to_contain_text("Server unreachable")
    expect(weights_card.get_by_role("button", name="Retry")).to_be_visible()
    page.unroute("**/api/v1/histograms/query")
    drawn_histogram(page, "layer/weights")
