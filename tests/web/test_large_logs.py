"""Logs with more runs than the page loads; a lower limit takes the place of many runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests import builders as b
from tests.web.conftest import Serve, serve_log
from tests.web.event_writer import append_records, loss_records
from tests.web.locators import run_count
from tests.web.run_table import (
    choose_from_menu,
    column_header,
    filter_box,
    grid,
    group_row,
    row,
    run_checkbox,
    run_name,
    run_names,
    runs_panel,
)
from tests.web.waiting import wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

RUNS = 700
#: The page asks for 10,000 runs at most, and gets only totals as if this were its limit.
LIMIT = 20
START_S = 1_700_000_000


def write_runs(logdir: Path) -> None:
    """Write runs in two folders, the later the newer; every third is in the folder vit."""
    for number in range(RUNS):
        folder = "conv" if number % 3 else "vit"
        records = [
            b.record(
                b.event(
                    b.summary(b.value("loss", b.simple(1000 + number))),
                    step=step,
                    wall=START_S + 60 * number + step,
                )
            )
            for step in range(2)
        ]
        append_records(logdir / folder / f"t{number:03}", *records)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("large"), write_runs) as address:
        yield address


def lower_limit(route: Route) -> None:
    url = re.sub(r"limit=\d+", f"limit={LIMIT}", route.request.url)
    route.continue_(url=url)


@pytest.fixture
def open_large(open_page: OpenPage) -> OpenPage:
    def open_large(address: str) -> Page:
        page = open_page("about:blank")
        page.route("**/api/v1/runs?limit=*", lower_limit)
        page.goto(address)
        return page

    return open_large


def test_the_list_is_loaded_in_pages(address: str, open_large: OpenPage) -> None:
    page = open_large(address + "?tab=overview")
    expect(row(page, "conv/t698")).to_be_visible()
    expect(column_header(page, "100 of 700 selected")).to_be_visible()
    wait_for_value(page, lambda: run_names(page)[:3], ["vit/t699", "conv/t698", "conv/t697"])
    expect(run_checkbox(page, "vit/t699")).to_be_checked()
    grid(page).evaluate("element => (element.scrollTop = element.scrollHeight)")
    expect(row(page, "vit/t000")).to_be_visible()
    expect(run_checkbox(page, "vit/t000")).not_to_be_checked()
    column_header(page, "100 of 700").click()
    grid(page).evaluate("element => (element.scrollTop = 0)")
    expect(row(page, "conv/t001")).to_be_visible()


@pytest.mark.parametrize(
    ("query", "count", "found"),
    [
        ("runs=T12 vit", "4 of 700 runs", ["vit/t129", "vit/t126", "vit/t123", "vit/t120"]),
        ("runs-regex=^vit/t12[03]", "2 of 700 runs", ["vit/t123", "vit/t120"]),
        ('runs-query=last("loss") >%3D 1698', "2 of 700 runs", ["vit/t699", "conv/t698"]),
    ],
)
def test_the_server_filters(
    address: str, open_large: OpenPage, query: str, count: str, found: list[str]
) -> None:
    page = open_large(f"{address}?tab=overview&{query}")
    expect(run_count(page)).to_have_text(count)
    wait_for_condition(page, lambda: run_names(page) == found)


def test_typing_filters_and_a_wrong_expression_is_reported(
    address: str, open_large: OpenPage
) -> None:
    page = open_large(address + "?tab=overview")
    filter_box(page).press_sequentially("t00")
    expect(run_count(page)).to_have_text("10 of 700 runs")
    expect(column_header(page, "10 of 700 runs")).to_be_visible()
    filter_box(page).fill("")
    runs_panel(page).get_by_role("button", name="Query", exact=True).click()
    filter_box(page).fill("points >")
    expect(runs_panel(page).get_by_role("alert")).to_be_visible()
    expect(run_count(page)).to_have_text("700 runs")
    filter_box(page).fill("points > 5")
    expect(runs_panel(page).get_by_text("No runs match")).to_be_visible()


def test_the_selection_is_a_description(address: str, open_large: OpenPage) -> None:
    page = open_large(address + "?tab=overview")
    run_checkbox(page, "vit/t699").click()
    expect(column_header(page, "99 of 700 selected")).to_be_visible()
    expect(run_checkbox(page, "vit/t699")).not_to_be_checked()
    run_checkbox(page, "vit/t699").click()
    expect(column_header(page, "100 of 700 selected")).to_be_visible()
    expect(page).not_to_have_url(re.compile("selected="))
    select_all = grid(page).get_by_role("checkbox", name="Select all matching runs")
    select_all.click()
    expect(page).to_have_url(re.compile("selected=all"))
    note = "Charts draw the first 500 of 700 selected runs."
    expect(runs_panel(page).get_by_text(note)).to_be_visible()
    page.keyboard.press("Shift+I")
    expect(column_header(page, "0 of 700 selected")).to_be_visible()
    run_checkbox(page, "conv/t698").click()
    expect(column_header(page, "1 of 700 selected")).to_be_visible()
    expect(page).to_have_url(re.compile("t698"))
    page.reload()
    expect(run_checkbox(page, "conv/t698")).to_be_checked()
    expect(run_checkbox(page, "conv/t697")).not_to_be_checked()
    run_name(page, "conv/t697").dblclick()
    expect(run_checkbox(page, "conv/t698")).not_to_be_checked()
    expect(run_checkbox(page, "conv/t697")).to_be_checked()


def test_groups_are_selected_as_a_whole(address: str, open_large: OpenPage) -> None:
    page = open_large(address + "?tab=overview&group=path:1&selected=none")
    expect(group_row(page, "conv")).to_contain_text("466")
    expect(group_row(page, "vit")).to_contain_text("234")
    assert run_names(page) == []
    group_row(page, "vit").get_by_role("checkbox").click()
    expect(column_header(page, "234 of 700 selected")).to_be_visible()
    group_row(page, "vit").get_by_role("button", name="Expand vit").click()
    expect(run_checkbox(page, "vit/t699")).to_be_checked()
    run_checkbox(page, "vit/t699").click()
    expect(column_header(page, "233 of 700 selected")).to_be_visible()
    group_row(page, "vit").get_by_role("checkbox").click()
    expect(column_header(page, "234 of 700 selected")).to_be_visible()
    group_row(page, "conv").dblclick()
    expect(column_header(page, "466 of 700 selected")).to_be_visible()
    group_row(page, "conv").click(button="right")
    items = page.get_by_role("menuitem")
    expect(items).to_have_count(2)


def read_charts(page: Page, action: Callable[[], object]) -> dict[str, Any]:
    with page.expect_request("**/api/v1/scalars/query") as request:
        action()
    body = request.value.post_data_json
    assert body is not None
    return dict(body)


def test_bands_have_all_selected_runs_of_a_group(address: str, open_large: OpenPage) -> None:
    page = open_large("about:blank")
    body = read_charts(
        page,
        lambda: page.goto(f"{address}?tab=scalars&mode=bands&group=path:1&selected=all"),
    )
    assert [(group["key"], group["runs"]) for group in body["groups"]] == [
        ("conv", []),
        ("vit", []),
    ]
    answer = page.request.post(f"{address}api/v1/scalars/query", data=body).json()
    (chart,) = answer["charts"]
    assert {band["group"]: band["runs"] for band in chart["bands"]} == {"conv": 466, "vit": 234}
    assert chart["lines"] == []
    expect(page.locator("main canvas").first).to_be_visible()


def test_lines_are_those_of_the_selected_runs(address: str, open_large: OpenPage) -> None:
    page = open_large("about:blank")
    body = read_charts(page, lambda: page.goto(f"{address}?tab=scalars&selected=newest-3"))
    assert body["runs"] == ["vit/t699", "conv/t698", "conv/t697"]


def test_new_runs_appear(logdir: Path, serve: Serve, open_large: OpenPage) -> None:
    for number in range(LIMIT + 5):
        append_records(logdir / f"t{number:02}", *loss_records("loss", range(2)))
    page = open_large(serve(logdir).address + "?tab=overview&sort=name")
    expect(run_count(page)).to_have_text("25 runs")
    append_records(logdir / "a-new-run", *loss_records("loss", range(2)))
    expect(run_count(page)).to_have_text("26 runs")
    expect(row(page, "a-new-run")).to_be_visible()
    expect(runs_panel(page).get_by_text("26 runs").last).to_be_visible()


def test_a_run_is_renamed_and_hidden(logdir: Path, serve: Serve, open_large: OpenPage) -> None:
    for number in range(LIMIT + 5):
        append_records(logdir / f"t{number:02}", *loss_records("loss", range(2)))
    page = open_large(serve(logdir).address + "?tab=overview&sort=name")
    choose_from_menu(page, "t03", "Rename")
    field = page.get_by_role("textbox", name="New name for t03")
    field.fill("Third")
    field.press("Enter")
    expect(row(page, "t03")).to_contain_text("Third")
    filter_box(page).fill("third")
    expect(run_count(page)).to_have_text("1 of 25 runs")
    choose_from_menu(page, "t03", "Hide")
    filter_box(page).fill("")
    expect(run_count(page)).to_have_text("24 of 25 runs")
