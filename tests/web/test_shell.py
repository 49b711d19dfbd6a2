"""Page shell: tabs, search, shortcuts, settings, alerts and history."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records, write_sweep
from tests.web.locators import (
    dashboard_tab,
    run_row,
    run_rows,
    runs_panel,
    search_box,
    search_results,
    tag_row,
)
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_url

pytestmark = pytest.mark.browser

OVERVIEW = "?tab=overview"


@pytest.fixture
def page(sweep: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(sweep + OVERVIEW)
    expect(tag_row(page, "train/loss")).to_be_visible()
    return page


def test_footer_shows_totals_and_tabs_are_history_entries(page: Page) -> None:
    expect(page.locator("footer")).to_have_text(re.compile(r"logs\s*· 3 runs\s*· 345 points\s*$"))

    expect(page).to_have_title("Overview · tracklight")
    expect(dashboard_tab(page, "Overview")).to_have_attribute("aria-current", "page")
    dashboard_tab(page, "Scalars").click()
    expect(page).to_have_title("Scalars · tracklight")
    expect(tag_row(page, "train/loss")).to_have_count(0)
    page.go_back()
    expect(tag_row(page, "train/loss")).to_be_visible()
    page.go_forward()
    expect(page).to_have_title("Scalars · tracklight")
    page.keyboard.press("4")
    expect(page).to_have_title("Overview · tracklight")


def test_opens_first_dashboard_with_data_by_default(
    sweep: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(sweep)
    expect(page).to_have_title("Scalars · tracklight")
    expect(page).to_have_url(sweep)


def test_search_opens_tag(page: Page) -> None:
    page.get_by_role("button", name="Search runs, tags, actions").click()
    expect(search_box(page)).to_be_focused()
    search_box(page).press_sequentially("loss 10")
    expect(search_results(page).first).to_have_text("train/loss_10 Scalar")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Scalars · tracklight")
    expect(page.get_by_label("Filter tags")).to_have_value("train/loss_10")
    page.go_back()
    expect(page).to_have_title("Overview · tracklight")
    expect(page.get_by_label("Filter tags")).to_have_value("")


def test_search_isolates_run(page: Page) -> None:
    page.keyboard.press("Control+k")
    search_box(page).fill("vit")
    expect(search_results(page).first).to_contain_text("Show only this run")
    search_results(page).first.click()
    expect(run_row(page, "vit").get_by_role("checkbox")).to_be_checked()
    expect(run_row(page, "conv/lr1e-3").get_by_role("checkbox")).not_to_be_checked()


def test_search_runs_actions(page: Page) -> None:
    page.keyboard.press("Control+k")
    search_box(page).fill("hide runs")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(runs_panel(page)).to_have_count(0)
    page.keyboard.press("Control+k")
    search_box(page).fill("zzz")
    expect(page.get_by_text("No results for “zzz”")).to_be_visible()
    page.keyboard.press("Escape")
    expect(search_box(page)).to_have_count(0)


def test_hides_and_shows_run_list(page: Page) -> None:
    page.keyboard.press("b")
    expect(runs_panel(page)).to_have_count(0)
    page.reload()
    expect(tag_row(page, "train/loss")).to_be_visible()
    expect(runs_panel(page)).to_have_count(0)
    page.get_by_role("button", name="Show runs").click()
    expect(run_rows(page)).to_have_count(3)


def test_shortcuts_are_listed_and_ignored_while_typing(page: Page) -> None:
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_role("definition").filter(has_text="Show or hide runs")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_label("Filter tags").press_sequentially("b?t")
    expect(page.get_by_label("Filter tags")).to_have_value("b?t")
    expect(runs_panel(page)).to_be_visible()
    expect(dialog).to_have_count(0)


def test_settings_change_theme_and_reset_view(page: Page) -> None:
    page.get_by_label("Filter tags").fill("loss")
    expect(page).to_have_url(re.compile("tags=loss"))
    page.keyboard.press(",")
    page.get_by_label("Filter tags").blur()
    page.keyboard.press(",")
    settings = page.get_by_role("complementary", name="Settings")
    expect(settings).to_be_focused()
    settings.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    settings.get_by_role("button", name="System").click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")
    settings.get_by_role("button", name="Reset view").click()
    expect(page).to_have_url(re.compile(r"\?tab=overview$"))
    page.keyboard.press("Escape")
    expect(settings).to_have_count(0)


def test_url_keeps_pinned_step_and_range(page: Page) -> None:
    page.goto(get_stable_url(page) + "&cursor=20&range=5~30")
    expect(tag_row(page, "train/loss")).to_be_visible()
    dashboard_tab(page, "Scalars").click()
    expect(page).to_have_url(re.compile(r"cursor=20&range=5%7E30|cursor=20&range=5~30"))


def test_alert_rule_reports_matches(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page(serve(logdir).address + OVERVIEW)
    page.get_by_role("button", name="Alerts").click()
    panel = page.get_by_role("complementary", name="Alerts")
    expect(panel).to_contain_text("No alert rules yet.")
    panel.get_by_label("Tags").fill("*/loss")
    panel.get_by_label("Threshold").fill("50")
    panel.get_by_role("button", name="Create alert").click()
    expect(panel.get_by_role("list", name="Rules")).to_contain_text("*/loss goes above 50")
    panel.get_by_role("button", name="Close").click()
    append_records(logdir / "vit", *loss_records("train/loss", [50], scale=2000.0))
    alerts_button = page.get_by_role("button", name="1 new alert")
    alerts_button.click()
    alert = panel.get_by_role("list", name="Alerts").get_by_role("button")
    expect(alert).to_contain_text("train/loss")
    expect(alert).to_contain_text("vit · step 50")
    expect(page.get_by_role("button", name="Alerts", exact=True)).to_be_visible()
    assert list_violations(page) == []
    alert.click()
    expect(page).to_have_url(re.compile("cursor=50"))
    panel.get_by_role("button", name="Delete alert for */loss").click()
    expect(panel.get_by_role("list", name="Rules")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_overlays_are_accessible(sweep: str, open_page: Callable[..., Page], width: int) -> None:
    page = open_page(sweep + OVERVIEW, width=width)
    expect(tag_row(page, "train/loss")).to_be_visible()
    settings = page.get_by_role("complementary", name="Settings", exact=True)
    overlay = page.get_by_role("dialog").or_(settings)
    for key in (",", "?", "Control+k"):
        page.keyboard.press(key)
        expect(overlay).to_be_visible()
        assert list_violations(page) == [], key
        assert not overflows(page), key
        page.keyboard.press("Escape")
        expect(overlay).to_have_count(0)
