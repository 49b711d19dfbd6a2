"""PR curves dashboard: controls and displayed numbers."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.web.cards import card, card_titles, choose_menu_item, read_table, table_rows
from tests.web.conftest import Board, Serve
from tests.web.event_writer import append_records
from tests.web.pr_curve_log import (
    CLASSES,
    RUNS,
    STEPS,
    curve_record,
    make_curve,
    write_pr_curves,
    write_step,
)
from tests.web.test_static_board import copy
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value
from tracklight.analysis.pr_curves import PRCurve, compute_metrics, parse_pr_curve
from tracklight.formats.values import Tensor

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
TAB = "?tab=pr_curves"
CARDS = [f"pr/{name}" for name in CLASSES]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("pr") / "logs"
    write_pr_curves(logdir)
    return logdir


@pytest.fixture(scope="module")
def board(logdir: Path) -> Iterator[str]:
    board = Board(logdir)
    yield board.address + TAB
    board.stop()


def curve(run: str, name: str, step: int = 200) -> PRCurve:
    return parse_pr_curve(Tensor(make_curve(run, name, step).astype(np.float32)))


def chart(page: Page, title: str) -> Locator:
    """Return the chart of a card once its curves are drawn."""
    found = card(page, title).get_by_role("img", name=re.compile(r" vs\. (Recall|False)"))
    expect(found).to_have_attribute("aria-label", re.compile(r"\d lines?,"))
    return found


def legend_items(page: Page, title: str) -> Locator:
    return card(page, title).get_by_role("list").get_by_role("listitem")


def legend(page: Page, title: str) -> dict[str, list[float]]:
    """Return the area and the best F1 of each curve."""
    chart(page, title)
    items = legend_items(page, title).all_inner_texts()
    lines = [re.split(r"\s*\n\s*|\s(?=AP|AUC|F1)", item.strip()) for item in items]
    return {
        line[0]: [float(re.findall(r"[\d.]+$", part)[0]) for part in line[1:]] for line in lines
    }


def expect_legend(page: Page, title: str, name: str, wanted: list[float]) -> None:
    """Wait until the first numbers of a curve in the legend are those wanted."""
    about = pytest.approx(wanted, abs=5e-4)
    wait_for_value(page, lambda: legend(page, title).get(name, [])[: len(wanted)], about)


def tooltip(page: Page) -> Locator:
    return page.get_by_role("status", name="Values at threshold")


def point_at(page: Page, title: str, x: float, y: float) -> tuple[float, float]:
    """Move the pointer to a point in data coordinates and return its screen position."""
    box = get_stable_box(chart(page, title))
    left, right, top, foot = 38, 10, 8, 22
    across = box.x + left + x * (box.width - left - right)
    down = box.y + top + (1 - y) * (box.height - top - foot)
    page.mouse.move(across - 1, down)
    page.mouse.move(across, down)
    return across, down


def settings(page: Page) -> Locator:
    page.get_by_role("button", name="PR curves settings").click()
    return page.get_by_role("complementary", name="PR curves settings")


def test_each_tag_has_a_card_with_metrics(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    for name in CLASSES:
        for run in RUNS:
            expected = compute_metrics(curve(run, name))
            wanted = [expected.average_precision, expected.best_f1]
            expect_legend(page, f"pr/{name}", run, wanted)
    wait_for_value(page, lambda: card_titles(page), ["odd/shape", "odd/uncounted", *CARDS])


def test_tooltip_shows_counts_at_threshold_for_each_run(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr&step=0")
    base = curve("base", "cat", 0)
    at = 5
    point_at(page, "pr/cat", base.recall[at], base.precision[at])
    tip = tooltip(page)
    expect(tip).to_contain_text("Threshold")
    threshold = float(tip.locator("thead th").first.inner_text().split()[1])
    for run in RUNS:
        place = round(threshold * 10)
        expected = curve(run, "cat", 0)
        cells = tip.locator("tbody tr").filter(has_text=run).locator(".number").all_inner_texts()
        numbers = [float(cell) for cell in cells]
        assert numbers == pytest.approx(
            [
                expected.precision[place],
                expected.recall[place],
                expected.f1[place],
                expected.true_positives[place],
                expected.false_positives[place],
                expected.true_negatives[place],
                expected.false_negatives[place],
            ],
            abs=5e-4,
        )


def test_click_pins_threshold_on_all_cards(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr&table=1&step=0")
    base = curve("base", "cat", 0)
    place = point_at(page, "pr/cat", base.recall[4], base.precision[4])
    page.mouse.click(*place)
    expect(page).to_have_url(re.compile("threshold="))
    threshold = float(re.findall(r"threshold=([\d.]+)", get_stable_url(page))[0])
    at = round(threshold * 10)
    for name in CLASSES:
        table = card(page, f"pr/{name}").get_by_role("table", name=re.compile("At threshold"))
        expect(table_rows(table)).to_have_count(len(RUNS))
        cells = read_table(table)
        for run in RUNS:
            expected = curve(run, name, 0)
            assert float(cells[run]["TP"]) == expected.true_positives[at]
            assert float(cells[run]["FN"]) == expected.false_negatives[at]
    page.mouse.move(5, 500)
    expect(tooltip(page)).to_be_visible()
    page.keyboard.press(".")
    expect(page).to_have_url(re.compile(rf"threshold={(at + 1) / 10}"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("threshold="))
    expect(tooltip(page)).to_have_count(0)


def test_table_shows_best_f1_without_pinned_threshold(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr")
    chart(page, "pr/cat")
    page.get_by_role("button", name="Show counts table").click()
    table = card(page, "pr/cat").get_by_role("table", name=re.compile("best F1"))
    expect(table_rows(table)).to_have_count(len(RUNS))
    best = pytest.approx(compute_metrics(curve("base", "cat")).best_f1, abs=5e-4)
    wait_for_value(page, lambda: float(read_table(table)["base"]["F1"]), best)


def test_legend_button_pins_best_f1(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr&step=0")
    chart(page, "pr/cat")
    button = card(page, "pr/cat").get_by_role(
        "button", name=re.compile("^F1 .* of base: pin threshold$")
    )
    button.click()
    best = compute_metrics(curve("base", "cat", 0)).best_threshold
    assert best is not None
    expect(page).to_have_url(re.compile(rf"threshold={best:g}(&|$)"))


def test_roc_curves(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr&step=0")
    chart(page, "pr/cat")
    page.get_by_role("button", name="ROC", exact=True).click()
    expect(page).to_have_url(re.compile("curve=ROC"))
    expect(chart(page, "pr/cat")).to_have_attribute("aria-label", re.compile("False positive rate"))
    for run in RUNS:
        expect_legend(page, "pr/cat", run, [compute_metrics(curve(run, "cat", 0)).roc_auc])


def test_shows_all_classes_of_a_run_in_one_chart(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr")
    chart(page, "pr/cat")
    page.get_by_role("button", name="Classes", exact=True).click()
    expect(card(page, "base")).to_be_visible()
    wait_for_value(page, lambda: card_titles(page), list(RUNS))
    for run in RUNS:
        expect(legend_items(page, run)).to_have_count(len(CLASSES))
        assert list(legend(page, run)) == list(CLASSES)
        for name in CLASSES:
            expect_legend(page, run, name, [compute_metrics(curve(run, name)).average_precision])
    page.go_back()
    expect(card(page, "pr/cat")).to_be_visible()


def test_step_slider_changes_all_cards(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr")
    chart(page, "pr/dog")
    slider = page.get_by_role("slider", name="Step of all cards")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    for name in CLASSES:
        expect(card(page, f"pr/{name}")).to_have_attribute("data-step", "100")
        expected = compute_metrics(curve("base", name, 100)).average_precision
        expect_legend(page, f"pr/{name}", "base", [expected])
    expect(page).to_have_url(re.compile("step=100"))


def test_card_has_separate_step_when_unlinked(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr")
    chart(page, "pr/dog")
    page.get_by_role("checkbox", name="Sync steps").uncheck()
    page.get_by_role("slider", name="Step of pr/cat").focus()
    page.keyboard.press("Home")
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "0")
    expect(card(page, "pr/dog")).to_have_attribute("data-step", "200")


def test_play_advances_steps(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr&step=0")
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "0")
    page.get_by_role("button", name="Play").click()
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "200")
    expect(page).not_to_have_url(re.compile("step="))


def test_click_in_history_selects_step(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr")
    chart(page, "pr/cat")
    history = card(page, "pr/cat").get_by_role("img", name=re.compile("^AP of .* by step"))
    expect(history).to_have_attribute("aria-label", re.compile("2 lines"))
    box = get_stable_box(history)
    page.mouse.click(box.x + 38 + (box.width - 48) * 0.52, box.y + 30)
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "100")
    expect(page).to_have_url(re.compile("step=100"))


def test_settings(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr")
    chart(page, "pr/cat")
    panel = settings(page)
    panel.get_by_role("button", name="Best F1").click()
    expect(page).to_have_url(re.compile("measure=f1"))
    over_steps = re.compile("by step")
    history = card(page, "pr/cat").get_by_role("img", name=over_steps)
    expect(history).to_have_attribute("aria-label", re.compile("^Best F1"))
    panel.get_by_role("checkbox", name="Show history by step").uncheck()
    expect(history).to_have_count(0)
    panel.get_by_role("checkbox", name="F1 contours").uncheck()
    panel.get_by_role("checkbox", name="Show counts table").check()
    expect(page).to_have_url(re.compile("table=1"))
    page.reload()
    chart(page, "pr/cat")
    expect(card(page, "pr/cat").get_by_role("img", name=over_steps)).to_have_count(0)


def test_drag_zooms_and_shortcut_resets_zoom(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr/cat")
    whole = re.compile("x axis 0 to 1, y axis 0 to 1")
    expect(chart(page, "pr/cat")).to_have_attribute("aria-label", whole)
    point_at(page, "pr/cat", 0.4, 0.9)
    page.mouse.down()
    point_at(page, "pr/cat", 0.8, 0.5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("pr-zoom="))
    expect(chart(page, "pr/cat")).to_have_attribute("aria-label", re.compile(r"0\.[34]\d* to 0\."))
    page.keyboard.press("z")
    expect(chart(page, "pr/cat")).to_have_attribute("aria-label", whole)


def test_shows_why_a_curve_cannot_be_drawn(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=odd")
    expect(card(page, "odd/shape")).to_contain_text("the shape is [4, 7]")
    wait_for_condition(page, lambda: "large" in legend(page, "odd/uncounted"))
    page.get_by_role("button", name="ROC", exact=True).click()
    expect(card(page, "odd/uncounted")).to_contain_text("No ROC curve")


def test_shows_message_before_first_step(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr/cat&step=-5")
    expect(card(page, "pr/cat")).to_contain_text("The first curve is at step 0.")


def test_downloads(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr/cat&step=100")
    chart(page, "pr/cat")

    def download_file(item: str) -> tuple[str, bytes]:
        with page.expect_download() as download:
            choose_menu_item(page, "pr/cat", item)
        return download.value.suggested_filename, download.value.path().read_bytes()

    name, content = download_file("Export CSV")
    table = list(csv.DictReader(io.StringIO(content.decode())))
    assert name == "pr_cat.csv"
    base = [row for row in table if row["run"] == "base"]
    assert [float(row["true_positives"]) for row in base] == make_curve("base", "cat", 100)[
        0
    ].tolist()
    assert {row["step"] for row in base} == {"100"}
    _, content = download_file("Export JSON")
    assert len(json.loads(content)) == len(table)
    _, content = download_file("Export SVG")
    svg = content.decode()
    assert all(word in svg for word in ("pr/cat", "Recall", "Precision", "base", "large", "F1 0.4"))
    name, content = download_file("Export PNG")
    assert content.startswith(b"\x89PNG")


def test_copied_python_code_runs(board: str, open_page: OpenPage) -> None:
    page = open_page(board + "&tags=pr/cat&step=150")
    chart(page, "pr/cat")
    choose_menu_item(page, "pr/cat", "Copy as Python…")
    code = page.get_by_role("dialog").locator("code, pre").first.inner_text()
    code += "\n    print(run, true_positives.tolist())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == [
        f"{run} {make_curve(run, 'cat', 100)[0].tolist()}" for run in RUNS
    ]


def test_shows_network_error_and_recovers(board: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")

    def fail(route: Route) -> None:
        route.abort()

    page.route("**/api/v1/pr_curves/curves", fail)
    page.goto(board + "&tags=pr/cat")
    expect(card(page, "pr/cat")).to_contain_text("Server unreachable")
    expect(card(page, "pr/cat").get_by_role("button", name="Retry")).to_be_visible()
    page.unroute("**/api/v1/pr_curves/curves", fail)
    chart(page, "pr/cat")


def test_shows_new_steps(tmp_path: Path, serve: Serve, open_page: OpenPage) -> None:
    logdir = tmp_path / "logs"
    write_pr_curves(logdir)
    page = open_page(serve(logdir).address + TAB + "&tags=pr")
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "200")
    other = open_page(get_stable_url(page) + "&step=100")
    expect(card(other, "pr/cat")).to_have_attribute("data-step", "100")
    write_step(logdir, 300, like=STEPS[0])
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "300")
    expected = compute_metrics(curve("base", "cat", 0)).average_precision
    expect_legend(page, "pr/cat", "base", [expected])
    expect(card(other, "pr/cat")).to_have_attribute("data-step", "100")
    append_records(logdir / "base", curve_record("pr/cat", 400, make_curve("base", "cat", 0)))
    for step in (300, 400):
        expect(card(page, "pr/cat").get_by_role("list")).to_contain_text(f"Step {step}")


def test_static_export_shows_pr_curves(logdir: Path, tmp_path: Path, open_page: OpenPage) -> None:
    page = open_page(copy(logdir, tmp_path / "board.html", TAB + "&tags=pr"))
    expected = compute_metrics(curve("large", "cat")).average_precision
    expect_legend(page, "pr/cat", "large", [expected])
    page.get_by_role("slider", name="Step of all cards").focus()
    page.keyboard.press("Home")
    expect(card(page, "pr/cat")).to_have_attribute("data-step", "0")
    expect(card(page, "pr/cat").get_by_role("img", name=re.compile("by step"))).to_be_visible()
