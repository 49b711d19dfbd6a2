"""Fairness dashboard: gaps, charts, tables, slice browser, plots, exports, URL, phone, static."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import board_fixture
from tests.web.fairness_log import (
    MANY_SLICES,
    evaluate,
    make_people,
    write_evaluated_file,
    write_evaluations,
    write_many_slices,
)
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_static_board import copy
from tests.web.waiting import get_stable_box

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
TAB = "?tab=fairness"

board = board_fixture(write_evaluations, "module", TAB)
evaluated = board_fixture(write_evaluated_file, "module", TAB)
many = board_fixture(write_many_slices, "module", TAB)


def gaps(page: Page) -> Locator:
    return page.get_by_role("region", name="Gaps").get_by_role("listitem")


def choose(page: Page, button: str, option: str) -> None:
    page.get_by_role("button", name=re.compile(f"^{button}")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").fill(option)
    dialog.get_by_role("option", name=re.compile(re.escape(option))).first.click()


def choose_tfma(page: Page) -> None:
    """Choose the evaluation with two models, and wait for it: its toolbar has one more button."""
    choose(page, "Evaluation: Evaluation", "tfma")
    expect(page.get_by_role("button", name=re.compile("^Model: "))).to_be_visible()


def download(page: Page, item: str) -> str:
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as info:
        page.get_by_role("menuitem", name=item).click()
    return Path(info.value.path()).read_text(encoding="utf-8")


def test_largest_significant_gap_comes_first(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    table = evaluate(3).difference(baseline="Overall").to_pandas()
    shown = table[
        table.metric.isin(["true_positive_rate", "false_positive_rate", "positive_rate"])
        & (table.threshold == 0.5)
        & table.slice.isin(["region:east", "region:north", "sex:f", "sex:m"])
    ]
    largest = shown.loc[shown.difference.abs().idxmax()]
    first = gaps(page).first
    expect(first).to_contain_text(str(largest["slice"]))
    expect(first).to_contain_text(f"{abs(largest.difference):.3g}")
    expect(first).to_contain_text("worse")
    expect(page.get_by_text("comparisons. Even if no slice differed")).to_be_visible()
    page.get_by_label("Correction for multiple comparisons").select_option("None")
    expect(page).to_have_url(re.compile("fairness-correction=none"))
    expect(page.get_by_text("Without a correction")).to_be_visible()


def test_charts_and_table_follow_the_choices(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&fairness-view=metrics")
    card = page.get_by_role("article", name="True positive rate")
    chart = card.get_by_role("img")
    expect(chart).to_have_attribute("data-drawn", "6")
    choose(page, "Thresholds", "0.75")
    page.keyboard.press("Escape")
    expect(chart).to_have_attribute("data-drawn", "12")
    expect(page).to_have_url(
        re.compile(r"fairness-thresholds=0\.5,0\.75|fairness-thresholds=0\.5%2C0\.75")
    )
    choose(page, "Baseline slice", "sex:m")
    expect(page.get_by_role("table", name="Differences to sex:m")).to_be_visible()
    chart.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status", name="True positive rate")).to_contain_text("Overall")
    card.get_by_role("button", name="About True positive rate").click()
    expect(card).to_contain_text("equal opportunity")
    page.go_back()
    expect(page.get_by_role("table", name="Differences to Overall")).to_be_visible()


def test_compares_evaluations(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&fairness-view=metrics")
    expect(page.get_by_role("article", name="True positive rate")).to_be_visible()
    choose(page, "Compare with", "train · step 1")
    page.keyboard.press("Escape")
    table = page.get_by_role("table", name="Differences to train · step 1")
    expect(table).to_be_visible()
    chart = page.get_by_role("article", name="True positive rate").get_by_role("img")
    expect(chart).to_have_attribute("data-drawn", "12")
    choose(page, "Compare with", "train · step 2")
    page.keyboard.press("Escape")
    expect(chart).to_have_attribute("data-drawn", "18")
    expect(table.get_by_role("columnheader", name="train · step 2")).to_be_visible()


def test_compares_models_of_an_evaluation(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&fairness-view=metrics")
    choose_tfma(page)
    choose(page, "Compare with", "tfma · baseline")
    page.keyboard.press("Escape")
    expect(page.get_by_role("table", name="Differences to tfma · baseline")).to_be_visible()


def test_steps_plots_and_validation(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&fairness-view=steps&fairness-slices=Overall,region:east")
    history = page.get_by_role("region", name="Over steps")
    expect(history.get_by_role("img")).to_have_attribute("data-drawn", "2")
    history.get_by_role("button", name="Show as table").click()
    expect(history.get_by_role("table").get_by_role("row")).to_have_count(4)
    page.get_by_role("button", name="Plots", exact=True).click()
    for name in ("ROC curve", "PR curve", "Calibration", "Score distribution"):
        expect(page.get_by_role("article", name=name).get_by_role("img")).to_be_visible()
    matrix = page.get_by_role("region", name="Confusion matrix of Overall")
    expect(matrix.locator("td")).to_have_count(9)
    cells = matrix.locator("td").all_inner_texts()
    counts = np.array([int(cell.split()[0].replace(",", "")) for cell in cells]).reshape(3, 3)
    # The last row and column are totals.
    np.testing.assert_array_equal(counts[2], counts[:2].sum(axis=0))
    np.testing.assert_array_equal(counts[:, 2], counts[:, :2].sum(axis=1))
    assert counts[2, 2] == 4000
    result = evaluate(3)
    recall = counts[1, 1] / counts[1, 2]
    assert recall == pytest.approx(result.get("recall", "Overall", threshold=0.5), abs=2e-3)
    choose_tfma(page)
    page.get_by_role("button", name="Validation", exact=True).click()
    expect(page.get_by_text(re.compile("^(Passed|Failed)"))).to_be_visible()


def test_exports_what_is_selected(board: str, open_page: OpenPage) -> None:
    page = open_page(
        board + "&fairness-view=metrics&fairness-slices=Overall,region:east&fairness-metrics=auc"
    )
    expect(page.get_by_role("table")).to_contain_text("region:east")
    rows = list(csv.DictReader(io.StringIO(download(page, "Selected values as CSV"))))
    assert [row["slice"] for row in rows] == ["Overall", "region:east"]
    assert float(rows[1]["value"]) == evaluate(3).get("auc", "region:east")
    everything = json.loads(download(page, "All values as JSON"))
    assert len({row["metric"] for row in everything}) > 10
    assert "## Performance by group" in download(page, "Model card section")
    card = page.get_by_role("article", name="AUC")
    card.get_by_role("button", name="Menu of AUC").click()
    with page.expect_download() as info:
        page.get_by_role("menuitem", name="Export SVG").click()
    assert "region:east" in Path(info.value.path()).read_text(encoding="utf-8")


def test_browses_thousands_of_slices(many: str, open_page: OpenPage) -> None:
    page = open_page(many + "&fairness-view=slices")
    status = page.get_by_text(re.compile(r"of 5,001 slices"))
    expect(status).to_have_text(f"{MANY_SLICES + 1:,} of 5,001 slices")
    page.get_by_role("textbox", name="Filter slices").fill("u123")
    expect(status).to_have_text("11 of 5,001 slices")
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("columnheader", name="True positive rate").get_by_role("button").click()
    expect(page).to_have_url(re.compile("fairness-sort=-v"))
    bucket = page.get_by_role("group", name="Number of slices by").get_by_role("button").first
    bucket.click()
    expect(page).to_have_url(re.compile("fairness-range="))
    expect(status).not_to_have_text("5,001 of 5,001 slices")


def test_opens_the_datapoints_of_a_slice_in_what_if(evaluated: str, open_page: OpenPage) -> None:
    page = open_page(evaluated + "&fairness-view=slices")
    table = page.get_by_role("table", name="Slices")
    row = table.get_by_role("row").filter(has_text="age >= 60 and sex = 'f'")
    people = make_people()
    count = int(((people["age"] >= 60) & (people["sex"] == "f")).sum())
    row.get_by_role("button", name="in What-If").click()
    expect(page).to_have_url(re.compile("tab=what_if.*wi-filter="))
    expect(page.get_by_text(f"{count} of 4,000 shown")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^sex"))).to_be_visible()
    expect(page.get_by_text("4,000 datapoints · 1 model")).to_be_visible()
    page.go_back()
    expect(table).to_be_visible()
    table.get_by_role("row").filter(has_text="sex:m").get_by_role("button").last.click()
    expect(page.get_by_text(re.compile(r"[\d,]+ of 4,000 shown"))).to_be_visible()
    # The file is open already, and is not opened again.
    page.get_by_role("button", name=re.compile("^Choose a data set")).click()
    expect(page.get_by_role("dialog").get_by_role("option")).to_have_count(1)


def test_says_why_datapoints_cannot_be_shown(evaluated: str, open_page: OpenPage) -> None:
    page = open_page(evaluated + "&fairness-view=slices")
    row = page.get_by_role("row").filter(has_text="age > 60 or sex = 'm'")
    row.get_by_role("button", name="in What-If").click()
    expect(page.get_by_text("What-If cannot apply the filter of this slice")).to_be_visible()
    page.keyboard.press(",")
    expect(page.get_by_text("does not name a file with its rows")).to_be_visible()
    expect(page.get_by_role("button", name="in What-If")).to_have_count(0)


def test_view_switch_fits_a_phone(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390)
    expect(gaps(page).first).to_be_visible()
    expect(page.get_by_role("button", name="Validation", exact=True)).to_be_hidden()
    switch = page.get_by_role("combobox", name="View")
    box = get_stable_box(switch)
    assert box.x >= 0
    assert box.x + box.width <= 390
    switch.select_option("Slices")
    expect(page.get_by_role("textbox", name="Filter slices")).to_be_visible()


def test_is_accessible_and_fits_a_phone(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390, color_scheme="dark")
    expect(gaps(page).first).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []
    page.keyboard.press("v")
    expect(page.get_by_role("article", name="True positive rate")).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []


def test_is_translated(board: str, open_page: OpenPage) -> None:
    page = open_page(board, locale="zh-CN")
    expect(page.get_by_role("button", name="差距", exact=True)).to_be_visible()
    expect(page.get_by_text("个显著差距")).to_be_visible()


def test_static_export(tmp_path: Path, open_page: OpenPage) -> None:
    write_evaluations(tmp_path / "logs")
    page = open_page(copy(tmp_path / "logs", tmp_path / "board.html", "tab=fairness"))
    expect(gaps(page).first).to_contain_text("region:east")
    expect(page.get_by_text("comparisons. Even if no slice differed")).to_be_visible()
    choose(page, "Baseline slice", "sex:m")
    page.get_by_role("button", name="Metrics", exact=True).click()
    table = page.get_by_role("table", name="Differences to sex:m")
    expected = evaluate(3).difference(baseline="sex:m").to_pandas()
    (row,) = expected[
        (expected.metric == "true_positive_rate")
        & (expected.threshold == 0.5)
        & (expected.slice == "region:east")
    ].itertuples()
    cells = table.get_by_role("row").filter(has_text="region:east").first
    numbers = [f"{abs(value):.3g}" for value in (row.difference, row.lower, row.upper)]
    expect(cells).to_contain_text(re.compile(".*".join(map(re.escape, numbers))))
    page.get_by_role("button", name="Over steps").click()
    expect(page.get_by_role("img", name=re.compile("over steps"))).to_be_visible()
    page.get_by_role("button", name="Plots", exact=True).click()
    expect(page.get_by_role("article", name="ROC curve").get_by_role("img")).to_be_visible()
