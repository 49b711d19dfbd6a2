"""Scalar charts: smoothing, axes, zoom, bands, baselines and tooltips."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from playwright.sync_api import Page, expect

from tests.web.cards import (
    card,
    chart,
    choose_menu_item,
    drawn_chart,
    move_cursor_to,
    open_settings,
    parse_number,
    read_axes,
    read_tooltip_cells,
    tooltip,
)
from tests.web.scalar_log import RUNS, accuracy, loss, smooth
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

Open = Callable[[str], Page]
AT = 5


@pytest.fixture
def open_loss(board: str, open_page: Callable[..., Page]) -> Open:
    """Return a function that opens only the loss card, with more URL parameters."""
    return lambda query="": open_page(f"{board}?tags=train/loss&tags-regex=0&{query}")


def read_tooltip(page: Page, step: int = 10 * AT) -> dict[str, list[float]]:
    """Return the numbers in the tooltip once it shows the points of a step."""
    expect(tooltip(page).locator("thead")).to_contain_text(f"Step {step:,} ·")
    return {
        name: [parse_number(cell) for cell in cells]
        for name, cells in read_tooltip_cells(page).items()
    }


def wait_for_tooltip(page: Page, rows: dict[str, list[float]]) -> None:
    """Wait until the tooltip shows these numbers: the server may still compute them."""
    wanted = {run: pytest.approx(numbers, rel=1e-3) for run, numbers in rows.items()}
    wait_for_value(page, lambda: read_tooltip(page), wanted)


def read_tooltip_row(page: Page, name: str) -> tuple[float, ...]:
    return tuple(parse_number(cell) for cell in read_tooltip_cells(page)[name])


def drag(page: Page, title: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag across a chart; start and end are fractions of its width and height."""
    box = get_stable_box(chart(page, title))
    page.mouse.move(*box.at(*start))
    page.mouse.down()
    page.mouse.move(*box.at(*end), steps=5)
    page.mouse.up()


@pytest.mark.parametrize("weight", [0.6, 0.9, 0.999])
def test_smoothing_matches_tensorboard(open_loss: Open, weight: float) -> None:
    page = open_loss("")
    drawn_chart(page, "train/loss")
    page.get_by_role("slider", name="Smoothing").fill(str(weight))
    move_cursor_to(page, "train/loss", AT)
    expect(tooltip(page).locator("thead")).to_contain_text("Step 50 · 1 min 40 s")
    wait_for_tooltip(page, {run: [smooth(loss(run), weight)[AT], loss(run)[AT]] for run in RUNS})


def test_typed_smoothing_is_stored_in_url(open_loss: Open) -> None:
    page = open_loss("")
    drawn_chart(page, "train/loss")
    box = page.get_by_role("textbox", name="Smoothing value")
    expect(box).to_have_value("0.6")
    box.fill("0.85")
    box.press("Enter")
    expect(page).to_have_url(re.compile(r"smoothing=0\.85"))
    box.fill("much")
    box.press("Enter")
    expect(box).to_have_value("0.85")
    box.fill("7")
    box.press("Enter")
    expect(box).to_have_value("0.999")


