"""Custom scalars: layouts from the log, and layouts edited in the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import tracklight
from tests.web.cards import (
    card,
    card_titles,
    cards,
    choose_menu_item,
    drawn_chart,
    move_cursor_to,
    read_tooltip_cells,
    tooltip,
)
from tests.web.conftest import serve_log
from tests.web.event_writer import append_records
from tests.web.scalar_log import STEPS, scalar_records
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_static_board import copy
from tests.web.waiting import get_stable_url, wait_for_value
from tracklight.formats.summary import (
    LAYOUT_TAG,
    MarginChart,
    MarginSeries,
    MultilineChart,
    custom_scalars_layout,
    encode_event,
    parse_layout,
)
from tracklight.formats.tfrecord import encode_record
from tracklight.server.routing import PAGE_DIR

pytestmark = pytest.mark.browser

CHARTS = {
    "Quality": [
        MultilineChart("Loss", ["train/loss", "eval"]),
        MultilineChart("Broken", ["train/(", "acc"]),
    ],
    "Spread": [
        MarginChart("Band", [MarginSeries("train/loss", "low", "high")]),
        MarginChart("Half a band", [MarginSeries("train/loss", "low", "nowhere")]),
    ],
}


def write_charts(logdir: Path) -> None:
    for number, run in enumerate(("a", "b")):
        series = {
            "train/loss": [number + 2.0] * len(STEPS),
            "eval/loss": [number + 3.0] * len(STEPS),
            "acc": [0.5] * len(STEPS),
            "low": [number + 1.0] * len(STEPS),
            "high": [number + 4.0] * len(STEPS),
        }
        records = [
            it for tag, values in series.items() for it in scalar_records(tag, STEPS, values)
        ]
        append_records(logdir / run, *records)
    message = custom_scalars_layout(CHARTS)
    append_records(logdir / "a", encode_record(encode_event(1.7e9, 0, [message])))


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a log with a layout; saved layouts go to a temporary data directory."""
    folder = tmp_path_factory.mktemp("charts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKLIGHT_DATA_DIR", str(folder / "data"))
        with serve_log(folder, write_charts) as address:
            yield f"{address}?tab=custom_scalars"


@pytest.fixture
def page(charts: str, open_page: Callable[..., Page]) -> Page:
    return open_page(charts)


def layout_bar(page: Page) -> Locator:
    return page.get_by_role("group", name="Layout")


def open_layout_menu(page: Page, item: str) -> None:
    page.get_by_role("button", name="Layout options").click()
    page.get_by_role("menuitem", name=item).click()


def test_logged_layout_is_shown_with_its_lines_bands_and_errors(page: Page) -> None:
    drawn_chart(page, "Loss")
    wait_for_value(page, lambda: card_titles(page), ["Loss", "Broken", "Band", "Half a band"])
    expect(page.get_by_role("button", name="Quality")).to_have_attribute("aria-expanded", "true")
    expect(layout_bar(page)).to_contain_text("4 charts")
    expect(page).to_have_title("Custom scalars · tracklight")

    expect(drawn_chart(page, "Loss")).to_have_attribute("aria-label", re.compile("^Loss: 4 lines"))
    move_cursor_to(page, "Loss", 3)
    expect(tooltip(page)).to_contain_text("Step 30")
    names = {f"{run} · {tag}/loss" for run in "ab" for tag in ("train", "eval")}
    wait_for_value(page, lambda: set(read_tooltip_cells(page)), names)

    expect(card(page, "Band").get_by_role("img")).to_have_attribute(
        "aria-label", re.compile("x axis 0 to 590")
    )
    move_cursor_to(page, "Band", 2)
    expect(tooltip(page).locator("thead")).to_contain_text("Low")
    expected = {"a": ["2", "1", "4"], "b": ["3", "2", "5"]}
    wait_for_value(
        page, lambda: {run: cells[:3] for run, cells in read_tooltip_cells(page).items()}, expected
    )

    broken = card(page, "Broken")
    expect(broken).to_contain_text("Invalid regular expression “train/(”: Unterminated group")
    expect(drawn_chart(page, "Broken")).to_have_attribute("aria-label", re.compile("2 lines"))
    expect(card(page, "Half a band")).to_contain_text("Cannot draw band: missing “nowhere”")


