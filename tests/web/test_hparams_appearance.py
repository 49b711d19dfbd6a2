"""HParams: accessibility, small screens, keyboard, errors, live updates and static export."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records
from tests.web.hparams_log import BEST, GRID, session_records, write_grid
from tests.web.locators import click_retry
from tests.web.test_appearance import overflows
from tests.web.test_hparams_views import (
    TAB,
    download_plot,
    download_text,
    drawn_parallel_plot,
    expect_trials,
    open_hparams,
    trial_names,
    trial_rows,
)
from tests.web.test_static_board import copy
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

board = board_fixture(write_grid, "module", TAB)


@pytest.mark.parametrize("width", [1440, 1920, 2400])
def test_toolbar_is_one_row(board: str, open_page: OpenPage, width: int) -> None:
    """All views are in the row if there is room for them; otherwise some are in a menu."""
    page = open_page(board, width=width)
    drawn_parallel_plot(page)
    toolbar = page.get_by_role("toolbar", name="HParams")
    has_menu = width < 1900
    expect(toolbar.get_by_role("button", name="More views")).to_have_count(1 if has_menu else 0)
    expect(toolbar.get_by_role("button", name="Timeline")).to_have_count(0 if has_menu else 1)

    def is_one_line() -> bool:
        rects = "all => all.map(it => it.getBoundingClientRect())"
        boxes = toolbar.locator("> *").evaluate_all(rects)
        middles = {round(box["y"] + box["height"] / 2) for box in boxes}
        return max(middles) - min(middles) < 10

    wait_for_condition(page, is_one_line)


def test_fits_on_a_phone_and_keyboard_shortcuts(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390)
    drawn_parallel_plot(page)
    assert not overflows(page)
    expect(page.get_by_role("region", name="Insights")).to_contain_text("high learning_rate")
    page.keyboard.press("f")
    expect(page.get_by_role("complementary", name="Filters")).to_be_visible()
    assert not overflows(page)
    page.keyboard.press("f")
    page.keyboard.press("v")
    expect(page).to_have_url(re.compile("hp=scatter"))
    expect(page.get_by_role("img", name="accuracy vs. units")).to_be_visible()
    assert not overflows(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Clear filters")


def write_long_names(logdir: Path) -> None:
    """Write trials whose names are 8 to 60 characters long."""
    start = time.time() - 86_400
    for index, session in enumerate(GRID[:12]):
        name = (
            f"sweep{index:02d}/"
            + "lr=0.001,dropout=0.1,units=128,warmup=100,decay=0.5"[: index * 5]
        )
        append_records(logdir / name, *session_records(session, start + 600 * index))


long_names = board_fixture(write_long_names, "module", TAB)

#: Return what is wrong with truncated names: parts that are cut or left out without an ellipsis,
#: and names without any visible text at their end.
FIND_FAULTY_NAMES = """names => names.flatMap((name) => {
  const row = name.getBoundingClientRect();
  const lines = name.querySelector('.lines');
  const isVisible = ({ top, bottom }) => top < row.bottom - 1 && bottom > row.top + 1;
  const parts = [...lines.children].filter((part) => isVisible(part.getBoundingClientRect()));
  // The last line has the end of the whole name, as content of a pseudo-element.
  const { textOverflow } = getComputedStyle(lines, '::after');
  if (parts.length === 0) {
    const isLast = Math.abs(lines.getBoundingClientRect().bottom - row.bottom) < 1;
    const hasName = textOverflow === 'ellipsis' && lines.dataset.text === name.textContent;
    return isLast && hasName ? [] : [`not visible: ${name.textContent}`];
  }
  const faults = [];
  if (parts.length < lines.children.length) faults.push(`left out: ${name.textContent}`);
  for (const part of parts) {
    const box = part.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(part);
    const text = range.getBoundingClientRect();
    const isCut = text.left < box.left - 1 || text.right > box.right + 1;
    const { textOverflow, fontSize } = getComputedStyle(part);
    if (isCut && textOverflow !== 'ellipsis') faults.push(`no ellipsis: ${name.textContent}`);
    if (isCut && box.width < 1.5 * parseFloat(fontSize))
      faults.push(`no space for an ellipsis: ${name.textContent}`);
    if (part === lines.lastElementChild && text.right > row.right + 1)
      faults.push(`cut at the end: ${name.textContent}`);
  }
  return faults;
})"""


@pytest.mark.parametrize("width", [1440, 390])
def test_long_names_keep_their_end(long_names: str, open_page: OpenPage, width: int) -> None:
    page = open_page(long_names, width=width)
    names = trial_rows(page).locator(".name")
    expect(names.nth(3)).to_be_visible()
    wait_for_value(page, lambda: names.evaluate_all(FIND_FAULTY_NAMES), [])
    # The column can be narrower.
    page.get_by_role("separator", name="Width of Trial").focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
        wait_for_value(page, lambda: names.evaluate_all(FIND_FAULTY_NAMES), [])


def test_parallel_coordinates_scroll_on_a_phone(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390, has_touch=True)
    plot = drawn_parallel_plot(page)
    last = page.get_by_role("group", name=re.compile("^Axis: ")).last
    expect(last).not_to_be_in_viewport(ratio=0.9)
    # A horizontal drag scrolls, a vertical one selects a range of an axis.
    expect(plot).to_have_css("touch-action", "pan-x")
    box = get_stable_box(plot)
    page.mouse.move(box.x + 100, box.y + box.height / 2)
    page.mouse.wheel(600, 0)
    expect(last).to_be_in_viewport(ratio=0.9)


def test_axis_menu_scales_inverts_and_moves(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page)
    axis = page.get_by_role("group", name="Axis: units", exact=True)
    for item in ("Quantile scale", "Invert axis", "Move left"):
        axis.get_by_role("button").click()
        page.get_by_role("menu", name="Axis: units").get_by_text(item).click()
    expect(axis).to_contain_text("quantile")
    expect(page).to_have_url(re.compile("hp-axes=.*flipped"))
    expect(drawn_parallel_plot(page)).to_have_attribute(
        "aria-label", re.compile("dropout, learning_rate, units, optimizer")
    )


def test_failed_request_can_be_retried(board: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    failing = [True]

    def handle_route(route: Route) -> None:
        if failing[0]:
            route.fulfill(status=500, json={"error": {"message": "It broke.", "hint": "Wait."}})
        else:
            route.continue_()

    page.route("**/api/v1/hparams/sessions*", handle_route)
    page.goto(board)
    expect(page.get_by_text("It broke.")).to_be_visible()
    failing[0] = False
    click_retry(page)
    expect_trials(page, GRID)


def test_new_trials_appear(logdir: Path, serve: Serve, open_page: OpenPage) -> None:
    start = time.time() - 3600
    for session in GRID[:12]:
        append_records(logdir / session.name, *session_records(session, start))
    page = open_page(serve(logdir).address + TAB)
    expect(trial_rows(page)).to_have_count(12)
    append_records(logdir / BEST.name, *session_records(BEST, start))
    expect(trial_rows(page).first).to_have_attribute("data-trial", BEST.name)
    expect(page.get_by_role("region", name="Insights")).to_contain_text(BEST.name)
    expect(page.get_by_text("13 trials", exact=True)).to_be_visible()


def test_static_export_works_without_a_server(tmp_path: Path, open_page: OpenPage) -> None:
    write_grid(tmp_path / "logs")
    page = open_page(copy(tmp_path / "logs", tmp_path / "board.html", "tab=hparams"))
    expect(trial_rows(page).first.get_by_role("img")).to_be_visible()
    expect_trials(page, GRID)
    # The exported data can be downloaded without a server.
    table = list(csv.reader(io.StringIO(download_text(page, "CSV"))))
    assert table[0][0] == "name"
    assert [line[0] for line in table[1:4]] == trial_names(page)[:3]
    assert len(table) == 1 + len(GRID)
    data = json.loads(download_text(page, "JSON"))
    assert data["header"] == table[0]
    assert len(data["rows"]) == len(GRID)
    assert b"accuracy" in download_plot(page, "SVG")
    page.get_by_role("button", name="Importance").click()
    expect(page.get_by_role("list", name="Importance for accuracy")).to_be_visible()
    # Importance is exported for all trials only.
    insights = page.get_by_role("region", name="Insights")
    insights.get_by_role("button", name="high learning_rate").click()
    expect(page.get_by_text("Not included in this export")).to_be_visible()