def test_tooltip_has_one_column_without_smoothing(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    move_cursor_to(page, "train/loss", AT)
    wait_for_tooltip(page, {run: [loss(run)[AT]] for run in RUNS})


def test_other_smoothing_methods(open_loss: Open) -> None:
    page = open_loss("")
    panel = open_settings(page)
    for name, compute_center in (
        ("Running average", statistics.mean),
        ("Running median", statistics.median),
    ):
        panel.get_by_role("combobox", name="Method").select_option(label=name)
        panel.get_by_role("textbox", name="Smoothing value").fill("5")
        panel.get_by_role("textbox", name="Smoothing value").press("Enter")
        expect(page).to_have_url(re.compile("smoothing=5"))
        move_cursor_to(page, "train/loss", AT)
        windows = {run: loss(run)[AT - 2 : AT + 3] for run in RUNS}
        centers = {run: [compute_center(windows[run]), loss(run)[AT]] for run in RUNS}
        wait_for_tooltip(page, centers)
        page.mouse.move(5, 5)
    for name in ("Gaussian", "Time-weighted EMA"):
        panel.get_by_role("combobox", name="Method").select_option(label=name)
        move_cursor_to(page, "train/loss", AT)
        wait_for_condition(
            page, lambda: all(smoothed != value for smoothed, value in read_tooltip(page).values())
        )


def test_horizontal_axes(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    wait_for_value(page, lambda: read_axes(page, "train/loss")[:2], ("0", "590"))
    with page.expect_response("**/scalars/query"):
        page.get_by_role("button", name="Relative", exact=True).click()
    expect(page).to_have_url(re.compile("x=relative"))
    move_cursor_to(page, "train/loss", AT)
    expect(tooltip(page).locator("thead")).to_contain_text("1 min 40 s")
    with page.expect_response("**/scalars/query"):
        page.get_by_role("button", name="Wall time", exact=True).click()
    move_cursor_to(page, "train/loss", AT)
    expect(tooltip(page).locator("thead")).to_contain_text("14 Nov 2023, 22:15:00")
    page.get_by_role("button", name="More X axis options").click()
    with page.expect_response("**/scalars/query"):
        page.get_by_role("menuitemcheckbox", name="Sample index").click()
    move_cursor_to(page, "train/loss", AT)
    expect(tooltip(page).locator("thead")).to_contain_text("Sample 5")
    page.go_back()
    expect(page).to_have_url(re.compile("x=wall"))


def test_horizontal_axis_can_be_epoch_or_metric(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    drawn_chart(page, "train/loss")
    page.get_by_role("button", name="More X axis options").click()
    page.get_by_role("menuitemcheckbox", name="epoch").click()
    expect(chart(page, "train/loss")).to_have_attribute("aria-label", re.compile("x axis 0 to 5,"))
    page.get_by_role("button", name="X axis: epoch").click()
    page.get_by_role("menuitem", name="Other metric…").click()
    page.get_by_role("combobox", name="Metric").fill("accuracy")
    with page.expect_response("**/scalars/query"):
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("metric%3Atrain/accuracy"))
    expect(chart(page, "train/loss")).not_to_have_attribute(
        "aria-label", re.compile("x axis 0 to 5,")
    )
    left, right, _, _ = read_axes(page, "train/loss")
    lowest = min(value for run in RUNS for value in accuracy(run))
    assert lowest - 0.1 <= float(left) <= float(right) <= 1.0


def test_logarithmic_vertical_axis(open_loss: Open) -> None:
    page = open_loss("smoothing=0&outliers=0")
    wait_for_value(page, lambda: read_axes(page, "train/loss")[2], 0.0)
    choose_menu_item(page, "train/loss", "Log scale Y axis")
    expect(page).to_have_url(re.compile("log-y=train/loss"))
    expect(chart(page, "train/loss")).not_to_have_attribute(
        "aria-label", re.compile(r"y axis 0 to \S+")
    )
    wait_for_condition(page, lambda: read_axes(page, "train/loss")[2] > 0.0)
    open_settings(page).get_by_label("Log scale Y axis on all cards").check()
    expect(page).to_have_url(re.compile(r"log-y=(\*|%2A)"))


def test_logarithmic_horizontal_axis(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    choose_menu_item(page, "train/loss", "Log scale X axis")
    expect(page).to_have_url(re.compile("log-x=train/loss"))
    expect(chart(page, "train/loss")).to_have_attribute(
        "aria-label", re.compile(r"x axis 10 to 590")
    )


def test_ignores_outliers_by_default(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=spike&smoothing=0")
    wait_for_condition(page, lambda: read_axes(page, "spike")[3] < 10)
    open_settings(page).get_by_label("Ignore outliers").uncheck()
    expect(page).to_have_url(re.compile("outliers=0"))
    wait_for_condition(page, lambda: read_axes(page, "spike")[3] >= 1000)


def test_drag_zooms_and_url_restores_zoom(open_loss: Open, open_page: Callable[..., Page]) -> None:
    page = open_loss("smoothing=0")
    before = read_axes(page, "train/loss")
    drag(page, "train/loss", (0.4, 0.3), (0.6, 0.6))
    expect(page).to_have_url(re.compile("zoom=train/loss"))
    wait_for_condition(page, lambda: read_axes(page, "train/loss")[3] < before[3])
    again = open_page(get_stable_url(page))
    zoomed = read_axes(page, "train/loss")
    assert float(zoomed[0]) > 100
    wait_for_value(again, lambda: read_axes(again, "train/loss"), zoomed)
    card(page, "train/loss").get_by_role("button", name="Reset zoom").click()
    wait_for_value(page, lambda: read_axes(page, "train/loss"), before)
    expect(page).not_to_have_url(re.compile("zoom"))


def test_zoom_shows_every_point(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=long&smoothing=0")
    note = card(page, "long").locator("[data-note]")
    expect(note).to_contain_text(re.compile(r"\d of 20k points"))
    page.goto(f"{board}?tags=long&smoothing=0&zoom=long,1000,1014,0,7,,")
    expect(note).to_contain_text("all points")
    move_cursor_to(page, "long", 5)
    wait_for_value(page, lambda: read_tooltip(page, 1005), {"vit": [1005 % 7]})


def test_typed_axis_limits_are_applied(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    drawn_chart(page, "train/loss")
    choose_menu_item(page, "train/loss", "Axis range…")
    dialog = page.get_by_role("dialog")
    for label, text in (("Y axis minimum", "-1"), ("Y axis maximum", "8")):
        dialog.get_by_role("textbox", name=label).fill(text)
        dialog.get_by_role("textbox", name=label).press("Tab")
    dialog.get_by_role("button", name="Done").click()
    expect(page).to_have_url(re.compile("axis-range=train/loss,,,-1,8,,"))
    wait_for_value(page, lambda: read_axes(page, "train/loss")[2:], (-1, 8))
    choose_menu_item(page, "train/loss", "Axis range…")
    dialog.get_by_role("button", name="Fit to data").click()
    expect(page).not_to_have_url(re.compile("axis-range="))
    wait_for_condition(page, lambda: read_axes(page, "train/loss")[3] < 8)


def test_shows_groups_as_mean_with_band(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    drawn_chart(page, "train/loss")
    page.get_by_role("button", name="Mean ± std").click()
    expect(page).to_have_url(re.compile("mode=bands"))
    # The runs of a folder, and all others.
    expect(chart(page, "train/loss")).to_have_attribute("aria-label", re.compile("2 lines,"))
    values = [loss(run)[AT] for run in ("conv/a", "conv/b")]
    mean, std = statistics.mean(values), statistics.stdev(values)
    expected = {
        "± std": (mean, mean - std, mean + std, 2),
        "± std error": (mean, mean - std / 2**0.5, mean + std / 2**0.5, 2),
        "± 95% CI": (mean, mean - 12.7062 * std / 2**0.5, mean + 12.7062 * std / 2**0.5, 2),
        "min \N{EN DASH} max": (mean, min(values), max(values), 2),
    }
    panel = open_settings(page)
    for band, wanted in expected.items():
        with page.expect_response("**/scalars/query") if band != "± std" else nullcontext():
            panel.get_by_role("combobox", name="Band").select_option(label=band)
        move_cursor_to(page, "train/loss", AT)
        expect(tooltip(page)).to_contain_text("conv")
        wait_for_value(
            page, lambda: read_tooltip_row(page, "conv"), pytest.approx(wanted, rel=2e-3)
        )
    with page.expect_response("**/scalars/query"):
        panel.get_by_role("combobox", name="Aggregation").select_option(label="Median")
    move_cursor_to(page, "train/loss", AT)
    median = pytest.approx(statistics.median(values), rel=2e-3)
    wait_for_value(page, lambda: read_tooltip_row(page, "conv")[0], median)


def test_shows_difference_and_ratio_to_baseline(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    drawn_chart(page, "train/loss")
    page.get_by_role("button", name="Δ baseline").click()
    expect(page.get_by_role("combobox", name="Baseline")).to_have_value("conv/a")
    page.get_by_role("combobox", name="Baseline").select_option("vit")
    expect(page).to_have_url(re.compile("baseline=vit"))
    move_cursor_to(page, "train/loss", AT)
    differences = {run: loss(run)[AT] - loss("vit")[AT] for run in RUNS}
    wait_for_value(
        page,
        lambda: {run: cells[-1] for run, cells in read_tooltip(page).items()},
        pytest.approx(differences, rel=2e-3, abs=1e-6),
    )
    with page.expect_response("**/scalars/query"):
        open_settings(page).get_by_role("combobox", name="Compare as").select_option(label="Ratio")
    move_cursor_to(page, "train/loss", AT + 1)
    ratios = {run: loss(run)[AT + 1] / loss("vit")[AT + 1] for run in RUNS}
    wait_for_value(
        page,
        lambda: {run: cells[-1] for run, cells in read_tooltip(page, 10 * AT + 10).items()},
        pytest.approx(ratios, rel=2e-3),
    )


def test_shows_count_of_nan_and_infinity(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=odd&smoothing=0")
    drawn_chart(page, "odd")
    expect(card(page, "odd")).to_contain_text("2 NaN/Inf")
    move_cursor_to(page, "odd", 1)
    expect(tooltip(page)).to_contain_text("NaN")


def test_draws_overwritten_points_on_request(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=restart&smoothing=0&outliers=0")
    drawn_chart(page, "restart")
    before = chart(page, "restart").screenshot()
    open_settings(page).get_by_label("Show points before restart").check()
    expect(page).to_have_url(re.compile("overwritten=1"))
    with page.expect_response("**/scalars/query") as response:
        page.reload()
    assert (response.value.request.post_data_json or {})["overwritten"] is True
    drawn_chart(page, "restart")
    page.mouse.move(5, 5)
    wait_for_condition(page, lambda: chart(page, "restart").screenshot() != before)


def test_tooltip_is_sorted_and_limited(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    panel = open_settings(page)
    values = {run: loss(run)[AT] for run in RUNS}
    rising = sorted(RUNS, key=values.__getitem__)
    orders = {
        "Ascending": rising,
        "Descending": rising[::-1],
        "Run order": list(RUNS),
    }
    for order, wanted in orders.items():
        panel.get_by_role("combobox", name="Tooltip sorting").select_option(label=order)
        move_cursor_to(page, "train/loss", AT)
        wait_for_value(page, lambda: list(read_tooltip(page)), wanted)
    panel.get_by_role("textbox", name="Max rows").fill("2")
    panel.get_by_role("textbox", name="Max rows").press("Enter")
    move_cursor_to(page, "train/loss", AT)
    wait_for_value(page, lambda: list(read_tooltip(page)), list(RUNS)[:2])
    expect(tooltip(page)).to_contain_text("1 more")


def test_nearest_line_is_first_in_tooltip(open_loss: Open) -> None:
    page = open_loss("smoothing=0&outliers=0")
    box = get_stable_box(drawn_chart(page, "train/loss"))
    page.mouse.move(*box.at(0.49, 0.2))
    page.mouse.move(*box.at(0.5, 0.2))
    expect(tooltip(page).locator("tbody tr").first).to_contain_text("vit")
    page.mouse.move(*box.at(0.5, 0.88))
    expect(tooltip(page).locator("tbody tr").first).to_contain_text("conv/a")


def test_tooltip_returns_to_a_pointer_that_rests(open_loss: Open) -> None:
    page = open_loss("")
    page.mouse.move(*get_stable_box(drawn_chart(page, "train/loss")).center)
    expect(tooltip(page)).to_be_visible()
    page.evaluate(
        """() => {
          const cover = Object.assign(document.createElement('div'), { id: 'cover' });
          cover.style = 'position: fixed; inset: 0; z-index: 1000';
          document.body.append(cover);
        }"""
    )
    expect(tooltip(page)).to_have_count(0)
    page.locator("#cover").evaluate("cover => cover.remove()")
    expect(tooltip(page)).to_be_visible()


def test_optional_tooltip_columns(open_loss: Open) -> None:
    page = open_loss("smoothing=0")
    panel = open_settings(page)
    for label in ("Show step", "Show relative time", "Show wall time"):
        panel.get_by_label(label).check()
    move_cursor_to(page, "train/loss", AT)
    expect(tooltip(page)).to_contain_text("14 Nov 2023")
    _, step, relative, _ = read_tooltip_cells(page)["vit"]
    assert (step, relative) == ("50", "1 min 40 s")
