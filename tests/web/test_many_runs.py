"""Logs with many runs and tags: virtual lists and search."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.locators import (
    run_count,
    run_row,
    run_rows,
    search_box,
    search_results,
    tag_row,
    tag_table,
)
from tests.web.waiting import wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

RUNS = 500


def write_runs(logdir: Path) -> None:
    records = loss_records("loss", range(3))
    for number in range(RUNS):
        append_records(logdir / "sweep" / f"trial-{number}", *records)


many_runs = board_fixture(write_runs, "module", "?tab=overview")


@pytest.fixture
def page(many_runs: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(many_runs)
    expect(run_count(page)).to_have_text("500 runs")
    return page


def test_renders_only_rows_near_viewport_and_says_which_runs_have_a_trend(page: Page) -> None:
    expect(run_row(page, "sweep/trial-0")).to_be_visible()
    wait_for_condition(page, lambda: run_rows(page).count() < 60)
    expect(tag_row(page, "loss")).to_contain_text("500")
    expect(tag_table(page).get_by_role("columnheader", name="Trend (first 8 runs)")).to_be_visible()


def test_search_finds_one_of_500_runs(page: Page) -> None:
    page.keyboard.press("Control+k")
    search_box(page).press_sequentially("trial-420")
    expect(search_results(page)).to_have_text(["sweep/trial-420 Show only this run"])
    page.keyboard.press("Enter")
    expect(search_box(page)).to_have_count(0)
    page.get_by_label("Filter runs").fill("trial-42")
    expect(run_row(page, "sweep/trial-420").get_by_role("checkbox")).to_be_checked()
    expect(run_row(page, "sweep/trial-42").get_by_role("checkbox")).not_to_be_checked()


def test_scrolls_through_thousands_of_tags(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    records = [record for number in range(3000) for record in loss_records(f"layer/{number}", [1])]
    append_records(logdir / "wide", *records)
    page = open_page(serve(logdir).address + "?tab=overview")
    expect(tag_row(page, "layer/0")).to_be_visible()
    wait_for_condition(page, lambda: tag_table(page).get_by_role("row").count() < 60)
    tag_table(page).evaluate("element => (element.scrollTop = element.scrollHeight)")
    expect(tag_row(page, "layer/2999").get_by_role("img")).to_be_visible()


FILTERED_RUNS = 10_000


def test_filters_10000_runs(sweep: str, open_page: OpenPage) -> None:
    def add_runs(route: Route) -> None:
        response = route.fetch(headers={"accept": "application/json"})
        body = response.json()
        row = body["runs"][0]
        body["runs"] = [
            {**row, "name": f"sweep-{number % 7}/trial-{number}", "start_wall": number}
            for number in range(FILTERED_RUNS)
        ]
        route.fulfill(body=json.dumps(body), content_type="application/json")

    page = open_page("about:blank")
    page.route("**/api/v1/runs?limit=*", add_runs)
    page.goto(sweep + "?tab=overview")
    expect(run_count(page)).to_have_text("10,000 runs")
    page.get_by_label("Filter runs").press_sequentially("trial-42")
    expect(run_count(page)).to_have_text("111 of 10,000 runs")
