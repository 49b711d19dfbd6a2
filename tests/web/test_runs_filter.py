"""Run filter: words, regular expressions and filter expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.run_table import (
    checked_runs,
    choose_from_menu,
    column_header,
    filter_box,
    rows,
    run_names,
    runs_panel,
)
from tests.web.study_log import TRIAL_NAMES, TRIALS, Trial
from tests.web.waiting import get_stable_url, wait_for_condition, wait_for_value

pytestmark = [pytest.mark.browser, pytest.mark.smoke]


@pytest.fixture
def page(study: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(study)
    expect(rows(page)).to_have_count(len(TRIALS))
    return page


def select_mode(page: Page, name: str) -> None:
    runs_panel(page).get_by_role("button", name=name, exact=True).click()


def test_matches_words_in_any_order_and_case(page: Page) -> None:
    filter_box(page).fill("3e-4 VIT")
    expect(rows(page)).to_have_count(2)
    expect(runs_panel(page).get_by_role("status").last).to_have_text("2 of 8 runs")
    wait_for_condition(page, lambda: checked_runs(page) == run_names(page))
    expect(page).to_have_url(re.compile(r"\?runs=3e-4\+VIT$"))


def test_matches_regular_expression(page: Page) -> None:
    select_mode(page, "Regular expression")
    filter_box(page).fill("^(conv|dense).*1e-3$")
    expect(rows(page)).to_have_count(3)
    expect(page).to_have_url(re.compile(r"runs-regex="))
    filter_box(page).fill("^(conv|dense")
    expect(runs_panel(page).get_by_role("alert")).to_have_text(
        "Invalid regular expression: Unterminated group"
    )
    # The last valid filter stays active during typing.
    expect(rows(page)).to_have_count(3)


EXPRESSIONS: dict[str, Callable[[Trial], bool]] = {
    "lr < 0.001": lambda trial: trial.lr < 0.001,
    "lr >= 0.001 and optimizer = adam": lambda t: t.lr >= 0.001 and t.optimizer == "adam",
    'last("val/acc") > 0.88': lambda trial: trial.last > 0.88,
    'min("val/acc") < 0.2 or max("val/acc") > 0.94': lambda trial: (
        min(trial.accuracies) < 0.2 or max(trial.accuracies) > 0.94
    ),
    "not vit and lr in (0.003, 0.0003)": lambda t: t.model != "vit" and t.lr in (0.003, 0.0003),
    'name ~ "^dense/[2-4]"': lambda trial: trial.name == "dense/256-lr1e-3",
    "duration > 3m": lambda _: False,
    "points = 3": lambda _: True,
}


def test_evaluates_filter_expressions(page: Page) -> None:
    select_mode(page, "Query")
    for expression, matches in EXPRESSIONS.items():
        filter_box(page).fill(expression)
        wait_for_value(
            page, lambda: set(run_names(page)), {one.name for one in TRIALS if matches(one)}
        )
        expect(runs_panel(page).get_by_role("alert")).to_have_count(0)


def test_shows_position_of_error_and_keeps_last_valid_filter(page: Page) -> None:
    select_mode(page, "Query")
    filter_box(page).fill("lr < 0.001")
    expect(rows(page)).to_have_count(4)
    filter_box(page).fill("lr < 0.001 and")
    alert = runs_panel(page).get_by_role("alert")
    expect(alert).to_have_text("Expected a name or a value (at the end)")
    expect(filter_box(page)).to_have_attribute("aria-invalid", "true")
    expect(rows(page)).to_have_count(4)
    filter_box(page).fill("rl < 3")
    expect(alert).to_have_text("No run has a hyperparameter “rl” (at character 1)")


def test_filters_by_labels_and_notes(page: Page) -> None:
    choose_from_menu(page, "conv/lr1e-3", "Edit notes")
    page.get_by_role("textbox", name="Notes").fill("the one for the paper")
    page.get_by_role("textbox", name="Tags").fill("best, paper")
    page.get_by_role("button", name="Save").click()
    select_mode(page, "Query")
    filter_box(page).fill("tag:best")
    expect(rows(page)).to_have_count(1)
    filter_box(page).fill('note:"for the PAPER" and label:paper')
    expect(rows(page)).to_have_count(1)
    wait_for_value(page, lambda: run_names(page), ["conv/lr1e-3"])


def test_url_stores_expression(page: Page, open_page: Callable[..., Page]) -> None:
    select_mode(page, "Query")
    filter_box(page).fill("lr < 0.001 and not vit")
    expect(page).to_have_url(re.compile("runs-query="))
    other = open_page(get_stable_url(page))
    expect(filter_box(other)).to_have_value("lr < 0.001 and not vit")
    expect(rows(other)).to_have_count(1)
    pressed = runs_panel(other).get_by_role("button", name="Query", exact=True)
    expect(pressed).to_have_attribute("aria-pressed", "true")


def test_shows_message_without_matches_and_escape_clears(page: Page) -> None:
    filter_box(page).fill("lr < 0.01")
    expect(runs_panel(page)).to_contain_text("No runs match “lr < 0.01”.")
    runs_panel(page).get_by_role("button", name="Use as query").click()
    expect(rows(page)).to_have_count(len(TRIAL_NAMES))
    filter_box(page).press("Escape")
    expect(filter_box(page)).to_have_value("")
    expect(column_header(page, "8 runs")).to_be_visible()
