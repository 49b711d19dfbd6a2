"""Scalars: shared cursor, range selection, value tables, bars and annotations."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import (
    card,
    chart,
    choose_menu_item,
    drawn_chart,
    move_cursor_to,
    open_settings,
    parse_number,
    read_table,
    table_rows,
    tooltip,
    value_table,
)
from tests.web.conftest import Serve
from tests.web.scalar_log import RUNS, STEPS, accuracy, loss, smooth, write_scalar_log
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

AT = 5


def wait_for_column(page: Page, table: Locator, name: str, values: dict[str, float]) -> None:
    """Wait until a column has these values: the table may wait for a response."""
    wait_for_value(
        page,
        lambda: {run: parse_number(row[name].split()[0]) for run, row in read_table(table).items()},
        pytest.approx(values, rel=1e-3),
    )


def wait_for_table(page: Page, title: str, about: str) -> None:
    expect(value_table(page, title)).to_have_attribute("aria-label", f"Values of {title}: {about}")
    expect(table_rows(value_table(page, title))).to_have_count(3)


def test_table_shows_last_values(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss")
    page.get_by_role("button", name="Show value table").click()
    wait_for_table(page, "train/loss", "Last values")
    table = value_table(page, "train/loss")
    wait_for_column(page, table, "Value", {run: loss(run)[-1] for run in RUNS})
    wait_for_column(page, table, "Smoothed", {run: smooth(loss(run), 0.6)[-1] for run in RUNS})
    for row in read_table(table).values():
        assert (row["Step"], row["Relative"]) == ("590", "19 min 40 s")
    expect(page).to_have_url(re.compile("table=1"))


def test_click_pins_cursor_in_all_charts(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train&table=1")
    box = get_stable_box(drawn_chart(page, "train/loss"))
    page.mouse.click(*box.center)
    expect(page).to_have_url(re.compile(r"cursor=\d+0(&|$)"))
    step = int(re.findall(r"cursor=(\d+)", get_stable_url(page))[0])
    for title, values in (("train/loss", loss), ("train/accuracy", accuracy)):
        wait_for_table(page, title, f"At {step}")
        table = value_table(page, title)
        expected = {run: values(run)[STEPS.index(step)] for run in RUNS}
        wait_for_column(page, table, "Value", expected)
        assert {row["Step"] for row in read_table(table).values()} == {str(step)}
    page.mouse.move(5, 5)
    expect(tooltip(page)).to_contain_text(f"Step {step}")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(f"cursor={step + 10}"))
    wait_for_table(page, "train/accuracy", f"At {step + 10}")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(f"cursor={step - 10}"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("cursor="))
    expect(tooltip(page)).to_have_count(0)
    wait_for_table(page, "train/loss", "Last values")


def test_hover_is_linked_between_charts(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train&smoothing=0")
    drawn_chart(page, "train/accuracy")
    page.mouse.move(5, 5)
    before = chart(page, "train/accuracy").screenshot()
    move_cursor_to(page, "train/loss", AT)
    expect(tooltip(page)).to_be_visible()
    wait_for_condition(page, lambda: chart(page, "train/accuracy").screenshot() != before)


def test_drag_selects_range(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train&table=1&smoothing=0")
    box = get_stable_box(drawn_chart(page, "train/loss"))
    page.get_by_role("button", name="Drag to select range").click()
    page.mouse.move(box.x + 0.4 * box.width, box.y + 60)
    page.mouse.down()
    page.mouse.move(box.x + 0.7 * box.width, box.y + 80, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile("range="))
    assert "zoom" not in get_stable_url(page)


def test_table_shows_statistics_of_range(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train&table=1&smoothing=0&range=100~300")
    for title, values in (("train/loss", loss), ("train/accuracy", accuracy)):
        wait_for_table(page, title, "100 \N{EN DASH} 300")
        for run in RUNS:
            inside = values(run)[10:31]
            expected = {
                "Start": inside[0],
                "End": inside[-1],
                "Change": inside[-1] - inside[0],
                "%": 100 * (inside[-1] - inside[0]) / abs(inside[0]),
                "Min": min(inside),
                "Max": max(inside),
                "Mean": statistics.mean(inside),
                "Start step": 100,
                "End step": 300,
                "Points": 21,
            }

            def read_row(title: str = title, run: str = run) -> dict[str, float]:
                row = read_table(value_table(page, title))[run]
                return {name: parse_number(text) for name, text in row.items()}

            wait_for_value(page, read_row, pytest.approx(expected, rel=1e-2))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("range="))


def test_sorts_table_by_column(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss_2&table=1&cursor=20")
    wait_for_table(page, "train/loss_2", "At 20")
    table = value_table(page, "train/loss_2")
    rising = sorted(RUNS, key=lambda run: loss(run)[2])
    table.get_by_role("button", name="Value").click()
    wait_for_value(page, lambda: list(read_table(table)), rising[::-1])
    expect(page).to_have_url(re.compile("table-sort=-value"))
    table.get_by_role("button", name="Value").click()
    wait_for_value(page, lambda: list(read_table(table)), rising)
    expect(page).to_have_url(re.compile("table-sort=value"))
    table.get_by_role("button", name="At 20").click()
    wait_for_value(page, lambda: list(read_table(table)), list(RUNS))


def test_shows_chart_as_table(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss")
    drawn_chart(page, "train/loss")
    choose_menu_item(page, "train/loss", "Table")
    table = card(page, "train/loss").get_by_role("table", name="Summary of train/loss")
    wait_for_column(page, table, "Last", {run: loss(run)[-1] for run in RUNS})
    for run, row in read_table(table).items():
        values = loss(run)
        lowest = min(range(len(values)), key=values.__getitem__)
        value, step = row["Min"].split()
        assert parse_number(value) == pytest.approx(values[lowest], rel=1e-3)
        assert int(step) == STEPS[lowest]
        assert row["Points"] == "60"
    expect(page).to_have_url(re.compile("display=train/loss,table"))
    choose_menu_item(page, "train/loss", "Table")
    drawn_chart(page, "train/loss")


def test_shows_chart_as_bars(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss&display=train/loss,bars")
    bars = card(page, "train/loss").get_by_role("listitem")
    for stat, compute in (("Last", lambda values: values[-1]), ("Min", min), ("Max", max)):
        card(page, "train/loss").get_by_role("button", name=stat, exact=True).click()
        expect(card(page, "train/loss").get_by_role("group", name=f"{stat} of")).to_be_visible()

        def read_bars() -> dict[str, float]:
            rows = [text.split("\n") for text in bars.all_inner_texts()]
            return {name: parse_number(value) for name, *_, value in rows}

        wanted = pytest.approx({run: compute(loss(run)) for run in RUNS}, rel=1e-3)
        wait_for_value(page, read_bars, wanted)
        assert list(read_bars()) == list(RUNS)
    expect(page).to_have_url(re.compile("bar-value=max"))


def test_marks_best_values(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?tags=train/loss&smoothing=0")
    drawn_chart(page, "train/loss")
    page.mouse.move(5, 5)
    before = chart(page, "train/loss").screenshot()
    open_settings(page).get_by_role("combobox", name="Markers").select_option(label="Min")
    expect(page).to_have_url(re.compile("extremes=min"))
    page.get_by_role("button", name="Close panel").click()
    expect(page.get_by_role("complementary", name="Scalars settings")).to_have_count(0)
    wait_for_condition(page, lambda: chart(page, "train/loss").screenshot() != before)


def test_adds_and_removes_annotation(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_scalar_log(logdir)
    page = open_page(f"{serve(logdir).address}?tags=train/loss&cursor=200")
    drawn_chart(page, "train/loss")
    choose_menu_item(page, "train/loss", "Add annotation…")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("spinbutton", name="Step")).to_have_value("200")
    dialog.get_by_role("textbox", name="Annotation").fill("rate halved")
    dialog.get_by_role("button", name="Add annotation").click()
    expect(dialog).to_have_count(0)
    page.reload()
    drawn_chart(page, "train/loss")
    choose_menu_item(page, "train/loss", "Add annotation…")
    note = dialog.get_by_role("listitem").filter(has_text="rate halved")
    expect(note).to_contain_text("200")
    note.get_by_role("button", name=re.compile("^Delete annotation")).click()
    expect(note).to_have_count(0)