def test_axes_filter_and_pins_work_as_in_scalars(page: Page) -> None:
    drawn_chart(page, "Loss")
    page.get_by_role("button", name="Relative", exact=True).click()
    expect(page).to_have_url(re.compile("x=relative"))
    expect(drawn_chart(page, "Loss")).to_have_attribute("aria-label", re.compile("19 min 40 s"))
    card(page, "Band").get_by_role("button", name="Pin", exact=True).click()
    expect(cards(page).first).to_have_attribute("aria-label", "Band")
    page.get_by_role("combobox", name="Filter tags").fill("acc")
    expect(card(page, "Loss")).to_have_count(0)
    expect(card(page, "Broken")).to_have_count(1)


def test_create_chart_and_share_it_by_url(page: Page, open_page: Callable[..., Page]) -> None:
    drawn_chart(page, "Loss")
    page.get_by_role("button", name="New chart").click()
    dialog = page.get_by_role("dialog", name="New chart")
    dialog.get_by_role("textbox", name="Title").fill("Mine")
    dialog.get_by_label("Category").fill("New")
    expect(dialog.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    dialog.get_by_role("textbox", name="Tag pattern 1").fill("acc(")
    expect(dialog).to_contain_text("Unterminated group")
    dialog.get_by_role("textbox", name="Tag pattern 1").fill(".*loss")
    expect(dialog).to_contain_text("2 tags: eval/loss, train/loss")
    dialog.get_by_role("button", name="Select tag").click()
    dialog.get_by_role("combobox", name="Tag").fill("ac")
    dialog.get_by_role("option", name="acc").click()
    expect(dialog.get_by_role("textbox", name="Tag pattern 2")).to_have_value("acc$")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(drawn_chart(page, "Mine")).to_have_attribute("aria-label", re.compile("6 lines"))
    expect(layout_bar(page)).to_contain_text(re.compile("5 charts ?· Unsaved changes"))
    other = open_page(get_stable_url(page))
    drawn_chart(other, "Mine")
    wait_for_value(other, lambda: card_titles(other)[-1:], ["Mine"])
    page.get_by_role("button", name="Discard changes").click()
    expect(card(page, "Mine")).to_have_count(0)
    page.go_back()
    expect(card(page, "Mine")).to_have_count(1)


def test_create_margin_chart(page: Page) -> None:
    drawn_chart(page, "Loss")
    page.get_by_role("button", name="New chart").click()
    dialog = page.get_by_role("dialog", name="New chart")
    dialog.get_by_role("textbox", name="Title").fill("Around eval")
    dialog.get_by_role("button", name="Lines with bands").click()
    for name, tag in (("Line", "eval/loss"), ("Lower bound", "low"), ("Upper bound", "high")):
        dialog.get_by_label(f"Band 1: {name}").fill(tag)
    dialog.get_by_role("button", name="Add band").click()
    dialog.get_by_role("button", name="Remove band 2").click()
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(card(page, "Around eval").get_by_role("img")).to_be_visible()


def test_edit_move_and_remove_charts(page: Page) -> None:
    drawn_chart(page, "Loss")
    choose_menu_item(page, "Loss", "Edit chart…")
    dialog = page.get_by_role("dialog", name="Edit chart")
    dialog.get_by_role("button", name="Remove tag pattern 2").click()
    dialog.get_by_role("textbox", name="Title").fill("Train")
    dialog.get_by_role("button", name="Save").click()
    expect(drawn_chart(page, "Train")).to_have_attribute("aria-label", re.compile("2 lines"))
    choose_menu_item(page, "Train", "Move later")
    expect(cards(page).first).to_have_attribute("aria-label", "Broken")
    choose_menu_item(page, "Train", "Move later")
    choose_menu_item(page, "Broken", "Remove chart")
    expect(card(page, "Broken")).to_have_count(0)
    expect(page.get_by_role("button", name="Quality")).to_have_count(0)
    wait_for_value(page, lambda: card_titles(page), ["Train", "Band", "Half a band"])


def test_drag_reorders_charts(page: Page) -> None:
    drawn_chart(page, "Loss")
    card(page, "Band").locator("header").drag_to(card(page, "Loss"))
    expect(cards(page).first).to_have_attribute("aria-label", "Band")


def test_save_choose_and_remove_layout(
    charts: str, page: Page, open_page: Callable[..., Page]
) -> None:
    drawn_chart(page, "Loss")
    choose_menu_item(page, "Half a band", "Remove chart")
    page.get_by_role("button", name="Save…").click()
    dialog = page.get_by_role("dialog", name="Save layout")
    dialog.get_by_role("textbox", name="Name").fill("tidy")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(page).to_have_url(re.compile("layout=tidy"))
    expect(page).not_to_have_url(re.compile("charts="))
    expect(layout_bar(page)).to_contain_text("3 charts")
    other = open_page(charts)
    drawn_chart(other, "Loss")
    expect(cards(other)).to_have_count(4)
    layout_bar(other).get_by_role("combobox").select_option("tidy")
    expect(cards(other)).to_have_count(3)
    open_layout_menu(other, "Delete layout…")
    other.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(cards(other)).to_have_count(4)
    expect(layout_bar(page).get_by_role("option", name="tidy")).to_have_count(0)


def test_copied_python_logs_the_same_layout(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_chart(page, "Loss")
    open_layout_menu(page, "Copy as Python…")
    code = page.get_by_role("region", name="Code").inner_text()
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    with tracklight.open("logs", cache=False) as log:
        (value,) = log.tensors("layout", LAYOUT_TAG)
    logged = {it.title: [chart.title for chart in it.charts] for it in parse_layout(value.item())}
    assert logged == {title: [chart.title for chart in own] for title, own in CHARTS.items()}


def test_empty_layout_offers_new_chart(page: Page) -> None:
    drawn_chart(page, "Loss")
    open_layout_menu(page, "New layout")
    expect(page.get_by_text("No custom charts yet")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="New chart").last.click()
    expect(page.get_by_role("dialog", name="New chart")).to_be_visible()


def test_log_without_layout_shows_empty_state(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{sweep}?tab=custom_scalars")
    expect(page.get_by_text("No custom charts yet")).to_be_visible()
    assert not overflows(page)


def test_editor_has_no_accessibility_violations(
    charts: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(charts)
    drawn_chart(page, "Loss")
    for kind in ("Lines", "Lines with bands"):
        page.get_by_role("button", name="New chart").click()
        page.get_by_role("dialog").get_by_role("button", name=kind, exact=True).click()
        assert list_violations(page) == []
        page.keyboard.press("Escape")


def test_fits_on_a_phone(charts: str, open_page: Callable[..., Page]) -> None:
    page = open_page(charts, width=390)
    drawn_chart(page, "Loss")
    assert not overflows(page)


@pytest.mark.skipif(
    not (PAGE_DIR / "copy" / "board.js").exists(), reason="the page of copies was not built"
)
def test_static_export_shows_the_layout(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    write_charts(tmp_path / "logs")
    page = open_page(copy(tmp_path / "logs", tmp_path / "copy.html", "?tab=custom_scalars"))
    expect(drawn_chart(page, "Loss")).to_have_attribute("aria-label", re.compile("4 lines"))
    wait_for_value(page, lambda: card_titles(page), ["Loss", "Broken", "Band", "Half a band"])
    choose_menu_item(page, "Loss", "Remove chart")
    expect(card(page, "Loss")).to_have_count(0)
    expect(page.get_by_role("button", name="Save…")).to_have_count(0)
